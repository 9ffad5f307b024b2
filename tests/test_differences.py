"""Where devices may differ: each row of ``docs/where_devices_differ.md`` is measured here.

A row names the devices on which a condition gives other results than NumPy, and what is promised
nevertheless. Both are measured on every device of the machine, and a wrong row fails. After a
change here ``python tests/test_differences.py`` rewrites the page's table.
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
    """Those with another answer than NumPy's, ``library`` or ``library:platform``; none where any
    may have."""
    same: Callable[[pa.Device], bool]
    """Whether a device gives NumPy's answer."""
    promised: Callable[[pa.Device], bool]
    """Whether a device keeps what is promised although answers differ."""


def there(values: Any, device: pa.Device) -> pa.Array:
    return pa.asarray(values, device=device)


def here(x: pa.Array) -> np.ndarray[Any, Any]:
    values: np.ndarray[Any, Any] = np.array(x.to_device("numpy").native)
    return values


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
        if not all(np.allclose(here(result), expected, 1e-6, 0) for result, expected in pairs):
            return False
    return True


def subnormal_movement(device: pa.Device) -> bool:
    """Moves without arithmetic keep subnormal numbers."""
    for dtype in _floats(device):
        x = _subnormal(dtype)
        y = there(x, device)
        pairs = (
            *((y, x), (-y, -x), (abs(y), abs(x)), (y[::-1], x[::-1]), (pa.flip(y), x[::-1])),
            *((pa.where(there(x > 1, device), y, -y), -x), (pa.asarray(y, copy=True), x)),
            *((pa.concat([y, y]), np.concat([x, x])), (y[there([2, 0], device)], x[[2, 0]])),
        )
        if not all(np.array_equal(here(result), expected) for result, expected in pairs):
            return False
    return True


# --- undefined casts ------------------------------------------------------------------------------

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def _casts(device: pa.Device) -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Return casts on a device and with NumPy: four undefined ones, then three others."""
    available = pa.__array_namespace_info__().dtypes(device=device)
    pairs = []
    for dtype in _floats(device):
        x = np.asarray([np.nan, np.inf, -np.inf, 1e30, 0.0, 1.75, 100.0], dtype)
        for name in INTEGERS:
            if name in available:
                result = here(pa.astype(there(x, device), available[name]))
                with np.errstate(invalid="ignore"):
                    pairs.append((result, x.astype(name)))
    return pairs


def casts_equal(device: pa.Device) -> bool:
    """Casts equal NumPy's on this machine, including undefined ones."""
    return all(np.array_equal(result, expected) for result, expected in _casts(device))


def defined_casts_equal(device: pa.Device) -> bool:
    """An undefined cast raises nothing, and the other elements equal NumPy's."""
    return all(
        result.dtype == expected.dtype and np.array_equal(result[4:], expected[4:])
        for result, expected in _casts(device)
    )


# --- square roots ---------------------------------------------------------------------------------


def _half(x: pa.Array) -> np.ndarray[Any, Any]:
    with np.errstate(invalid="ignore"):
        return here(pa.pow(x, 0.5))


def _roots(device: pa.Device) -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Return powers of one half on a device, and the standard's values."""
    return [
        (
            _half(there(np.asarray([-np.inf, -0.0, 6.25, -1.0], dtype), device)),
            np.asarray([np.inf, 0.0, 2.5, np.nan], dtype),
        )
        for dtype in _floats(device)
    ]


def roots_equal(device: pa.Device) -> bool:
    """Powers of one half follow the standard's rules for powers."""
    return all(
        np.array_equal(result, expected, equal_nan=True) and not np.signbit(result[1])
        for result, expected in _roots(device)
    )


def finite_roots_equal(device: pa.Device) -> bool:
    """Roots of other numbers than -inf equal NumPy's, and that of a zero is a zero."""
    return all(
        np.array_equal(result[1:], expected[1:], equal_nan=True)
        for result, expected in _roots(device)
    )


# --- zeros ----------------------------------------------------------------------------------------


def _extrema(device: pa.Device) -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Return extrema of zeros of both signs, and of other numbers, on a device and in NumPy."""
    pairs = []
    for dtype in _floats(device):
        x, y = np.asarray([-0.0, 0.0, 1.0, np.nan], dtype), np.asarray([0.0, -0.0, 2.0, 3.0], dtype)
        operands = there(x, device), there(y, device)
        pairs += [
            (here(getattr(pa, name)(*operands)), getattr(np, name)(x, y))
            for name in ("maximum", "minimum")
        ]
    return pairs


def zeros_equal(device: pa.Device) -> bool:
    """The larger of two zeros has the sign that NumPy gives it."""
    return all(
        np.array_equal(np.signbit(result[:2]), np.signbit(expected[:2]))
        for result, expected in _extrema(device)
    )


def extrema_equal(device: pa.Device) -> bool:
    """Extrema equal NumPy's, up to the sign of a zero."""
    return all(
        np.array_equal(result, expected, equal_nan=True) for result, expected in _extrema(device)
    )


