"""Launches in host memory: without OpenCL, in a fresh process, and how many calls they take."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from portarray._launchers import host, launcher

INT64 = np.dtype(np.int64)
WITHOUT_OPENCL = """
import importlib.util, sys
sys.path.insert(0, {folder!r})
import portarray as pa, portarray.kernel_language as kl
from kernel_of_a_process import twice
for library in {libraries!r}:
    if importlib.util.find_spec(library.partition(":")[0]) is None:
        continue
    y = pa.ones(3, device=library)
    if not {why!r}:
        assert twice.explain(y).dialect == "c"
        assert twice(y).tolist() == [2, 2, 2]
        continue
    try:
        twice(y)
    except NotImplementedError as error:
        message = str(error)
    assert message.endswith('[opencl]"') and {why!r} in message, message
    assert message.startswith(f"twice: {{y.device}} does not run user kernels: "), message
    assert twice.interpret(y).tolist() == [2, 2, 2]
"""
LIBRARIES = ["numpy", "torch:cpu:0", "jax:cpu:0", "mlx:cpu:0"]


@pytest.mark.parametrize(
    ("missing", "compiler", "why", "libraries"),
    [
        ("pyopencl", "/nowhere/cc", "through a C compiler (CC=/nowhere/cc is not", ["numpy"]),
        ("pyopencl cffi", "", "cffi is missing: pip install ", ["numpy"]),
        ("loader", "/nowhere/cc", "libOpenCL.so.1 is missing", ["numpy"]),
        ("drivers", "/nowhere/cc", "no OpenCL device here", LIBRARIES),
        ("pyopencl", "", "", ["numpy"]),
        ("loader", "", "", ["numpy"]),
        ("drivers", "", "", LIBRARIES),
    ],
)
def test_without_opencl(
    tmp_path: Path, missing: str, compiler: str, why: str, libraries: list[str]
) -> None:
    """A C compiler replaces OpenCL; without one calls raise with a hint."""
    if not why and (find_spec("cffi") is None or shutil.which(os.environ.get("CC", "cc")) is None):
        pytest.skip("needs cffi and a C compiler")
    (tmp_path / "kernel_of_a_process.py").write_text(
        "import portarray as pa, portarray.kernel_language as kl\n"
        "@pa.kernel\ndef twice(y):\n    y[kl.index()] = 2 * y[kl.index()]\n"
    )
    code = WITHOUT_OPENCL.format(folder=str(tmp_path), libraries=libraries, why=why)
    settings = {"CC": compiler} if compiler else {}
    if missing == "loader":
        (tmp_path / "pyopencl.py").write_text("raise ImportError('libOpenCL.so.1 is missing')")
    elif missing == "drivers":
        empty = tmp_path / "vendors"
        empty.mkdir()
        settings |= {"OCL_ICD_VENDORS": str(empty), "OCL_ICD_FILENAMES": ""}
    else:
        names = "".join(f"sys.modules[{name!r}] = None; " for name in missing.split())
        code = f"import sys; {names}\n{code}"
    process = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **settings},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stderr


FIRST = """
import sys
import numpy as np
import portarray as pa, portarray.kernel_language as kl

@pa.kernel
def double(y):
    i = kl.index()
    y[i] = 2.0 * y[i]

y = double(pa.ones(8, dtype=pa.float32, device="numpy"))
assert np.asarray(y).tolist() == [2.0] * 8
from portarray._opencl import device, registry
assert len(device.opened) == 1 and registry._devices is None
loaded = {name.partition(".")[0] for name in sys.modules}
assert not loaded & {"ml_dtypes", "torch", "jax", "mlx", "cupy", "dpnp"}, loaded
clarray = {name.split(".")[2] for name in sys.modules if name.startswith("portarray.clarray.")}
assert not clarray, clarray
from portarray import clarray
assert np.asarray(clarray.ones(3)).tolist() == [1.0] * 3
"""


def test_a_first_kernel_in_host_memory_opens_one_device_and_imports_no_library(
    tmp_path: Path,
) -> None:
    if isinstance(host.host_launcher(), str):
        pytest.skip("needs OpenCL's CPU runtime")
    file = tmp_path / "first.py"
    file.write_text(FIRST)
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=120, check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_launch_in_host_memory_asks_the_runtime_four_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launcher = host.host_launcher()
    if isinstance(launcher, str):
        pytest.skip(launcher)
    from portarray._launchers import opencl
    from portarray._opencl import svm, waiting

    # Once dpnp is imported and another thread runs, events are polled.
    monkeypatch.setattr(waiting, "_sycl_may_run", lambda: False)
    calls: list[str] = []

    class Runtime:
        """A kernel and the event of its launch that record their calls."""

        def __getattr__(self, name: str) -> Any:
            return lambda *args: calls.append(name)

    def enqueue(queue: Any, kernel: Any, size: Any, group: Any) -> Any:
        calls.append(f"enqueue {size} {group}")
        return kernel

    monkeypatch.setattr(svm, "enqueue", enqueue)
    device = opencl.host_device()
    assert not isinstance(device, str)
    values = (np.dtype(np.float64), INT64)
    kernel: Any = Runtime()
    launch = svm.host_launch(device, kernel, "k", 2, values, None)
    x = np.ones(4, np.float32)
    pointers, scalars = "_set_arg_multi", "_set_arg_buf_pack_multi"
    enqueued = "enqueue (64, 8) (64, 1)"
    launch([x, x], [2.0, 4], (8, 64), (1, 64))
    assert calls == [scalars, pointers, enqueued, "wait"]
    calls.clear()
    constant = (2.0, 4)
    for values in (constant, constant, (2.0, 5), constant):
        launch([x, x], values, (8, 64), (1, 64))
    again = [pointers, enqueued, "wait"]
    assert calls == [scalars, *again, *again, scalars, *again, scalars, *again]


@pytest.mark.parametrize("units", [1, 2, 8, 64])
@pytest.mark.parametrize(
    "ndrange",
    [(1,), (1000,), (5000,), (1 << 24,), (4096, 4096), (4097, 4097), (1025, 3), (7, 9, 5)],
)
def test_groups_on_cpus(ndrange: tuple[int, ...], units: int) -> None:
    group = launcher.group_on_cpu(ndrange, units, 8192)
    total, size = math.prod(ndrange), math.prod(group)
    assert size <= 8192
    assert size & (size - 1) == 0
    rounded = math.prod(-(-n // g) * g for n, g in zip(ndrange, group, strict=True))
    if total >= 64 * units:  # nearly each core has a group of its own
        assert rounded // size >= 0.7 * units
    if total >= 16 * 1024 * units:  # and many of them, with few work-items outside
        assert rounded // size >= 8 * units
        assert rounded <= 1.3 * total
    if ndrange == (4096, 4096) and units <= 64:  # whole rows
        assert group[-1] == 4096
