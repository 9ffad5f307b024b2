"""Memory shared with other libraries: who sees what, and who keeps what alive."""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import os
import pickle
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from portarray.clarray import interop
from portarray.clarray.array import Array, empty
from portarray.clarray.engine import staging
from portarray.clarray.engine.copy import assign, copy
from portarray.clarray.engine.transfer import borrow, duplicate, from_numpy, share, to_numpy
from portarray.clarray.errors import DTypeNotSupportedError
from portarray.clarray.interop import from_dlpack
from portarray.clarray.runtime.device import Device, devices

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
    ml_dtypes.bfloat16,
]
LAYOUTS = {
    "C": lambda v: v,
    "transposed": lambda v: v.T,
    "steps": lambda v: v[::2, 1::3],
    "backward": lambda v: v[::-1, ::-2],
    "row": lambda v: v[1],
    "0-d": lambda v: v[2, 3],
    "one long": lambda v: v[1:2, 2:3],
    "empty": lambda v: v[:0],
}
# Every layout in one dtype, every dtype in one layout.
CASES = [
    *(pytest.param(np.float32, layout, id=layout) for layout in LAYOUTS),
    *(pytest.param(dtype, "steps", id=np.dtype(dtype).name) for dtype in DTYPES),
]


def drawn(dtype: Any) -> np.ndarray[Any, Any]:
    return (np.arange(4 * 6).reshape(4, 6) % 7).astype(dtype)


def on_host(device: Device) -> Device:
    if not device.host_memory:
        pytest.skip("the device has memory of its own")
    return device


def has(device: Device, dtype: Any) -> np.dtype[Any]:
    found = np.dtype(dtype)
    if found not in device.dtypes:
        pytest.skip(f"the device has no {found}")
    return found


# --- copies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_values_come_back(device: Device, dtype: Any, layout: str) -> None:
    values = np.asarray(LAYOUTS[layout](drawn(has(device, dtype))))
    x = from_numpy(values, device)
    assert x.contiguous
    found = to_numpy(x)
    assert (found.dtype, found.shape) == (values.dtype, values.shape)
    np.testing.assert_array_equal(found, values)
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


def test_a_copy_that_failed_is_told_once(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
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
    found: dict[int, bool] = {}

    def there_and_back(n: int) -> None:
        found[n] = all(
            np.array_equal(to_numpy(copy(from_numpy(values[n], device))), values[n])
            for _ in range(3)
        )

    threads = [threading.Thread(target=there_and_back, args=(n,)) for n in range(len(values))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(6), True)


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


# --- NumPy's memory -------------------------------------------------------------------------------


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
    x = borrow(values, on_host(device))
    np.testing.assert_array_equal(to_numpy(copy(x)), np.arange(1000))


def read_only(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    values.flags.writeable = False
    return values


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
    with pytest.raises(ValueError, match="memory of its own"):
        from_numpy(np.zeros(3), device, copy=False)
    x = from_numpy(np.float32([1, 2]), device)
    with pytest.raises(BufferError, match="memory of its own"):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match=r"dl_device=\(1, 0\)"):
        x.__dlpack__()
    with pytest.raises(TypeError, match="NumPy cannot read"):
        np.asarray(x)
    assert x.__dlpack_device__() == (4, device.index)
    found = np.from_dlpack(x, device="cpu")
    assert found.tolist() == [1, 2]
    found[0] = 5
    assert to_numpy(x).tolist() == [1, 2]


def test_what_one_side_writes_the_other_reads_though_kernels_are_slow(device: Device) -> None:
    size = 1 << 21
    values = np.zeros(size, np.float32)
    x = borrow(values, on_host(device))
    one = from_numpy(np.ones(size, np.float32), device)
    for n in range(10):
        assign(x, one)
        assert values.min() == 1  # no waiting in between
        values[...] = n
        assert to_numpy(copy(x)).max() == n
    y = empty((size,), np.dtype(np.float32), device)
    view = share(y)
    for n in range(10):
        assign(y, n)
        assert view.min() == view.max() == n


# --- lifetimes ------------------------------------------------------------------------------------


class Noted(np.ndarray):  # type: ignore[type-arg]
    """NumPy's own arrays take no weak references to their memory."""


def test_numpys_memory_lives_as_long_as_the_array(device: Device) -> None:
    values = np.arange(1000, dtype=np.int64).view(Noted)
    alive = weakref.ref(values)
    x = borrow(values, on_host(device))
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
        x = borrow(values, device)
        del x, values
        assert sum(one() is not None for one in alive) <= most
    assert not to_numpy(y).any()


@pytest.mark.parametrize(
    "take", [to_numpy, share, np.asarray, np.from_dlpack], ids=lambda take: take.__name__
)
def test_memory_lives_as_long_as_what_was_taken(device: Device, take: Any) -> None:
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


class Producer:
    """Offers the same capsule again and again."""

    def __init__(self, capsule: Any, kind: int = 1) -> None:
        self.capsule = capsule
        self.kind = kind

    def __dlpack__(self, **_options: object) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.kind, 0)


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_is_taken_once(device: Device, version: tuple[int, int] | None) -> None:
    x = from_numpy(np.arange(3), on_host(device))
    producer = Producer(x.__dlpack__(max_version=version))
    found = from_dlpack(producer, device=device, copy=False)
    assert to_numpy(found).tolist() == [0, 1, 2]
    with pytest.raises(BufferError, match="used before"):
        from_dlpack(producer, device=device)
    storage = weakref.ref(x.storage)
    del x, producer
    gc.collect()
    assert to_numpy(found).tolist() == [0, 1, 2]
    del found
    gc.collect()
    assert storage() is None


