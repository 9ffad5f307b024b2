"""A shared composition may declare the kinds of dtypes that it accepts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import portarray as pa
from portarray._array import call
from portarray._dispatch import categories
from portarray._dtypes.accepted import Accepts
from portarray.backends.composed import statistical


def widest(xp: Any, x: Any, /) -> Any:
    """Return the difference of the greatest and the least element."""
    return xp.subtract(xp.max(x), xp.min(x))


@pytest.fixture
def composed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add a composition that takes real numbers, and integers as such."""
    monkeypatch.setattr(statistical, "widest", widest, raising=False)
    rows = {"widest": Accepts("f", "iu", "floating")}
    monkeypatch.setattr(statistical, "ACCEPTED", rows, raising=False)
    yield
    categories.accepted.cache_clear()


@pytest.mark.usefixtures("composed")
def test_a_composition_converts_and_refuses_dtypes_by_its_row() -> None:
    x = pa.asarray([3, 1, 7], device="numpy")
    result = call.unary("widest", x)
    assert result.dtype == pa.float64
    assert float(result) == 6.0
    xp: Any = pa.namespace("numpy")
    assert xp.widest(x.native) == 6.0
    with pytest.raises(
        TypeError, match=r"widest: unsupported dtype complex128; supported kinds: signed integer"
    ):
        call.unary("widest", pa.astype(x, pa.complex128))
