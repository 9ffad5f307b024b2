from __future__ import annotations

import subprocess
import sys

import pytest

LIBRARIES = ("torch", "cupy", "jax", "mlx", "dpnp", "pyopencl")


@pytest.mark.parametrize(
    "program",
    [
        "import portarray",
        "import portarray; portarray.device('numpy')",
        "import portarray; portarray.device('cpu'); portarray.cpu_device()",
        "import portarray; portarray.asarray([1.0, 2.0], device='numpy') + 1",
        "import portarray; portarray.supported_backends()",
    ],
)
def test_asking_for_numpy_imports_nothing_else(program: str) -> None:
    check = f"{program}\nimport sys\nprint([m for m in {LIBRARIES} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.strip() == "[]"
