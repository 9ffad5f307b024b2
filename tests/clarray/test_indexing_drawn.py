"""Reading and writing through drawn keys, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from portarray._opencl.device import Device
from portarray.clarray.array import Array
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.indexing import take, take_along_axis

pytestmark = pytest.mark.drawn_devices(1)

Values = np.ndarray[Any, Any]
Key = tuple[Any, ...]

DTYPES = ["bool", "int8", "uint16", "float32", "float64", "complex64", "complex128"]
INDEX_DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def _array(rng: np.random.Generator, device: Device) -> tuple[Values, Array]:
    """Draw an array, and the same on the device: contiguous, strided or reversed."""
    low = 0 if rng.integers(5) == 0 else 1
    shape = tuple(int(n) for n in rng.integers(low, 5, rng.integers(0, 5)))
    values = (np.arange(int(np.prod(shape))) + 1).astype(rng.choice(DTYPES)).reshape(shape)
    if rng.integers(2):
        return values, from_numpy(values, device)
    pairs = from_numpy(np.stack([values, values], -1), device)
    strided = pairs[..., int(rng.integers(2))]
    if shape and rng.integers(2):
        return values[::-1], strided[::-1]
    return values, strided


def _key(rng: np.random.Generator, shape: tuple[int, ...]) -> Key:
    """Draw integers, slices, new axes, an ellipsis, integer arrays and masks."""
    broadcast = [(), (3,), (2, 1), (2, 3), (1,), (0,)][rng.integers(6)]
    key: list[Any] = []
    axis = 0
    while axis < len(shape):
        n = shape[axis]
        form = rng.integers(10)
        if form == 0:
            key.append(None)
        elif form == 1 and Ellipsis not in [part for part in key if part is Ellipsis]:
            key.append(Ellipsis)
            axis += int(rng.integers(0, len(shape) - axis + 1))
        elif form in (2, 3) and n:
            key.append(int(rng.integers(-n, n)))
            axis += 1
        elif form in (4, 5) and n:
            dtype = rng.choice(INDEX_DTYPES)
            low = 0 if dtype.startswith("u") else -n
            key.append(rng.integers(low, n, broadcast).astype(dtype))
            axis += 1
        elif form == 6:
            width = int(rng.integers(0, len(shape) - axis + 1))
            key.append(np.asarray(rng.random(shape[axis : axis + width]) < 0.5))
            axis += width
        elif form == 7 and not any(part is Ellipsis for part in key):
            break
        else:
            ends = [None, int(rng.integers(-n - 2, n + 3))]
            step = [None, 1, 2, -1, -2, 3][rng.integers(6)]
            key.append(slice(ends[rng.integers(2)], ends[rng.integers(2)], step))
            axis += 1
    return tuple(key)


def _on_device(rng: np.random.Generator, key: Key, device: Device) -> Key:
    """Bring some of a key's arrays to the device; NumPy's are taken as well."""
    return tuple(
        from_numpy(part, device) if isinstance(part, np.ndarray) and rng.integers(2) else part
        for part in key
    )


@pytest.mark.parametrize("seed", range(60))
def test_keys(device: Device, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, x = _array(rng, device)
    key = _key(rng, values.shape)
    try:
        expected = np.asarray(values[key])
    except IndexError:
        with pytest.raises(IndexError):
            x[_on_device(rng, key, device)]
        return
    result = x[_on_device(rng, key, device)]
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(to_numpy(result), expected)

    # Assignment: of one value, for NumPy leaves open which one stays where places repeat.
    shape = expected.shape[int(rng.integers(0, expected.ndim + 1)) :]
    source = rng.choice(["int8", values.dtype.name]) if values.dtype != np.bool_ else "bool"
    value = np.full(shape, 77, source)
    written = values.copy()
    written[key] = value
    assigned = from_numpy(value, device) if shape or rng.integers(2) else value[()]
    x[_on_device(rng, key, device)] = assigned
    np.testing.assert_array_equal(to_numpy(x), written)


@pytest.mark.parametrize("seed", range(12))
def test_many_distinct_places(device: Device, seed: int) -> None:
    """Many distinct indices exceed one work-item's share in every path of the kernels."""
    rng = np.random.default_rng(seed)
    values = rng.random((37, 300)).astype(rng.choice(["float32", "complex128", "float16"]))
    x = from_numpy(values, device)
    rows = rng.permutation(37)
    columns = rng.integers(-300, 300, 5000)
    dtype = rng.choice(["int64", "int32", "int16"])
    i, j = from_numpy(rows.astype(dtype), device), from_numpy(columns.astype(dtype), device)
    np.testing.assert_array_equal(to_numpy(x[i]), values[rows])
    np.testing.assert_array_equal(to_numpy(x[:, j]), values[:, columns])
    np.testing.assert_array_equal(to_numpy(x[::2, ::-3][:, i]), values[::2, ::-3][:, rows])
    np.testing.assert_array_equal(to_numpy(x[i[:, None], j]), values[rows[:, None], columns])
    mask = rng.random(values.shape) < rng.random()
    m = from_numpy(mask, device)
    np.testing.assert_array_equal(to_numpy(x[m]), values[mask])
    np.testing.assert_array_equal(to_numpy(x[m[:, 0]]), values[mask[:, 0]])

    replacement = rng.random(values.shape).astype(values.dtype)
    x[i] = from_numpy(replacement, device)
    values[rows] = replacement
    np.testing.assert_array_equal(to_numpy(x), values)
    picked = replacement[mask]
    x[m] = from_numpy(picked, device)
    values[mask] = picked
    np.testing.assert_array_equal(to_numpy(x), values)
    x[m] = 0.5
    values[mask] = 0.5
    np.testing.assert_array_equal(to_numpy(x), values)


@pytest.mark.parametrize("seed", range(20))
def test_take(device: Device, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = [(5,), (40, 3), (3, 4, 5), (2, 700)][rng.integers(4)]
    values = rng.random(shape).astype(rng.choice(["float32", "float64", "complex128", "int8"]))
    x = from_numpy(values, device)
    if rng.integers(2) and len(shape) > 1:
        values, x = (
            values.swapaxes(0, 1),
            x.view(
                (shape[1], shape[0], *shape[2:]),
                (x.strides[1], x.strides[0], *x.strides[2:]),
                x.offset,
            ),
        )
    axis = int(rng.integers(-values.ndim, values.ndim))
    n = values.shape[axis]
    dtype = rng.choice(INDEX_DTYPES)
    low = 0 if dtype.startswith("u") else -n
    index = rng.integers(low, min(n, 127), [(7,), (0,), (1,), (2, 3)][rng.integers(4)])
    index = np.maximum(index, -128).astype(dtype)
    result = take(x, from_numpy(index, device), axis=axis)
    np.testing.assert_array_equal(to_numpy(result), np.take(values, index.astype("i8"), axis=axis))

    lengths = [1 if rng.integers(3) == 0 else size for size in values.shape]
    lengths[axis] = int(rng.integers(0, 6))
    index = np.maximum(rng.integers(low, min(n, 127), lengths), -128).astype(dtype)
    second = [1 if k == axis % values.ndim else size for k, size in enumerate(values.shape)]
    broadcast = np.broadcast_to(index, np.broadcast_shapes(tuple(lengths), tuple(second)))
    result = take_along_axis(x, from_numpy(index, device), axis=axis)
    expected = np.take_along_axis(values, broadcast.astype("i8"), axis=axis)
    np.testing.assert_array_equal(to_numpy(result), expected)
