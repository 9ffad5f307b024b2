"""User kernels on PyTorch's devices."""

from __future__ import annotations

from functools import cache

import torch

from portarray._launchers.host import OverHost, host_launcher
from portarray._launchers.launcher import Launcher, Layout
from portarray.backends.base import Backend
from portarray.backends.torch.gpu_launching import gpu_launcher
from portarray.backends.torch.places import Places

__all__ = ["Launching"]


class Launching(Backend):
    """Launchers of programs on PyTorch's devices."""

    def launcher(self, device: torch.device) -> Launcher | str:
        return _launcher(device)

    def layout(self, x: torch.Tensor) -> Layout:
        """Return a tensor's layout.

        Raises
        ------
        RuntimeError
            For tensors that require grad, whose gradient would be lost, and for lazily conjugated
            or negated ones, whose memory has other values.
        """
        if x.requires_grad or x.is_neg() or x.is_conj():
            raise RuntimeError(
                "a kernel has no derivative; pa.custom_vjp gives it one, and .detach() gives a "
                "tensor without"
                if x.requires_grad
                else "a kernel reads memory, and the tensor is lazily conjugated or negated; call "
                ".resolve_conj().resolve_neg() on it first"
            )
        return x.shape, x.stride(), 0

    def extent(self, x: torch.Tensor) -> tuple[None, int, tuple[int, ...] | None]:
        if x.is_contiguous():
            return None, x.data_ptr(), None
        itemsize = x.element_size()
        return None, x.data_ptr(), tuple([step * itemsize for step in x.stride()])


@cache
def _launcher(device: torch.device) -> Launcher | str:
    if not Places.on_host(device):
        return gpu_launcher(device)
    host = host_launcher(torch.Tensor.data_ptr)
    return host if isinstance(host, str) else _Launcher(host)


class _Launcher(OverHost):
    """Runs programs in host memory and waits for them."""

    def writable(self, x: torch.Tensor) -> torch.Tensor:
        """Return the tensor; a gradient that needs its old values will be refused."""
        torch.autograd.graph.increment_version(x)
        return x
