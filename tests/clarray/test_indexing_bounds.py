"""No index makes a kernel access memory outside its array."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from portarray._opencl.device import Device
from portarray.clarray.array import Array
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.indexing import take, take_along_axis

pytestmark = pytest.mark.drawn_devices(1)

CANARY = -12345
FAR = [5, -6, 2**31, -(2**31) - 1, 2**62, -(2**62), 2**63 - 1, -(2**63)]


def _window(device: Device) -> tuple[Array, Array]:
    """Return an array full of canaries, and a view of five elements in its middle."""
    whole = from_numpy(np.full(40, CANARY), device)
    view = whole[10:30:4]
    view[:] = from_numpy(np.arange(5), device)
    return whole, view


def _canaries(whole: Array) -> bool:
    values = to_numpy(whole)
    beside = np.ones(40, bool)
    beside[10:30:4] = False
    return bool((values[beside] == CANARY).all())


@pytest.mark.parametrize("value", FAR)
@pytest.mark.parametrize("position", [0, 3, 4999])
def test_far_indices_are_named(device: Device, value: int, position: int) -> None:
    index = np.zeros(5000, np.int64)
    index[position] = value
    i = from_numpy(index, device)
    whole, x = _window(device)
    message = f"index {value} is out of bounds for axis 0 with size 5"
    for read in (lambda: x[i], lambda: take(x, i), lambda: take_along_axis(x, i, axis=0)):
        with pytest.raises(IndexError, match=message):
            read()
    zeros = from_numpy(np.zeros(5000, np.int64), device)
    for value_to_write in (7, zeros):
        with pytest.raises(IndexError, match=message):
            x[i] = value_to_write
    with pytest.raises(IndexError, match=message):
        from_numpy(np.zeros((5, 5)), device)[i, zeros]
    assert _canaries(whole)
    assert x.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64"])
def test_every_index_dtype_is_checked(device: Device, dtype: str) -> None:
    whole, x = _window(device)
    extremes = np.iinfo(dtype)
    values = {int(extremes.max), 5}
    if extremes.min < 0:
        values |= {int(extremes.min), -6}
    for value in values:
        for length in (1, 64):
            index = np.full(length, 4, dtype)
            index[-1] = value
            i = from_numpy(index, device)
            with pytest.raises(IndexError, match=f"index {value} is out of bounds"):
                x[i]
            with pytest.raises(IndexError, match=f"index {value} is out of bounds"):
                x[i] = 1
    assert _canaries(whole)
    assert x.tolist() == [0, 1, 2, 3, 4]


def test_rows_are_checked(device: Device) -> None:
    whole = from_numpy(np.full((9, 12), CANARY), device)
    x = whole[2:7, 3:9]
    x[:] = 1
    for length in (1, 9, 3000):
        index = np.zeros(length, np.int64)
        index[-1] = 5
        i = from_numpy(index, device)
        for read in (lambda: x[i], lambda: take(x, i, axis=0), lambda: x[i, ::-2]):  # noqa: B023
            with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
                read()
        with pytest.raises(IndexError, match="index 5"):
            x[i] = 2
    assert (to_numpy(x) == 1).all()
    x[from_numpy(np.array([0, -1]), device)] = 3
    expected = np.full((9, 12), CANARY)
    expected[2:7, 3:9] = 1
    expected[[2, 6], 3:9] = 3
    np.testing.assert_array_equal(to_numpy(whole), expected)


def test_writing_leaves_neighbouring_memory_alone(device: Device) -> None:
    whole, x = _window(device)
    x[from_numpy(np.array([0, -1, 2]), device)] = 9
    x[from_numpy(np.array([False, True, False, True, False]), device)] = 8
    x[from_numpy(np.array([1]), device)] = from_numpy(np.array([6]), device)
    assert x.tolist() == [9, 6, 9, 8, 9]
    assert _canaries(whole)
    masked = np.random.default_rng(0).random(5) < 0.5
    x[from_numpy(masked, device)] = from_numpy(np.arange(masked.sum()), device)
    assert _canaries(whole)


def test_axes_longer_than_32_bits(device: Device) -> None:
    element = from_numpy(np.array([7], np.int8), device)
    x = element.view((2**40,), (0,), 0)
    assert take(x, from_numpy(np.array([0, 2**40 - 1, -(2**40)]), device)).tolist() == [7, 7, 7]
    for value in (2**40, -(2**40) - 1):
        with pytest.raises(IndexError, match=f"index {value} is out of bounds for axis 0 with"):
            take(x, from_numpy(np.array([value]), device))
    y = element.view((2**40, 3, 2**20), (0, 0, 0), 0)[:, 1:, 2**20 - 5 :]
    assert y[from_numpy(np.array([2**39, -1]), device)].shape == (2, 2, 5)


def test_errors_stay_in_their_thread(device: Device) -> None:
    """Concurrent calls of other threads neither get nor hide an error."""
    x = from_numpy(np.arange(5000), device)
    good = from_numpy(np.arange(5000)[::-1].copy(), device)
    bad = from_numpy(np.append(np.zeros(4999, np.int64), 5000), device)

    def read(index: int) -> bool:
        if index % 2:
            with pytest.raises(IndexError, match="index 5000"):
                x[bad]
            return True
        return bool((to_numpy(x[good]) == np.arange(5000)[::-1]).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(read, range(60)))


@pytest.mark.parametrize("key", [[], [[], []]])
def test_no_indices(device: Device, key: Any) -> None:
    index = np.array(key, np.int64)
    x = from_numpy(np.arange(6.0).reshape(2, 3), device)
    i = from_numpy(index, device)
    assert x[i].shape == (*index.shape, 3)
    assert take(x, i, axis=1).shape == (2, *index.shape)
    x[i] = 5.0
    x[i] = from_numpy(np.zeros((*index.shape, 3)), device)
    np.testing.assert_array_equal(to_numpy(x).ravel(), np.arange(6))


def test_sources_without_elements(device: Device) -> None:
    x = from_numpy(np.empty((0, 3), np.float32), device)
    zero = from_numpy(np.array([0]), device)
    empty = from_numpy(np.array([], np.int64), device)
    for use in (
        lambda: x[zero],
        lambda: take(x, zero, axis=0),
        lambda: x.__setitem__(zero, 1.0),
        lambda: take_along_axis(x, from_numpy(np.zeros((1, 3), np.int64), device), axis=0),
    ):
        with pytest.raises(IndexError, match="index 0 is out of bounds for axis 0 with size 0"):
            use()
    assert x[empty].shape == take(x, empty, axis=0).shape == (0, 3)
    # Results without elements are checked too, as NumPy does.
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1 with size 3"):
        x[:, from_numpy(np.array([3]), device)]
