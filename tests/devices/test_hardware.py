"""The automatic choice imports no library for absent hardware."""

import os
import subprocess
import sys

import pytest

from portarray._devices import hardware
from portarray.backends.types import PLATFORMS

CHOOSE = """
import sys
import portarray as pa
x = pa.ones(2)
assert x.device.kind == "cpu", x.device
print(sorted({"torch", "cupy", "jax", "mlx", "dpnp", "pyopencl"} & set(sys.modules)))
"""


@pytest.mark.skipif(
    not all(map(hardware.reason_missing, PLATFORMS[:-1])),
    reason="this machine may have a GPU, so its libraries are asked",
)
def test_the_default_device_of_a_machine_without_gpus_imports_no_gpu_library():
    environment = {k: v for k, v in os.environ.items() if k != "PORTARRAY_DEVICE"}
    done = subprocess.run(
        [sys.executable, "-c", CHOOSE], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_metal_is_absent_exactly_off_macos():
    assert bool(hardware.reason_missing("metal")) == (sys.platform != "darwin")


def test_a_cpu_is_never_absent():
    assert hardware.reason_missing("cpu") == ""
