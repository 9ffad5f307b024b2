"""Eight threads at once get the results of one."""

from __future__ import annotations

import copy
import faulthandler
import pickle
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest

import portarray as pa

THREADS = 8
ROUNDS = 12


class Inputs(NamedTuple):
    """The operands of one thread, with its own values and shapes."""

    host: np.ndarray[Any, Any]  # the values of f
    f: pa.Array  # (n, n), well conditioned
    g: pa.Array  # (n, n), symmetric and positive definite
    v: pa.Array  # (n,)
    i: pa.Array  # (n, n), integers
    b: pa.Array  # (n, n), booleans
    at: pa.Array  # (n,), indices
    shared: pa.Array  # the same array in all threads


def _changed(x: pa.Array, key: Any, value: Any) -> pa.Array:
    y = pa.asarray(x, copy=True)
    y[key] = value
    return y


def _added(x: pa.Array) -> pa.Array:
    y = pa.asarray(x, copy=True)
    y += x
    y *= 2
    return y


CALLS: dict[str, Callable[[Inputs], Any]] = {
    # elementwise
    "add": lambda n: n.f + n.g,
    "chain": lambda n: ((n.f + n.g) * n.f - n.g / 2) * n.f + 1.5,
    "with scalar": lambda n: 3 - n.f * 2,
    "integers": lambda n: (n.i * 3 + 1) // 2 % 5,
    "mixed": lambda n: n.i + n.f,
    "exp": lambda n: pa.exp(n.f / 100),
    "sin": lambda n: pa.sin(n.f) + pa.cos(n.g),
    "compare": lambda n: n.f < n.g,
    "where": lambda n: pa.where(n.b, n.f, n.g),
    "logical": lambda n: (n.b & ~n.b) | n.b,
    "clip": lambda n: pa.clip(n.f, -1.0, 1.0),
    "astype": lambda n: pa.astype(n.f, pa.float32),
    "shared": lambda n: n.shared + n.shared * n.v[0],
    "in place": lambda n: _added(n.f),
    # reductions
    "sum": lambda n: pa.sum(n.f),
    "sum of an axis": lambda n: pa.sum(n.f, axis=0),
    "mean": lambda n: pa.mean(n.f, axis=1),
    "std": lambda n: pa.std(n.f),
    "max": lambda n: pa.max(n.i, axis=0),
    "prod": lambda n: pa.prod(n.v),
    "any": lambda n: pa.any(n.b, axis=0),
    "argmax": lambda n: pa.argmax(n.f, axis=1),
    "count_nonzero": lambda n: pa.count_nonzero(n.b),
    "cumulative_sum": lambda n: pa.cumulative_sum(n.v),
    "float": lambda n: float(pa.sum(n.f)),
    "bool": lambda n: bool(pa.any(n.b)),
    # products and linear algebra
    "x @ x.T": lambda n: pa.matmul(n.f, n.f.T),
    "matmul": lambda n: n.f @ n.g,
    "matrix and vector": lambda n: n.f @ n.v,
    "vecdot": lambda n: pa.vecdot(n.f, n.g),
    "tensordot": lambda n: pa.tensordot(n.f, n.g, axes=1),
    "integer matmul": lambda n: n.i @ n.i.T,
    "inv": lambda n: pa.linalg.inv(n.f),
    "solve": lambda n: pa.linalg.solve(n.f, n.g),
    "det": lambda n: pa.linalg.det(n.f),
    "cholesky": lambda n: pa.linalg.cholesky(n.g),
    "qr": lambda n: pa.matmul(*pa.linalg.qr(n.f)),
    "eigvalsh": lambda n: pa.linalg.eigvalsh(n.g),
    "svdvals": lambda n: pa.linalg.svdvals(n.f),
    "vector_norm": lambda n: pa.linalg.vector_norm(n.v),
    "fft": lambda n: pa.fft.ifft(pa.fft.fft(pa.astype(n.f, pa.complex64))),
    "rfft": lambda n: pa.fft.rfft(pa.astype(n.f, pa.float32)),
    # indexing
    "slice": lambda n: n.f[1:, ::-1] + 0.0,
    "index array": lambda n: n.f[n.at, :],
    "mask": lambda n: n.f[n.b],
    "take": lambda n: pa.take(n.f, n.at, axis=1),
    "setitem": lambda n: _changed(n.f, (0, slice(None)), n.v),
    "set by mask": lambda n: _changed(n.f, n.b, 0.0),
    "nonzero": lambda n: pa.nonzero(n.b),
    # order and sets
    "sort": lambda n: pa.sort(n.f, axis=0),
    "argsort": lambda n: pa.argsort(n.v),
    "unique_values": lambda n: pa.sort(pa.unique_values(n.i)),
    "searchsorted": lambda n: pa.searchsorted(pa.sort(n.v), n.v),
    # shapes
    "concat": lambda n: pa.concat([n.f, n.g], axis=1),
    "stack": lambda n: pa.stack([n.f, n.g]),
    "permute_dims": lambda n: pa.permute_dims(n.f, (1, 0)) + n.f,
    "roll": lambda n: pa.roll(n.f, 1, axis=0),
    "repeat": lambda n: pa.repeat(n.v, 2),
    "tril": lambda n: pa.tril(n.f),
    "broadcast": lambda n: pa.broadcast_to(n.v, n.f.shape) * n.f,
    # creation and movement
    "zeros": lambda n: pa.zeros_like(n.f) + n.f,
    "full": lambda n: pa.full(n.f.shape, 2.5, device=n.f.device) * n.f,
    "arange": lambda n: pa.arange(n.f.shape[0], device=n.f.device) + n.v,
    "linspace": lambda n: pa.linspace(0, 1, n.f.shape[0], device=n.f.device) * n.v,
    "asarray": lambda n: pa.asarray(n.host, device=n.f.device) + n.f,
    "list": lambda n: pa.asarray([[1.5, 2.5]], device=n.f.device) + n.v[0],
    "to_host": lambda n: (n.f + n.f).to_device("cpu"),
    "dlpack": lambda n: pa.from_dlpack(n.f + n.f, device="cpu"),
    "tolist": lambda n: np.asarray((n.f * 2).tolist()),
    "repr": lambda n: repr(n.i + 1),
    "pickle": lambda n: pickle.loads(pickle.dumps(n.f + 1)),
    "copy": lambda n: copy.deepcopy(n.f) + 1,
    "softmax": lambda n: pa.kernels.softmax(n.f, axis=-1),
}


