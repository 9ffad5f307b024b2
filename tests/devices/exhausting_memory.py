"""A program that runs out of memory on one device in every way; see test_out_of_memory.py.

It prints the name of each step on a line; any other failure ends it with an error.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import portarray as pa

CHUNK = 96 << 20  # bytes; glibc gives back at once what is this large
BACKEND = CHUNK + (84 << 20)  # for one chunk and for what drivers take, not for two
COUNT = CHUNK // 4
ABSURD = (1 << 15, 1 << 15, 1 << 15)

DEVICE = pa.device(sys.argv[1])
NUMPY = pa.device("numpy")
VALUES = {"create": -2, "compute": 6, "broadcast": 4}  # of arrays of fives, and those of threes
VALUES |= dict.fromkeys(("move out", "copy", "kernel", "index"), 3)
LEAST = {"zeros": 45, "empty": 47, "full": 46, "arange": 45, "eye": 46, "from_dlpack": 47}
LEAST |= {"asarray": 47, "to_device": 47, "tree": 47, "add": 45, "matmul": 45, "kernel": 45}
LEAST |= {"gather": 37, "fft": 45, "reshape": 52}  # what is asked for: 2**45 bytes; others: 2**44
EARLIER_ARRAYS = [
    pa.asarray(np.arange(1000, dtype=np.float32) + i, device=DEVICE) for i in range(3)
]
IMMEDIATE = ("zeros", "empty", "full", "asarray", "to_device", "from_dlpack", "tree")


def check_earlier_arrays() -> None:
    """Check that earlier arrays have their values and can be computed with."""
    for i, x in enumerate(EARLIER_ARRAYS):
        expected = np.arange(1000, dtype=np.float32) + i
        assert np.array_equal(np.asarray((x + 1.0).to_device("numpy")), expected + 1)
        assert np.array_equal(np.asarray(x.to_device("numpy")), expected)


def needed(x: pa.Array) -> pa.Array:
    """Return an array after its computation, on lazy libraries too."""
    float(x[(-1,) * x.ndim])
    pa.synchronize(DEVICE)
    return x


def absurd() -> None:
    """Request more memory than any machine has."""
    thin = pa.ones((1 << 15, 1, 1 << 10), dtype="float32", device=DEVICE)
    flat = pa.ones((1 << 18, 1), dtype="float32", device=DEVICE)
    row = pa.ones((1, 1 << 21), dtype="float32", device=DEVICE)
    column = pa.ones((1 << 22, 1), dtype="float32", device=DEVICE)

    def square() -> pa.Array:  # JAX computes it, others return a view
        return pa.broadcast_to(EARLIER_ARRAYS[0][3], (1 << 21, 1 << 21))

    def block() -> pa.Array:
        return pa.broadcast_to(EARLIER_ARRAYS[0], (1 << 21, 1 << 20, 1000))

    wide = np.broadcast_to(np.float32(1), ABSURD)
    wide.flags.writeable = False
    attempts: dict[str, Callable[[], pa.Array]] = {
        "zeros": lambda: pa.zeros(ABSURD, dtype="uint8", device=DEVICE),
        "empty": lambda: pa.empty(ABSURD, dtype="float32", device=DEVICE),
        "full": lambda: pa.full(ABSURD, 3, dtype="int16", device=DEVICE),
        "arange": lambda: pa.arange(1 << 43, dtype="float32", device=DEVICE),
        # JAX 0.12 ends the process where a comparison has exactly 2**44 elements.
        "eye": lambda: pa.eye((1 << 22) + 1, dtype="float32", device=DEVICE),
        "asarray": lambda: pa.asarray(wide, device=DEVICE, copy=True),
        "to_device": lambda: pa.asarray(wide, device=NUMPY).to_device(DEVICE, copy=True),
        "from_dlpack": lambda: pa.from_dlpack(wide, device=DEVICE, copy=True),
        "add": lambda: needed(thin + flat),
        "matmul": lambda: needed(column @ row),
        "kernel": lambda: needed(pa.kernels.matmul(column, row)),
        "exp": lambda: needed(pa.exp(square())),
        "repeat": lambda: needed(pa.repeat(EARLIER_ARRAYS[0], 1 << 33)),
        "roll": lambda: needed(pa.roll(square(), 3, axis=1)),
        "gather": lambda: needed(square()[pa.zeros((1 << 14,), dtype="int32", device=DEVICE)]),
        "reshape": lambda: needed(pa.reshape(block(), (1 << 30, -1))),
        "inv": lambda: needed(pa.linalg.inv(square())),
        "fft": lambda: needed(
            pa.real(pa.fft.fft(pa.astype(EARLIER_ARRAYS[0], "complex64"), n=1 << 42))
        ),
    }
    if DEVICE.library == "mlx":  # one axis of MLX's holds 2**31 elements at most
        attempts["arange"] = attempts["eye"]
        attempts["repeat"] = lambda: needed(pa.tile(flat, (1, 1 << 30)))
    host = pa.asarray(wide, device=NUMPY)
    if DEVICE.library not in ("numpy", "clarray"):  # where a tree takes no memory
        attempts["tree"] = lambda: pa.to_device({"a": host}, DEVICE)["a"]
    for name, attempt in attempts.items():
        error = caught(attempt)
        assert error.total is not None, name
        assert error.device in (str(DEVICE), str(NUMPY)), name
        assert "smaller pieces" in str(error), name
        assert error.requested is not None, (name, error)
        assert error.requested >= 1 << LEAST.get(name, 44), (name, error)
        if name in IMMEDIATE:
            assert error.requested <= 1.1 * 2 ** LEAST[name], (name, error)
        assert error.requested > error.total, (name, error)
        assert "pa.reclaim" not in str(error)  # it would not help
        check_earlier_arrays()
        report(name)


def caught(attempt: Callable[[], object]) -> pa.errors.OutOfMemoryError:
    """Return the OutOfMemoryError that an attempt must raise."""
    try:
        attempt()
    except pa.errors.OutOfMemoryError as error:
        return error
    raise AssertionError("there was memory")


def limited() -> None:
    """Run out of memory under a limit, and continue."""
    import resource

    x = needed(pa.asarray(np.zeros(COUNT, np.float32), device=DEVICE) + 3.0)
    column_of_ones = pa.asarray(np.ones((8, 1), np.float32), device=DEVICE)
    values = np.full(COUNT, 5, np.float32)
    values.flags.writeable = False  # most libraries copy it then
    host = pa.asarray(values, device=NUMPY)
    rows = pa.reshape(x, (4096, -1))
    column = pa.full((4096, 1), 3, dtype="float32", device=DEVICE)
    row = pa.ones((1, COUNT // 4096), dtype="float32", device=DEVICE)
    places = pa.asarray(np.arange(4096, dtype=np.int32), device=DEVICE)
    attempts: dict[str, Callable[[], pa.Array]] = {
        "create": lambda: needed(pa.full((COUNT,), -2, dtype="float32", device=DEVICE)),
        "compute": lambda: needed(x * 2.0),
        "broadcast": lambda: needed(x[: COUNT // 8] + column_of_ones),
        "move in": lambda: needed(host.to_device(DEVICE, copy=True)),
        "move out": lambda: x.to_device(NUMPY, copy=True),
        "copy": lambda: needed(pa.asarray(x, copy=True)),
        "kernel": lambda: needed(pa.kernels.matmul(column, row)),
        "index": lambda: needed(pa.take(rows, places, axis=0)),
    }
    for attempt in attempts.values():
        attempt()  # whatever a first call needs, it has now
    if pa.transfer_plan(host, DEVICE).copies:  # elsewhere a tree takes no memory
        attempts["tree"] = lambda: tree(host)
    for name, attempt in attempts.items():
        gc.collect()
        pa.reclaim()
        resource.setrlimit(resource.RLIMIT_AS, (taken() + BACKEND, resource.RLIM_INFINITY))
        held = [attempt()]
        try:
            held += [attempt() for _ in range(3)]
        except pa.errors.OutOfMemoryError as error:
            check_figures(error)
            check_earlier_arrays()
            held.clear()
            gc.collect()
            pa.reclaim()
            held.append(attempt())  # while the error is being handled
        else:
            raise AssertionError(f"{name}: there was memory for {len(held)}")
        assert float(held[0][(-1,) * held[0].ndim]) == VALUES.get(name, 5), name
        held.clear()
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        report(f"limited {name}")


def check_figures(error: pa.errors.OutOfMemoryError) -> None:
    """Check that an error reports the limit."""
    import resource

    assert error.requested is not None, error
    assert CHUNK <= error.requested <= 4 * CHUNK, error
    assert error.free is not None, error
    assert error.free < BACKEND, error
    assert error.total is not None, error
    assert error.total <= resource.getrlimit(resource.RLIMIT_AS)[0], error


def tree(host: pa.Array) -> pa.Array:
    """Move a tree that does not fit, of which one array fits."""
    moved: dict[str, pa.Array] = pa.to_device({"a": host}, DEVICE)
    return needed(moved["a"])


def report(message: str) -> None:
    """Report a finished step to the test."""
    sys.stdout.write(f"{message}\n")
    sys.stdout.flush()


def taken() -> int:
    """Return the size of this process's address space."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


check_earlier_arrays()
absurd()
if sys.platform == "linux":
    limited()
report("done")
