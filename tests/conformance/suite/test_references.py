"""The references against mpmath in higher precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from portarray_conformance import ulp
from portarray_conformance.promotion import PAIRS, promote
from portarray_conformance.slices import along, first_extreme, scan
from portarray_conformance.suite import exponential, fft, hyperbolic, linalg, trigonometric
from portarray_conformance.suite.arithmetic import BINARY_ROWS

mpmath = pytest.importorskip("mpmath")

NAMES: dict[str, Callable[[Any], Any]] = {
    "acos": mpmath.acos,
    "acosh": mpmath.acosh,
    "asin": mpmath.asin,
    "asinh": mpmath.asinh,
    "atan": mpmath.atan,
    "atanh": mpmath.atanh,
    "cos": mpmath.cos,
    "cosh": mpmath.cosh,
    "exp": mpmath.exp,
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log10": mpmath.log10,
    "log1p": mpmath.log1p,
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "sin": mpmath.sin,
    "sinh": mpmath.sinh,
    "tan": mpmath.tan,
    "tanh": mpmath.tanh,
}
REFERENCES = {
    row.name: row
    for rows in (exponential.UNARY_ROWS, hyperbolic.UNARY_ROWS, trigonometric.UNARY_ROWS)
    for row in rows
}
POINTS = {"acosh": (1.0625, 3.0, 40.0), "log1p": (-0.75, 1e-9, 0.5), "log": (1e-9, 0.75, 9.0)}
PLANE = (0.75 + 0.5j, -1.25 + 2.5j, 3 - 1j)


def test_every_function_of_a_library_is_compared() -> None:
    assert set(REFERENCES) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_real_references_are_far_better_than_the_bound(name: str) -> None:
    for point in POINTS.get(name, (1e-9, 0.3125, 0.75)):
        x = np.array([point])
        got = REFERENCES[name].reference(ulp.wide(x))[0]
        with mpmath.workdps(40):
            want = NAMES[name](mpmath.mpf(point))
            scale = abs(want) * mpmath.mpf(2) ** -52
            error = abs(_exact(got) - want) / scale
        assert error < 0.01 + ulp.REFERENCE_ERROR, (point, got, want)


@pytest.mark.parametrize("name", NAMES)
def test_complex_references_are_far_better_than_the_bound(name: str) -> None:
    for point in PLANE:
        got = REFERENCES[name].reference(ulp.wide(np.array([point])))[0]
        with mpmath.workdps(40):
            want = NAMES[name](mpmath.mpc(point))
            errors = mpmath.mpc(_exact(got.real), _exact(got.imag))
            error = abs(errors - want) / (abs(want) * mpmath.mpf(2) ** -52)
        assert error < 0.05 + 8 * ulp.REFERENCE_ERROR, (point, got, want)


def _exact(value: Any) -> Any:
    """Convert a longdouble to mpmath exactly, as the sum of two doubles."""
    high = float(value)
    return mpmath.mpf(high) + mpmath.mpf(float(value - type(value)(high)))


@pytest.mark.parametrize(
    ("x1", "x2"), [(1.0, 2.0), (1.0, -2.0), (0.0, 1.0), (0.0, -1.0), (-0.0, 1.0), (-5e-324, 1.0)]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nextafter_by_counting_agrees_with_numpy(x1: float, x2: float, dtype: str) -> None:
    row = next(r for r in BINARY_ROWS if r.name == "nextafter")
    a, b = np.array([x1], dtype=dtype), np.array([x2], dtype=dtype)
    assert row.reference(a, b).tobytes() == np.nextafter(a, b).tobytes()


@pytest.mark.parametrize(
    ("x1", "x2", "want"), [(7, 2, 1), (-7, 2, 1), (7, -2, -1), (-7, -2, -1), (5.5, -2.0, -0.5)]
)
def test_remainder_has_the_sign_of_the_divisor(x1: float, x2: float, want: float) -> None:
    row = next(r for r in BINARY_ROWS if r.name == "remainder")
    got = row.reference(np.array([x1], dtype=np.longdouble), np.array([x2], dtype=np.longdouble))
    assert got.tolist() == [want]


def test_the_transform_is_the_defining_sum() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 5)) + 1j * rng.standard_normal((3, 5))
    got = fft._sums(ulp.wide(x), 1, -1)
    assert np.allclose(got.astype(complex), np.fft.fft(x, axis=1), rtol=1e-13)
    mirrored = fft._hermitian(np.fft.rfft(x.real, axis=1), 5, 1)
    assert np.allclose(mirrored, np.fft.fft(x.real, axis=1))


def test_the_determinant_is_the_expansion() -> None:
    x = np.random.default_rng(0).standard_normal((2, 4, 4))
    assert np.allclose(linalg._determinant(x), np.linalg.det(x))


def test_reductions_slice_by_slice() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    assert np.array_equal(along(x, (0, -1), np.sum), x.sum(axis=(0, 2)))
    assert np.array_equal(along(x, 1, np.max, keepdims=True), x.max(axis=1, keepdims=True))
    assert along(x, None, np.sum).shape == ()
    assert np.array_equal(scan(x, 1, np.add, 0)[:, 1:], np.cumsum(x, axis=1))


def test_the_first_extreme_wins_and_nan_before_all() -> None:
    assert first_extreme([1, 3, 3, 2], lambda a, b: a > b) == 1
    assert first_extreme([1, 3, float("nan"), 9], lambda a, b: a > b) == 2


def test_promotion_is_numpys_where_the_standard_defines_it() -> None:
    for first, second, result in PAIRS:
        assert np.promote_types(first, second) == result
        assert promote(second, first) == result
    for first, second in (("uint64", "int8"), ("bool", "int8"), ("int64", "float32")):
        assert promote(first, second) is None
