"""Keys of every kind against NumPy, with bounds that MLX does not check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

mx = pytest.importorskip("mlx.core")

import portarray as pa  # noqa: E402
from portarray.backends.mlx.namespace import indexing  # noqa: E402
from portarray.backends.mlx.namespace.indexing import (  # noqa: E402
    getitem,
    setitem,
    take,
    take_along_axis,
)

BEYOND = 2**40
STEPS = (None, 1, 2, -1, -2, 3, -3, 2**35)


def cases(seed: int) -> Iterator[tuple[np.ndarray[Any, Any], tuple[Any, ...]]]:
    """Draw arrays and keys that NumPy takes; no key has an array on both sides of an ellipsis.

    An ellipsis that stands for no axes parts two index arrays in NumPy and not here.
    """
    rng = np.random.default_rng(seed)

    def bound(size: int) -> int | None:
        limit = rng.integers(-size - 3, size + 5)
        return None if limit == size + 4 else BEYOND if limit == -size - 3 else int(limit)

    def part(size: int, common: list[int]) -> Any:
        kind = rng.integers(3)
        if kind == 0 and size:
            return int(rng.integers(-size, size))
        if kind == 1 and size:
            shape = [n if rng.integers(4) else 1 for n in common[rng.integers(len(common) + 1) :]]
            dtype = rng.choice(["i1", "i4", "i8", "u1", "u8"])
            low = 0 if dtype[0] == "u" else -size
            return np.asarray(rng.integers(low, size, size=shape)).astype(dtype)
        return slice(bound(size), bound(size), STEPS[rng.integers(len(STEPS))])

    for _ in range(400):
        shape = rng.integers(0 if rng.integers(4) == 0 else 1, 5, size=rng.integers(5))
        array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        common = [int(n) for n in rng.integers(0 if rng.integers(5) == 0 else 1, 4, size=2)]
        key: list[Any] = []
        axis = 0
        while axis < array.ndim and rng.integers(6):
            width = int(rng.integers(1, array.ndim - axis + 1))
            if rng.integers(6) == 0:
                key.append(rng.integers(2, size=array.shape[axis : axis + width]).astype(bool))
                axis += width
            else:
                key.append(part(array.shape[axis], common))
                axis += 1
        for _ in range(rng.integers(3)):
            key.insert(rng.integers(len(key) + 1), None)
        if not rng.integers(3):
            key.insert(0 if rng.integers(2) else len(key), Ellipsis)
        try:
            array[tuple(key)]
        except IndexError:  # masks and arrays that do not broadcast
            continue
        yield array, tuple(key)


def native(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(mx.array(part) if isinstance(part, np.ndarray) else part for part in key)


@pytest.mark.parametrize("seed", range(4))
def test_getitem(seed: int) -> None:
    count = 0
    for array, key in cases(seed):
        expected = array[key]
        result = np.asarray(getitem(mx.array(array), native(key)))
        assert result.shape == expected.shape, key
        np.testing.assert_array_equal(result, expected, err_msg=str(key))
        count += 1
    assert count > 200


@pytest.mark.parametrize("seed", range(4))
def test_setitem(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for array, key in cases(seed + 100):
        shape = [n if rng.integers(4) else 1 for n in array[key].shape]
        if any(isinstance(part, np.ndarray) and part.dtype != bool for part in key):
            value = np.full(shape, 7)  # which of several values for one element stays is open
        else:
            value = rng.integers(100, 10**9, size=shape)
        expected = array.copy()
        try:
            expected[key] = value
        except (ValueError, TypeError):  # a size other than the mask's count
            continue
        x = mx.array(array)
        assert setitem(x, native(key), mx.array(value)) is x
        np.testing.assert_array_equal(np.asarray(x), expected, err_msg=str(key))
        assert x.dtype == mx.int64


@pytest.mark.parametrize("dtype", ["bool", "uint64", "bfloat16", "float64", "complex64"])
def test_values_take_the_dtype(dtype: str) -> None:
    x = pa.zeros((2, 3), dtype=dtype, device="mlx:cpu")
    index = pa.asarray([0, 1], device="mlx:cpu")
    mask = pa.asarray([True, False, True], device="mlx:cpu")
    x[0, 1] = 1
    x[index, index] = pa.ones(2, dtype="int8", device="mlx:cpu")
    x[:, mask] = 1
    assert str(x.dtype) == dtype
    assert (np.asarray(x) == 1).all()


def test_integers_beyond_int64() -> None:
    x = pa.zeros(3, dtype="uint64", device="mlx:cpu")
    x[0] = 2**64 - 1
    x[pa.asarray([False, True, False], device="mlx:cpu")] = 2**63
    assert x.tolist() == [2**64 - 1, 2**63, 0]


@pytest.mark.parametrize("index", [3, -4, 2**40, -(2**40)])
def test_index_arrays_out_of_bounds(index: int) -> None:
    """Unchecked indices would make MLX access memory out of bounds."""
    x = pa.zeros((3, 3), device="mlx:cpu")
    places = pa.asarray([0, index], device="mlx:cpu")
    with pytest.raises(IndexError, match=str(index)):
        x[places]
    with pytest.raises(IndexError, match=str(index)):
        x[:, places]
    with pytest.raises(IndexError, match=str(index)):
        x[places, places]
    with pytest.raises(IndexError, match=str(index)):
        x[places] = 1
    with pytest.raises(IndexError, match=str(index)):
        pa.take(x, places, axis=1)
    with pytest.raises(IndexError, match=str(index)):
        pa.take_along_axis(x, places[None, :], axis=1)
    assert not np.asarray(x).any()


def test_index_arrays_into_empty_axes() -> None:
    x = mx.zeros((0, 3))
    empty = mx.zeros((0,), dtype=mx.int64)
    assert getitem(x, (empty,)).shape == (0, 3)
    assert take(x, empty, axis=0).shape == (0, 3)
    assert take_along_axis(x, mx.zeros((0, 3), dtype=mx.int64), axis=0).shape == (0, 3)
    with pytest.raises(IndexError):
        getitem(x, (mx.array([0]),))
    with pytest.raises(IndexError):
        take(x, mx.array([0]), axis=0)


def test_other_arrays_keep_their_values() -> None:
    x = mx.arange(6)
    part, shaped = x[1:4], mx.reshape(x, (2, 3))
    setitem(x, (slice(None, None, -1),), mx.arange(6) * 10)
    assert x.tolist() == [50, 40, 30, 20, 10, 0]
    assert part.tolist() == [1, 2, 3]
    assert shaped.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_overlapping_writes_read_first() -> None:
    x = pa.asarray([0.0, 1.0, 2.0, 3.0], device="mlx:cpu")
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("dtype", ["int64", "uint64", "complex64", "float32"])
def test_rows_written_in_halves(dtype: str) -> None:
    """Elements of 8 bytes are written as halves, as on GPUs."""
    rows = mx.array(np.arange(12).reshape(4, 3).astype(dtype))
    written = mx.array(np.asarray([[2**50, 1, 2], [3, 4, 5]]).astype(dtype))
    result = indexing.write_rows(rows, mx.array([3, 0]), written, in_halves=True)
    expected = np.asarray(rows)
    expected = expected.copy()
    expected[[3, 0]] = np.asarray(written)
    assert result.dtype == rows.dtype
    np.testing.assert_array_equal(np.asarray(result), expected)
    assert rows.tolist()[0] == [0, 1, 2]
