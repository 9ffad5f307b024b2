"""The measure of errors, at ordinary numbers and at the ends of a format."""

from __future__ import annotations

import math

import numpy as np
import pytest
from portarray_conformance import ulp

INF, NAN = math.inf, math.nan


def error(got: float, want: float, dtype: str = "float32", *, signed_zeros: bool = True) -> float:
    exact = np.array([want], dtype=np.float64 if dtype == "float32" else np.longdouble)
    errors = ulp.error(np.array([got], dtype=dtype), exact, signed_zeros=signed_zeros)
    return float(errors[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("value", [1.0, -1.0, 1.5, 2.0, 1e-30, 3e30])
def test_a_neighbour_is_one_ulp_away(value: float, dtype: str) -> None:
    x = np.array(value, dtype=dtype)
    away = np.nextafter(x, np.copysign(np.array(INF, dtype=dtype), x))
    assert error(float(away), float(x), dtype) == 1
    assert error(float(x), float(x), dtype) == 0


def test_a_correctly_rounded_answer_is_at_most_half_an_ulp_off() -> None:
    rng = np.random.default_rng(0)
    exact = rng.standard_normal(500) * 10.0 ** rng.integers(-30, 30, 500)
    assert np.max(ulp.error(exact.astype(np.float32), exact)) <= 0.5


@pytest.mark.parametrize(
    ("got", "want", "expected"),
    [
        (NAN, NAN, 0),
        (INF, INF, 0),
        (1.0, NAN, INF),
        (NAN, 1.0, INF),
        (-INF, INF, INF),
        (1.0, INF, INF),
        (3.4028234663852886e38, INF, INF),
        (INF, 1e300, 0),
        (INF, 3.4028235677973366e38, 0.5),  # halfway to the next power of two
        (INF, 3.4028234663852886e38, 1),
        (0.0, -0.0, INF),
        (-0.0, -0.0, 0),
        (0.0, 1e-39, 0),
        (0.0, 1e-30, None),
    ],
)
def test_the_ends_of_the_format(got: float, want: float, expected: float | None) -> None:
    errors = error(got, want)
    if expected is None:
        assert errors > 1e6
    else:
        assert errors == expected


def test_signs_of_zeros_may_be_ignored() -> None:
    assert error(0.0, -0.0, signed_zeros=False) == 0


def test_complex_errors_are_distances_in_the_plane() -> None:
    got = np.array([3 + 4j + 2**-21], dtype=np.complex64)
    want = np.array([3 + 4j], dtype=np.complex128)
    assert ulp.error(got, want)[0] == 1  # one ULP at 5


def test_complex_components_that_are_not_finite_are_compared_apart() -> None:
    got = np.array([complex(INF, NAN), complex(INF, 1)], dtype=np.complex64)
    want = np.array([complex(INF, NAN), complex(INF, NAN)], dtype=np.complex128)
    assert ulp.error(got, want).tolist() == [0, INF]


def test_wide_formats_are_wider() -> None:
    assert ulp.wide(np.ones(1, np.float32)).dtype == np.float64
    assert ulp.wide(np.ones(1, np.complex64)).dtype == np.complex128
    assert ulp.wide(np.ones(1, np.int64)).dtype == object
