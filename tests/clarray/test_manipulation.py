"""Manipulation functions against NumPy, on arrays of any layout; which results are views."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from portarray._opencl.device import Device
from portarray.clarray import manipulation as cl
from portarray.clarray.array import Array
from portarray.clarray.creation import asarray, ones
from portarray.clarray.engine.transfer import to_numpy

NumpyArray = np.ndarray[Any, Any]


def _drawn(device: Device) -> Iterator[tuple[Array, NumpyArray, np.random.Generator]]:
    """Make arrays of drawn shapes and layouts, 0-d and empty ones among them."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        ndim = seed % 5
        shape = rng.integers(0 if seed % 7 == 0 else 1, 5, ndim)
        dtype = ("int8", "int16", "float32", "float64", "complex128")[seed % 5]
        own = (np.arange(int(np.prod(shape))) % 120).astype(dtype).reshape(shape)
        x = asarray(own, device=device)
        order = tuple(int(axis) for axis in rng.permutation(ndim))
        x, own = cl.permute_dims(x, order), own.transpose(order)
        if rng.random() < 0.5:
            x, own = cl.flip(x), np.flip(own)
        yield x, own, rng


def _same(got: Array, want: NumpyArray) -> None:
    values = to_numpy(got)
    assert (values.shape, values.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(values, want)


def test_orders(device: Device) -> None:
    for x, own, rng in _drawn(device):
        _same(x, own)
        _same(cl.roll(x, 3), np.roll(own, 3))
        for axis in range(-own.ndim, own.ndim):
            _same(cl.flip(x, axis=axis), np.flip(own, axis))
            _same(cl.moveaxis(x, axis, 0), np.moveaxis(own, axis, 0))
            _same(cl.roll(x, -2, axis=axis), np.roll(own, -2, axis))
            shifts = tuple(int(n) for n in rng.integers(-9, 9, 2))
            _same(cl.roll(x, shifts, axis=(0, axis)), np.roll(own, shifts, (0, axis)))


def test_shapes(device: Device) -> None:
    for x, own, _ in _drawn(device):
        if own.size:
            factors = [n for n in (2, 3, 4, 5) if own.size % n == 0]
            for sizes in itertools.permutations([*factors[:1], -1, 1]):
                _same(cl.reshape(x, sizes), own.reshape(sizes))
            _same(cl.reshape(x, -1), own.reshape(-1))
        _same(cl.expand_dims(x, 0), own[np.newaxis])
        _same(cl.squeeze(cl.expand_dims(x, (0, -1)), (-1, 0)), own)
        _same(cl.broadcast_to(x, (2, *own.shape)), np.broadcast_to(own, (2, *own.shape)))


def test_joins(device: Device) -> None:
    for x, own, rng in _drawn(device):
        _same(cl.concat([x, x], axis=None), np.concatenate([own, own], None))
        repetitions = tuple(int(n) for n in rng.integers(0, 3, int(rng.integers(0, 5))))
        _same(cl.tile(x, repetitions), np.tile(own, repetitions))
        counts = rng.integers(0, 4, own.size)
        _same(cl.repeat(x, asarray(counts, device=device)), np.repeat(own, counts))
        _same(cl.repeat(x, 2), np.repeat(own, 2))
        for axis in range(-own.ndim, own.ndim):
            _same(cl.concat((x, x), axis=axis), np.concatenate([own, own], axis))
            _same(cl.stack([x, x], axis=axis), np.stack([own, own], axis))
            _same(cl.repeat(x, 3, axis=axis), np.repeat(own, 3, axis))
            counts = rng.integers(0, 4, own.shape[axis])
            got = cl.repeat(x, asarray(counts.astype(np.int8), device=device), axis=axis)
            _same(got, np.repeat(own, counts, axis))
            parts = cl.unstack(x, axis=axis)
            assert len(parts) == own.shape[axis]
            for got, want in zip(parts, np.moveaxis(own, axis, 0), strict=True):
                _same(got, want)


def test_many_repetitions_of_few(device: Device) -> None:
    own = np.arange(6, dtype=np.int32).reshape(2, 3)
    counts = np.array([0, 1000, 0])
    x = asarray(own, device=device)
    got = cl.repeat(x, asarray(counts, device=device), axis=1)
    _same(got, np.repeat(own, counts, 1))
    _same(cl.repeat(x, asarray([2], device=device), axis=1), np.repeat(own, 2, 1))


def test_dtypes_are_promoted(device: Device) -> None:
    first, second = asarray([1, 2], device=device), asarray([0.5], device=device)
    got = cl.concat([first, second])
    assert (got.dtype, to_numpy(got).tolist()) == (np.float64, [1, 2, 0.5])
    assert cl.stack([asarray(np.int8(1)), asarray(np.uint8(2))]).dtype == np.int16


def test_views_share_memory(device: Device) -> None:
    x = asarray(np.arange(24.0).reshape(2, 3, 4), device=device)
    views = [
        cl.permute_dims(x, (2, 0, 1)),
        cl.moveaxis(x, 0, -1),
        cl.expand_dims(x, 1),
        cl.squeeze(cl.expand_dims(x, 1), 1),
        cl.broadcast_to(x, (5, 2, 3, 4)),
        *cl.broadcast_arrays(x, x),
        cl.flip(x),
        *cl.unstack(x, axis=1),
        cl.reshape(x, (6, 4)),
        cl.reshape(x, (4, 6), copy=False),
        cl.reshape(cl.flip(x), (6, 4), copy=False),
        cl.reshape(cl.permute_dims(x, (2, 0, 1)), (4, 6), copy=False),
        cl.reshape(cl.broadcast_to(x, (5, 2, 3, 4)), (5, 24), copy=False),
    ]
    assert all(one.storage is x.storage for one in views)
    copies = [
        cl.reshape(x, (6, 4), copy=True),
        cl.reshape(cl.permute_dims(x, (2, 1, 0)), -1),
        cl.roll(x, 0),
        cl.concat([x]),
        cl.tile(x, (1,)),
        cl.repeat(x, 1),
    ]
    assert not any(one.storage is x.storage for one in copies)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: cl.reshape(x, (4,)), ValueError, "6 elements"),
        (lambda x: cl.reshape(x, (-1, 4)), ValueError, "6 elements"),
        (lambda x: cl.reshape(x, (-1, -1)), ValueError, "negative"),
        (lambda x: cl.reshape(cl.permute_dims(x, (1, 0)), (6,), copy=False), ValueError, "copy"),
        (lambda x: cl.broadcast_to(x, (3,)), ValueError, r"\(2, 3\).*\(3,\)"),
        (lambda x: cl.broadcast_to(x, (2, 4)), ValueError, "broadcast"),
        (lambda x: cl.squeeze(x, 0), ValueError, "length 2"),
        (lambda x: cl.squeeze(x, 2), IndexError, "axis 2"),
        (lambda x: cl.expand_dims(x, 4), IndexError, "axis 4"),
        (lambda x: cl.expand_dims(x, (0, 0)), ValueError, "twice"),
        (lambda x: cl.permute_dims(x, (0,)), ValueError, "each of the 2"),
        (lambda x: cl.permute_dims(x, (0, 0)), ValueError, "twice"),
        (lambda x: cl.moveaxis(x, (0, 1), 0), ValueError, "as many"),
        (lambda x: cl.concat([]), ValueError, "at least one"),
        (lambda x: cl.concat([x, cl.reshape(x, (3, 2))]), ValueError, r"\(3, 2\)"),
        (lambda x: cl.concat([x, [1]]), TypeError, "array 1"),
        (lambda x: cl.concat(x), TypeError, "list or tuple"),
        (lambda x: cl.stack([x, cl.reshape(x, (3, 2))]), ValueError, r"\(3, 2\)"),
        (lambda x: cl.unstack(cl.reshape(x, (6,))[0:1], axis=1), IndexError, "axis 1"),
        (lambda x: cl.repeat(x, -1), ValueError, "-1"),
        (lambda x: cl.repeat(x, 1.5), TypeError, "1.5"),
        (lambda x: cl.tile(x, (-1,)), ValueError, "negative"),
        (lambda x: cl.roll(x, (1, 2), axis=0), ValueError, "2 shifts"),
        (lambda x: cl.roll(x, (1, 2)), ValueError, "one shift"),
        (lambda x: cl.flip(to_numpy(x)), TypeError, "asarray"),
    ],
)
def test_errors(device: Device, call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(ones((2, 3), device=device))


def test_repeat_needs_integers_of_the_right_count(device: Device) -> None:
    x = ones((2, 3), device=device)
    with pytest.raises(TypeError, match="float64"):
        cl.repeat(x, ones(3, device=device), axis=1)
    with pytest.raises(ValueError, match="3, one for each"):
        cl.repeat(x, asarray([1, 2], device=device), axis=1)
    with pytest.raises(ValueError, match="-2"):
        cl.repeat(x, asarray([1, 2, -2], device=device), axis=1)


def test_shapes_alone() -> None:
    assert cl.broadcast_shapes((3, 1), (4,), ()) == (3, 4)
    assert cl.broadcast_shapes((0,), (1,)) == (0,)
    with pytest.raises(ValueError, match="broadcast"):
        cl.broadcast_shapes((3,), (0,))