def test_views_survive_the_interpreters_end(device: Device) -> None:
    on_host(device)
    program = (
        "import numpy as np, sys\n"
        "from portarray.clarray.runtime.device import devices\n"
        "from portarray.clarray.engine.transfer import from_numpy\n"
        f"x = from_numpy(np.arange(5.0), devices()[{device.index}])\n"
        "sys.kept = np.from_dlpack(x), x.__dlpack__(), np.asarray(x)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


# --- DLPack ---------------------------------------------------------------------------------------


class Header(ctypes.Structure):
    """The beginning of DLManagedTensorVersioned."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
    ]


def name_and_flags(capsule: Any) -> tuple[str, int]:
    name = ctypes.pythonapi.PyCapsule_GetName
    name.argtypes, name.restype = (ctypes.py_object,), ctypes.c_char_p
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    title: bytes = name(capsule)
    if not title.endswith(b"_versioned"):
        return title.decode(), 0
    return title.decode(), Header.from_address(pointer(capsule, title)).flags


def test_capsules_say_what_they_are(device: Device) -> None:
    x = from_numpy(np.arange(3), on_host(device))
    assert name_and_flags(x.__dlpack__()) == ("dltensor", 0)
    assert name_and_flags(x.__dlpack__(max_version=(1, 1))) == ("dltensor_versioned", 0)
    copied = 2  # DLPACK_FLAG_BITMASK_IS_COPIED
    assert name_and_flags(x.__dlpack__(max_version=(1, 0), copy=True))[1] == copied
    assert x.__dlpack_device__() == (1, 0)


def test_an_exported_copy_is_one(device: Device) -> None:
    x = from_numpy(np.arange(3), on_host(device))
    own, other = (np.from_dlpack(x, copy=flag) for flag in (False, True))
    assign(x, 7)
    assert own.tolist() == [7, 7, 7]
    assert other.tolist() == [0, 1, 2]


def test_wrong_exports_are_refused(device: Device) -> None:
    x = from_numpy(np.arange(3), device)
    with pytest.raises(BufferError, match="streams"):
        x.__dlpack__(stream=1)
    with pytest.raises(BufferError, match=r"not to DLPack device \(2, 0\)"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError, match=r"use clarray\.asarray"):
        from_dlpack([1, 2])


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_pytorch_and_clarray_share_memory(device: Device, dtype: Any, layout: str) -> None:
    torch = pytest.importorskip("torch")
    name = np.dtype(has(on_host(device), dtype)).name
    whole = torch.arange(24).reshape(4, 6).to(getattr(torch, name))
    tensor = whole.T if layout == "backward" else LAYOUTS[layout](whole)
    x = from_dlpack(tensor, device=device, copy=False)
    assert x.shape == tuple(tensor.shape)
    back = torch.from_dlpack(x)
    assert back.dtype == tensor.dtype
    if not x.size:
        return
    assert back.data_ptr() == tensor.data_ptr()
    assign(x, 0)
    assert not tensor.to(torch.complex64).any()
    tensor.fill_(True)
    np.testing.assert_array_equal(to_numpy(copy(x)), np.ones(x.shape, x.dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_jax_and_clarray_share_memory(device: Device, dtype: Any) -> None:
    jax = pytest.importorskip("jax")
    name = np.dtype(has(on_host(device), dtype)).name
    with jax.enable_x64(True):
        given = jax.numpy.arange(24).reshape(4, 6).astype(name)
        x = from_dlpack(given, device=device, copy=False)
        assert x.dtype == np.dtype(dtype)
        assert np.shares_memory(to_numpy(x), np.asarray(given))
        # JAX takes memory as it is where it is aligned to 64 bytes, as a pool's is.
        y = copy(x)
        back = jax.numpy.from_dlpack(y)
        assert back.dtype == given.dtype
        np.testing.assert_array_equal(np.asarray(back), to_numpy(y))
        assert np.asarray(back).ctypes.data == to_numpy(y).ctypes.data


@pytest.mark.skipif(importlib.util.find_spec("dpnp") is None, reason="dpnp is not installed")
def test_dpnp_and_clarray_in_one_process(device: Device, tmp_path: Path) -> None:
    """SYCL memory comes by a copy. A process of its own, on the one runtime that dpnp works on."""
    if "Intel" not in device.platform_name or not device.host_memory:
        pytest.skip("dpnp needs Intel's runtime, and is killed by others")
    library = next(Path(sys.prefix).glob("lib/libintelocl.so"), None)
    if library is None:
        pytest.skip("Intel's runtime is not the one of the wheels")
    (tmp_path / "intel.icd").write_text(f"{library}\n")
    program = """
import dpnp
import numpy as np
from portarray.clarray.engine.transfer import to_numpy
from portarray.clarray.interop import from_dlpack
given = dpnp.arange(6.0)
x = from_dlpack(given)
assert to_numpy(x).tolist() == [0, 1, 2, 3, 4, 5]
try:
    from_dlpack(given, copy=False)
except ValueError as error:
    assert "no host memory" in str(error)
else:
    raise AssertionError("copy=False copied")
back = dpnp.from_dlpack(x, device=given.sycl_device)
assert dpnp.asnumpy(back * 2).tolist() == [0, 2, 4, 6, 8, 10]
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, "OCL_ICD_VENDORS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_read_only_producers_are_copied(device: Device) -> None:
    values = read_only(np.arange(3))
    for producer in (values, memory_of(values)):
        x = from_dlpack(producer, device=device)
        assert not np.shares_memory(to_numpy(x), values)
        with pytest.raises(ValueError, match="copy=False"):
            from_dlpack(producer, device=device, copy=False)


def memory_of(values: np.ndarray[Any, Any]) -> Producer:
    """Return a producer that is no NumPy array."""

    class Versioned(Producer):
        def __dlpack__(self, **options: Any) -> Any:
            return values.__dlpack__(**options)

    return Versioned(None)


def test_old_producers_are_read(device: Device) -> None:
    class Old:
        def __init__(self) -> None:
            self.values = np.arange(3)

        def __dlpack__(self, stream: object = None) -> Any:
            return self.values.__dlpack__(stream=stream)

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    old = Old()
    # They cannot say whether their memory may be written: JAX's may not.
    x = from_dlpack(old, device=device, copy=None)
    assert to_numpy(x).tolist() == [0, 1, 2]
    assert not np.shares_memory(to_numpy(x), old.values)
    if device.host_memory:
        y = from_dlpack(old, device=device, copy=False)
        assign(y, 7)
        assert old.values.tolist() == [7, 7, 7]


def test_page_locked_memory_is_host_memory(device: Device) -> None:
    values = np.arange(3)
    producer = memory_of(values)
    producer.kind = 3
    x = from_dlpack(producer, device=on_host(device), copy=False)
    assign(x, 7)
    assert values.tolist() == [7, 7, 7]


def test_other_memory_comes_by_the_producers_copy(device: Device) -> None:
    class Far(Producer):
        def __dlpack__(self, **options: Any) -> Any:
            if self.capsule and "dl_device" in options:
                raise TypeError("unexpected keyword argument 'dl_device'")
            options["dl_device"] = None
            return np.arange(3).__dlpack__(**options)

    x = from_dlpack(Far(None, 2), device=device)
    assert to_numpy(x).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="device type 2"):
        from_dlpack(Far(None, 2), device=device, copy=False)
    with pytest.raises(BufferError, match="Far copies nothing to the CPU"):
        from_dlpack(Far("old", 2), device=device)


