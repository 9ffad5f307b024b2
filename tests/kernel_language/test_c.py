"""Kernels through a C compiler, as where there is no OpenCL runtime.

Here NumPy's memory is given that launcher. All tests of this folder run so where
``OCL_ICD_VENDORS`` names an empty folder and ``PORTARRAY_TEST_DEVICES`` is ``numpy``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_cases
import test_drawn
import test_evaluation_order

import portarray as pa
import portarray.kernel_language as kl
from portarray._launchers import host
from portarray.backends.numpy import host_launcher
from portarray.errors import KernelBuildError

ALWAYS = ("local_memory", "private_memory", "atomics", "programs", "helpers")
"""Subjects that this language's programs do in ways of their own."""
CHOSEN = [
    case_index
    for case_index, case in enumerate(test_cases.CASES)
    if "PORTARRAY_ALL_KERNELS" in os.environ
    or case.name.startswith(ALWAYS)
    or not case_index % test_cases.SOME
]


WITH_BFLOAT16 = [
    case_index
    for case_index, case in enumerate(test_cases.CASES)
    if any(dtype.name == "bfloat16" for dtype in case.dtypes())
]


@pytest.fixture(autouse=True)
def through_c(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let kernels in host memory go through the C compiler."""
    monkeypatch.setattr(host, "_through_opencl", lambda address: "")
    forget()
    launcher = host_launcher.launcher()
    if isinstance(launcher, str):
        forget()
        pytest.skip(launcher)
    assert launcher.dialect == "c"
    yield
    forget()


def forget() -> None:
    """Let launchers be looked for anew."""
    host_launcher.launcher.cache_clear()
    module = sys.modules.get("portarray.backends.torch.launching")
    if module is not None:
        module._launcher.cache_clear()


@pytest.mark.parametrize("case_index", CHOSEN, ids=[test_cases.CASES[n].name for n in CHOSEN])
def test_case(case_index: int) -> None:
    test_cases.test_case(case_index, "numpy:cpu:0")


def test_bfloat16() -> None:
    """NumPy has none; PyTorch's addresses are passed in another way."""
    pytest.importorskip("torch")
    target = pa.device("torch:cpu")
    forget()
    launcher = target._backend.launcher(target.native)
    assert not isinstance(launcher, str)
    assert launcher.dialect == "c"
    assert WITH_BFLOAT16
    for case_index in WITH_BFLOAT16[:: 1 if len(CHOSEN) == len(test_cases.CASES) else 4]:
        # Without its rule of which cases are run on such devices.
        case = test_cases.CASES[case_index]
        arguments = case.placed(lambda array: pa.asarray(array, device=target, copy=True))
        kernel = pa.kernel(case.kernel, static=case.static)
        want = kernel.interpret(*arguments, ndrange=case.ndrange, group=case.group)
        got = kernel(*arguments, ndrange=case.ndrange, group=case.group)
        case.check(test_cases.as_numpy(got), want=test_cases.as_numpy(want))


@pytest.mark.parametrize("groups", [False, True], ids=["alone", "groups"])
def test_drawn_kernels(groups: bool, tmp_path: Path) -> None:
    test_drawn.run(pa.device("numpy"), max(test_drawn.COUNT // 4, 2), groups, tmp_path)


def test_drawn_orders(tmp_path: Path) -> None:
    count = max(test_evaluation_order.COUNT // 2, 2)
    test_evaluation_order.run(pa.device("numpy"), count, tmp_path)


# --- threads ------------------------------------------------------------------------------------


@pa.kernel
def turned(y: Any, x: Any) -> None:
    shared = kl.local(64, kl.float32)
    here = kl.local_index()
    shared[here] = x[kl.index()]
    kl.barrier()
    y[kl.index()] = shared[63 - here]


FORKED = """
import os, sys
import numpy as np
from portarray._launchers import host
host._through_opencl = lambda address: ""
import portarray as pa
from test_c import turned
x = np.arange(1 << 20, dtype=np.float32)
want = x.reshape(-1, 64)[:, ::-1].reshape(-1)
def run():
    y = pa.zeros(x.size, dtype=pa.float32, device="numpy")
    y = turned(y, pa.asarray(x, device="numpy"), group=64)
    assert np.array_equal(np.asarray(y), want)
assert turned.explain(pa.asarray(x), pa.asarray(x), group=64).dialect == "c"
run()
child = os.fork()
if not child:
    run()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
run()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_processes_run_kernels() -> None:
    folders = [str(Path(__file__).parent), *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=120, check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(folders), "OMP_NUM_THREADS": "4"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


# --- memory -------------------------------------------------------------------------------------


MANY, MOST = 1 << 20, (1 << 31) - 1


@pa.kernel
def large(y: Any) -> None:
    i = kl.index()
    memory = kl.private(MANY, kl.float64)  # eight megabytes: as much as a thread's stack
    for j in range(4096):
        memory[j * 256] = i + j
    total = 0.0
    for j in range(4096):
        total += memory[j * 256]
    y[i] = total


@pa.kernel
def too_large(y: Any) -> None:
    memory = kl.private(MOST, kl.int8)
    memory[kl.local_index()] = 3
    kl.barrier()
    y[kl.index()] = memory[kl.local_index()]


def test_private_memory_is_not_on_the_stack() -> None:
    result = np.asarray(large(pa.zeros(512, device="numpy")))
    np.testing.assert_array_equal(result, np.arange(512) * 4096.0 + 4096 * 4095 / 2)


def test_no_memory_is_an_error() -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 38, hard))
    try:
        with pytest.raises(
            MemoryError, match="too_large: out of memory for the local arrays of groups of"
        ):
            too_large(pa.zeros(1 << 13, dtype=pa.int8, device="numpy"), group=(1 << 13,))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


# --- compilers ----------------------------------------------------------------------------------


@pa.kernel
def converted(y: Any, x: Any) -> None:
    y[kl.index()] = x[kl.index()]


def test_compilers_without_half_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every float16, and float64 of each place between two of them."""
    monkeypatch.setenv("CC", f"{os.environ.get('CC', 'cc')} -U__FLT16_MANT_DIG__")
    forget()
    kernel = pa.kernel(converted.__wrapped__)
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    wide = pa.zeros(every.size, dtype=pa.float32, device="numpy")
    np.testing.assert_array_equal(
        np.asarray(kernel(wide, pa.asarray(every, device="numpy"))), every
    )
    values = np.sort(every[np.isfinite(every)].astype(np.float64))
    middle = (values[1:] + values[:-1]) / 2
    near = [values, middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)]
    near += [np.asarray([65519.99, 65520, 1e300, 1e-300, np.inf, -np.inf, np.nan, -0.0])]
    halves = np.concatenate(near)
    got = np.asarray(kernel(
        pa.zeros(halves.size, dtype=pa.float16, device="numpy"), pa.asarray(halves, device="numpy")
    ))  # fmt: skip
    with np.errstate(over="ignore"):
        want = halves.astype(np.float16)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def command(folder: Path, text: str) -> str:
    """Return a command that runs the compiler, with a text of the shell before."""
    real = shutil.which(os.environ.get("CC", "cc"))
    path = folder / "compiler"
    path.write_text(f'#!/bin/sh\necho run >> {folder}/runs\n{text}\nexec {real} "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test's own."""
    if os.name != "posix":
        pytest.skip("needs a shell")
    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def run_again() -> str:
    """Run a kernel in a launcher of its own; return where its program was."""
    forget()
    from portarray._launchers import c

    c._programs.cache_clear()
    kernel = pa.kernel(converted.__wrapped__)
    y, x = pa.zeros(3, device="numpy"), pa.asarray([1.0, 2.0, 3.0], device="numpy")
    where = kernel.explain(y, x).program
    assert kernel(y, x).tolist() == [1, 2, 3]
    return where


def test_compilers_without_threads(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuses = 'case "$*" in *openmp*|*march*) echo no such option >&2; exit 1;; esac'
    monkeypatch.setenv("CC", command(fresh, refuses))
    assert run_again() == "to be compiled"


def test_programs_are_kept_on_disk(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", command(fresh, ""))
    runs = fresh / "runs"
    assert run_again() == "to be compiled"
    assert run_again() == "in the cache on disk"
    assert len(runs.read_text().split()) == 1
    (file,) = (fresh / "cache" / "programs_in_c").glob("*.so")
    damaged = file.read_bytes()[:1000]
    file.unlink()  # as this process has the old one in its memory
    file.write_bytes(damaged)
    assert run_again() == "to be compiled"
    second = fresh / "other" / "programs_in_c"
    second.mkdir(parents=True)
    foreign = b"the program of another system"
    (second / file.name).write_bytes(foreign)
    (second / file.name).with_suffix(".digest").write_bytes(hashlib.sha256(foreign).digest())
    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(second.parent))
    assert run_again() == "in the cache on disk"  # as it seems
    assert len(runs.read_text().split()) == 3


def test_errors_contain_the_compilers_output(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", command(fresh, "echo the disk is full >&2; exit 1"))
    forget()
    kernel = pa.kernel(converted.__wrapped__)
    y = pa.zeros(3, device="numpy")
    with pytest.raises(KernelBuildError, match="the disk is full") as error:
        kernel(y, y)
    assert str(fresh / "compiler") in str(error.value)
