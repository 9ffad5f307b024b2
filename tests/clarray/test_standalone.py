"""clarray works without other array libraries and without most of portarray.

Of portarray it needs the modules for OpenCL's drivers, host memory and DLPack, which need NumPy and
the standard library only. Each test runs in a new process whose parent package imports nothing.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import portarray
from portarray._opencl.registry import devices

pytestmark = pytest.mark.skipif(not devices(), reason="no OpenCL device works here")

OTHERS = ("torch", "jax", "cupy", "mlx", "dpnp", "dpctl", "array_api_compat", "scipy")

# The parent is an empty package, and whoever asks for another part of portarray is told.
ALONE = f"""
import importlib.abc
import sys
import types

ALLOWED = (
    *("clarray", "_dlpack", "_host_memory", "_opencl", "_atomic_files", "_codegen"),
    *("_compile_notice", "_result_types"),
)

class Refusing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.startswith("portarray.") and name.split(".")[1] not in ALLOWED:
            raise AssertionError(f"clarray imports {{name}}")

sys.meta_path.insert(0, Refusing())
parent = types.ModuleType("portarray")
parent.__path__ = [{str(Path(portarray.__file__).parent)!r}]
sys.modules["portarray"] = parent
"""

USED = """
import numpy as np
from portarray import clarray as cl

x = cl.asarray([[1.0, 2.0], [3.0, 4.0]], dtype=cl.float32)
assert np.asarray(x + x * 2).tolist() == [[3, 6], [9, 12]]
assert np.asarray(cl.from_dlpack(np.arange(3))).tolist() == [0, 1, 2]
"""


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def imported(program: str) -> str:
    return run(f"{program}\nimport sys\nprint([m for m in {OTHERS} if m in sys.modules])")


def test_clarray_computes_without_the_rest_of_portarray() -> None:
    assert imported(ALONE + USED) == "[]"


def test_the_parent_of_these_tests_refuses_the_rest() -> None:
    with pytest.raises(AssertionError, match=r"clarray imports portarray\.errors"):
        run(f"{ALONE}\nimport portarray.errors")


def test_the_backend_imports_pyopencl_and_no_other_array_library() -> None:
    program = "import portarray as pa\npa.device('clarray')._backend"
    assert imported(f"{program}\nimport sys; assert 'pyopencl' in sys.modules") == (
        # Every backend may use it for what NumPy lacks, and portarray needs it anyway.
        "[]"
    )
