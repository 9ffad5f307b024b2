"""Complex functions by parts: the standard's special cases and drawn values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from portarray._dispatch import native_functions
from portarray.backends import registry
from portarray.backends.composed import arithmetic, exponential, trigonometric

ulp = pytest.importorskip("portarray_conformance.ulp")
ELEMENTWISE = pytest.importorskip("portarray_conformance.bounds").ELEMENTWISE
COMPLEX_UNARY = pytest.importorskip("portarray_conformance.special_complex").COMPLEX_UNARY

Values = np.ndarray[Any, Any]

FUNCTIONS = {
    "exp": exponential.exp_parts,
    "expm1": exponential.expm1_parts,
    "log": exponential.log_parts,
    "log10": exponential.log10_parts,
    "log1p": exponential.log1p_parts,
    "log2": exponential.log2_parts,
    "sqrt": exponential.sqrt_parts,
    "acos": trigonometric.acos_parts,
    "acosh": trigonometric.acosh_parts,
    "asin": trigonometric.asin_parts,
    "asinh": trigonometric.asinh_parts,
    "atan": trigonometric.atan_parts,
    "atanh": trigonometric.atanh_parts,
    "cos": trigonometric.cos_parts,
    "cosh": trigonometric.cosh_parts,
    "sin": trigonometric.sin_parts,
    "sinh": trigonometric.sinh_parts,
    "tan": trigonometric.tan_parts,
    "tanh": trigonometric.tanh_parts,
    "sign": arithmetic.sign_parts,
}


def log1p(z: Values) -> Values:
    """Return ``log(1 + z)`` accurately near 0, where NumPy loses digits."""
    a, b = z.real, z.imag
    excess = a * (2 + a) + b * b
    near = np.abs(excess) < 0.5
    size = np.where(near, np.log1p(np.where(near, excess, 0)) / 2, np.log(np.hypot(1 + a, b)))
    return np.asarray(size + 1j * np.arctan2(b, 1 + a))


REFERENCES = {
    **{name: getattr(np, name) for name in ("acos", "asin", "atan", "acosh", "asinh", "atanh")},
    **{name: getattr(np, name) for name in ("cos", "sin", "tan", "cosh", "sinh", "tanh")},
    **{name: getattr(np, name) for name in ("exp", "expm1", "log", "log10", "log2", "sqrt")},
    "sign": lambda z: z / np.abs(z),
    "log1p": log1p,
}


class Side:
    """A library's namespace for real arrays, and its conversions."""

    def __init__(self, library: str) -> None:
        backend = registry.load_backend(library)
        self.device = backend.native_device("cpu", 0)
        self.transfer = backend
        self.xp = native_functions.NativeFunctions(backend, self.device).namespace

    def parts(self, name: str, z: Values) -> Values:
        """Return a function of complex numbers, assembled bit for bit from its parts."""
        operands = [
            self.transfer.from_host(part.copy(), self.device, copy=None)
            for part in (z.real, z.imag)
        ]
        out = np.empty_like(z)
        with np.errstate(all="ignore"):
            actual = FUNCTIONS[name](self.xp, *operands)
        out.real, out.imag = (self.transfer.to_host(part, copy=None) for part in actual)
        return out


@pytest.fixture(scope="module", params=["numpy", "torch", "mlx"])
def side(request: pytest.FixtureRequest) -> Side:
    pytest.importorskip(request.param)
    return Side(request.param)


