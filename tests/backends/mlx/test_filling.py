"""Large arrays that are written straight into MLX's memory."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from typing import Any

import hypothesis.extra.numpy as drawn_arrays
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

mx = pytest.importorskip("mlx.core")

import portarray as pa  # noqa: E402
from portarray.backends.mlx import devices, filling, transfer  # noqa: E402

pytestmark = pytest.mark.skipif(
    not filling.serves(1 << 30), reason="MLX has a GPU here, or the system is not Linux"
)

NATIVE = devices.dtypes("cpu", 0)


@given(data=st.data())
def test_every_dtype_and_layout_arrives_bit_for_bit(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(sorted(NATIVE, key=str)))
    shape = data.draw(drawn_arrays.array_shapes(max_dims=4, max_side=5))
    seed = data.draw(st.integers(0, 2**32 - 1))
    stored = np.random.default_rng(seed).integers(
        0, 256, (int(np.prod(shape)), dtype.itemsize), dtype=np.uint8
    )
    if dtype == np.bool_:
        stored %= 2
    x = stored.view(dtype).reshape(shape)
    x = x.transpose(data.draw(st.permutations(range(x.ndim))))
    x = x[(data.draw(st.sampled_from([slice(None), slice(None, None, -1)])), ...)]
    if data.draw(st.booleans()):
        x = np.broadcast_to(x, (2, *x.shape))
    given_order = x.astype(dtype.newbyteorder(data.draw(st.sampled_from("<>"))))
    moved = filling.filled(given_order, NATIVE[dtype])
    assert moved.dtype == NATIVE[dtype]
    assert moved.shape == x.shape
    assert transfer.to_host(moved, copy=None).tobytes() == x.tobytes()


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


def test_the_source_is_let_go() -> None:
    x = np.ones(1000, np.float32)
    watched = weakref.ref(x)
    gc.disable()
    try:
        moved = filling.filled(x, mx.float32)
        del x
        assert watched() is None
    finally:
        gc.enable()
    assert moved[0].item() == 1.0


def test_many_threads_at_once() -> None:
    x = np.arange(100_000, dtype=np.int32)
    results: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda n: results.append((n, filling.filled(x + n, mx.int32))), args=(n,)
        )
        for n in range(8)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(results) == 8
    for number, moved in results:
        assert np.array_equal(transfer.to_host(moved, copy=None), x + number)


def test_memory_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Without(filling._Values):
        def readinto(self, memory: memoryview) -> int:
            if self.tell() < self._start:
                return super().readinto(memory)
            return memory.nbytes  # as where the address is null

    monkeypatch.setattr(filling, "_Values", Without)
    with pytest.raises(MemoryError, match="4000 bytes"):
        filling.filled(np.ones(1000, np.float32), mx.float32)


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
def test_the_child_of_a_fork_goes_the_other_way() -> None:
    program = (
        "import os, signal, sys, numpy as np, portarray as pa\n"
        "x = np.ones(1 << 22, np.float32)\n"
        "pa.asarray(x, device='mlx')\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    signal.alarm(20)\n"
        "    pa.asarray(x, device='mlx')\n"
        "    os._exit(0)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
