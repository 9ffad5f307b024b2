"""Calls of one kernel that differ in what its program or its launch depends on."""

from __future__ import annotations

import gc
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_helpers import loaded, require_launcher

import portarray as pa
import portarray.kernel_language as kl
from portarray._kernel_language import source

SCALE = 2.0


@pa.kernel
def scaled(y: Any, a: Any, x: Any) -> None:
    i = kl.index()
    y[i] = a * x[i]


@pa.kernel(static=("a",))
def static_scaled(y: Any, a: Any, x: Any) -> None:
    i = kl.index()
    y[i] = a * x[i]


@pa.kernel
def global_scaled(y: Any, x: Any) -> None:
    i = kl.index()
    y[i] = SCALE * x[i]


def test_calls_in_turn(device: str) -> None:
    """Layouts, dtypes, scalars, ndrange and group alternate: none is taken for another."""
    require_launcher(device)
    host = np.arange(48, dtype=np.float32)
    whole = pa.asarray(host, device=device)
    inputs = [(whole[:8], host[:8]), (whole[8:16], host[8:16]), (whole[::2], host[::2])]
    inputs += [(whole[::-1], host[::-1]), (whole[:1], host[:1])]
    inputs += [(pa.astype(whole, pa.int32)[:8], host[:8])]
    scalars: list[Any] = [2.0, -0.0, 0.0, 3, True, np.float32(0.5), 2.0]
    sizes: list[Any] = [{}, {"ndrange": 1}, {"ndrange": (1,)}, {"ndrange": [1]}]
    sizes += [{"ndrange": np.asarray([1])}, {"ndrange": 1, "group": np.asarray([1])}]
    for kernel in (scaled, static_scaled):
        for x, values in inputs:
            for a in scalars:
                for shape_size in sizes:
                    count = 1 if shape_size else len(values)
                    y = pa.full(x.shape, 7, dtype=pa.float32, device=device)
                    got = np.asarray(kernel(y, a, x, **shape_size))
                    want = np.full(len(values), 7, np.float32)
                    want[:count] = np.float32(a) * values[:count]
                    np.testing.assert_array_equal(got, want)
                    signs = np.signbit(got[:count]), np.signbit(want[:count])
                    if x.dtype == pa.float32 and isinstance(a, float):
                        np.testing.assert_array_equal(*signs)


COUNT, WEIGHTS = np.int64(4), (np.float32(0.1), np.int64(3), np.bool_(True))


@pa.kernel(static=("n", "several"))
def numpys_numbers(y: Any, n: Any, several: Any) -> None:
    i = kl.index()
    memory = kl.private((COUNT, n), kl.float32)
    if n == 3 and COUNT == 4:
        memory[3, n - 1] = WEIGHTS[0] * several[0]
    if several[1]:
        y[i] = memory[COUNT - 1, 2] + WEIGHTS[1] + (1 if WEIGHTS[2] else 0)


def test_numpys_scalars_as_constants(device: str) -> None:
    """Those around a kernel are sizes and parts of tuples, and have their dtypes."""
    require_launcher(device)
    y = pa.zeros(2, dtype=pa.float32, device=device)
    want = np.full(2, np.float32(0.1) * np.float32(0.5) + 4, np.float32)
    for n, several in ((3, (0.5, 1)), (np.int64(3), (np.float32(0.5), np.int16(1)))):
        for got in (numpys_numbers(y, n, several), numpys_numbers.interpret(y, n, several)):
            np.testing.assert_array_equal(np.asarray(got), want)


def test_a_kernel_may_have_any_name(device: str) -> None:
    """OpenCL has no kernel of the name ``main``."""
    require_launcher(device)

    @pa.kernel
    def main(y: Any, half: Any) -> None:
        y[kl.index()] = half

    assert main(pa.zeros(2, device=device), 3).tolist() == [3, 3]


