"""Exponential, circular and hyperbolic functions keep the ULP bounds of their docstrings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from portarray_conformance import ulp

from portarray import clarray as cl
from portarray._opencl.device import Device
from portarray.clarray import exponential, trigonometric
from portarray.clarray.array import Array
from portarray.clarray.engine.transfer import from_numpy, to_numpy

pytestmark = pytest.mark.drawn_devices(1)

NumpyArray = npt.NDArray[Any]

FUNCTIONS: dict[str, Callable[..., Array]] = {
    name: function
    for name in cl.__all__
    # By asking for it, which imports it.
    if getattr(function := getattr(cl, name), "__module__", "")
    in (exponential.__name__, trigonometric.__name__)
}
REFERENCES: dict[str, Callable[..., NumpyArray]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "expm1": np.expm1,
    "hypot": np.hypot,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "logaddexp": np.logaddexp,
    "pow": np.power,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}
PAIRS = ("atan2", "hypot", "logaddexp", "pow")
REAL_ONLY = ("atan2", "hypot", "logaddexp")
SIZE = 2000


def test_every_function_is_measured() -> None:
    assert set(REFERENCES) == set(FUNCTIONS)


def stated(name: str) -> tuple[float, float]:
    """Return the bounds for real and for complex numbers that a docstring states."""
    text = FUNCTIONS[name].__doc__ or ""
    result = re.search(r"Within\s+(\d+)\s+ULP(?:,\s+complex\s+within\s+(\d+))?", text)
    assert result, f"{name} states no bound"
    return float(result[1]), float(result[2] or 0)


def drawn(generator: np.random.Generator, dtype: str) -> NumpyArray:
    """Draw real numbers of every magnitude, many near 0, 1 and multiples of pi/2."""
    limits = np.finfo(dtype)
    sign = generator.choice([-1.0, 1.0], SIZE)
    bits = limits.bits
    parts = [
        generator.integers(0, 2**bits, SIZE, dtype=np.uint64).astype(f"u{bits // 8}").view(dtype),
        generator.uniform(-1, 1, SIZE),
        generator.uniform(-10, 10, SIZE),
        generator.uniform(-800, 800, SIZE),
        sign + 2.0 ** -generator.uniform(0, limits.nmant + 2, SIZE),
        sign * 2.0 ** -generator.uniform(0, 80, SIZE),
        np.pi / 2 * generator.integers(-3000, 3000, SIZE),
        [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, limits.max, -limits.max],
        [limits.tiny, -limits.tiny, limits.smallest_subnormal, -limits.smallest_subnormal],
    ]
    with np.errstate(over="ignore"):
        return np.concatenate([np.asarray(part).astype(dtype) for part in parts])


def measured(got: NumpyArray, want: NumpyArray) -> NumpyArray:
    """Return errors in ULP, allowing for the reference's error in float64."""
    errors = np.asarray(ulp.error(got, want))
    return np.maximum(errors - ulp.REFERENCE_ERROR, 0) if got.dtype.itemsize >= 8 else errors


def check(
    name: str, got: NumpyArray, errors: NumpyArray, bound: float, *arguments: NumpyArray
) -> None:
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound, (
        f"{name}({', '.join(repr(x[worst]) for x in arguments)}) is {got[worst]!r}, "
        f"{errors[worst]:.3g} ULP off; the docstring says {bound:g}"
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(set(REFERENCES) - set(PAIRS)))
def test_real(device: Device, name: str, dtype: str) -> None:
    x = drawn(np.random.default_rng(1), dtype)
    got = to_numpy(FUNCTIONS[name](from_numpy(x, device)))
    with np.errstate(all="ignore"):
        want = REFERENCES[name](ulp.wide(x))
    check(name, got, measured(got, want), stated(name)[0], x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PAIRS)
