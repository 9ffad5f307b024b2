"""Where devices may differ: each row of ``docs/where_devices_differ.md`` is measured here.

A row says on which devices a condition gives another answer than on NumPy, and what is promised
there all the same. Both are measured on every device of the machine; a row that no longer holds
fails. After a change here ``python tests/test_differences.py`` writes the page's table anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import portarray as pa

PAGE = Path(__file__).parents[1] / "docs" / "where_devices_differ.md"


class Row(NamedTuple):
    """A row of the page, and the functions that make it."""

    condition: str
    differs: str
    devices: tuple[str, ...]
    """Those with another answer than NumPy's, ``library:platform``; none where any may have."""
    same: Callable[[pa.Device], bool]
    """Whether a device gives NumPy's answer."""
    promised: Callable[[pa.Device], bool]
    """Whether a device keeps what is promised although answers differ."""


def there(values: Any, device: pa.Device) -> pa.Array:
    return pa.asarray(values, device=device)


def here(x: pa.Array) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = np.array(x.to_device("numpy").native)
    return found


def _floats(device: pa.Device) -> list[np.dtype[Any]]:
    names = pa.__array_namespace_info__().dtypes(device=device, kind="real floating")
    return [np.dtype(name) for name in ("float32", "float64") if name in names]


# --- subnormal numbers ----------------------------------------------------------------------------


def _subnormal(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return np.asarray([-8, 8, 1000], dtype) * np.finfo(dtype).smallest_subnormal


def subnormal_arithmetic(device: pa.Device) -> bool:
    """Products, sums, comparisons and conversions of subnormal numbers."""
    for dtype in _floats(device):
        x, tiny = _subnormal(dtype), np.asarray([np.finfo(dtype).tiny])
        y = there(x, device)
        pairs = (
            *((y * 1, x), (y + y, x + x), (y / 2, x / 2), (y > 0, x > 0), (y == 0, x == 0)),
            *((pa.sqrt(abs(y)), np.sqrt(abs(x))), (pa.astype(y, pa.bool), x.astype(bool))),
            (there(tiny, device) / 2, tiny / 2),
        )
        if not all(np.allclose(here(found), wanted, 1e-6, 0) for found, wanted in pairs):
            return False
    return True


def subnormal_movement(device: pa.Device) -> bool:
    """What moves numbers and computes nothing keeps them."""
    for dtype in _floats(device):
        x = _subnormal(dtype)
        y = there(x, device)
        pairs = (
            *((y, x), (-y, -x), (abs(y), abs(x)), (y[::-1], x[::-1]), (pa.flip(y), x[::-1])),
            *((pa.where(there(x > 1, device), y, -y), -x), (pa.asarray(y, copy=True), x)),
            *((pa.concat([y, y]), np.concat([x, x])), (y[there([2, 0], device)], x[[2, 0]])),
        )
        if not all(np.array_equal(here(found), wanted) for found, wanted in pairs):
            return False
    return True


# --- undefined casts ------------------------------------------------------------------------------

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def _casts(device: pa.Device) -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Return what casts give on a device and on NumPy: four undefined ones, then three others."""
    available = pa.__array_namespace_info__().dtypes(device=device)
    pairs = []
    for dtype in _floats(device):
        x = np.asarray([np.nan, np.inf, -np.inf, 1e30, 0.0, 1.75, 100.0], dtype)
        for name in INTEGERS:
            if name in available:
                found = here(pa.astype(there(x, device), available[name]))
                with np.errstate(invalid="ignore"):
                    pairs.append((found, x.astype(name)))
    return pairs


def casts_equal(device: pa.Device) -> bool:
    """Casts give what NumPy gives on this machine, the undefined ones too."""
    return all(np.array_equal(found, wanted) for found, wanted in _casts(device))


def casts_of_the_rest(device: pa.Device) -> bool:
    """An undefined cast is no error and leaves the elements beside it right."""
    return all(
        found.dtype == wanted.dtype and np.array_equal(found[4:], wanted[4:])
        for found, wanted in _casts(device)
    )


# --- square roots ---------------------------------------------------------------------------------


def _half(x: pa.Array) -> np.ndarray[Any, Any]:
    with np.errstate(invalid="ignore"):
        return here(pa.pow(x, 0.5))


def _roots(device: pa.Device) -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Return powers of one half on a device, and what the standard says."""
    return [
        (
            _half(there(np.asarray([-np.inf, -0.0, 6.25, -1.0], dtype), device)),
            np.asarray([np.inf, 0.0, 2.5, np.nan], dtype),
        )
        for dtype in _floats(device)
    ]


def roots_equal(device: pa.Device) -> bool:
    """Powers of one half are what other powers are."""
    return all(
        np.array_equal(found, wanted, equal_nan=True) and not np.signbit(found[1])
        for found, wanted in _roots(device)
    )


def roots_of_the_rest(device: pa.Device) -> bool:
    """Other numbers than -inf have theirs, and that of a zero is a zero."""
    return all(
        np.array_equal(found[1:], wanted[1:], equal_nan=True) for found, wanted in _roots(device)
    )


ROWS = {
    "subnormal": Row(
        "subnormal numbers: below 1.2e-38 in float32, below 2.2e-308 in float64",
        "Arithmetic, comparisons, conversions and most functions take them for zero, and results "
        "of that size become zero: XLA "
        "[sets the processor so](https://github.com/jax-ml/jax/issues/16200) and has no option "
        "against it. Moving, copying, joining, indexing, `where`, `negative` and `abs` keep them.",
        ("jax:cpu",),
        subnormal_arithmetic,
        subnormal_movement,
    ),
    "cast": Row(
        "`astype` of NaN, infinities and numbers outside its range to an integer dtype",
        "Which integer comes out; NumPy's own depends on the processor. It is no error, and the "
        "other elements are right.",
        (),
        casts_equal,
        casts_of_the_rest,
    ),
    "root": Row(
        "`x ** 0.5` of negative infinity and negative zero",
        "NaN and -0.0 where the library takes the square root, infinity and 0.0 where it does not.",
        (),
        roots_equal,
        roots_of_the_rest,
    ),
}


@pytest.mark.parametrize("row", list(ROWS))
def test_a_row_of_the_page(row: str, device: str) -> None:
    place, told = pa.device(device), ROWS[row]
    assert told.promised(place), "what is promised although answers differ"
    if told.devices:
        assert told.same(place) == (f"{place.library}:{place.platform}" not in told.devices)


def table() -> str:
    """Return the page's table."""
    lines = ["| condition | what differs | devices | test |", "|---|---|---|---|"]
    for name, row in ROWS.items():
        devices = ", ".join(f"`{one}`" for one in row.devices) or "all"
        lines.append(f"| {row.condition} | {row.differs} | {devices} | `{name}` |")
    return "\n".join(lines)


def _on_page(text: str) -> str:
    found = re.search(r"^\| condition .*(?:\n\|.*)*", text, re.M)
    assert found is not None
    return found[0]


def test_the_page_has_these_rows() -> None:
    if not PAGE.is_file():
        pytest.skip(f"{PAGE.name} is not beside the tests")
    assert _on_page(PAGE.read_text("utf-8")) == table(), "run python tests/test_differences.py"


if __name__ == "__main__":
    page = PAGE.read_text("utf-8")
    PAGE.write_text(page.replace(_on_page(page), table()), "utf-8")
