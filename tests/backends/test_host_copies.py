"""NumPy's arrays of any layout are copied bit for bit, and may be overwritten at once.

The memory is overwritten and freed as soon as the call returns, so a late copy or wrong strides
show.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray import _dlpack as dlpack
from portarray.backends.common.copying import copied

NumpyArray = np.ndarray[Any, Any]
View = Callable[[NumpyArray], NumpyArray]

LENGTHS = ((4, 6, 5), (40, 7, 64), (3, 200, 150))
ALIGNMENT = 64


def noise(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NumpyArray:
    """Draw an array of random bits, with NaNs, subnormal numbers and signed zeros."""
    if dtype == np.bool_:
        return rng.random(shape) < 0.5
    size = int(np.prod(shape)) * dtype.itemsize
    bits = rng.integers(0, 256, size, dtype=np.uint8)
    kinds = rng.integers(0, 4, size // 2)
    # Every other element of two bytes is a beginning of zeros, of infinities or of subnormals.
    bits.view(np.uint16)[kinds == 0] = 0x8000
    bits.view(np.uint16)[kinds == 1] = rng.choice([0x7F80, 0xFF80, 0x7C00, 0xFFF0, 0x7FF0])
    return bits.view(dtype).reshape(shape)


def drawn_view(rng: np.random.Generator) -> View:
    """Draw a function that returns a view of an array of three axes."""

    def part(length: int) -> slice | int:
        if rng.random() < 0.1:
            return int(rng.integers(length))
        step = int(rng.choice([-2, -1, 1, 1, 1, 3]))
        if rng.random() < 0.6:
            return slice(None, None, step)
        first, last = sorted(rng.integers(0, length + 1, 2).tolist())
        return slice(first, last)

    seed = int(rng.integers(2**32))

    def view(array: NumpyArray) -> NumpyArray:
        nonlocal rng
        rng = np.random.default_rng(seed)
        array = array[tuple(map(part, array.shape))]
        array = array.transpose(rng.permutation(array.ndim))
        if rng.random() < 0.2:
            array = np.broadcast_to(array, (3, *array.shape))
        return array.T if rng.random() < 0.3 else array

    return view


def placed(array: NumpyArray, off: int) -> NumpyArray:
    """Return a copy ``off`` bytes after an address divisible by 64."""
    memory = np.empty(array.nbytes + 2 * ALIGNMENT, dtype=np.uint8)
    start = -memory.ctypes.data % ALIGNMENT + off
    placed: NumpyArray = memory[start : start + array.nbytes].view(array.dtype)
    placed = placed.reshape(array.shape)
    placed[...] = array
    return placed


def swapped(array: NumpyArray) -> NumpyArray:
    """Return the same elements in the other byte order."""
    return array.byteswap().view(array.dtype.newbyteorder())


def overwrite(array: NumpyArray) -> None:
    """Overwrite the memory of an array and its views."""
    array.view(np.uint8)[...] = 0x5A


@pytest.mark.parametrize("function", ["from_host", "from_dlpack"])
def test_any_layout_is_copied_at_once(device: str, function: str) -> None:
    pa_device = pa.device(device)
    backend, native = pa_device._backend, pa_device.native
    rng = np.random.default_rng(6)
    for dtype in backend.dtypes(pa_device.platform, pa_device.index):
        for _ in range(8):
            base = noise(rng, LENGTHS[rng.integers(len(LENGTHS))], dtype)
            view = drawn_view(rng)
            expected = view(base).tobytes()
            source = placed(base, int(rng.choice([0, 0, 1, 8, 16])))
            if function == "from_host" and rng.random() < 0.2:  # DLPack has no byte orders
                source = swapped(source)
            array = view(source)
            copy = None if backend.why_copied_in(array, native) and rng.random() < 0.5 else True
            array.flags.writeable = bool(rng.random() < 0.5) and array.flags.writeable
            shape, strides = array.shape, array.strides
            x = getattr(backend, function)(array, native, copy=copy)
            overwrite(source)
            del source, array
            back = backend.to_host(x, copy=None)
            assert back.shape == shape
            assert back.dtype == dtype
            assert back.tobytes() == expected, (dtype, shape, strides)
            again = backend.to_host(backend.move(x, native, copy=True), copy=True)
            del x, back
            assert again.tobytes() == expected
            assert again.flags.writeable


def test_capsules_hold_completed_results(device: str) -> None:
    """The work takes milliseconds, so an export that does not wait has other values."""
    pa_device = pa.device(device)
    if pa_device._backend.dlpack_device_of(pa_device.native) != dlpack.CPU:
        pytest.skip(f"{device} has memory of its own")
    start = pa.zeros((2**20,), dtype=pa.float32, device=device)
    for version in (None, (0, 8), (1, 0)):
        x = start
        for _ in range(12):
            x = x + 1.0
        capsule = pa_device._backend.to_dlpack(
            x.native, stream=None, max_version=version, dl_device=None, copy=None
        )
        del x
        assert (dlpack.host_values(dlpack.Held(capsule)) == 12.0).all()


@pytest.mark.parametrize("order", ["C", "K"])
def test_private_copies(order: Any) -> None:
    rng = np.random.default_rng(7)
    for dtype in map(np.dtype, ("bool", "int8", "float16", "float64", "complex64", "complex128")):
        for _ in range(30):
            base = placed(noise(rng, LENGTHS[rng.integers(len(LENGTHS))], dtype), 16)
            view = drawn_view(rng)
            source = view(swapped(base) if rng.random() < 0.3 else base)
            expected = np.array(view(base), order=order, copy=True)
            alignment = int(rng.choice([16, 64]))
            copy = copied(source, order=order, alignment=alignment)
            assert copy.tobytes() == expected.tobytes()
            assert copy.dtype == dtype
            assert copy.flags.writeable
            assert not np.shares_memory(copy, base)
            assert copy.strides == expected.strides
            if copy.nbytes > 2**15:
                assert copy.ctypes.data % alignment == 0


@pytest.mark.parametrize("order", ["C", "K"])
def test_a_copy_takes_no_more_memory_than_it_has(order: Any) -> None:
    source = np.zeros((1024, 1024))[::-1].T
    tracemalloc.start()
    try:
        copy = copied(source, order=order)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert copy.nbytes < most < 1.1 * copy.nbytes
