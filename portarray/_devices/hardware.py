"""Signs that a platform's hardware is absent, read without importing any library.

Importing PyTorch or CuPy takes seconds, in vain if there is no GPU. Only the automatic choice uses
this, for libraries that are not imported yet: an exact request (``"cuda"``, ``"torch"``) always
asks the library itself.
"""

from __future__ import annotations

import os
import sys

__all__ = ["reason_missing"]

# Each of these files indicates the platform's driver. /dev/dxg is the GPU of Windows under WSL 2;
# the nvhost and nvmap files are NVIDIA's on Tegra boards.
_NVIDIA = (
    "/dev/nvidiactl",
    "/dev/nvidia0",
    "/proc/driver/nvidia/version",
    "/dev/nvmap",
    "/dev/nvhost-gpu",
)
_LINUX_SIGNS = {
    "cuda": (*_NVIDIA, "/dev/dxg"),
    "rocm": ("/dev/kfd", "/dev/dxg"),
    "oneapi": ("/dev/dri", "/dev/dxg"),
    # Google's TPUs up to the fourth generation, and later ones.
    "tpu": ("/dev/accel0", "/dev/vfio"),
    # For GPUs only: the automatic choice does not use OpenCL on CPUs. The last two are mobile GPUs,
    # ARM's and Qualcomm's.
    "opencl": (*_NVIDIA, "/dev/dri", "/dev/kfd", "/dev/dxg", "/dev/mali0", "/dev/kgsl-3d0"),
}


def reason_missing(platform: str) -> str:
    """Return why a platform's GPUs cannot be here, or an empty string where they may be."""
    if platform == "metal" and sys.platform != "darwin":
        return "Metal needs macOS"
    signs = _LINUX_SIGNS.get(platform, ()) if sys.platform == "linux" else ()
    if signs and not any(map(os.path.exists, signs)):
        return f"no driver is loaded (none of {', '.join(signs)} exists)"
    return ""
