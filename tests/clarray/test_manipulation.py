"""Views and errors of manipulation functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from portarray._opencl.device import Device
from portarray.clarray import manipulation as cl
from portarray.clarray.array import Array
from portarray.clarray.creation import asarray, ones
from portarray.clarray.engine.transfer import to_numpy

pytestmark = pytest.mark.drawn_devices(1)

NumpyArray = np.ndarray[Any, Any]


def _same(got: Array, want: NumpyArray) -> None:
    values = to_numpy(got)
    assert (values.shape, values.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(values, want)


def test_many_repetitions_of_few(device: Device) -> None:
    values = np.arange(6, dtype=np.int32).reshape(2, 3)
    counts = np.array([0, 1000, 0])
    x = asarray(values, device=device)
    got = cl.repeat(x, asarray(counts, device=device), axis=1)
    _same(got, np.repeat(values, counts, 1))
    _same(cl.repeat(x, asarray([2], device=device), axis=1), np.repeat(values, 2, 1))


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
    assert all(array.storage is x.storage for array in views)
    copies = [
        cl.reshape(x, (6, 4), copy=True),
        cl.reshape(cl.permute_dims(x, (2, 1, 0)), -1),
        cl.roll(x, 0),
        cl.concat([x]),
        cl.tile(x, (1,)),
        cl.repeat(x, 1),
    ]
    assert not any(array.storage is x.storage for array in copies)


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
