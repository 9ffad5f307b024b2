"""Memory shared with NumPy: visibility of writes, and lifetimes."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from foreign import CASES, LAYOUTS, drawn, has, on_host, read_only

from portarray._opencl.device import Device
from portarray.clarray.array import Array
from portarray.clarray.engine.copy import assign, copy
from portarray.clarray.engine.transfer import from_numpy, share, to_numpy
from portarray.clarray.strided import empty


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_kernels_work_in_numpys_memory(device: Device, dtype: Any, layout: str) -> None:
    # In the middle of a larger array, whose other elements must stay as they are.
    around = np.zeros((6, 8), has(on_host(device), dtype))
    around[...] = 1
    values = np.asarray(around[1:5, 1:7])
    values[...] = drawn(dtype)
    values = LAYOUTS[layout](values) if layout != "0-d" else values[2:3, 3:4].reshape(())
    x = from_numpy(values, device, copy=False)
    assert np.shares_memory(to_numpy(x), values) or not values.size
    np.testing.assert_array_equal(to_numpy(copy(x)), values)
    expected = around.copy()
    marked = np.zeros_like(around, bool)
    marked_values = LAYOUTS[layout](marked[1:5, 1:7]) if layout != "0-d" else marked[3:4, 4:5]
    marked_values[...] = True
    expected[marked] = 0
    assign(x, 0)
    np.testing.assert_array_equal(around, expected)
    if values.size:
        values[...] = 1
        np.testing.assert_array_equal(to_numpy(copy(x)), values)


@pytest.mark.parametrize("start", range(0, 64, 4))
def test_memory_of_any_alignment_is_used_in_place(device: Device, start: int) -> None:
    values = np.zeros(4096 + 64, np.uint8)[start : start + 4000].view(np.float32)
    values[...] = np.arange(1000)
    x = from_numpy(values, on_host(device), copy=False)
    np.testing.assert_array_equal(to_numpy(copy(x)), np.arange(1000))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (read_only(np.zeros(3)), "read-only"),
        (np.zeros(3, ">f8"), "byte order"),
        (np.zeros(3 * 8 + 1, np.uint8)[1:].view("f8"), "aligned to 8 bytes"),
        (np.zeros(2, "i4,f8")["f1"], "aligned|multiples"),
    ],
)
def test_memory_that_cannot_be_shared_is_copied_or_refused(
    device: Device, values: np.ndarray[Any, Any], why: str
) -> None:
    on_host(device)
    with pytest.raises(ValueError, match=f"copy=False, but .*({why})"):
        from_numpy(values, device, copy=False)
    x = from_numpy(values, device, copy=None)
    assert not np.shares_memory(to_numpy(x), values)
    np.testing.assert_array_equal(to_numpy(x), values)


def test_devices_with_memory_of_their_own_share_none(device: Device) -> None:
    if device.host_memory:
        pytest.skip("the device computes in host memory")
    with pytest.raises(ValueError, match="separate memory"):
        from_numpy(np.zeros(3), device, copy=False)
    x = from_numpy(np.float32([1, 2]), device)
    with pytest.raises(BufferError, match="separate memory"):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match=r"dl_device=\(1, 0\)"):
        x.__dlpack__()
    with pytest.raises(TypeError, match="NumPy cannot read"):
        np.asarray(x)
    assert x.__dlpack_device__() == (4, device.index)
    result = np.from_dlpack(x, device="cpu")
    assert result.tolist() == [1, 2]
    result[0] = 5
    assert to_numpy(x).tolist() == [1, 2]


def test_writes_of_slow_kernels_are_seen_on_both_sides(device: Device) -> None:
    size = 1 << 21
    values = np.zeros(size, np.float32)
    x = from_numpy(values, on_host(device), copy=False)
    ones = from_numpy(np.ones(size, np.float32), device)
    for n in range(10):
        assign(x, ones)
        assert values.min() == 1  # no waiting in between
        values[...] = n
        assert to_numpy(copy(x)).max() == n
    y = empty((size,), np.dtype(np.float32), device)
    view = share(y)
    for n in range(10):
        assign(y, n)
        assert view.min() == view.max() == n


class Noted(np.ndarray):  # type: ignore[type-arg]
    """A subclass of NumPy's array, for weak references to its memory."""


