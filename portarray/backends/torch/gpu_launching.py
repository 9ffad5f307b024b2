"""User kernels on PyTorch's GPUs: CUDA and ROCm through PyTorch's own run-time compiler.

Written to the source of ``torch.cuda._utils`` and the documentation of CUDA's driver interface
(``cuLaunchKernel``); not run on a GPU so far. PyTorch's own call of a kernel passes integers as 32
bits and floating-point numbers as 64, so the driver is called here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from portarray.backends.launching import Launch, Launcher, Program, Range, group_for
from portarray.errors import KernelBuildError

__all__ = ["gpu_launcher"]


def gpu_launcher(device: torch.device) -> Launcher | str:
    """Return the launcher of a GPU, or the reason why there is none."""
    if device.type != "cuda":
        return f"programs on PyTorch's {device.type!r} devices are not supported yet"
    if not hasattr(torch.cuda, "_compile_kernel"):
        return f"PyTorch {torch.__version__} has no run-time compiler; 2.9 and later have one"
    return _Launcher(device)


class _Launcher:
    """Runs programs on PyTorch's current stream; does not wait."""

    dialect = "hip" if torch.version.hip else "cuda"
    offsets = False
    immutable = False
    float64 = True
    atomics64 = True

    def __init__(self, device: torch.device) -> None:
        figures: Any = torch.cuda.get_device_properties(device)
        self._device = device
        self.max_group = int(getattr(figures, "max_threads_per_block", 1024))
        self.local_memory = int(getattr(figures, "shared_memory_per_block", 48 << 10))

    def group(self, ndrange: Range) -> Range:
        return group_for(ndrange, 256)

    def writable(self, x: torch.Tensor) -> torch.Tensor:
        """Return the tensor; a gradient that needs its old values will be refused."""
        torch.autograd.graph.increment_version(x)
        return x

    def build(self, program: Program) -> Launch:
        own: Any = torch.cuda
        device = self._device
        try:
            with torch.cuda.device(device):
                kernel = own._compile_kernel(program.text, program.name)
        except RuntimeError as error:
            raise KernelBuildError(program.name, str(device), str(error), program.text) from error
        driver = own._utils._get_gpu_runtime_library()
        check = own._utils._check_cuda
        function = kernel.func
        kinds = [np.ctypeslib.as_ctypes_type(dtype) for dtype in program.values]
        number = len(program.arrays) + len(kinds)
        pointers = ctypes.c_void_p * number

        def launch(arrays: Sequence[Any], values: Sequence[Any], size: Range, group: Range) -> None:
            passed = [
                *(ctypes.c_void_p(x.data_ptr()) for x in arrays),
                *(kind(value) for kind, value in zip(kinds, values, strict=True)),
            ]
            places = pointers(*map(ctypes.addressof, passed))
            block = (*group[::-1], 1, 1)[:3]
            whole = (*size[::-1], 1, 1)[:3]
            grid = [every // part for every, part in zip(whole, block, strict=True)]
            with torch.cuda.device(device):
                stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
                check(driver.cuLaunchKernel(function, *grid, *block, 0, stream, places, None))

        return launch
