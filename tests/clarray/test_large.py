"""Every element of arrays with more than 2**31 elements is reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

cl: Any = pytest.importorskip("portarray.clarray", exc_type=ImportError)

SIZE = (1 << 31) + 1001
MARKS = {5: 3, (1 << 31) - 1: 4, 1 << 31: 5, (1 << 31) + 7: 250, SIZE - 1: 6}


@pytest.fixture(scope="module")
def x() -> Iterator[Any]:
    """An array of zeros with a few marked elements."""
    if not cl.devices():
        pytest.skip("no OpenCL device works here")
    free = cl.memory().free
    if free is not None and free < 4 * SIZE:
        pytest.skip(f"only {free} bytes are free")
    result = cl.zeros((SIZE,), dtype=cl.uint8)
    for position, value in MARKS.items():
        result[position] = value
    yield result
    del result
    cl.reclaim()


def test_elements_by_index(x: Any) -> None:
    for position, value in MARKS.items():
        assert int(x[position]) == value
        assert int(x[position - SIZE]) == value
    places = list(MARKS)
    assert cl.take(x, cl.asarray(places), axis=0).tolist() == list(MARKS.values())


def test_reductions(x: Any) -> None:
    assert int(cl.sum(x)) == sum(MARKS.values())
    assert int(cl.max(x)) == 250
    assert int(cl.argmax(x)) == (1 << 31) + 7
    assert int(cl.count_nonzero(x)) == len(MARKS)


def test_compaction(x: Any) -> None:
    (places,) = cl.nonzero(x)
    assert places.tolist() == list(MARKS)


@pytest.mark.parametrize("step", [1, -1])
def test_elementwise(x: Any, step: int) -> None:
    y = x[::step] + cl.asarray(1, dtype=cl.uint8)
    for position, value in MARKS.items():
        assert int(y[position if step == 1 else SIZE - 1 - position]) == value + 1
    ends = np.asarray(y[-1000:])
    assert ends.sum() == 1000 + sum(
        value
        for position, value in MARKS.items()
        if (position if step == 1 else SIZE - 1 - position) >= SIZE - 1000
    )


def test_rows_and_columns(x: Any) -> None:
    wide = cl.reshape(x[:-1001], (2, 1 << 30))
    assert cl.sum(wide, axis=1).tolist() == [3, 4]
    assert cl.count_nonzero(cl.max(wide, axis=0)) == 2
