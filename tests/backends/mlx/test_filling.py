"""Small and large arrays are copied directly into MLX's memory."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import threading
import tracemalloc
import warnings
import weakref
from typing import Any
from unittest import mock

import hypothesis.extra.numpy as drawn_arrays
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

mx = pytest.importorskip("mlx.core")

import portarray as pa  # noqa: E402
from portarray.backends.mlx import devices, filling, transfer  # noqa: E402

reads = pytest.mark.skipif(
    not filling.serves(1 << 30), reason="MLX has a GPU here, or the system is not Linux"
)

NATIVE = devices.dtypes("cpu", 0)
FLOAT32, INT32 = np.dtype(np.float32), np.dtype(np.int32)

LARGE = [pytest.param(1 << 30, id="written"), pytest.param(0, id="read", marks=reads)]
"""From how many bytes on MLX reads arrays as if from a file."""


def drawn(data: st.DataObject, dtype: np.dtype[Any], values: Any = None) -> np.ndarray[Any, Any]:
    """Draw an array of random bits or values in any layout."""
    shape = data.draw(drawn_arrays.array_shapes(max_dims=4, max_side=5))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    size = int(np.prod(shape))
    if values is None:
        stored = rng.integers(0, 256, (size, dtype.itemsize), dtype=np.uint8)
        x = (stored % 2 if dtype == np.bool_ else stored).view(dtype).reshape(shape)
    else:
        x = rng.choice(values, shape).astype(dtype)
    x = x.transpose(data.draw(st.permutations(range(x.ndim))))
    x = x[(data.draw(st.sampled_from([slice(None), slice(None, None, -1)])), ...)]
    if data.draw(st.booleans()):
        x = np.broadcast_to(x, (2, *x.shape))
    return x.astype(dtype.newbyteorder(data.draw(st.sampled_from("<>"))), copy=False)


@pytest.mark.parametrize("large", LARGE)
@given(data=st.data())
def test_every_dtype_and_layout_arrives_bit_for_bit(large: int, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(sorted(NATIVE, key=str)))
    x = drawn(data, dtype)
    with mock.patch.object(filling, "_LARGE", large):
        moved = filling.filled(x, dtype)
    assert moved.dtype == NATIVE[dtype]
    assert moved.shape == x.shape
    assert transfer.to_host(moved, copy=None).tobytes() == x.astype(dtype).tobytes()


VALUES = [0, 1, 300.5, -1, 0.5, -2.75, 300, -70000, 3e9, 1e30, -1e300, np.inf, -np.inf, np.nan]
PAIRS = [
    (source, target)
    for source in ("float64", "float32", "int64", "uint8", "bool", "complex128")
    for target in ("float32", "bfloat16", "float16", "int16", "uint32", "complex64")
    if target == "complex64" or source != "complex128"
]


@pytest.mark.parametrize("large", LARGE)
@given(data=st.data())
def test_values_are_converted_as_numpy_does(large: int, data: st.DataObject) -> None:
    source, target = data.draw(st.sampled_from(PAIRS))
    dtype = np.dtype(getattr(pa, target))
    # NumPy itself has several answers for what an integer dtype cannot hold.
    values = VALUES[:3] if source.startswith("float") and "int" in target else VALUES
    with np.errstate(all="ignore"):
        x = drawn(data, np.dtype(source), values)
        expected = x.astype(dtype)
    # A warning that is raised in MLX's thread would end the process.
    with mock.patch.object(filling, "_LARGE", large), warnings.catch_warnings():
        warnings.simplefilter("error")
        moved = filling.filled(x, dtype)
    assert moved.dtype == NATIVE[dtype]
    assert transfer.to_host(moved, copy=None).tobytes() == expected.tobytes()


@pytest.mark.parametrize("large", LARGE)
def test_axes_lie_in_memory_as_they_did(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies keep the order of axes, so that the source is read contiguously."""
    monkeypatch.setattr(filling, "_LARGE", large)
    x = np.zeros((3, 4, 5), np.float32)
    for order in itertools.permutations(range(3)):
        for array in (x, x[::-1, :, ::-2]):
            turned = array.transpose(order)
            moved = transfer.to_host(filling.filled(turned, FLOAT32), copy=None)
            expected = turned.copy(order="K")
            assert moved.strides == expected.strides
    row = np.broadcast_to(x[0, 0], (4, 5))
    assert transfer.to_host(filling.filled(row, FLOAT32), copy=None).strides == (20, 4)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_arrays_with_gaps_are_not_copied_twice(dtype: str) -> None:
    x = np.ones((1 << 10, 1 << 11), np.dtype(getattr(pa, dtype)))
    for view in (x[::-1], x[:, ::3], x.T[:, ::-2]):
        expected = view.copy()
        tracemalloc.start()
        try:
            moved = transfer.from_host(view, mx.Device(mx.cpu), copy=None)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert most < 1 << 16  # of NumPy's memory
        assert transfer.to_host(moved, copy=None).tobytes() == expected.tobytes()


