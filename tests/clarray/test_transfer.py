"""Copies between NumPy and devices: every dtype and layout, large and concurrent ones."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from foreign import CASES, LAYOUTS, drawn, has, read_only

from portarray._opencl.device import Device
from portarray.clarray.engine import staging
from portarray.clarray.engine.copy import assign, copy
from portarray.clarray.engine.transfer import duplicate, from_numpy, share, to_numpy
from portarray.clarray.errors import DTypeNotSupportedError


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_values_come_back(device: Device, dtype: Any, layout: str) -> None:
    values = np.asarray(LAYOUTS[layout](drawn(has(device, dtype))))
    x = from_numpy(values, device)
    assert x.contiguous
    result = to_numpy(x)
    assert (result.dtype, result.shape) == (values.dtype, values.shape)
    np.testing.assert_array_equal(result, values)
    # A copy: the source's later values are no matter of the array.
    values[...] = 1 - values if dtype != "bool" else ~values
    if values.size:
        assert not np.array_equal(to_numpy(x), values)


def test_broadcast_and_foreign_byte_order_are_read(device: Device) -> None:
    for values in (np.broadcast_to(np.float32([1, 2]), (3, 2)), np.arange(5, dtype=">i4")):
        np.testing.assert_array_equal(to_numpy(from_numpy(values, device)), values)


def test_a_view_that_repeats_elements_is_read(device: Device) -> None:
    x = from_numpy(np.float32([1, 2, 3]), device).view((2, 3), (0, -1), 2)
    np.testing.assert_array_equal(to_numpy(x), [[3, 2, 1], [3, 2, 1]])


@pytest.mark.parametrize(
    "nbytes",
    [
        *(staging.LARGE - 1, staging.LARGE, staging.CHUNK, staging.CHUNK + 1),
        *(2 * staging.CHUNK, 3 * staging.CHUNK + 5),
    ],
)
def test_large_copies_arrive_whole(device: Device, nbytes: int) -> None:
    values = np.random.default_rng(0).integers(0, 256, nbytes, np.uint8)
    x = from_numpy(values, device)
    np.testing.assert_array_equal(to_numpy(x), values)
    odd = x.view((nbytes - 3,), (1,), 3)
    np.testing.assert_array_equal(to_numpy(odd), values[3:])


def test_a_failed_copy_is_reported_once(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failed:
        def wait(self) -> None:
            raise OSError("the copy failed")

    if device.host_memory:
        return
    values = np.arange(staging.LARGE, dtype=np.uint8)
    block = staging._staging_of(device).blocks[0]
    monkeypatch.setattr(block, "event", Failed())
    with pytest.raises(OSError, match="the copy failed"):
        from_numpy(values, device)
    np.testing.assert_array_equal(to_numpy(from_numpy(values, device)), values)


def test_several_threads_copy_at_once(device: Device) -> None:
    values = [np.full(staging.CHUNK + n, n, np.uint8) for n in range(6)]
    result: dict[int, bool] = {}

    def there_and_back(n: int) -> None:
        result[n] = all(
            np.array_equal(to_numpy(copy(from_numpy(values[n], device))), values[n])
            for _ in range(3)
        )

    threads = [threading.Thread(target=there_and_back, args=(n,)) for n in range(len(values))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert result == dict.fromkeys(range(6), True)


def test_the_host_writes_recycled_memory_after_the_kernels_that_read_it(device: Device) -> None:
    size = 1 << 20
    for n in range(20):
        x = from_numpy(np.full(size, n, np.float32), device)
        y = copy(x)  # perhaps not done when x's block is written again
        del x
        z = from_numpy(np.full(size, -1, np.float32), device)
        assert (to_numpy(y) == n).all()
        assert (to_numpy(z) == -1).all()


def test_a_dtype_that_the_device_lacks_is_refused(device: Device) -> None:
    with pytest.raises(DTypeNotSupportedError, match="datetime64"):
        from_numpy(np.zeros(2, "M8[s]"), device)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int8, ml_dtypes.bfloat16])
def test_large_transposed_arrays_are_copied(device: Device, dtype: Any) -> None:
    values = (np.arange(300 * 400) % 101).astype(has(device, dtype)).reshape(300, 400)
    cube = values.reshape(20, 15, 400).transpose(2, 0, 1)
    for source in (values.T, read_only(values.T.copy().T), values.T[::-1, ::2], cube):
        x = from_numpy(source, device)
        assert x.contiguous
        np.testing.assert_array_equal(to_numpy(x), source)
        assert not np.shares_memory(to_numpy(x), source)
        if device.host_memory:
            assert not x.storage.shared
    x = from_numpy(values, device).view((400, 300), (1, 400), 0)
    result = duplicate(x)
    np.testing.assert_array_equal(result, values.T)
    result[...] = 0
    np.testing.assert_array_equal(to_numpy(x), values.T)


def test_large_copies_are_nobody_elses(device: Device) -> None:
    values = np.arange(1 << 20, dtype=np.int32)
    x = from_numpy(values, device)
    for view in (x, x.view((1 << 20,), (-1,), (1 << 20) - 1)):
        result = duplicate(view)
        storage = weakref.ref(view.storage)
        assert result.tolist() == to_numpy(view).tolist()
        assign(view, 7)
        assert result[0] in (0, values[-1])
        assign(view, from_numpy(result, device))
    del x, view
    gc.collect()
    assert storage() is None
    y = from_numpy(np.zeros(1 << 20, np.int32), device)  # takes no block that the copy lies in
    assert result.tolist() == values[::-1].tolist()
    assert not to_numpy(y).any()


def test_an_empty_view_beyond_the_memory_is_read(device: Device) -> None:
    x = from_numpy(np.float32([1, 2]), device).view((0, 3), (3, -1), 1000)
    assert to_numpy(x).shape == (0, 3)
    assert share(x).dtype == np.float32