def test_what_is_no_capsule_is_refused(device: Device) -> None:
    with pytest.raises(TypeError, match="returned str and no DLPack capsule"):
        from_dlpack(Producer("capsule"), device=device)


def test_arrays_of_clarray_go_between_its_devices(device: Device) -> None:
    x = from_numpy(np.arange(3), device)
    assert from_dlpack(x) is x
    assert x.to_device(device) is x
    assert from_dlpack(x, copy=True).storage is not x.storage
    other = Device(device.native, device.index, discrete=True)
    y = x.to_device(other)
    assert y.device is other
    assert to_numpy(y).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"copy=False, but .* has memory of its own"):
        from_dlpack(x, device=other, copy=False)
    with pytest.raises(ValueError, match="stream"):
        x.to_device(device, stream=1)
    with pytest.raises(TypeError, match="names no device"):
        x.to_device(None)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_devices_that_compute_in_host_memory_share_it(device: Device, layout: str) -> None:
    # Two queues: the other runtime's where there is one, else another of the same.
    others = [one for one in devices() if one.host_memory and one is not device]
    other = others[0] if others else Device(device.native, device.index)
    whole = from_numpy(drawn("float32"), on_host(device))
    view = LAYOUTS[layout](np.arange(24).reshape(4, 6))
    strides = tuple(stride // view.itemsize for stride in view.strides)
    x = whole.view(view.shape, strides, int(view.flat[0]) if view.size else 0)
    y = from_dlpack(x, device=other, copy=False)
    assert (y.device, y.shape, interop.why_copied(x, other)) == (other, x.shape, "")
    if not x.size:
        return
    for n in range(5):  # kernels of both, one after the other, with nobody waiting
        assign(x, n)
        z = copy(y)
        assign(y, -n)
        np.testing.assert_array_equal(to_numpy(z), np.full(x.shape, n, np.float32))
        np.testing.assert_array_equal(to_numpy(copy(x)), np.full(x.shape, -n, np.float32))
    back = y.to_device(device)
    assert back.storage is not y.storage
    assign(back, 9)
    storage = weakref.ref(whole.storage)
    del x, whole, back
    gc.collect()
    assert from_numpy(np.zeros(24, np.float32), device) is not None  # takes no block in use
    np.testing.assert_array_equal(to_numpy(copy(y)), np.full(y.shape, 9, np.float32))
    assert storage() is not None
    del y
    other.finish()
    gc.collect()
    assert storage() is None


def test_a_view_of_an_array_becomes_that_array_again(device: Device) -> None:
    x = from_numpy(np.arange(24.0).reshape(4, 6), on_host(device))
    view = np.asarray(x)[1:, ::-2]
    y = from_numpy(view, device, copy=False)
    assert y.storage is x.storage
    assert to_numpy(y).tolist() == view.tolist()
    assign(y, -1)
    assert (view == -1).all()
    assert to_numpy(x)[0].tolist() == [0, 1, 2, 3, 4, 5]
    # A place that no offset in whole elements of the array's memory leads to.
    memory = np.zeros(96, np.uint8)
    start = (8 - memory.ctypes.data) % 16
    reals = borrow(memory[start : start + 72].view(np.float64), device)
    numbers = from_numpy(to_numpy(reals)[1:].view(np.complex128), device, copy=False)
    assign(numbers, 1j)
    assert to_numpy(reals).tolist() == [0, 0, 1, 0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int8, ml_dtypes.bfloat16])
