"""Sorting and sets: order, stability, NaN, both zeros, every layout."""

from __future__ import annotations

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.exceptions import AxisError

from portarray._opencl.device import Device
from portarray.clarray import sets
from portarray.clarray.engine import argsorting, merging
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.sorting import argsort, sort

pytestmark = pytest.mark.drawn_devices(1)

Values = np.ndarray[Any, Any]

DTYPES = [
    np.dtype(name)
    for name in (
        *("bool", "int8", "int64", "uint16", "uint64", "float16", "float32", "float64"),
        *("complex64", ml_dtypes.bfloat16),
    )
]


def _wide(values: Values) -> Values:
    """Return values in a dtype that NumPy sorts and compares."""
    return values.astype(np.float32) if values.dtype.kind == "V" else values


def _draw(rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Values:
    """Draw values with many ties, NaN and zeros of both signs."""
    values = rng.integers(-3, 4, shape).astype(dtype)
    if dtype.kind in "fV":
        values[rng.random(shape) < 0.2] = -0.0
        values[rng.random(shape) < 0.1] = np.nan
    return values


def _order(values: Values, axis: int, descending: bool) -> Values:
    if not descending:
        return np.argsort(_wide(values), axis=axis, kind="stable")
    reversed_order = np.argsort(np.flip(_wide(values), axis), axis=axis, kind="stable")
    return values.shape[axis] - 1 - np.flip(reversed_order, axis)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_sorting(device: Device, dtype: np.dtype[Any], descending: bool) -> None:
    rng = np.random.default_rng(1)
    for shape in ((40,), (5, 7), (3, 2, 4), (1,), (0,), (3, 0), (3000,)):
        values = _draw(rng, dtype, shape)
        x = from_numpy(values, device)
        for axis in range(-len(shape), len(shape)):
            order = _order(values, axis, descending)
            indices = argsort(x, axis=axis, descending=descending)
            assert indices.dtype == np.int64
            np.testing.assert_array_equal(to_numpy(indices), order)
            expected = np.take_along_axis(values, order, axis)
            result = sort(x, axis=axis, descending=descending)
            assert result.contiguous
            assert result.dtype == dtype
            np.testing.assert_array_equal(_wide(to_numpy(result)), _wide(expected))
            if dtype.kind in "fV":
                zeros = expected == 0
                signs = np.signbit(_wide(expected)[zeros])
                np.testing.assert_array_equal(np.signbit(_wide(to_numpy(result))[zeros]), signs)
            unstable = sort(x, axis=axis, descending=descending, stable=False)
            np.testing.assert_array_equal(_wide(to_numpy(unstable)), _wide(expected))
            some = to_numpy(argsort(x, axis=axis, descending=descending, stable=False))
            np.testing.assert_array_equal(np.sort(some, axis), np.sort(order, axis))
            picked = np.take_along_axis(values, some, axis)
            np.testing.assert_array_equal(_wide(picked), _wide(expected))
        np.testing.assert_array_equal(_wide(to_numpy(x)), _wide(values))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1000,), (17,), (3, 333), (40, 5), (2, 64), (9, 0)], ids=str)
