"""What ``import portarray`` brings with it, and what it costs. Each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

NOT_IMPORTED = (
    # array libraries
    *("torch", "jax", "cupy", "mlx", "dpnp", "dpctl", "pyopencl", "array_api_compat"),
    # what only some of portarray's users need
    *("ml_dtypes", "optree", "safetensors", "platformdirs", "scipy", "sklearn", "click", "rich"),
    *("portarray_conformance", "importlib.metadata", "tomllib"),
)
LIMIT = 0.030  # seconds over `import numpy`
TURNS = 16


def run(code: str, **settings: str) -> str:
    """Run Python code in a fresh process and return what it prints."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**env, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "statement", ["import portarray", "import portarray.linalg, portarray.fft"]
)
def test_no_other_library_is_imported(statement: str) -> None:
    # What NumPy itself imports is no matter of ours.
    code = (
        "import sys, numpy; before = set(sys.modules)\n"
        f"{statement}\n"
        f"print([m for m in {NOT_IMPORTED!r} if m in sys.modules and m not in before])"
    )
    assert run(code) == "[]"


def test_asking_for_numpy_imports_no_other_array_library() -> None:
    code = (
        "import sys, portarray as pa\n"
        "x = pa.asarray([1.0, 2.0], device=pa.device('numpy'))\n"
        "assert float(pa.sum(x + x)) == 6.0\n"
        "others = ('torch', 'jax', 'cupy', 'mlx', 'dpnp', 'pyopencl')\n"
        "print([m for m in others if m in sys.modules])"
    )
    assert run(code) == "[]"


def test_import_takes_little_longer_than_that_of_numpy(tmp_path: Path) -> None:
    cache = str(tmp_path)  # so that compiling is not measured, whatever the environment says
    # Time of this thread on the CPU: neither other programs count, nor the threads that NumPy's
    # BLAS starts and that wait in a loop.
    code = (
        "from time import thread_time as t; a = t(); import numpy\n"
        "b = t(); import portarray\n"
        "print(b - a, t() - b)"
    )
    run(code, PYTHONPYCACHEPREFIX=cache)
    turns = [run(code, PYTHONPYCACHEPREFIX=cache).split() for _ in range(TURNS)]
    numpy, added = (min(map(float, figures)) for figures in zip(*turns, strict=True))
    # A machine on which NumPy takes long is given more.
    limit = max(LIMIT, numpy / 3)
    assert added <= limit, f"import adds {added * 1e3:.1f} ms to NumPy's {numpy * 1e3:.1f}"
