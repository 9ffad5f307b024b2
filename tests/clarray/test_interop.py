"""Arrays of other libraries by DLPack: sharing, copies and refusals."""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foreign import CASES, DTYPES, LAYOUTS, drawn, has, on_host, read_only

from portarray._opencl.device import Device
from portarray._opencl.registry import devices
from portarray.clarray import interop
from portarray.clarray.engine.copy import assign, copy
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.interop import from_dlpack


class Producer:
    """A producer that returns the same capsule each time."""

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
    result = from_dlpack(producer, device=device, copy=False)
    assert to_numpy(result).tolist() == [0, 1, 2]
    with pytest.raises(BufferError, match="already consumed"):
        from_dlpack(producer, device=device)
    storage = weakref.ref(x.storage)
    del x, producer
    gc.collect()
    assert to_numpy(result).tolist() == [0, 1, 2]
    del result
    gc.collect()
    assert storage() is None


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


def test_capsules_describe_their_memory(device: Device) -> None:
    x = from_numpy(np.arange(3), on_host(device))
    assert name_and_flags(x.__dlpack__()) == ("dltensor", 0)
    assert name_and_flags(x.__dlpack__(max_version=(1, 1))) == ("dltensor_versioned", 0)
    copied = 2  # DLPACK_FLAG_BITMASK_IS_COPIED
    assert name_and_flags(x.__dlpack__(max_version=(1, 0), copy=True))[1] == copied
    assert x.__dlpack_device__() == (1, 0)


def test_an_exported_copy_does_not_share_memory(device: Device) -> None:
    x = from_numpy(np.arange(3), on_host(device))
    shared, second = (np.from_dlpack(x, copy=flag) for flag in (False, True))
    assign(x, 7)
    assert shared.tolist() == [7, 7, 7]
    assert second.tolist() == [0, 1, 2]


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
        array = jax.numpy.arange(24).reshape(4, 6).astype(name)
        if "versioned" in repr(array.__dlpack__(max_version=(1, 0))):
            # Newer releases of JAX say that their memory is read-only.
            with pytest.raises(ValueError, match="read-only"):
                from_dlpack(array, device=device, copy=False)
            x = from_dlpack(array, device=device)
        else:
            x = from_dlpack(array, device=device, copy=False)
            assert np.shares_memory(to_numpy(x), np.asarray(array))
        assert x.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(to_numpy(x), np.asarray(array))
        # JAX takes memory as it is where it is aligned to 64 bytes, as a pool's is.
        y = copy(x)
        back = jax.numpy.from_dlpack(y)
        assert back.dtype == array.dtype
        np.testing.assert_array_equal(np.asarray(back), to_numpy(y))
        assert np.asarray(back).ctypes.data == to_numpy(y).ctypes.data


@pytest.mark.skipif(importlib.util.find_spec("dpnp") is None, reason="dpnp is not installed")
def test_dpnp_and_clarray_in_one_process(device: Device, tmp_path: Path) -> None:
    """SYCL memory is copied; the process has the one runtime that dpnp supports."""
    if "Intel" not in device.platform_name or not device.host_memory:
        pytest.skip("dpnp needs Intel's runtime, and is killed by others")
    library = next(Path(sys.prefix).glob("lib/libintelocl.so"), None)
    if library is None:
        pytest.skip("Intel's runtime is not the one of the wheels")
    (tmp_path / "intel.icd").write_text(f"{library}\n")
    program = """
import dpnp
import numpy as np
from portarray.clarray import from_dlpack
from portarray.clarray.engine.transfer import to_numpy
given = dpnp.arange(6.0)
x = from_dlpack(given)
assert to_numpy(x).tolist() == [0, 1, 2, 3, 4, 5]
try:
    from_dlpack(given, copy=False)
except ValueError as error:
    assert "not host memory" in str(error)
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
    """Return a producer with the memory of a NumPy array."""

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
    with pytest.raises(BufferError, match="Far cannot be exported without a copy to the CPU"):
        from_dlpack(Far("old", 2), device=device)


def test_objects_that_are_not_capsules_are_refused(device: Device) -> None:
    with pytest.raises(TypeError, match="returned str instead of a DLPack capsule"):
        from_dlpack(Producer("capsule"), device=device)


def test_arrays_of_clarray_go_between_its_devices(device: Device) -> None:
    x = from_numpy(np.arange(3), device)
    assert from_dlpack(x) is x
    assert x.to_device(device) is x
    assert from_dlpack(x, copy=True).storage is not x.storage
    second = Device(device.native, device.index, discrete=True)
    y = x.to_device(second)
    assert y.device is second
    assert to_numpy(y).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"copy=False, but .* has separate memory"):
        from_dlpack(x, device=second, copy=False)
    with pytest.raises(ValueError, match="stream"):
        x.to_device(device, stream=1)
    with pytest.raises(TypeError, match="None is not a device"):
        x.to_device(None)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_devices_that_compute_in_host_memory_share_it(device: Device, layout: str) -> None:
    # Two queues: the other runtime's where there is one, else another of the same.
    others = [
        candidate for candidate in devices() if candidate.host_memory and candidate is not device
    ]
    second = others[0] if others else Device(device.native, device.index)
    whole = from_numpy(drawn("float32"), on_host(device))
    view = LAYOUTS[layout](np.arange(24).reshape(4, 6))
    strides = tuple(stride // view.itemsize for stride in view.strides)
    x = whole.view(view.shape, strides, int(view.flat[0]) if view.size else 0)
    y = from_dlpack(x, device=second, copy=False)
    assert (y.device, y.shape, interop.why_copied(x, second)) == (second, x.shape, "")
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
    second.finish()
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
    reals = from_numpy(memory[start : start + 72].view(np.float64), device, copy=False)
    numbers = from_numpy(to_numpy(reals)[1:].view(np.complex128), device, copy=False)
    assign(numbers, 1j)
    assert to_numpy(reals).tolist() == [0, 0, 1, 0, 1, 0, 1, 0, 1]