# --- default dtypes -------------------------------------------------------------------------------


def _created(device: pa.Device) -> dict[str, object]:
    with pa.device(device):
        return {
            "real floating": pa.asarray(1.0).dtype,
            "complex floating": pa.asarray(1j).dtype,
            "integral": pa.asarray(1).dtype,
            "indexing": pa.argmax(pa.ones(2)).dtype,
        }


def defaults_equal(device: pa.Device) -> bool:
    """Numbers become arrays of NumPy's dtypes."""
    return _created(device) == _created(pa.device("numpy"))


def defaults_reported(device: pa.Device) -> bool:
    """The standard's inquiry reports the defaults; an unsupported dtype raises an error."""
    info = pa.__array_namespace_info__()
    if dict(info.default_dtypes(device=device)) != _created(device):
        return False
    for name in ("float64", "complex128", "uint64"):
        if name not in info.dtypes(device=device):
            with pytest.raises(pa.DTypeNotSupportedError, match=name):
                pa.ones(1, dtype=name, device=device)
    return True


# --- views ----------------------------------------------------------------------------------------


def _written(device: pa.Device) -> tuple[list[float], list[float], list[float]]:
    """Write to an array with a view; return both, and the values of an alias."""
    x = pa.zeros(3, device=device)
    alias, view = x, x[:2]
    x[0] = 1
    return x.tolist(), view.tolist(), alias.tolist()


def views_equal(device: pa.Device) -> bool:
    """Writes to an array are seen in its view, and the reverse."""
    y = pa.zeros(2, device=device)
    pa.reshape(y, (2, 1))[1, 0] = 3
    return _written(device)[1] == [1, 0] and y.tolist() == [0, 3]


def arrays_hold_their_writes(device: pa.Device) -> bool:
    """A write is seen under all names of an array, and not in a copy."""
    x = np.zeros(2)
    y = pa.asarray(x.astype(pa.ones(1, device=device).dtype), device=device, copy=True)
    x[0] = 5
    return _written(device)[0] == _written(device)[2] == [1, 0, 0] and y.tolist() == [0, 0]


# --- shared memory --------------------------------------------------------------------------------


def _shared(device: pa.Device, *, copy: bool | None) -> bool:
    x = np.zeros(64, pa.ones(1, device=device).dtype)
    y = pa.asarray(x, device=device, copy=copy)
    x[0] = 1
    return bool(y[0] == 1)


def memory_equal(device: pa.Device) -> bool:
    """``asarray`` shares memory with a NumPy array."""
    return _shared(device, copy=None)


def copies_are_separate(device: pa.Device) -> bool:
    """``copy=True`` shares no memory."""
    return not _shared(device, copy=True)


# --- factors of matrices --------------------------------------------------------------------------

MATRIX = np.asarray([[4.0, 1.0, -2.0], [1.0, 2.0, 0.5], [-2.0, 0.5, 3.0]])


def factors_equal(device: pa.Device) -> bool:
    """Vectors of factors have NumPy's signs."""
    x = there(MATRIX.astype(pa.ones(1, device=device).dtype), device)
    return all(
        np.array_equal(np.sign(here(result)), np.sign(expected))
        for result, expected in (
            (pa.linalg.eigh(x)[1], np.linalg.eigh(MATRIX)[1]),
            (pa.linalg.svd(x)[0], np.linalg.svd(MATRIX)[0]),
            (pa.linalg.qr(x)[0], np.linalg.qr(MATRIX)[0]),
        )
    )


def factors_multiply(device: pa.Device) -> bool:
    """The factors' product is the matrix; values are in NumPy's order."""
    x = there(MATRIX.astype(pa.ones(1, device=device).dtype), device)
    q, r = pa.linalg.qr(x)
    values, vectors = pa.linalg.eigh(x)
    u, s, vh = pa.linalg.svd(x)
    pairs = (
        *((q @ r, MATRIX), (vectors * values @ vectors.T, MATRIX), (u * s @ vh, MATRIX)),
        *((values, np.linalg.eigvalsh(MATRIX)), (s, np.linalg.svdvals(MATRIX))),
    )
    return all(np.allclose(here(result), expected, 1e-4, 1e-5) for result, expected in pairs)