def test_numpys_memory_lives_as_long_as_the_array(device: Device) -> None:
    values = np.arange(1000, dtype=np.int64).view(Noted)
    alive = weakref.ref(values)
    x = from_numpy(values, on_host(device), copy=False)
    tail = x.view((10,), (1,), 990)
    del values, x
    gc.collect()
    assert alive() is not None
    assert to_numpy(tail).tolist() == list(range(990, 1000))
    del tail
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(("nbytes", "most"), [(4000, 70), (4 << 20, 1)])
def test_borrowed_memory_does_not_pile_up_behind_kernels(
    device: Device, nbytes: int, most: int
) -> None:
    w = from_numpy(np.zeros(1 << 16, np.float32), on_host(device))
    alive = []
    for _ in range(3 * most):
        values = np.zeros(nbytes, np.uint8).view(Noted)
        alive.append(weakref.ref(values))
        y = copy(w)  # of no concern to what is borrowed, and perhaps not done
        x = from_numpy(values, device, copy=False)
        del x, values
        assert sum(reference() is not None for reference in alive) <= most
    assert not to_numpy(y).any()


@pytest.mark.parametrize(
    "take", [to_numpy, share, np.asarray, np.from_dlpack], ids=lambda take: take.__name__
)
def test_memory_lives_as_long_as_its_views(device: Device, take: Any) -> None:
    x = from_numpy(np.arange(100), on_host(device))
    storage = weakref.ref(x.storage)
    values = take(x)
    part = values[90:]
    del x, values
    gc.collect()
    assert storage() is not None
    assert from_numpy(np.zeros(100, np.int64), device) is not None  # takes no block in use
    assert part.tolist() == list(range(90, 100))
    del part
    gc.collect()
    assert storage() is None


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (9, 9)])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_capsules_that_nobody_takes_free_the_memory(
    device: Device, dtype: Any, version: tuple[int, int] | None
) -> None:
    x = from_numpy(np.zeros(100, dtype), on_host(device))
    storage = weakref.ref(x.storage)
    capsules = [x.__dlpack__(max_version=version) for _ in range(3)]
    del x
    gc.collect()
    assert storage() is not None
    del capsules
    gc.collect()
    assert storage() is None


def test_views_survive_the_interpreters_end(device: Device) -> None:
    on_host(device)
    program = (
        "import numpy as np, sys\n"
        "from portarray.clarray import asarray\n"
        "from portarray._opencl.registry import devices\n"
        f"x = asarray(np.arange(5.0), device=devices()[{device.index}])\n"
        "sys.kept = np.from_dlpack(x), x.__dlpack__(), np.asarray(x)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_numpy_asarray_shows_the_memory(device: Device) -> None:
    x = from_numpy(np.arange(6).reshape(2, 3), on_host(device)).view((3, 2), (1, 3), 0)
    values = np.asarray(x)
    assert values.tolist() == [[0, 3], [1, 4], [2, 5]]
    assign(x, 9)
    assert (values == 9).all()
    assert np.array(x, copy=True) is not values
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy=False"):
        np.array(x, dtype=np.float32, copy=False)


def test_arrays_are_pickled_with_their_device(device: Device) -> None:
    for values in (drawn("float32").T, drawn(ml_dtypes.bfloat16), np.zeros((0, 2), "complex64")):
        x = pickle.loads(pickle.dumps(from_numpy(values, device)))
        assert isinstance(x, Array)
        assert (x.device.index, x.dtype) == (device.index, values.dtype)
        np.testing.assert_array_equal(to_numpy(x), values)