def test_large_transposed_arrays_are_copied(device: Device, dtype: Any) -> None:
    values = (np.arange(300 * 400) % 101).astype(has(device, dtype)).reshape(300, 400)
    cube = values.reshape(20, 15, 400).transpose(2, 0, 1)
    for given in (values.T, read_only(values.T.copy().T), values.T[::-1, ::2], cube):
        x = from_numpy(given, device)
        assert x.contiguous
        np.testing.assert_array_equal(to_numpy(x), given)
        assert not np.shares_memory(to_numpy(x), given)
        if device.host_memory:
            assert not x.storage.shared
    x = from_numpy(values, device).view((400, 300), (1, 400), 0)
    found = duplicate(x)
    np.testing.assert_array_equal(found, values.T)
    found[...] = 0
    np.testing.assert_array_equal(to_numpy(x), values.T)


def test_large_copies_are_nobody_elses(device: Device) -> None:
    values = np.arange(1 << 20, dtype=np.int32)
    x = from_numpy(values, device)
    for view in (x, x.view((1 << 20,), (-1,), (1 << 20) - 1)):
        found = duplicate(view)
        storage = weakref.ref(view.storage)
        assert found.tolist() == to_numpy(view).tolist()
        assign(view, 7)
        assert found[0] in (0, values[-1])
        assign(view, from_numpy(found, device))
    del x, view
    gc.collect()
    assert storage() is None
    y = from_numpy(np.zeros(1 << 20, np.int32), device)  # takes no block that the copy lies in
    assert found.tolist() == values[::-1].tolist()
    assert not to_numpy(y).any()


# --- NumPy and pickle -----------------------------------------------------------------------------


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


def test_an_empty_view_beyond_the_memory_is_read(device: Device) -> None:
    x = from_numpy(np.float32([1, 2]), device).view((0, 3), (3, -1), 1000)
    assert to_numpy(x).shape == (0, 3)
    assert share(x).dtype == np.float32
