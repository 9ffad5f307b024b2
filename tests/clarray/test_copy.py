"""Copies from any layout to any other, fills, casts, and assignment between overlapping views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from portarray._opencl.device import Device
from portarray.clarray.array import Array
from portarray.clarray.creation import asarray
from portarray.clarray.engine.copy import assign, cast, contiguous, copy, fill
from portarray.clarray.engine.copy_kernels import copy_elements
from portarray.clarray.engine.overlap import overlap
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.strided import empty

DTYPES = ("int8", "float16", "float32", "float64", "complex128")  # one of each item size
NumpyArray = np.ndarray[Any, Any]


def _values(shape: tuple[int, ...], dtype: Any) -> NumpyArray:
    return (np.arange(int(np.prod(shape))) % 2039).astype(dtype).reshape(shape)


def _view(rng: np.random.Generator, x: Array, values: NumpyArray) -> tuple[Array, NumpyArray]:
    """Return the same random view of an array and of its NumPy counterpart."""
    order = rng.permutation(values.ndim)
    shape = [x.shape[axis] for axis in order]
    strides = [x.strides[axis] for axis in order]
    offset = x.offset
    index = []
    for axis, size in enumerate(shape):
        step = int(rng.choice([1, 1, 2, 3, -1, -2]))
        first = 0 if step > 0 else size - 1
        length = -(-size // abs(step))
        offset += first * strides[axis]
        shape[axis], strides[axis] = length, strides[axis] * step
        index.append(slice(None, None, step))
    return x.view(tuple(shape), tuple(strides), offset), values.transpose(order)[tuple(index)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(12))
def test_copies_of_random_views(device: Device, seed: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 9, int(rng.integers(1, 7))))
    values = _values(shape, dtype)
    x, want = _view(rng, from_numpy(values, device), values)
    got = copy(x)
    assert got.contiguous
    np.testing.assert_array_equal(to_numpy(got), want)
    # The other way round: into a view.
    target = _values(shape, dtype)
    out, expected = _view(rng, from_numpy(target, device), target)
    source = np.resize(_values((7,), dtype), expected.shape)
    assign(out, from_numpy(source, device))
    np.testing.assert_array_equal(to_numpy(out), source)
    expected[...] = source
    np.testing.assert_array_equal(to_numpy(out.view(*_whole(out, shape))), target)


def _whole(x: Array, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    steps = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        steps[axis] = steps[axis + 1] * shape[axis + 1]
    return shape, tuple(steps), 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((130, 70), (1, 0)),
        ((1, 300), (1, 0)),
        ((3, 500), (1, 0)),
        ((2000, 9), (1, 0)),
        ((9, 2000), (1, 0)),
        ((500, 3), (1, 0)),
        ((65, 33, 17), (2, 0, 1)),
        ((65, 33, 17), (0, 2, 1)),
        ((65, 33, 17), (2, 1, 0)),
        ((4, 5, 6, 7), (1, 3, 0, 2)),
        ((3, 2, 4, 2, 3, 2, 2), (6, 4, 2, 0, 5, 3, 1)),
    ],
)
def test_transposed_copies(
    device: Device, dtype: str, shape: tuple[int, ...], order: tuple[int, ...]
) -> None:
    values = _values(shape, dtype)
    x = from_numpy(values, device)
    x = x.view(tuple(x.shape[axis] for axis in order), tuple(x.strides[axis] for axis in order), 0)
    np.testing.assert_array_equal(to_numpy(copy(x)), values.transpose(order))


def test_long_rows_are_cut_and_short_ones_gathered(device: Device) -> None:
    values = _values((3, 50_000), "float32")
    x = from_numpy(values, device)
    for columns in (slice(None), slice(1, 40_000), slice(None, None, 2), slice(None, None, -1)):
        want = values[:, columns]
        first = columns.indices(50_000)[0]
        view = x.view(want.shape, (50_000, columns.step or 1), first)
        np.testing.assert_array_equal(to_numpy(copy(view)), want)
    narrow = from_numpy(values.reshape(-1, 4), device)
    view = narrow.view((37_500, 3), (4, 1), 1)
    np.testing.assert_array_equal(to_numpy(copy(view)), values.reshape(-1, 4)[:, 1:])


def test_broadcast_copies(device: Device) -> None:
    values = _values((40,), "int32")
    x = from_numpy(values, device)
    np.testing.assert_array_equal(
        to_numpy(copy(x.view((30, 40), (0, 1), 0))), np.broadcast_to(values, (30, 40))
    )
    np.testing.assert_array_equal(
        to_numpy(copy(x.view((40, 30), (1, 0), 0))), np.broadcast_to(values[:, None], (40, 30))
    )


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2)])
def test_copies_of_no_and_of_one_element(device: Device, shape: tuple[int, ...]) -> None:
    x = from_numpy(np.full(shape, 7, np.int16), device)
    np.testing.assert_array_equal(to_numpy(copy(x)), np.full(shape, 7, np.int16))
    assign(x, 3)
    np.testing.assert_array_equal(to_numpy(x), np.full(shape, 3, np.int16))


def test_contiguous_is_the_array_itself_where_it_can(device: Device) -> None:
    x = from_numpy(_values((4, 5), "float32"), device)
    assert contiguous(x) is x
    assert contiguous(x.view((5, 4), (1, 5), 0)).contiguous


@pytest.mark.parametrize("dtype", DTYPES)
def test_fills(device: Device, dtype: str) -> None:
    values = _values((40, 30), dtype)
    x = from_numpy(values, device)
    fill(x.view((20, 30), (60, 1), 30), 5)
    values[1::2] = 5
    fill(x.view((30,), (31,), 0), -1)
    values[range(30), range(30)] = -1
    np.testing.assert_array_equal(to_numpy(x), values)
    fill(x, 0.0 if values.dtype.kind == "f" else 0)
    assert not to_numpy(x).any()


def test_fill_keeps_the_sign_of_zero_and_nan(device: Device) -> None:
    x = empty((3,), np.dtype(np.float32), device)
    fill(x, -0.0)
    assert np.signbit(to_numpy(x)).all()
    fill(x, 0.0)
    assert not np.signbit(to_numpy(x)).any()
    fill(x, float("nan"))
    assert np.isnan(to_numpy(x)).all()
    pair = empty((2,), np.dtype(np.complex64), device)
    for value in (complex(1, 0.0), complex(1, -0.0), complex(-0.0, 1), complex(0.0, 1)):
        fill(pair, value)
        assert repr(complex(to_numpy(pair)[0])) == repr(value)


@pytest.mark.parametrize(
    ("to", "origin"),
    [
        (slice(1, None), slice(None, -1)),
        (slice(None, -1), slice(1, None)),
        (slice(None), slice(None, None, -1)),
        (slice(None, None, 2), slice(1, None, 2)),
        (slice(0, 50), slice(50, 100)),
        (slice(0, 60), slice(40, 100)),
    ],
)
def test_assignment_between_views_of_one_array(device: Device, to: slice, origin: slice) -> None:
    values = _values((100,), "int32")
    x = from_numpy(values, device)

    def part(index: slice) -> Array:
        first, stop, step = index.indices(100)
        return x.view((len(range(first, stop, step)),), (step,), first)

    assign(part(to), part(origin))
    values[to] = values[origin].copy()
    np.testing.assert_array_equal(to_numpy(x), values)


def test_assignment_of_the_transposed_array(device: Device) -> None:
    values = _values((40, 40), "float32")
    x = from_numpy(values, device)
    assign(x, x.view((40, 40), (1, 40), 0))
    np.testing.assert_array_equal(to_numpy(x), _values((40, 40), "float32").T)


def test_assignment_broadcasts_and_casts(device: Device) -> None:
    x = from_numpy(np.zeros((3, 4), np.float32), device)
    assign(x, from_numpy(np.array([1, 2, 3, 4], np.int64), device))
    np.testing.assert_array_equal(to_numpy(x), np.tile([1, 2, 3, 4], (3, 1)))
    with pytest.raises(ValueError, match=r"\(3,\).*\(3, 4\)"):
        assign(x, from_numpy(np.zeros(3, np.float32), device))


def test_overlap_of_views(device: Device) -> None:
    x = empty((100,), np.dtype(np.int32), device)
    half = x.view((50,), (2,), 0)
    odd = x.view((50,), (2,), 1)
    assert not overlap(half, odd)
    assert overlap(half, x.view((50,), (2,), 2))
    assert not overlap(x.view((50,), (1,), 0), x.view((50,), (1,), 50))
    assert overlap(x.view((51,), (1,), 0), x.view((50,), (1,), 50))
    assert overlap(x, x.view((100,), (-1,), 99))
    assert not overlap(x, empty((100,), np.dtype(np.int32), device))


def test_borrowed_memory_overlaps_itself() -> None:
    values = np.arange(10.0)
    first = asarray(values, copy=False)
    second = asarray(values[1:], copy=False)
    assert overlap(first, second)
    assign(second, first.view((9,), (1,), 0))
    np.testing.assert_array_equal(values, [0, *range(9)])


def test_move_needs_no_dtype(device: Device) -> None:
    values = _values((5, 6), "float32")
    x = from_numpy(values, device)
    out = empty((6, 5), np.dtype(np.int32), device)
    copy_elements(out, x.view((6, 5), (1, 6), 0))
    np.testing.assert_array_equal(to_numpy(out), values.T.copy().view(np.int32))


def test_cast(device: Device) -> None:
    values = np.array([0.0, -1.5, 2.75, 100.0], np.float32)
    x = from_numpy(values, device)
    for dtype in ("int8", "bool", "float16", "complex64", "int64"):
        if np.dtype(dtype) in device.dtypes:
            got = to_numpy(cast(x, np.dtype(dtype)))
            np.testing.assert_array_equal(got, values.astype(dtype))
            assert got.dtype == dtype