# --- indices in compiled functions ----------------------------------------------------------------


def _compiled(device: pa.Device, index: int) -> list[float | str]:
    """Return sums over rows at an index in compiled functions, or the errors."""

    def counted(indices: pa.Array, table: pa.Array) -> pa.Array:
        return pa.sum(2 * pa.kernels.embedding(indices, table))

    def taken(indices: pa.Array, table: pa.Array) -> pa.Array:
        return pa.sum(2 * pa.take(table, indices, axis=0))

    def indexed(indices: pa.Array, table: pa.Array) -> pa.Array:
        return pa.sum(2 * table[indices])

    def along(indices: pa.Array, table: pa.Array) -> pa.Array:
        return pa.sum(2 * pa.take_along_axis(table, indices[:, None], axis=0))

    table, results = pa.ones((2, 3), device=device), list[float | str]()
    for function in map(pa.compile, (counted, taken, indexed, along)):
        function(pa.asarray([0], device=device), table)
        try:
            results.append(float(function(pa.asarray([index], device=device), table)))
        except IndexError:
            results.append("IndexError")
    return results


def bounds_equal(device: pa.Device) -> bool:
    """An index out of bounds is an error in a compiled function."""
    return _compiled(device, 2) == ["IndexError"] * 4


def eager_bounds_checked(device: pa.Device) -> bool:
    """Calls outside compiled functions raise, and calls within bounds are right."""
    table, index = pa.ones((2, 3), device=device), pa.asarray([2], device=device)
    with pytest.raises(IndexError):
        pa.kernels.embedding(index, table)
    with pytest.raises(IndexError):
        pa.take(table, index, axis=0)
    with pytest.raises(IndexError):
        table[index]
    return _compiled(device, 1) == [6, 6, 6, 6]


# --- reciprocals of reciprocals -------------------------------------------------------------------


def _inverted_twice(device: pa.Device) -> list[np.ndarray[Any, Any]]:
    """Return numbers and the reciprocals of their reciprocals, without and with compilation."""
    x = there(np.random.default_rng(0).uniform(0.1, 100, 500).astype(np.float32), device)

    def twice(x: pa.Array) -> pa.Array:
        return pa.reciprocal(pa.reciprocal(x))

    return [here(x), here(twice(x)), here(pa.compile(twice)(x))]


def inverses_computed(device: pa.Device) -> bool:
    """Whether compiled reciprocals of reciprocals are rounded, not the numbers themselves."""
    x, eager, compiled = _inverted_twice(device)
    assert not np.array_equal(eager, x)
    return not np.array_equal(compiled, x)


def inverses_close(device: pa.Device) -> bool:
    """Compiled reciprocals of reciprocals differ by rounding."""
    _, eager, compiled = _inverted_twice(device)
    return bool(np.all(abs(eager - compiled) <= 2 * np.finfo(np.float32).eps * eager))


# --- repeated indices -----------------------------------------------------------------------------


def _assigned(device: pa.Device) -> list[tuple[list[float], list[set[float]]]]:
    """Return elements after assignments to repeated indices, and the values that each may have."""
    values = np.arange(3000, dtype=np.float32)
    results = []
    for indices in (np.arange(3000) % 7, np.zeros(3000, int)):
        x = pa.full(8, -1.0, dtype=pa.float32, device=device)
        x[there(indices, device)] = there(values, device)
        results.append(
            (x.tolist(), [set(values[indices == n].tolist()) or {-1.0} for n in range(8)])
        )
    return results


def last_assignments_remain(device: pa.Device) -> bool:
    """The last value of each index is stored."""
    return all(x == [max(options) for options in allowed] for x, allowed in _assigned(device))


def assignments_remain(device: pa.Device) -> bool:
    """One of the values of each index is stored, and other elements are unchanged."""
    return all(
        n in options
        for x, allowed in _assigned(device)
        for n, options in zip(x, allowed, strict=True)
    )


# --- integers that wrap around --------------------------------------------------------------------


