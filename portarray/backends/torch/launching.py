"""User kernels on PyTorch's devices."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import torch

from portarray._launchers.host import OverHost, host_launcher
from portarray._launchers.launcher import Launcher, Layout
from portarray.backends.base import Backend
from portarray.backends.torch.dlpack_devices import DLPackDevices
from portarray.backends.torch.gpu_launching import gpu_launcher, writable

if TYPE_CHECKING:
    from portarray._opencl.recording import Recorder

__all__ = ["Launching", "allocation", "is_broadcast"]


class Launching(Backend):
    """Launchers of programs on PyTorch's devices."""

    def launcher(self, device: torch.device) -> Launcher | str:
        return _launcher(device)

    def recorder(self, device: torch.device) -> Recorder | None:
        launcher = _launcher(device)
        if not isinstance(launcher, OverHost):
            return None
        return launcher.recorder(self.layout, torch.Tensor, torch.empty_like)

    def layout(self, x: torch.Tensor) -> Layout:
        """Return a tensor's layout; RuntimeError if it requires grad or is lazily evaluated."""
        if x.requires_grad or x.is_neg() or x.is_conj():
            raise RuntimeError(
                "a kernel has no derivative, and the tensor requires grad\n"
                "Hint: define a derivative with pa.custom_vjp, or pass x.detach()"
                if x.requires_grad
                else "a kernel cannot read a lazily conjugated or negated tensor\n"
                "Hint: call .resolve_conj().resolve_neg() on it first"
            )
        return x.shape, x.stride(), 0

    def extent(self, x: torch.Tensor) -> tuple[None, int, tuple[int, ...] | None]:
        if x.is_contiguous():
            return None, x.data_ptr(), None
        itemsize = x.element_size()
        return None, x.data_ptr(), tuple([step * itemsize for step in x.stride()])

    def allocation(self, x: torch.Tensor) -> int | None:
        return allocation(x)

    def is_broadcast(self, x: torch.Tensor) -> bool:
        return is_broadcast(x)


def allocation(x: torch.Tensor) -> int | None:
    """Return the address of a tensor's memory, None if it has none."""
    try:
        storage = x.untyped_storage()  # several may be made of the same memory of NumPy's
        return storage.data_ptr() or storage._cdata
    except (NotImplementedError, RuntimeError):  # PyTorch's transformations wrap tensors
        return None


def is_broadcast(x: torch.Tensor) -> bool:
    """Return whether elements of a tensor share memory."""
    return not x.is_contiguous() and 0 in x.stride()


@cache
def _launcher(device: torch.device) -> Launcher | str:
    if not DLPackDevices.on_host(device):
        return gpu_launcher(device)
    host = host_launcher(torch.Tensor.data_ptr)
    return host if isinstance(host, str) else _Launcher(host)


class _Launcher(OverHost):
    """Runs programs in host memory and waits for them."""

    writable = staticmethod(writable)
