"""DLPack device types and indices of PyTorch's devices."""

from __future__ import annotations

from functools import cache

import torch

from portarray import _dlpack as dlpack
from portarray.backends.base import Backend

# DLPack's types of devices.
CPU, CUDA, _ROCM, _ONEAPI = 1, 2, 10, 14

CPU_DEVICE = torch.device("cpu")

STREAMED = _ROCM if torch.version.hip else CUDA
"""DLPack type of "cuda" devices, whose producers get a stream: CUDA, or ROCm in AMD's builds."""

# By PyTorch device type, for those that share memory with other libraries. CUDA's managed memory is
# not supported: https://github.com/pytorch/pytorch/issues/96318
_READS = {"cuda": frozenset({STREAMED}), "xpu": frozenset({_ONEAPI})}


class DLPackDevices(Backend):
    """DLPack device types and indices of PyTorch's devices."""

    @staticmethod
    def on_host(device: torch.device) -> bool:
        return device.type == "cpu"

    def dlpack_device(self, x: torch.Tensor) -> tuple[int, int]:
        """Return DLPack's device type and index of a tensor; the CPU for pinned memory too."""
        return (CPU, 0) if self.on_host(x.device) else _of_gpu(x.device)

    @staticmethod
    def dlpack_device_of(device: torch.device) -> tuple[int, int] | None:
        """Return DLPack's type and index of a device's memory.

        None for Apple's GPUs: the other library that drives them computes in host memory.
        """
        if DLPackDevices.on_host(device):
            return (CPU, 0)
        return _of_gpu(device) if device.type in _READS else None

    def readable_dlpack_types(self, device: torch.device) -> frozenset[int]:
        return _READS.get(device.type, frozenset())


@cache
def _of_gpu(device: torch.device) -> tuple[int, int]:
    empty = torch.empty(0, device=device)
    if device.type == "xpu":
        # Tensors number PyTorch's GPUs, but capsules all of SYCL's devices, as dpnp does.
        return dlpack.take(empty).__dlpack_device__()
    kind, index = empty.__dlpack_device__()
    return int(kind), index
