"""The PyTorch backend: CPUs, and CUDA, ROCm, Metal or oneAPI, depending on the build."""

from __future__ import annotations

from portarray.backends.types import BackendInfo

INFO = BackendInfo(
    library="torch",
    title="PyTorch",
    module="torch",
    ranks={"cuda": 20, "rocm": 20, "metal": 20, "oneapi": 20, "cpu": 20},
    install={"": "portarray[torch]"},
    # The version that the extra requires; earlier releases are untested.
    oldest="2.6",
)