DIFFERENCES = {
    "default": Row(
        "dtypes of Python numbers, and which dtypes exist",
        "Devices without float64 (MLX, Metal, some GPUs, JAX without its 64-bit mode) use float32 "
        "and complex64, in JAX also int32, instead of float64, complex128 and int64. "
        "`pa.__array_namespace_info__()` reports them. A dtype that a device lacks raises an error "
        "that names the nearest supported dtype.",
        (),
        defaults_equal,
        defaults_reported,
    ),
    "view": Row(
        "writing to an array that has views, or to a view",
        "Native arrays are immutable: `x[...] = y` and `x += y` give `x` a new one, and earlier "
        "views do not see the change. Writing to a view does not change its base array.",
        ("jax", "mlx"),
        views_equal,
        arrays_hold_their_writes,
    ),
    "memory": Row(
        "`asarray` of a NumPy array in the device's own memory",
        "Whether memory is shared, so that writing to one changes the other. `copy=True` never "
        "shares memory.",
        (),
        memory_equal,
        copies_are_separate,
    ),
    "zero": Row(
        "`maximum` and `minimum` of 0.0 and -0.0",
        "The sign of the zero, which IEEE 754 does not specify.",
        (),
        zeros_equal,
        extrema_equal,
    ),
    "factor": Row(
        "`linalg.eigh`, `svd` and `qr`",
        "Signs of the vectors, and vectors of equal values: factors are not unique. Their product "
        "is the matrix, and the order of the values is the same.",
        (),
        factors_equal,
        factors_multiply,
    ),
    "bounds": Row(
        "an out-of-bounds index in an index array, in a compiled function (`take`, "
        "`take_along_axis`, `x[indices]`, `kernels.embedding`, `kernels.cross_entropy`)",
        "Not always an `IndexError`: programs compiled by XLA and Metal cannot raise errors. JAX "
        "returns the nearest element or NaN, and MLX reads out of bounds. PyTorch's compiler "
        "checks on CPUs, except for `take_along_axis` and gradients. Without compilation, all "
        "raise.",
        ("jax", "mlx", "torch"),
        bounds_equal,
        eager_bounds_checked,
    ),
    "repeated": Row(
        "an assignment `x[indices] = values` to repeated indices",
        "Which of the values is stored. NumPy stores the last one; dpnp and GPUs assign in "
        "parallel, and calls may differ. `x.at[indices].add(values)` and its kin count all.",
        (),
        last_assignments_remain,
        assignments_remain,
    ),
    "subnormal": Row(
        "subnormal numbers: below 1.2e-38 in float32, below 2.2e-308 in float64",
        "Arithmetic, comparisons, conversions and most functions treat them as zero, and results "
        "of that size become zero: XLA "
        "[sets this processor mode](https://github.com/jax-ml/jax/issues/16200) and does not have "
        "an option to disable it. Moving, copying, joining, indexing, `where`, `negative` and "
        "`abs` preserve them.",
        ("jax:cpu",),
        subnormal_arithmetic,
        subnormal_movement,
    ),
    "cast": Row(
        "`astype` of NaN, infinities and out-of-range numbers to an integer dtype",
        "The resulting integer, which in NumPy depends on the processor. It does not raise an "
        "error, and the other elements are correct.",
        (),
        casts_equal,
        defined_casts_equal,
    ),
    "root": Row(
        "`x ** 0.5` of negative infinity and negative zero",
        "NaN and -0.0 if the library computes a square root, infinity and 0.0 if it does not.",
        (),
        roots_equal,
        finite_roots_equal,
    ),
    "inverse": Row(
        "`reciprocal(reciprocal(x))`, in a compiled function",
        "XLA takes it for `x`, also where the reciprocal is zero or infinite; the calls round "
        "twice.",
        ("jax",),
        inverses_computed,
        inverses_close,
    ),
}


@pytest.mark.parametrize("row", list(DIFFERENCES))
def test_a_row_of_the_page(row: str, device: str) -> None:
    pa_device, claims = pa.device(device), DIFFERENCES[row]
    assert claims.promised(pa_device), "the page promises this for every device"
    if claims.devices:
        names = {pa_device.library, f"{pa_device.library}:{pa_device.platform}"}
        assert claims.same(pa_device) == names.isdisjoint(claims.devices)


def table() -> str:
    """Return the page's table."""
    lines = ["| condition | what differs | devices | test |", "|---|---|---|---|"]
    for name, row in DIFFERENCES.items():
        devices = ", ".join(f"`{device}`" for device in row.devices) or "all"
        lines.append(f"| {row.condition} | {row.differs} | {devices} | `{name}` |")
    return "\n".join(lines)


def _on_page(text: str) -> str:
    match = re.search(r"^\| condition .*(?:\n\|.*)*", text, re.M)
    assert match is not None
    return match[0]


def test_the_page_has_these_rows() -> None:
    if not PAGE.is_file():
        pytest.skip(f"{PAGE.name} is not beside the tests")
    assert _on_page(PAGE.read_text("utf-8")) == table(), "run python tests/test_differences.py"


if __name__ == "__main__":
    page = PAGE.read_text("utf-8")
    PAGE.write_text(page.replace(_on_page(page), table()), "utf-8")