def test_sorting_with_many_threads(
    device: Device, dtype: np.dtype[Any], shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs are merged in one round and in several, with a short last run."""
    monkeypatch.setattr(merging, "RUN", 4)
    monkeypatch.setattr(merging, "_CHUNK", 7)
    monkeypatch.setattr(device, "traits", dataclasses.replace(device.traits, units=8))
    monkeypatch.setattr(argsorting, "ENOUGH", 1)
    rng = np.random.default_rng(4)
    for values in (
        _draw(rng, dtype, shape),
        np.sort(_wide(_draw(rng, dtype, shape))).astype(dtype),
    ):
        x = from_numpy(values, device)
        expected = np.sort(_wide(values), axis=-1, kind="stable")
        result = _wide(to_numpy(sort(x)))
        np.testing.assert_array_equal(result, expected)
        if dtype.kind in "fV":
            zeros = expected == 0
            np.testing.assert_array_equal(np.signbit(result[zeros]), np.signbit(expected[zeros]))
        result = _wide(to_numpy(sort(x, descending=True)))
        np.testing.assert_array_equal(result, expected[..., ::-1])
        for descending in (False, True):
            places = argsort(x, axis=0, descending=descending)
            assert places.dtype == np.int64
            assert places.contiguous
            np.testing.assert_array_equal(to_numpy(places), _order(values, 0, descending))
            places = argsort(x[..., ::-2], descending=descending)
            order = _order(values[..., ::-2], -1, descending)
            np.testing.assert_array_equal(to_numpy(places), order)


def test_sorting_extremes(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of each dtype, their neighbours, and NaN of both signs are sorted."""
    monkeypatch.setattr(argsorting, "ENOUGH", 1)
    for dtype in ("int8", "int32", "uint32", "int64", "uint64"):
        ends = np.iinfo(dtype)
        values = np.array([ends.max, 0, ends.min, 1, ends.max - 1, ends.min + 1, 0], dtype)
        x = from_numpy(values, device)
        for descending in (False, True):
            indices = to_numpy(argsort(x, descending=descending))
            np.testing.assert_array_equal(indices, _order(values, 0, descending))
    for dtype in ("float16", "float32", "float64"):
        info = np.finfo(dtype)
        numbers = [np.inf, -np.inf, np.nan, -np.nan, info.max, info.min, 0.0, -0.0, 1, -1]
        values = np.array([*numbers, info.tiny, -info.tiny, 2, -2], dtype)
        x = from_numpy(values, device)
        for descending in (False, True):
            indices = to_numpy(argsort(x, descending=descending))
            np.testing.assert_array_equal(indices, _order(values, 0, descending))


def test_sorting_views(device: Device) -> None:
    rng = np.random.default_rng(2)
    values = rng.random((30, 40))
    x = from_numpy(values, device)
    for key in ((slice(None, None, -2), slice(3, 20)), (slice(None), slice(None, None, -3)), 4):
        for descending in (False, True):
            expected = np.sort(values[key], axis=0)
            result = sort(x[key], axis=0, descending=descending)
            np.testing.assert_array_equal(
                to_numpy(result), expected[::-1] if descending else expected
            )
    np.testing.assert_array_equal(to_numpy(x), values)


def test_sorting_refuses(device: Device) -> None:
    x = from_numpy(np.arange(3), device)
    for function in (sort, argsort):
        with pytest.raises(AxisError):
            function(x, axis=1)
        with pytest.raises(AxisError):
            function(x[0])
        with pytest.raises(TypeError, match="asarray"):
            function([3, 1])  # type: ignore[arg-type]


def _key(value: Any, position: int) -> Any:
    return ("NaN", position) if value != value else value


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (9,), (3, 4), (200,)])
def test_unique(device: Device, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    values = np.asarray(_draw(np.random.default_rng(3), dtype, shape or (1,)).reshape(shape))
    x = from_numpy(values, device)
    flat = _wide(values).ravel().tolist()
    groups: dict[Any, list[int]] = {}
    for position, value in enumerate(flat):
        groups.setdefault(_key(value, position), []).append(position)

    result = sets.unique_all(x)
    assert result.values.shape == (len(groups),)
    assert result.values.dtype == dtype
    assert result.inverse_indices.shape == shape
    assert {part.dtype for part in result[1:]} == {np.dtype(np.int64)}
    results = zip(*(_wide(to_numpy(result[k])).tolist() for k in (0, 1, 3)), strict=True)
    for value, first, count in results:
        places = groups[_key(value, first)]
        assert (places[0], len(places)) == (first, count)
    rebuilt = _wide(to_numpy(result.values))[to_numpy(result.inverse_indices)]
    np.testing.assert_array_equal(rebuilt, _wide(values))

    counted = sets.unique_counts(x)
    np.testing.assert_array_equal(_wide(to_numpy(counted.values)), _wide(to_numpy(result.values)))
    np.testing.assert_array_equal(to_numpy(counted.counts), to_numpy(result.counts))
    rebuilding = sets.unique_inverse(x)
    rebuilt = _wide(to_numpy(rebuilding.values))[to_numpy(rebuilding.inverse_indices)]
    np.testing.assert_array_equal(rebuilt, _wide(values))
    alone = sets.unique_values(x)
    assert alone.dtype == dtype
    np.testing.assert_array_equal(_wide(to_numpy(alone)), _wide(to_numpy(result.values)))


def test_isin(device: Device) -> None:
    x = from_numpy(np.array([[1, 2, 3], [4, 5, 6]], np.int16), device)
    y = from_numpy(np.array([2, 6, 900], np.int32), device)
    assert to_numpy(sets.isin(x, y)).tolist() == [[False, True, False], [False, False, True]]
    assert to_numpy(sets.isin(x, y, invert=True)).tolist() == [
        [True, False, True],
        [True, True, False],
    ]
    assert sets.isin(2, y).item() is True
    assert sets.isin(2, y).shape == ()
    assert to_numpy(sets.isin(x, 4)).tolist() == [[False] * 3, [True, False, False]]
    floats = from_numpy(np.array([np.nan, 0.0, 1.5], ml_dtypes.bfloat16), device)
    zeros = from_numpy(np.array([np.nan, -0.0], ml_dtypes.bfloat16), device)
    assert to_numpy(sets.isin(floats, zeros)).tolist() == [False, True, False]
    assert sets.isin(x[:0], y).shape == (0, 3)
    halves = from_numpy(np.array([1, np.inf], "float16"), device)
    assert to_numpy(sets.isin(halves, 1e10)).tolist() == [False, True]
    with pytest.raises(TypeError, match="at least one array"):
        sets.isin(1, 2)
    with pytest.raises(OverflowError):
        sets.isin(x, 70000)
    with pytest.raises(TypeError):
        sets.isin(from_numpy(np.array([1], np.uint64), device), from_numpy(np.array([1]), device))