def test_changed_global(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = pa.ones(3, device="numpy"), pa.zeros(3, device="numpy")
    require_launcher("numpy")
    for value in (2.0, 3.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "SCALE", value)
        for _ in range(2):
            np.testing.assert_array_equal(np.asarray(global_scaled(y, x)), value)


def test_read_only_is_copied_each_time() -> None:
    require_launcher("numpy")
    x = pa.ones(3, dtype=pa.float32, device="numpy")
    host = np.zeros(3, np.float32)
    y = pa.asarray(host, device="numpy", copy=False)
    for locked in (False, True, False, True):
        host[:] = 0
        host.flags.writeable = not locked
        fixed = pa.asarray(host, device="numpy", copy=False) if locked else y
        np.testing.assert_array_equal(np.asarray(scaled(fixed, 2.0, x)), 2)
        host.flags.writeable = True
        np.testing.assert_array_equal(host, 0 if locked else 2)


@pa.kernel
def halved(x: Any) -> None:
    i = kl.index()
    part = 64
    while part > 0:
        part //= 2
        x[i] += part


@pa.kernel
def guarded(y: Any, x: Any) -> None:
    i = kl.index()
    if 0 < i < x.size - 1 and x[i] > 0:
        y[i] = x[i - 1] + x[i + 1]


@pa.kernel
def counted(x: Any, n: Any) -> None:
    kl.atomic_add(x, kl.index(), n)


def test_programs_use_narrow_integers_branchless_guards_and_few_definitions() -> None:
    x = pa.ones(8, dtype=pa.int32, device="numpy")
    assert "i32 u_part;" in halved.source("opencl", x)  # halving makes no number larger
    text = guarded.source("opencl", x, x)
    # Only what guards a load is a branch.
    assert "if (((0 < u_i) & (u_i < (pa_size0_x - 1))) && (u_x[u_i] > 0)) {" in text.replace(
        "(1 * pa_size0_x)", "pa_size0_x"
    )
    # Compilers read nothing that a program has no use for.
    sources = text, halved.source("opencl", x), counted.source("opencl", x, 3)
    heads = [program[: program.index("#ifdef")].split() for program in sources]
    parts = [[word for word in program if word.startswith("PA_USES")] for program in heads]
    assert parts == [[], ["PA_USES_WHOLE"], ["PA_USES_ATOMICS"]]


@pa.kernel
def sum_over_a_barrier(y: Any, x: Any) -> None:
    i = kl.index()
    memory = kl.private(1024, kl.float32)
    for j in range(1024):
        memory[j] = x[i] + j
    kl.barrier()
    total = kl.float32(0)
    for j in range(1024):
        total += memory[j]
    y[i] = total


@pa.kernel
def private_sum(y: Any, x: Any) -> None:
    i = kl.index()
    memory = kl.private(1024, kl.float32)
    for j in range(1024):
        memory[j] = x[i] + j
    total = kl.float32(0)
    for j in range(1024):
        total += memory[(j + i) % 1024]
    y[i] = total


@pytest.mark.parametrize("kernel", [private_sum, sum_over_a_barrier], ids=["alone", "barrier"])
def test_groups_keep_the_stack_small(device: str, kernel: Any) -> None:
    require_launcher(device)
    x = pa.ones(1 << 18, dtype=pa.float32, device=device)
    y = kernel(pa.zeros_like(x), x)
    assert np.unique(np.asarray(y)).tolist() == [1024 * 1025 / 2]


class _Slow:
    """What the garbage collector finds lets another thread go on."""

    def __init__(self) -> None:
        self.memory = self

    def __del__(self) -> None:
        time.sleep(0)


def test_threads_read_their_kernels_at_once() -> None:
    """CPython 3.11's parser is for one thread: https://github.com/python/cpython/issues/106905."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            for _ in range(60):
                _Slow()
                source.read(test_threads_read_their_kernels_at_once)
                source.read(test_calls_in_turn)
        except BaseException as error:  # noqa: BLE001  (a thread's)
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    interval, often = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(20)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*often)
    assert not errors


def test_methods_of_kernels_refuse_traced_arrays(device: str) -> None:
    """A kernel's part of a derivative is not lost in silence, nor are its arrays read too early."""
    require_launcher(device)
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=device)

    def interpreted(x: pa.Array) -> pa.Array:
        return pa.sum(scaled.interpret(pa.empty_like(x), 2.0, x))

    for transform in (pa.compile, pa.grad, pa.vmap):
        with pytest.raises(pa.errors.TracedArrayError, match=r"traced arrays\n.*call the kernel"):
            transform(interpreted)(x)

    @pa.custom_vjp
    def doubled(x: pa.Array) -> pa.Array:
        result: pa.Array = scaled(pa.empty_like(x), 2.0, x)
        return result

    @doubled.defvjp
    def _(residuals: Any, g: pa.Array) -> tuple[pa.Array]:
        return (scaled(pa.empty_like(g), 2.0, g),)

    assert pa.grad(lambda x: pa.sum(doubled(x)))(x).tolist() == [2.0, 2.0]


