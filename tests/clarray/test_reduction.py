"""Reductions: any axes, layouts and dtypes on every family of kernels, accuracy, and edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from portarray._opencl.device import Device
from portarray.clarray import searching, statistical, utility
from portarray.clarray.array import Array
from portarray.clarray.dtypes import bfloat16
from portarray.clarray.engine.reduction_layout import reduction_layout
from portarray.clarray.engine.transfer import from_numpy, to_numpy

pytestmark = pytest.mark.drawn_devices(1)

NumpyArray = np.ndarray[Any, Any]

# Long and short rows, wide and narrow columns, chunks that do not divide, and nothing.
SHAPES = [
    (70_001,),
    (300, 513),
    (3, 40_000),
    (40_000, 3),
    (9_000, 20),
    (5, 700, 33),
    (4, 3, 5, 2),
    (1, 1),
    (),
]


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> NumpyArray:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype[0] in "iu":
        limits = np.iinfo(dtype)
        return rng.integers(max(limits.min, -1000), min(limits.max, 1000), shape).astype(dtype)
    result = rng.uniform(-1, 1, shape)
    if dtype.startswith("complex"):
        result = result + 1j * rng.uniform(-1, 1, shape)
    return np.asarray(result, dtype)


def layouts(rng: np.random.Generator, base: NumpyArray) -> list[NumpyArray]:
    """Return views of an array that leave gaps, run backwards, cross axes or repeat elements."""
    ndim = base.ndim
    result = [base]
    if ndim:
        steps = tuple(slice(None, None, int(rng.choice([1, 2, -1, -3]))) for _ in range(ndim))
        result.append(base[steps])
        result.append(base.transpose(rng.permutation(ndim))[1:])
        result.append(np.broadcast_to(base[:1], (3, *base.shape[1:])))
    return result


def like(view: NumpyArray, base: NumpyArray, x: Array) -> Array:
    """Return the view of a device's array with the layout of a NumPy view."""
    start = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    strides = tuple(step // base.itemsize for step in view.strides)
    return x.view(view.shape, strides, x.offset + (start // base.itemsize if view.size else 0))


def some_axes(rng: np.random.Generator, ndim: int) -> tuple[int, ...] | int | None:
    kind = rng.integers(3)
    if kind == 0 or ndim == 0:
        return None
    if kind == 1:
        return int(rng.integers(-ndim, ndim))
    chosen = rng.permutation(ndim)[: rng.integers(0, ndim + 1)]
    return tuple(int(axis) - (ndim if rng.random() < 0.5 else 0) for axis in chosen)


def cases(seed: int, dtype: str, device: Device) -> Any:
    rng = np.random.default_rng(seed)
    for shape in SHAPES:
        base = numbers(rng, shape, dtype)
        x = from_numpy(base, device)
        for view in layouts(rng, base):
            yield view, like(view, base, x), some_axes(rng, view.ndim), bool(rng.integers(2))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint32", "complex64"])
def test_sums(device: Device, dtype: str) -> None:
    wide = {"f": "float64", "c": "complex128", "i": "int64", "u": "uint64"}[dtype[0]]
    for view, x, axis, keepdims in cases(1, dtype, device):
        got = to_numpy(statistical.sum(x, axis=axis, keepdims=keepdims))
        want = np.sum(view.astype(wide), axis=axis, keepdims=keepdims)
        assert got.shape == want.shape
        if wide in ("int64", "uint64"):
            assert got.dtype == wide
            np.testing.assert_array_equal(got, want)
        else:
            assert got.dtype == dtype
            size = np.sum(np.abs(view.astype(wide)), axis=axis, keepdims=keepdims)
            eps = float(np.finfo(dtype).eps)
            assert np.all(np.abs(got - want) <= 4 * eps * size)


@pytest.mark.parametrize("dtype", ["float32", "int16", "uint64", "bool"])
def test_extremes_and_their_places(device: Device, dtype: str) -> None:
    for seed, (view, x, axis, keepdims) in enumerate(cases(2, dtype, device)):
        if view.size == 0:
            continue
        for name in ("max", "min"):
            got = to_numpy(getattr(statistical, name)(x, axis=axis, keepdims=keepdims))
            want = getattr(np, name)(view, axis=axis, keepdims=keepdims)
            assert got.dtype == view.dtype
            np.testing.assert_array_equal(got, want)
        arg_axis = None if view.ndim == 0 or seed % 3 == 0 else seed % view.ndim
        for name in ("argmax", "argmin"):
            got = to_numpy(getattr(searching, name)(x, axis=arg_axis, keepdims=keepdims))
            want = getattr(np, name)(view, axis=arg_axis, keepdims=keepdims)
            assert got.dtype == np.int64
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64"])
def test_truths_and_counts(device: Device, dtype: str) -> None:
    rng = np.random.default_rng(3)
    for shape in SHAPES:
        for share in (0.0, 0.001, 1.0):
            base = numbers(rng, shape, dtype)
            base = np.where(rng.random(shape) < share, base, np.zeros((), dtype))
            x = from_numpy(base, device)
            axis = some_axes(rng, base.ndim)
            for function, reference in (
                (utility.any, np.any),
                (utility.all, np.all),
                (searching.count_nonzero, np.count_nonzero),
            ):
                np.testing.assert_array_equal(
                    to_numpy(function(x, axis=axis)), reference(base, axis=axis)
                )


@pytest.mark.parametrize("dtype", ["float32", "float16", "int16"])
def test_moments(device: Device, dtype: str) -> None:
    real = "float64" if dtype == "int16" else dtype
    eps = float(np.finfo(real).eps)
    for view, x, axis, keepdims in cases(4, dtype, device):
        if view.size == 0:
            continue
        wide = view.astype("float64")
        mean = np.mean(wide, axis=axis, keepdims=keepdims)
        var = np.var(wide, axis=axis, keepdims=keepdims)
        largest = float(np.max(np.abs(wide)))
        got = to_numpy(statistical.mean(x, axis=axis, keepdims=keepdims))
        assert got.dtype == real
        assert np.all(np.abs(got - mean) <= 4 * eps * largest)
        got = to_numpy(statistical.var(x, axis=axis, keepdims=keepdims))
        assert np.all(np.abs(got - var) <= 8 * eps * largest**2)
        got = to_numpy(statistical.std(x, axis=axis, keepdims=keepdims))
        assert np.all(np.abs(got - np.sqrt(var)) <= 8 * eps * (largest + 1))


def test_products(device: Device) -> None:
    rng = np.random.default_rng(5)
    for dtype in ("float64", "int32", "complex64"):
        for shape, axis in (((4000,), None), ((5, 300, 17), 1), ((5, 300, 17), (0, 2))):
            base = numbers(rng, shape, dtype)
            base = base | 1 if dtype == "int32" else base / np.abs(base)
            got = to_numpy(statistical.prod(from_numpy(base.astype(dtype), device), axis=axis))
            want = np.prod(base, axis=axis)
            if dtype == "int32":  # beyond 64 bits they wrap, as NumPy's do
                np.testing.assert_array_equal(got, np.prod(base.astype("int64"), axis=axis))
            else:
                np.testing.assert_allclose(got, want, rtol=1e-3 if dtype == "complex64" else 1e-10)


def test_float32_sums_are_as_accurate_as_pairwise_ones(device: Device) -> None:
    rng = np.random.default_rng(6)
    n = 1 << 20
    ones = from_numpy(np.ones(1 << 25, np.float32), device)
    assert float(to_numpy(statistical.sum(ones))) == 1 << 25
    for values in (rng.random(n), np.full(n, 0.1), rng.standard_normal(n) + 3):
        x = values.astype(np.float32)
        exact = math.fsum(x.tolist())
        got = float(to_numpy(statistical.sum(from_numpy(x, device))))
        pairwise = abs(float(np.sum(x)) - exact)
        assert abs(got - exact) <= max(pairwise, 2 * float(np.spacing(np.float32(exact))))


def test_half_precision_is_summed_in_float32(device: Device) -> None:
    x = np.full(5000, 1.0)
    for dtype in (np.dtype(np.float16), bfloat16):
        got = to_numpy(statistical.sum(from_numpy(x.astype(dtype), device)))
        assert float(got) == float(np.asarray(5000.0, dtype))
        assert got.dtype == dtype
    big = from_numpy(np.full(300, 30_000, np.float16), device)
    assert float(to_numpy(statistical.mean(big))) == 30_000


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("n", [3, 40, 5000, 100_003])
def test_nan_is_found_at_every_position(device: Device, dtype: str, n: int) -> None:
    for position in {0, 1, n // 2, n - 2, n - 1}:
        x = np.linspace(-1, 1, n).astype(dtype)
        x[position] = np.nan
        here = from_numpy(x, device)
        across = from_numpy(np.repeat(x[:, None], 18, axis=1), device)
        for name in ("max", "min"):
            assert np.isnan(to_numpy(getattr(statistical, name)(here)))
            assert np.isnan(to_numpy(getattr(statistical, name)(across, axis=0))).all()
            assert to_numpy(getattr(searching, f"arg{name}")(here)) == position
            assert (to_numpy(getattr(searching, f"arg{name}")(across, axis=0)) == position).all()


def test_infinities_are_extremes_and_have_places(device: Device) -> None:
    x = from_numpy(np.full((3, 100), -np.inf, np.float32), device)
    assert (to_numpy(statistical.max(x, axis=1)) == -np.inf).all()
    assert (to_numpy(searching.argmax(x, axis=1)) == 0).all()
    assert (to_numpy(statistical.min(x, axis=0)) == -np.inf).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_extremes_of_limits(device: Device, dtype: str) -> None:
    limits = np.iinfo(dtype)
    for value in (limits.min, limits.max):
        x = from_numpy(np.full((50, 40), value, dtype), device)
        for axis in (None, 0, 1):
            assert (to_numpy(statistical.max(x, axis=axis)) == value).all()
            assert (to_numpy(statistical.min(x, axis=axis)) == value).all()


def test_nothing(device: Device) -> None:
    empty = from_numpy(np.empty((0, 3), np.float32), device)
    assert to_numpy(statistical.sum(empty)) == 0
    np.testing.assert_array_equal(to_numpy(statistical.prod(empty, axis=0)), [1, 1, 1])
    assert np.isnan(to_numpy(statistical.mean(empty)))
    assert np.isnan(to_numpy(statistical.var(empty)))
    assert statistical.max(empty, axis=1).shape == (0,)
    assert searching.argmax(empty, axis=1).shape == (0,)
    assert to_numpy(utility.all(empty))
    assert not to_numpy(utility.any(empty))
    assert to_numpy(searching.count_nonzero(empty)) == 0
    for function in (statistical.max, statistical.min, searching.argmax, searching.argmin):
        with pytest.raises(ValueError, match="no elements"):
            function(empty, axis=0)
    complex_mean = to_numpy(statistical.mean(from_numpy(np.empty(0, np.complex64), device)))
    assert np.isnan(complex_mean.real)
    assert np.isnan(complex_mean.imag)


def test_correction_beyond_the_number_of_elements_gives_nan(device: Device) -> None:
    x = from_numpy(np.ones((2, 3)), device)
    assert np.isnan(to_numpy(statistical.std(x, axis=0, correction=2))).all()
    assert np.isnan(to_numpy(statistical.var(x, axis=0, correction=2.5))).all()


def test_a_requested_dtype(device: Device) -> None:
    x = np.array([100, 100, 100], np.int8)
    here = from_numpy(x, device)
    assert to_numpy(statistical.sum(here, dtype=np.float32)).dtype == np.float32
    assert int(to_numpy(statistical.sum(here, dtype=np.int8))) == 44  # 300 wraps
    assert to_numpy(statistical.sum(here, dtype=np.complex64)) == 300
    with pytest.raises(TypeError, match="complex"):
        statistical.sum(from_numpy(np.ones(2, np.complex64), device), dtype=np.float32)


def test_wrong_arguments_are_named(device: Device) -> None:
    x = from_numpy(np.ones((2, 3), np.complex64), device)
    for function in (statistical.max, statistical.min, statistical.var, searching.argmax):
        with pytest.raises(TypeError, match="complex64"):
            function(x)
    with pytest.raises(IndexError, match="axis 2"):
        statistical.sum(x, axis=2)
    with pytest.raises(ValueError, match="twice"):
        statistical.sum(x, axis=(0, -2))
    with pytest.raises(TypeError, match="asarray"):
        statistical.sum(np.ones(3))  # type: ignore[arg-type]


def test_scattered_axes_are_merged_or_refused() -> None:
    result = reduction_layout((4, 5, 6), (30, 6, 1), (0, 1, 2))
    assert result is not None
    assert (result.outer, result.reduced, result.reduced_steps) == ((), (120,), (1,))
    turned = reduction_layout((4, 5), (-5, -1), (0, 1))
    assert turned is not None
    assert (turned.reduced, turned.start) == ((20,), -19)
    assert reduction_layout((4, 5), (-5, -1), (0, 1), True) is not None
    many = tuple(range(0, 8, 2))
    assert reduction_layout((2,) * 8, tuple(3**k for k in range(8, 0, -1)), many) is None


@pytest.mark.parametrize("n", [1, 2, 3])
def test_many_axes(device: Device, n: int) -> None:
    rng = np.random.default_rng(n)
    base = rng.integers(0, 9, (3, 2, 3, 2, 2, 3, 2, 3)).astype(np.int32)
    view = base[::2, :, ::-1, :, :, ::2, :, 1:]
    x = like(view, base, from_numpy(base, device))
    axis = tuple(range(n % 2, 8, n))
    np.testing.assert_array_equal(
        to_numpy(statistical.sum(x, axis=axis)), np.sum(view, axis=axis, dtype=np.int64)
    )
    np.testing.assert_array_equal(to_numpy(searching.argmax(x)), np.argmax(view))
    np.testing.assert_array_equal(to_numpy(searching.argmin(x, axis=2)), np.argmin(view, axis=2))
