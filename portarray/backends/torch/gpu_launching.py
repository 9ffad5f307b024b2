"""User kernels on PyTorch's GPUs: CUDA, ROCm and Metal through the compilers that PyTorch loads.

Follows the source of ``torch.cuda._utils``, the documentation of NVRTC and of CUDA's driver API,
and the use of ``torch.mps.compile_shader`` by PyTorch's compiler; not yet run on a GPU. The
libraries are those that PyTorch loads, which have CUDA's names on ROCm too. PyTorch's compilation
of user kernels is not used: it needs the toolkit's headers, and passes integers as 32 bits and
floating-point numbers as 64.
"""

from __future__ import annotations

import ctypes
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import torch

from portarray._launchers.launcher import (
    ANY_GROUPS,
    COMPILER,
    GPU_GROUPS,
    Launch,
    Launcher,
    Program,
    Range,
    group_for,
)
from portarray.errors import KernelBuildError

__all__ = ["gpu_launcher", "writable"]

_utils: Any = getattr(torch.cuda, "_utils", None)
_NEEDED = ("_get_gpu_rtc_library", "_get_gpu_runtime_library", "_cuda_load_module", "_check_cuda")


def gpu_launcher(device: torch.device) -> Launcher | str:
    """Return the launcher of a GPU, or the reason why there is none."""
    if device.type == "mps" and hasattr(torch.mps, "compile_shader"):
        return _MetalLauncher(device)
    if device.type != "cuda":
        return f"programs on PyTorch's {device.type!r} devices are not supported yet"
    if not all(hasattr(_utils, name) for name in _NEEDED):
        return f"PyTorch {torch.__version__} has no run-time compiler; 2.9 and later have one"
    return _Launcher(device)


def writable(x: torch.Tensor) -> torch.Tensor:
    """Return the tensor; autograd will refuse gradients that need its old values."""
    torch.autograd.graph.increment_version(x)
    return x


class _OnGpu:
    """Base of launchers on GPUs."""

    offsets = False
    immutable = False

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def group(self, ndrange: Range) -> Range:
        """Return a fast group size."""
        return group_for(ndrange, 256)

    writable = staticmethod(writable)

    def copied(self, x: torch.Tensor, *, written: bool) -> str:
        """Return why a tensor is copied."""
        return ""

    def address(self, x: torch.Tensor) -> tuple[Hashable, int]:
        """Return the address of a tensor's first element."""
        return None, x.data_ptr()

    def origin(self, program: Program) -> str:
        """Return where a built program comes from."""
        return COMPILER

    def _error(self, program: Program, log: str) -> KernelBuildError:
        return KernelBuildError(program.kernel, str(self._device), log, program.text)


class _MetalLauncher(_OnGpu):
    """Runs programs on PyTorch's stream of Metal; does not wait."""

    name = "Metal"
    dialect = "metal"
    max_group = 1024
    max_sizes: Range = (1024, 1024, 1024)
    max_groups = ANY_GROUPS
    local_memory = 32 << 10  # of all of Apple's GPUs
    float64 = False
    atomics64 = False

    def build(self, program: Program) -> Launch:
        """Compile a program and return a function that launches its kernel."""
        try:
            kernel = getattr(torch.mps.compile_shader(program.text), program.name)
        except (RuntimeError, SyntaxError) as error:
            raise self._error(program, str(error)) from error
        # Integers are passed in 64 bits; kernels with narrower ones read the first bytes.
        unsigned = [dtype == np.uint64 for dtype in program.values]

        def launch(arrays: Sequence[Any], values: Sequence[Any], size: Range, group: Range) -> None:
            passed = [
                value - 2**64 if long and value >= 2**63 else value + 0  # bool to int
                for value, long in zip(values, unsigned, strict=True)
            ]
            kernel(
                *arrays,
                *passed,
                threads=[*size[::-1], 1, 1][:3],
                group_size=[*group[::-1], 1, 1][:3],
            )

        return launch


class _Launcher(_OnGpu):
    """Runs programs on PyTorch's current stream; does not wait."""

    dialect = "hip" if torch.version.hip else "cuda"
    max_sizes = (64, 1024, 1024)  # of all of CUDA's devices; PyTorch does not say
    max_groups = GPU_GROUPS
    float64 = True
    atomics64 = True

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        figures: Any = torch.cuda.get_device_properties(device)
        self.name = str(figures.name)
        # Without fmad each operation is rounded, as in NumPy; HIP programs set this in the source.
        self._options = (
            [f"--offload-arch={figures.gcnArchName}"]
            if torch.version.hip
            else [f"--gpu-architecture=sm_{figures.major}{figures.minor}", "--fmad=false"]
        )
        self.max_group = int(getattr(figures, "max_threads_per_block", 1024))
        self.local_memory = int(getattr(figures, "shared_memory_per_block", 48 << 10))

    def build(self, program: Program) -> Launch:
        """Compile a program and return a function that launches its kernel."""
        device = self._device
        with torch.cuda.device(device):
            binary = self._compiled(program)
            function = _utils._cuda_load_module(binary, [program.name])[program.name].func
        driver = _utils._get_gpu_runtime_library()
        check = _utils._check_cuda
        kinds = [np.ctypeslib.as_ctypes_type(dtype) for dtype in program.values]
        pointers = ctypes.c_void_p * (len(program.arrays) + len(kinds))

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

    def _compiled(self, program: Program) -> bytes:
        """Return the binary of a program."""
        try:
            compiler = _utils._get_gpu_rtc_library()
        except OSError as error:
            raise self._error(program, str(error)) from error
        handle = ctypes.c_void_p()
        source, file = program.text.encode(), f"{program.name}.cu".encode()
        options = (ctypes.c_char_p * len(self._options))(*map(str.encode, self._options))
        handle_pointer = ctypes.byref(handle)
        if compiler.nvrtcCreateProgram(handle_pointer, source, file, 0, None, None):
            raise self._error(program, "the compiler could not start")
        try:
            failed = compiler.nvrtcCompileProgram(handle, len(options), options)
            kind = "ProgramLog" if failed else "CUBIN"
            size = ctypes.c_size_t()
            getattr(compiler, f"nvrtcGet{kind}Size")(handle, ctypes.byref(size))
            output = ctypes.create_string_buffer(size.value)
            getattr(compiler, f"nvrtcGet{kind}")(handle, output)
        finally:
            compiler.nvrtcDestroyProgram(handle_pointer)
        if failed:
            raise self._error(program, output.value.decode(errors="replace"))
        return output.raw