def drawn(dtype: str) -> Values:
    """Draw numbers of all magnitudes, near the unit circle, 1 and both axes."""
    rng = np.random.default_rng(17)
    count, far = 2000, 20 if dtype == "complex64" else 150

    def logspaced(low: float, high: float) -> Values:
        sizes: Values = 10 ** rng.uniform(low, high, count)
        signs: Values = rng.choice([-1, 1], count)
        both: Values = sizes * signs
        return both

    turns = np.exp(1j * rng.uniform(-np.pi, np.pi, count))
    limit = 600 if dtype == "complex128" else 80
    groups = [
        *(rng.uniform(-s, s, count) + 1j * rng.uniform(-s, s, count) for s in (1, 3, 30, limit)),
        logspaced(-far, far) + 1j * logspaced(-far, far),
        logspaced(-1.8 * far, 1.8 * far) + 1j * logspaced(-1.8 * far, 1.8 * far),
        turns * (1 + logspaced(-15, -1)),
        1 + turns * 10 ** rng.uniform(-15, -1, count),
        rng.uniform(-3, 3, count) + 1j * logspaced(-30, -1),
        logspaced(-30, -1) + 1j * rng.uniform(-3, 3, count),
    ]
    actual: Values = np.concatenate(groups).astype(dtype)
    return actual


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_drawn_values_are_within_the_bounds_for_complex_numbers(
    side: Side, name: str, dtype: str
) -> None:
    if dtype == "complex128" and not ulp.WIDE_LONGDOUBLE:
        pytest.skip("this machine has no format wider than float64")
    z = drawn(dtype)
    with np.errstate(all="ignore"):
        want = REFERENCES[name](ulp.wide(z))
        near_overflow = ~(np.abs(want) < np.finfo(dtype).max / 4)
        error = np.where(near_overflow, 0, ulp.error(side.parts(name, z), want))
    worst = int(error.argmax())
    bound = ELEMENTWISE[name].complex / 2
    assert error[worst] <= bound, f"{name}({z[worst]!r}) is {error[worst]:.1f} ULP off"


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name in COMPLEX_UNARY])
def test_every_special_case_of_the_standard(side: Side, name: str, dtype: str) -> None:
    rows = COMPLEX_UNARY[name]
    got = side.parts(name, np.asarray([complex(*row.operand) for row in rows], dtype))
    for value, row in zip(got, rows, strict=True):
        for part, want, free in zip(
            (value.real, value.imag), row.want, row.free_signs, strict=True
        ):
            message = f"{name}({complex(*row.operand)!r}) gave {value!r}"
            actual = np.abs(part) if free else part
            expected = np.asarray(abs(want) if free else want, part.dtype)
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=0, err_msg=message)
            if expected == 0 and not free:
                assert np.signbit(actual) == np.signbit(expected), message


def test_signs_of_zeros_and_infinities(side: Side) -> None:
    inf = np.inf
    z = np.asarray([complex(-0.0, -0.0), complex(inf, -2), complex(3, -inf)], "complex128")
    expected = np.asarray([0, complex(1, -0.0), complex(0, -1)])
    actual = side.parts("sign", z)
    np.testing.assert_array_equal(actual, expected)
    np.testing.assert_array_equal(np.signbit(actual.real), np.signbit(expected.real))
    np.testing.assert_array_equal(np.signbit(actual.imag), np.signbit(expected.imag))
    assert np.isnan(side.parts("sign", np.asarray([complex(inf, inf)]))).all()


def test_powers_of_zero_and_to_the_zero(side: Side) -> None:
    pairs = [(0, 0), (0, 2), (0, 1 + 1j), (np.inf, 0), (complex(np.nan, 1), 0), (1j, 2)]
    x1, x2 = (
        side.transfer.from_host(np.asarray(x, "complex64"), side.device, copy=None)
        for x in zip(*pairs, strict=True)
    )
    power = side.transfer.from_host(
        np.asarray([np.nan] * 5 + [-1], "complex64"), side.device, copy=None
    )
    actual = side.transfer.to_host(exponential.pow_of_zero(side.xp, x1, x2, power), copy=None)
    np.testing.assert_array_equal(actual, np.asarray([1, 0, 0, 1, 1, -1], "complex64"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_hypot_has_no_overflow_on_the_way(side: Side, dtype: str) -> None:
    largest, least = float(np.finfo(dtype).max), float(np.finfo(dtype).smallest_normal)
    special = [0.0, -0.0, 1.0, 3.0, -4.0, np.inf, -np.inf, np.nan, largest / 2, least, -least / 2]
    rng = np.random.default_rng(3)
    x1 = np.asarray([a for a in special for _ in special] + list(rng.normal(size=500)), dtype)
    x2 = np.asarray([b for _ in special for b in special] + list(rng.normal(size=500)), dtype)
    operands = [side.transfer.from_host(x, side.device, copy=None) for x in (x1, x2)]
    with np.errstate(all="ignore"):
        actual = side.transfer.to_host(trigonometric.hypot_of(side.xp, *operands), copy=None)
        expected = np.hypot(x1, x2)
    np.testing.assert_allclose(actual, expected, rtol=4 * float(np.finfo(dtype).eps), atol=0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logaddexp_of_infinities_and_far_numbers(side: Side, dtype: str) -> None:
    special = [0.0, -1.0, 2.5, 80.0, -80.0, 1e4, np.inf, -np.inf, np.nan]
    x1 = np.asarray([a for a in special for _ in special], dtype)
    x2 = np.asarray([b for _ in special for b in special], dtype)
    operands = [side.transfer.from_host(x, side.device, copy=None) for x in (x1, x2)]
    with np.errstate(all="ignore"):
        actual = side.transfer.to_host(exponential.logaddexp_of(side.xp, *operands), copy=None)
        expected = np.logaddexp(x1, x2)
    np.testing.assert_allclose(actual, expected, rtol=8 * float(np.finfo(dtype).eps), atol=0)
