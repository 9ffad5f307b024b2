"""The PyTorch backend: CPUs, and CUDA, ROCm, Metal or oneAPI by what the build offers."""

from __future__ import annotations

from portarray.backends.types import BackendInfo

INFO = BackendInfo(
    library="torch",
    title="PyTorch",
    module="torch",
    ranks={"cuda": 20, "rocm": 20, "metal": 20, "oneapi": 20, "cpu": 20},
    install={"": "portarray[torch]"},
    # What the extra asks for; earlier releases were not tried.
    oldest="2.6",
)
