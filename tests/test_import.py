"""Modules and cost of ``import portarray``, each test in a new process."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest

NOT_IMPORTED = (
    # array libraries
    *("torch", "jax", "cupy", "mlx", "dpnp", "dpctl", "pyopencl", "array_api_compat"),
    # what only some of portarray's users need
    *("portarray.random", "portarray.tasks", "portarray._kernel_language.kernel"),
    *("ml_dtypes", "optree", "safetensors", "platformdirs", "scipy", "sklearn", "click", "rich"),
    *("portarray_conformance", "dask", "distributed", "importlib.metadata", "tomllib"),
)
MOST_MODULES = 122  # of portarray's own, a third of a millisecond each


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


def test_the_first_array_imports_little_beyond_that_of_numpy() -> None:
    slow = ("unittest", "subprocess", "tempfile", "concurrent.futures", "numpy.fft", "numpy.ma")
    code = (
        "import sys, numpy, portarray as pa\n"
        "before = set(sys.modules)\n"
        "pa.ones(3, device='numpy')\n"
        f"print([m for m in {(*NOT_IMPORTED, *slow)!r} if m in sys.modules and m not in before])"
    )
    assert run(code) == "[]"


def test_the_first_choice_of_a_device_reads_no_metadata_where_no_plugin_is_installed() -> None:
    code = (
        "import sys, numpy, portarray as pa\n"
        "pa.supported_backends()\n"
        "print('importlib.metadata' in sys.modules)"
    )
    assert run(code) == "False"


def test_the_first_calls_import_the_files_of_their_categories_alone() -> None:
    code = (
        "import sys, portarray as pa\n"
        "pa.ones(3, device='numpy') + 1\n"
        "folder = 'portarray.backends.numpy.namespace.'\n"
        "print([m for m in sys.modules if m.startswith(folder)])"
    )
    files = {name.rpartition(".")[2] for name in ast.literal_eval(run(code))}
    assert files >= {"arithmetic", "creation"}
    assert not files & {"linear_algebra", "manipulation", "searching", "sorting", "trigonometric"}


@pytest.mark.parametrize(
    "call",
    [
        "pa.random.normal(pa.random.split(pa.random.key(0))[0], (4,))",
        "pa.random.integers(pa.random.key(0), 0, 6, (4,))",
        "pa.grad(lambda x: pa.sum(x * x))(x)",
        "pa.vmap(lambda x: x * 2)(x)",
    ],
)
def test_first_calls_import_the_kernel_compiler_only_where_kernels_run(call: str) -> None:
    code = (
        "import sys, portarray as pa\n"
        f"with pa.device('numpy'):\n    x = pa.ones(3)\n    {call}\n"
        "compiler = ('kernel', 'tree', 'source')\n"
        "print([m for m in compiler if f'portarray._kernel_language.{m}' in sys.modules])"
    )
    assert run(code) == "[]"


def test_functions_are_tagged_once_the_compiler_is_imported() -> None:
    pytest.importorskip("torch")
    code = (
        "import torch, portarray as pa\n"
        "pa.ones(3, device='torch:cpu')\n"
        "print(hasattr(pa.sin, '_torchdynamo_inline'))\n"
        "import torch._dynamo\n"
        "print(hasattr(pa.sin, '_torchdynamo_inline'))"
    )
    assert run(code).split() == ["False", "True"]


def test_selecting_numpy_imports_no_other_array_library() -> None:
    code = (
        "import sys, portarray as pa\n"
        "x = pa.asarray([1.0, 2.0], device=pa.device('numpy'))\n"
        "assert float(pa.sum(x + x)) == 6.0\n"
        "others = ('torch', 'jax', 'cupy', 'mlx', 'dpnp', 'pyopencl')\n"
        "print([m for m in others if m in sys.modules])"
    )
    assert run(code) == "[]"


def test_import_does_little_beyond_that_of_numpy() -> None:
    """The import loads few modules and creates no dataclasses, which take 0.6 ms each."""
    code = (
        "import sys, numpy, dataclasses; before = set(sys.modules); made = []\n"
        "make = dataclasses._process_class\n"
        "dataclasses._process_class = lambda cls, *rest: made.append(cls.__name__)"
        " or make(cls, *rest)\n"
        "import portarray\n"
        "new = sorted(set(sys.modules) - before)\n"
        "print(sum(name.startswith('portarray') for name in new))\n"
        "print([name for name in new if not name.startswith('portarray')])\n"
        "print(made)"
    )
    portarray_modules, others, dataclass_names = run(code).splitlines()
    assert int(portarray_modules) <= MOST_MODULES
    allowed = {"__future__", "importlib._abc", "importlib.util", "resource", "threading"}
    assert set(ast.literal_eval(others)) <= allowed
    assert dataclass_names == "[]", "records that the import makes are named tuples"