def test_beyond_the_zeros_at_hand() -> None:
    x = np.arange((1 << 20) + 6, dtype=np.int32).reshape(2, -1).astype(np.int8)[:, ::-1]
    assert not filling.serves(x.nbytes)
    moved = pa.asarray(x, device="mlx:cpu:0")
    assert np.array_equal(np.asarray(moved), x)
    assert not filling._ZEROS.any()


@reads
def test_large_arrays_go_this_way_and_are_nobody_elses() -> None:
    x = np.arange(1 << 22, dtype=np.float32).reshape(2, -1)[:, ::-1]
    assert filling.serves(x.nbytes)
    assert not filling.serves(x.nbytes // 2)
    expected = x.copy()
    moved = pa.asarray(x, device="mlx:cpu:0")
    again = moved.to_device("mlx:cpu:0", copy=True)
    assert np.asarray(again).ctypes.data != np.asarray(moved).ctypes.data
    x[...] = 0
    assert np.array_equal(np.asarray(moved), expected)
    assert np.array_equal(np.asarray(again), expected)


@reads
def test_the_source_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "_LARGE", 0)
    x = np.ones(1000, np.float32)
    watched = weakref.ref(x)
    gc.disable()
    try:
        moved = filling.filled(x, FLOAT32)
        del x
        assert watched() is None
    finally:
        gc.enable()
    assert moved[0].item() == 1.0


@reads
def test_many_threads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "_LARGE", 0)
    x = np.arange(100_000, dtype=np.int32)
    results: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda n: results.append((n, filling.filled(x + n, INT32))), args=(n,)
        )
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    for value, moved in results:
        assert np.array_equal(transfer.to_host(moved, copy=None), x + value)


@reads
def test_memory_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Without(filling._Values):
        def readinto(self, memory: memoryview) -> int:
            if self.tell() < self._start:
                return super().readinto(memory)
            return memory.nbytes  # as where the address is null

    monkeypatch.setattr(filling, "_Values", Without)
    monkeypatch.setattr(filling, "_LARGE", 0)
    with pytest.raises(MemoryError, match="4000 bytes"):
        filling.filled(np.ones(1000, np.float32), FLOAT32)


@reads
def test_a_process_that_ends_at_once_ends_well() -> None:
    # Without waiting for MLX's reader nine of ten such processes abort.
    program = (
        "import numpy as np, portarray as pa\n"
        "kept = [pa.asarray(np.ones(1 << 22, np.float32), device='mlx') for _ in range(2)]\n"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_copies_without_threads() -> None:
    program = (
        "import os, signal, sys, numpy as np, portarray as pa\n"
        "x = np.arange(1 << 22, dtype=np.float32).reshape(1 << 11, -1)\n"
        "pa.asarray(x, device='mlx')\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    signal.alarm(20)\n"
        "    pa.asarray(x, device='mlx')\n"
        "    pa.asarray(x[:9, ::-1].astype(pa.bfloat16)[::2], device='mlx')\n"
        "    for small in (x[:5, ::-1], x.T[:3, ::2], x[:, ::2]):\n"
        "        assert np.array_equal(np.asarray(pa.asarray(small, device='mlx')), small)\n"
        "    os._exit(0)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