def inputs(device: pa.Device, index: int, shared: pa.Array) -> Inputs:
    """Return the inputs of one thread."""
    drawn = np.random.default_rng(index)
    size = 3 + index
    wide = np.float64 if "float64" in pa.__array_namespace_info__().dtypes(device=device) else "f4"
    f = (drawn.integers(-5, 6, (size, size)) + 20 * np.eye(size)).astype(wide)

    def there(values: Any) -> pa.Array:
        return pa.asarray(values, device=device)

    return Inputs(
        f,
        there(f),
        there((f @ f.T / size).astype(wide)),
        there(drawn.integers(1, 4, size).astype(wide)),
        there(drawn.integers(-50, 50, (size, size), dtype=np.int32)),
        there(drawn.random((size, size)) < 0.5),
        there(drawn.permutation(size)),
        shared,
    )


def values(result: Any) -> list[np.ndarray[Any, Any]]:
    """Return a call's results as NumPy arrays."""
    parts = result if isinstance(result, tuple) else (result,)
    return [
        np.array(x.to_device("cpu").native) if type(x) is pa.Array else np.array(x) for x in parts
    ]


def differ(results: list[np.ndarray[Any, Any]], expected: list[np.ndarray[Any, Any]]) -> bool:
    """Return whether results differ by more than a different summation order explains."""
    for actual, desired in zip(results, expected, strict=True):
        if actual.dtype != desired.dtype or actual.shape != desired.shape:
            return True
        if actual.dtype.kind in "fc":
            room = 1e3 * np.finfo(actual.dtype).eps
            if not np.allclose(actual, desired, room, room * 100, equal_nan=True):
                return True
        elif not np.array_equal(actual, desired):
            return True
    return False