def test_pairs(device: Device, name: str, dtype: str) -> None:
    generator = np.random.default_rng(2)
    x1 = generator.permutation(drawn(generator, dtype))
    x2 = generator.permutation(drawn(generator, dtype))
    near = generator.uniform(0.5, 2, x1.size).astype(dtype)
    x1 = np.concatenate([x1, x1, near, np.abs(x1)])
    x2 = np.concatenate([x2, x2[::-1], x2, generator.uniform(-9, 9, x1.size // 4).astype(dtype)])
    x1 = x1[: x2.size]
    got = to_numpy(FUNCTIONS[name](from_numpy(x1, device), from_numpy(x2, device)))
    with np.errstate(all="ignore"):
        want = REFERENCES[name](ulp.wide(x1), ulp.wide(x2))
        errors = measured(got, want)
        if name == "logaddexp":  # relative to the larger operand where the sum cancels
            larger = np.maximum(np.abs(x1), np.abs(x2))
            absolute = np.abs(got - want) / ulp.unit(ulp.wide(larger), dtype)
            errors = np.where(np.isfinite(absolute), np.fmin(errors, absolute), errors)
    check(name, got, errors.astype(float), stated(name)[0], x1, x2)


@pytest.mark.parametrize("name", sorted(set(REFERENCES) - set(PAIRS)))
def test_half_precision_is_rounded_from_single(device: Device, name: str) -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    got = to_numpy(FUNCTIONS[name](from_numpy(every, device)))
    with np.errstate(all="ignore"):
        want = REFERENCES[name](every.astype(np.float64)).astype(np.float16)
    assert got.dtype == np.float16
    # Neighbours: a double rounding, or the odd ULP of float32 at a tie.
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(all="ignore"):
        apart = np.abs(got.astype(np.float64) - want.astype(np.float64))
        near = apart <= np.spacing(np.abs(want)).astype(np.float64)
    assert np.all(near | same)
    assert np.mean(same) > 0.999


def drawn_complex(generator: np.random.Generator, dtype: str) -> NumpyArray:
    """Draw complex numbers: any, near branch points and the unit circle, huge, tiny, on axes."""
    part = "float32" if dtype == "complex64" else "float64"
    limits = np.finfo(part)
    top = float(np.log2(limits.max))

    def near(center: float, low: float, high: float) -> NumpyArray:
        sign = generator.choice([-1.0, 1.0], SIZE)
        return np.asarray(center + sign * 2.0 ** generator.uniform(low, high, SIZE))

    def flat(size: float) -> NumpyArray:
        return generator.uniform(-size, size, SIZE)

    angle = flat(np.pi)
    zero = np.zeros(SIZE)
    pairs = [
        (flat(1), flat(1)),
        (flat(8), flat(8)),
        (flat(100), flat(8)),
        (flat(8), flat(100)),
        (flat(float(np.log(limits.max))), flat(10)),
        (np.cos(angle), np.sin(angle)),
        (near(0, -30, 0), near(0, -30, 0)),
        (near(1, -30, 0), near(0, -60, 0)),
        (near(-1, -30, 0), near(0, -60, 0)),
        (near(0, -60, 0), near(1, -30, 0)),
        (near(0, -60, 0), near(-1, -30, 0)),
        (near(0, 4 - top, top - 1), near(0, 4 - top, top - 1)),
        (near(0, 20, 60), near(0, -60, 20)),
        (near(0, -60, 20), near(0, 20, 60)),
        (flat(8), zero),
        (flat(8), -zero),
        (zero, flat(8)),
        (-zero, flat(8)),
    ]
    result = np.empty(len(pairs) * SIZE, dtype)
    result.real = np.concatenate([pair[0] for pair in pairs])
    result.imag = np.concatenate([pair[1] for pair in pairs])
    return result


def complex_log1p(z: NumpyArray) -> NumpyArray:
    """``log(1 + z)`` without cancellation near 0; NumPy's own cancels."""
    excess = z.real * (2 + z.real) + z.imag * z.imag
    moved = z.copy()
    moved.real += 1  # 1 + z would make 0 of a zero's sign
    near = np.log1p(excess) / 2 + 1j * np.arctan2(z.imag, moved.real)
    return np.where(np.abs(excess) < 0.5, near, np.log(moved))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", sorted(set(REFERENCES) - set(PAIRS)))
def test_complex(device: Device, name: str, dtype: str) -> None:
    z = drawn_complex(np.random.default_rng(3), dtype)
    got = to_numpy(FUNCTIONS[name](from_numpy(z, device)))
    reference = complex_log1p if name == "log1p" else REFERENCES[name]
    with np.errstate(all="ignore"):
        want = reference(ulp.wide(z))
        held = np.isfinite(want) & (np.abs(want) < np.finfo(dtype).max / 4)
    errors = np.where(held, ulp.error(got, want, signed_zeros=False), 0)
    check(name, got, errors, stated(name)[1] + ulp.REFERENCE_ERROR, z)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_powers(device: Device, dtype: str) -> None:
    generator = np.random.default_rng(4)
    z = generator.uniform(-3, 3, 4 * SIZE) + 1j * generator.uniform(-3, 3, 4 * SIZE)
    w = generator.uniform(-3, 3, 4 * SIZE) + 1j * generator.uniform(-3, 3, 4 * SIZE)
    w[SIZE : 2 * SIZE] = generator.integers(-9, 10, SIZE)
    z, w = z.astype(dtype), w.astype(dtype)
    z, w = z[np.abs(z) > 0.1], w[np.abs(z) > 0.1]
    got = to_numpy(exponential.pow(from_numpy(z, device), from_numpy(w, device)))
    want = np.exp(ulp.wide(w) * np.log(ulp.wide(z)))
    check("pow", got, ulp.error(got, want, signed_zeros=False), stated("pow")[1], z, w)