def test_text_for_a_language_without_float64_takes_arguments() -> None:
    x = pa.ones(4, device="numpy", dtype=pa.float32)
    scaled.verify(x.copy(), 2.0, x)
    with pytest.raises(ValueError, match=r"metal does not support float64"):
        scaled.source("metal")
    text = scaled.source("metal", x, a=2.0, x=x, ndrange=4, group=2)
    assert "f32& u_a" in text
    with pytest.raises(ValueError, match=r"y is float64, which metal does not"):
        scaled.source("metal", pa.ones(4, device="numpy", dtype=pa.float64), 2.0, x)


READS = {
    "x[i]": lambda n: n,
    "x[2 * i] - x[2 * i + 1]": lambda n: 2 * n,
    "x[i] + x[i + 1]": lambda n: n + 1,
    "x[x.shape[0] - 1 - i]": lambda n: n + 3,
    "x[at[i] * at[i]]": lambda n: n * n,  # a table
    "x[0] + x[4]": lambda n: n + 5,
}
SCATTER = """\
import portarray as pa
import portarray.kernel_language as kl


@pa.kernel
def drawn(y, at, x):
    i = kl.index()
    place = at[i]
    value = {value}
    {write}
"""


@pytest.mark.one_device
@pytest.mark.parametrize("write", ["kl.atomic_add(y, place, value)", "y[place] = value"])
@pytest.mark.parametrize("value", READS)
def test_scatters_warn_of_a_forgotten_ndrange_only(
    value: str, write: str, device: str, tmp_path: Path
) -> None:
    kernel = loaded(SCATTER.format(value=value, write=write), tmp_path)
    draw = np.random.default_rng(7)

    def call(size: int, targets: int, **options: Any) -> None:
        numbers = np.arange(1, READS[value](size) + 1, dtype=np.int32)
        places = draw.permutation(size) if size <= targets else draw.integers(0, targets, size)
        y, x = pa.zeros(targets, dtype=pa.int32, device=device), pa.asarray(numbers, device=device)
        got = np.asarray(kernel(y, pa.asarray(places, device=device), x, **options))
        want = np.zeros(targets, np.int32)
        for i in range(size if options else targets):
            new = eval(value, {"x": numbers, "at": places, "i": i})
            want[places[i]] = want[places[i]] + new if "atomic" in write else new
        if "atomic" in write or size <= targets:  # else the last one of several stores is anyone's
            np.testing.assert_array_equal(got, want)

    for n, more in (draw.integers(1, 9, (8, 2)) + [[10 * k, 0] for k in range(8)]).tolist():
        call(n, n)
        call(n + more, n, ndrange=n + more)
        call(n, n + more, ndrange=(n,))
        with pytest.warns(pa.PortarrayWarning, match=r"of shape .* has more elements"):
            call(n + more, n)  # only n of the places are read