def stress(
    device: pa.Device, calls: dict[str, Callable[[Inputs], Any]], rounds: int
) -> dict[str, str]:
    """Make calls from several threads at once; return the first wrong result of each."""
    host = np.linspace(0, 1, 100, dtype=np.float32)
    shared = pa.asarray(host, device=device)
    thread_inputs = [inputs(device, index, shared) for index in range(THREADS)]
    expected = [{name: values(call(n)) for name, call in calls.items()} for n in thread_inputs]
    start = threading.Barrier(THREADS)
    wrong: dict[str, str] = {}

    def work(index: int) -> None:
        order = random.Random(index)
        names = list(calls)
        start.wait()
        for _ in range(rounds):
            order.shuffle(names)
            for name in names:
                try:
                    result = values(calls[name](thread_inputs[index]))
                except Exception as error:  # noqa: BLE001 - it is what the test reports
                    wrong.setdefault(name, f"{type(error).__name__}: {error}")
                    continue
                if differ(result, expected[index][name]):
                    wrong.setdefault(name, f"{result} instead of {expected[index][name]}")

    threads = [threading.Thread(target=work, args=(index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


# Libraries that have waited for ever under threads: tested in a process that can be ended.
MAY_HANG = ("dpnp",)
SECONDS = 180


def wrong_results(device: str, only: str = "") -> str:
    """Return the wrong results of threads on a device, or where they hang."""
    if device.partition(":")[0] not in MAY_HANG:
        return said_wrong(device, only)
    command = [sys.executable, __file__, device, *([only] if only else ())]
    child = subprocess.run(command, capture_output=True, text=True, timeout=2 * SECONDS)
    return "" if child.returncode == 0 else child.stdout + child.stderr


def said_wrong(device: str, only: str = "") -> str:
    """Return the first wrong result of each call, or of one call made more often."""
    calls, rounds = ({only: CALLS[only]}, 60 * ROUNDS) if only else (CALLS, ROUNDS)
    wrong = stress(pa.device(device), calls, rounds)
    return "\n".join(f"{name}: {said}" for name, said in wrong.items())


def test_eight_threads_get_the_results_of_one(device: str) -> None:
    """Each thread makes every kind of call with its own values in a random order."""
    wrong = wrong_results(device)
    assert not wrong, wrong


def test_a_product_with_its_own_transpose(device: str) -> None:
    """Reading a product while another thread waits for the queue was wrong on dpnp."""
    wrong = wrong_results(device, "x @ x.T")
    assert not wrong, wrong


def steps(device: str, seconds: float) -> None:
    """Compute for some time and wait after each step."""
    until = time.monotonic() + seconds
    x = pa.asarray(np.random.default_rng(0).normal(size=(64, 64)).astype("f4"), device=device)
    while True:
        y = x
        for _ in range(6):
            y = pa.exp(-pa.abs(y)) @ x
            y = y / (1 + pa.max(pa.abs(y)))
        float(pa.sum(y))
        # By a kernel where there is one, in NumPy's memory too.
        for _ in range(4):
            pa.random.uniform(pa.random.key(1, device=device), 50_000)
        if time.monotonic() > until:
            return


def beside(first: str, second: str, seconds: float = 6.0) -> None:
    """Compute on two devices at once; may hang."""
    with ThreadPoolExecutor(1) as thread:
        for length in (0.0, seconds):  # without what comes first
            there = thread.submit(steps, second, length)
            steps(first, length)
            there.result()


def test_dpnp_beside_another_library(device: str) -> None:
    """Intel's OpenCL runtime computes for both libraries with the same threads."""
    if device.startswith("dpnp") or not pa.functional("dpnp"):
        pytest.skip("takes dpnp and another library")
    command = [sys.executable, __file__, device, "beside", "dpnp"]
    child = subprocess.run(command, capture_output=True, text=True, timeout=2 * SECONDS)
    assert child.returncode == 0, child.stdout + child.stderr


if __name__ == "__main__":
    # After that time every thread's place is printed, and the process ends.
    device, *options = sys.argv[1:]
    faulthandler.dump_traceback_later(60 if options[:1] == ["beside"] else SECONDS, exit=True)
    if options[:1] == ["beside"]:
        sys.exit(beside(device, options[1]))
    sys.exit(said_wrong(device, *options) or None)
