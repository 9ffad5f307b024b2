"""Running results, compaction, searches and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from portarray._opencl.device import Device
from portarray.clarray import searching, statistical, utility
from portarray.clarray.engine.compaction import compact, compress
from portarray.clarray.engine.transfer import from_numpy, to_numpy

pytestmark = pytest.mark.drawn_devices(1)

NumpyArray = np.ndarray[Any, Any]

# One long lane, many, wide and narrow columns, lanes shorter than a vector.
SCANNED = [
    ((200_003,), 0),
    ((300, 301), 0),
    ((300, 301), 1),
    ((60_000, 3), 0),
    ((60_000, 3), 1),
    ((40_000, 18), 0),
    ((7, 130, 33), 1),
    ((3, 0), 0),
    ((3, 0), 1),
    ((1,), 0),
]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint64", "complex64"])
@pytest.mark.parametrize("initial", [False, True])
def test_running_sums(device: Device, dtype: str, initial: bool) -> None:
    rng = np.random.default_rng(1)
    wide = {"f": "float64", "c": "complex128", "i": "int64", "u": "uint64"}[dtype[0]]
    for shape, axis in SCANNED:
        x = rng.integers(0, 3, shape).astype(dtype)
        if dtype == "float16":
            x = x / np.float16(1024)  # sums stay below what it holds
        got = to_numpy(
            statistical.cumulative_sum(from_numpy(x, device), axis=axis, include_initial=initial)
        )
        want = np.cumulative_sum(x.astype(wide), axis=axis, include_initial=initial)
        assert got.dtype == (wide if dtype[0] in "iu" else dtype)
        # Whole numbers that float32 holds: exact but for the rounding to half precision.
        np.testing.assert_array_equal(got, want.astype(got.dtype))


def test_running_sums_of_views(device: Device) -> None:
    base = np.random.default_rng(2).integers(-9, 9, (40, 50, 60)).astype(np.int32)
    x = from_numpy(base, device)
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)):
        view = base.transpose(order)[::-1, :, ::2]
        strides = tuple(step // 4 for step in view.strides)
        start = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        here = x.view(view.shape, strides, start // 4)
        for axis in range(3):
            np.testing.assert_array_equal(
                to_numpy(statistical.cumulative_sum(here, axis=axis - 3)),
                np.cumsum(view, axis=axis, dtype=np.int64),
            )


def test_running_products(device: Device) -> None:
    rng = np.random.default_rng(3)
    for dtype in ("float64", "complex64", "uint8"):
        for shape, axis in (((40_000,), 0), ((90, 200), 1), ((200, 90), 0)):
            x = np.exp(1j * rng.uniform(0, 6, shape)) if dtype[0] == "c" else np.ones(shape)
            x = np.asarray(x * rng.choice([1, 3] if dtype == "uint8" else [1], shape), dtype)
            got = to_numpy(statistical.cumulative_prod(from_numpy(x, device), axis=axis))
            want = np.cumprod(x, axis=axis)
            if dtype == "uint8":
                np.testing.assert_array_equal(got, want)
            else:
                np.testing.assert_allclose(got, want, rtol=1e-2 if dtype[0] == "c" else 1e-9)


def test_running_float32_sums_are_accurate(device: Device) -> None:
    x = np.random.default_rng(4).random(1 << 21).astype(np.float32)
    want = np.cumsum(x.astype(np.float64))
    got = to_numpy(statistical.cumulative_sum(from_numpy(x, device)))
    ours, numpys = np.abs(got - want), np.abs(np.cumsum(x) - want)
    assert ours.max() <= max(numpys.max(), 4 * float(np.spacing(np.float32(want[-1]))))


def test_special_values_run_on(device: Device) -> None:
    x = np.array([-0.0, 1, np.inf, 1, -np.inf, 1] * 20, np.float32)
    got = to_numpy(statistical.cumulative_sum(from_numpy(x, device)))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, np.cumsum(x))
    assert np.signbit(got[0])


def test_axis_of_a_scan_is_needed_where_there_are_several(device: Device) -> None:
    with pytest.raises(ValueError, match="axis="):
        statistical.cumulative_sum(from_numpy(np.ones((2, 2)), device))
    with pytest.raises(ValueError, match="0-d"):
        statistical.cumulative_prod(from_numpy(np.ones(()), device))


@pytest.mark.parametrize("n", [0, 1, 127, 128, 129, 5000, 300_001])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_compaction(device: Device, n: int, share: float) -> None:
    rng = np.random.default_rng(5)
    mask = rng.random(n) < share
    values = rng.random(n).astype(np.float32)
    m, v = from_numpy(mask, device), from_numpy(values, device)
    np.testing.assert_array_equal(to_numpy(compact(m)), np.flatnonzero(mask))
    np.testing.assert_array_equal(to_numpy(compress(m, v)), values[mask])


@pytest.mark.parametrize("dtype", ["bool", "int16", "float16", "float32", "complex64"])
def test_nonzero(device: Device, dtype: str) -> None:
    rng = np.random.default_rng(6)
    x = rng.integers(-1, 2, (30, 40, 5)).astype(dtype)
    if dtype == "float32":
        x[0, 0] = [np.nan, -0.0, 0.0, np.inf, 1e-45]
    here = from_numpy(x, device).view((40, 30, 5), (5, 200, 1), 0)
    for got, want in zip(searching.nonzero(here), np.nonzero(x.transpose(1, 0, 2)), strict=True):
        np.testing.assert_array_equal(to_numpy(got), want)
    with pytest.raises(ValueError, match="0-d"):
        searching.nonzero(from_numpy(np.ones((), dtype), device))


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int64"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_searches(device: Device, dtype: str, side: Any) -> None:
    rng = np.random.default_rng(7)
    for n in (0, 1, 2, 1000):
        x1 = np.sort(rng.integers(0, 100, n).astype(dtype))
        x2 = rng.integers(0, 110, (7, 9)).astype(dtype)
        if dtype[0] == "f":
            x1[-2:] = np.nan
            x2[0, :3] = np.nan, np.inf, -np.inf
        want = np.searchsorted(x1, x2, side=side)
        here, values = from_numpy(x1, device), from_numpy(x2, device)
        np.testing.assert_array_equal(
            to_numpy(searching.searchsorted(here, values, side=side)), want
        )
        order = rng.permutation(n)
        mixed = from_numpy(x1[order], device)
        sorter = from_numpy(np.argsort(order).astype(np.int32), device)
        np.testing.assert_array_equal(
            to_numpy(searching.searchsorted(mixed, values, side=side, sorter=sorter)), want
        )
        got = to_numpy(searching.searchsorted(here, 50, side=side))
        assert got == np.searchsorted(x1, np.asarray(50, dtype), side=side)


def test_a_wrong_sorter_reads_nothing_beyond_the_array(device: Device) -> None:
    x1 = from_numpy(np.arange(5.0), device)
    sorter = from_numpy(np.array([2**40, -(2**40), 9, -1, 0]), device)
    got = to_numpy(searching.searchsorted(x1, x1, sorter=sorter))
    assert ((got >= 0) & (got <= 5)).all()
    with pytest.raises(ValueError, match="side"):
        searching.searchsorted(x1, x1, side="middle")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sorter"):
        searching.searchsorted(x1, x1, sorter=x1)


def test_differences(device: Device) -> None:
    base = np.random.default_rng(8).integers(-50, 50, (4, 6)).astype(np.float32)
    x = from_numpy(base, device)
    for axis in (0, 1, -1):
        for n in (0, 1, 2, 7):
            np.testing.assert_array_equal(
                to_numpy(utility.diff(x, axis=axis, n=n)), np.diff(base, axis=axis, n=n)
            )
    edge = base[:, :2]
    got = utility.diff(x, prepend=from_numpy(edge, device), append=from_numpy(edge, device))
    np.testing.assert_array_equal(to_numpy(got), np.diff(base, prepend=edge, append=edge))
    with pytest.raises(ValueError, match="n is -1"):
        utility.diff(x, n=-1)
