"""Powers of integers and by Python scalars, parts of complex numbers, zeros and infinities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from portarray_conformance.special_complex import COMPLEX_UNARY

from portarray._opencl.device import Device
from portarray.clarray import arithmetic, exponential, trigonometric
from portarray.clarray import complex as parts
from portarray.clarray.engine.transfer import from_numpy, to_numpy

pytestmark = pytest.mark.drawn_devices(1)

NumpyArray = npt.NDArray[Any]


def same(got: NumpyArray, want: NumpyArray) -> bool:
    """Return whether real numbers are equal to four ULP, zeros and NaN exactly."""
    close = np.isclose(got, want, rtol=4 * float(np.finfo(got.dtype).eps), atol=0, equal_nan=True)
    return bool(np.all(close & ((want != 0) | (np.signbit(got) == np.signbit(want)))))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    "name",
    sorted(
        name for name in COMPLEX_UNARY if hasattr(exponential, name) or hasattr(trigonometric, name)
    ),
)
def test_complex_special_cases(device: Device, name: str, dtype: str) -> None:
    function = getattr(exponential, name, None) or getattr(trigonometric, name)
    rows = COMPLEX_UNARY[name]
    inputs = np.empty(len(rows), dtype)
    inputs.real = [row.operand[0] for row in rows]
    inputs.imag = [row.operand[1] for row in rows]
    got = to_numpy(function(from_numpy(inputs, device)))
    for position, row in enumerate(rows):
        for part, want, free in zip(
            (got[position].real, got[position].imag), row.want, row.free_signs, strict=True
        ):
            expected = np.asarray(abs(want) if free else want)
            result = np.asarray(abs(part) if free else part)
            assert same(result, expected), (
                f"{name}({row.operand}) is {got[position]}, wanted {row.want}"
            )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "int64"])
def test_powers_of_integers_wrap(device: Device, dtype: str) -> None:
    limits = np.iinfo(dtype)
    base = np.array([3, limits.min, limits.max, 0, 2, 7], dtype)
    exponent = np.array([5, 2, 3, 0, limits.bits - 1, 100], dtype)
    got = to_numpy(exponential.pow(from_numpy(base, device), from_numpy(exponent, device)))
    with np.errstate(over="ignore"):
        want = np.power(base, exponent)
    assert got.dtype == want.dtype
    assert np.array_equal(got, want)
    assert np.array_equal(to_numpy(exponential.pow(from_numpy(base, device), 2)), base * base)
    assert np.array_equal(
        to_numpy(exponential.pow(2, from_numpy(exponent, device))), np.power(base[4], exponent)
    )


def test_integers_have_no_negative_powers(device: Device) -> None:
    x = from_numpy(np.array([1, 2, 3], np.int16), device)
    with pytest.raises(ValueError, match="negative powers, got the exponent -1"):
        exponential.pow(x, -1)
    with pytest.raises(ValueError, match=r"negative elements\nHint: convert x1"):
        exponential.pow(x, from_numpy(np.array([1, 0, -2], np.int8), device))
    with pytest.raises(ValueError, match="negative elements"):
        exponential.pow(2, from_numpy(np.array([-1], np.int64), device))
    with pytest.raises(TypeError, match="float does not combine"):
        exponential.pow(x, 2.0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", [2, -1, 0.5, 2.0, 3, 0])
def test_scalar_exponents_keep_special_values(device: Device, dtype: str, exponent: float) -> None:
    x = np.array([-math.inf, -2.0, -0.0, 0.0, 0.25, math.inf, math.nan], dtype)
    scalar = to_numpy(exponential.pow(from_numpy(x, device), exponent))
    array = from_numpy(np.full(x.shape, exponent, dtype), device)
    assert scalar.dtype == dtype
    assert same(scalar, to_numpy(exponential.pow(from_numpy(x, device), array)))


def test_powers_in_place(device: Device) -> None:
    x = from_numpy(np.array([1.0, 2.0, 3.0], np.float32), device)
    assert exponential.power(x, 2, x) is x
    assert np.array_equal(to_numpy(x), [1, 4, 9])
    assert exponential.power(x, 1.5, x) is x
    assert np.allclose(to_numpy(x), [1, 8, 27], rtol=1e-6)


def test_parts_are_views(device: Device) -> None:
    values = (np.arange(12.0) + 1j * np.arange(12.0, 24.0)).astype(np.complex64).reshape(3, 4)
    x = from_numpy(values, device)[1:, ::2]
    assert np.array_equal(to_numpy(parts.real(x)), values.real[1:, ::2])
    assert np.array_equal(to_numpy(parts.imag(x)), values.imag[1:, ::2])
    assert parts.imag(x).storage is x.storage
    roots = to_numpy(exponential.sqrt(parts.imag(x)))
    assert np.array_equal(roots, np.sqrt(values.imag[1:, ::2]))
    assert np.array_equal(to_numpy(parts.conj(x)), values.conj()[1:, ::2])


def test_parts_of_real_numbers(device: Device) -> None:
    x = from_numpy(np.array([1, -2], np.int8), device)
    assert np.array_equal(to_numpy(parts.real(x)), [1, -2])
    assert np.array_equal(to_numpy(parts.conj(x)), [1, -2])
    with pytest.raises(TypeError, match="imag takes arrays of a complex"):
        parts.imag(x)
    with pytest.raises(TypeError, match="bool"):
        parts.real(from_numpy(np.array([True]), device))


def test_other_dtypes_are_refused(device: Device) -> None:
    whole = from_numpy(np.array([1, 2]), device)
    for function in (exponential.exp, exponential.sqrt, trigonometric.sin):
        with pytest.raises(TypeError, match=r"int64\nHint: convert with astype first"):
            function(whole)
    with pytest.raises(TypeError, match="complex128"):
        trigonometric.atan2(from_numpy(np.array([1j]), device), 1.0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exact_results(device: Device, dtype: str) -> None:
    powers = 2.0 ** np.arange(-120, 120)
    x = from_numpy(powers.astype(dtype), device)
    assert np.array_equal(to_numpy(exponential.log2(x)), np.arange(-120, 120))
    squares = np.arange(1000.0) ** 2
    roots = to_numpy(exponential.sqrt(from_numpy(squares.astype(dtype), device)))
    assert np.array_equal(roots, np.arange(1000))
    three = to_numpy(exponential.hypot(from_numpy(np.array([3e30], dtype), device), 4e30))
    assert np.allclose(three, 5e30, rtol=1e-6)


def test_logaddexp_of_equal_infinities(device: Device) -> None:
    x = from_numpy(np.array([-math.inf, math.inf, math.nan, 1000.0]), device)
    got = to_numpy(exponential.logaddexp(x, x))
    assert same(got, np.array([-math.inf, math.inf, math.nan, 1000.0 + math.log(2)]))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_products_and_quotients_of_infinities(device: Device, dtype: str) -> None:
    infinite = [
        complex(math.inf, 0),
        complex(0, -math.inf),
        complex(-math.inf, math.nan),
        complex(math.inf, math.inf),
    ]
    finite = [1 + 2j, -3j, 2.5 + 0j, -1 - 1j]
    x = from_numpy(np.array(infinite, dtype), device)
    y = from_numpy(np.array(finite, dtype), device)
    for result in (arithmetic.multiply(x, y), arithmetic.multiply(y, x), arithmetic.divide(x, y)):
        got = to_numpy(result)
        assert np.all(np.isinf(got.real) | np.isinf(got.imag)), got
    assert np.all(to_numpy(arithmetic.divide(y, x)) == 0)
    zero = from_numpy(np.zeros(4, dtype), device)
    got = to_numpy(arithmetic.divide(y, zero))
    assert np.all(np.isinf(got.real) | np.isinf(got.imag)), got


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_quotients_do_not_overflow_on_the_way(device: Device, dtype: str) -> None:
    top, low = float(np.finfo(dtype).max), float(np.finfo(dtype).smallest_normal)
    x = np.array([complex(top, top), complex(low, -low), complex(top, 0), complex(low, low)], dtype)
    y = np.array([complex(top, -top), complex(low, low), complex(2, 0), complex(top, top)], dtype)
    got = to_numpy(arithmetic.divide(from_numpy(x, device), from_numpy(y, device)))
    assert np.allclose(got, [1j, -1j, top / 2, 0], rtol=1e-6, atol=0)
