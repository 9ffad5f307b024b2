"""Transfer of tensors to and from host memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import torch
import torch.utils.dlpack

from portarray.backends.common.copying import copied
from portarray.backends.torch.devices import Devices
from portarray.backends.torch.dlpack_devices import CPU_DEVICE, DLPackDevices

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

# PyTorch has no types for this.
from_capsule: Callable[[Any], torch.Tensor] = torch.utils.dlpack.from_dlpack


class HostMemory(DLPackDevices):
    """Transfer of tensors to and from host memory."""

    @staticmethod
    def from_host(
        array: np.ndarray[Any, Any],
        device: torch.device,
        *,
        copy: bool | None,
        non_blocking: bool = False,
    ) -> torch.Tensor:
        """Make a tensor on a device from a NumPy array.

        Read-only arrays are copied, since tensors have no read-only flag, and so are arrays with
        negative strides, foreign byte order or unaligned memory, which tensors do not support.
        """
        if not DLPackDevices.on_host(device):
            if copy is False:
                raise refusal(HostMemory.why_copied_in(array, device))
            return _uploaded(array, device, non_blocking=non_blocking)
        obstacle = HostMemory.why_copied_in(array, device)
        if copy is False and obstacle:
            raise refusal(obstacle)
        if obstacle or copy:
            array = copied(array)
        return over(array)

    @staticmethod
    def why_copied_in(array: np.ndarray[Any, Any], device: torch.device) -> str:
        if not DLPackDevices.on_host(device):
            return f"{device} has memory of its own"
        if not array.flags.writeable:
            return "the array is read-only and tensors are always writable"
        return _why_not_shown(array)

    @staticmethod
    def why_copied_out(x: torch.Tensor, device: torch.device) -> str:
        if not x.is_cpu:
            return f"{device} has memory of its own"
        if x.is_conj() or x.is_neg():
            return "the tensor is lazily conjugated or negated"
        return ""

    @staticmethod
    def to_host(x: torch.Tensor, *, copy: bool | None) -> np.ndarray[Any, Any]:
        """Return a tensor as NumPy array; RuntimeError if it requires grad."""
        refuse_grad(x, "another library")
        obstacle = HostMemory.why_copied_out(x, x.device)
        if obstacle:
            if copy is False:
                raise refusal(obstacle)
            return shown(x.resolve_conj().resolve_neg().cpu())
        return copied(shown(x)) if copy else shown(x)

    def pinned_copy(self, x: torch.Tensor) -> np.ndarray[Any, Any] | None:
        """Return a copy of a GPU's tensor in pinned memory; None if there is too little.

        None for Metal, which has no pinned memory, and for host memory.
        """
        if not self.readable_dlpack_types(x.device):
            return None
        refuse_grad(x, "another library")
        locked = _page_locked(x)
        return None if locked is None else shown(locked)

    def printable(self, x: torch.Tensor, device: torch.device) -> np.ndarray[Any, Any]:
        """Return values for printing, detached."""
        return self.to_host(x.detach(), copy=None)


def refusal(obstacle: str) -> ValueError:
    """Return the error for memory that cannot be shared."""
    return ValueError(f"copy=False, but {obstacle}; pass copy=None or copy=True")


def over(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """Return a tensor that shares a NumPy array's memory."""
    if array.dtype == _BFLOAT16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _uploaded(
    array: np.ndarray[Any, Any], device: torch.device, *, non_blocking: bool
) -> torch.Tensor:
    """Copy an array to a GPU; the array is no longer read when this returns."""
    host = _readable(array)
    if non_blocking and device.type == "cuda":
        # GPU copies are asynchronous from pinned memory only. PyTorch keeps its own pinned memory
        # alive until the copy is done.
        locked = _page_locked(host)
        if locked is not None:
            return locked.to(device, non_blocking=True)
    return host.to(device)


def _page_locked(x: torch.Tensor) -> torch.Tensor | None:
    """Return a copy in pinned memory; None if there is too little."""
    try:
        locked = torch.empty_like(x, device=CPU_DEVICE, pin_memory=True)
    except RuntimeError as error:
        if not Devices.is_out_of_memory(error):
            raise
        return None
    return locked.copy_(x)


def _readable(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """Return a tensor of an array for reading, sharing its memory if possible."""
    if _why_not_shown(array):
        return over(copied(array))
    if array.flags.writeable:
        return over(array)
    # By DLPack, as torch.from_numpy warns of read-only memory.
    if array.dtype == _BFLOAT16:
        return from_capsule(array.view(np.int16).__dlpack__(max_version=(1, 0))).view(
            torch.bfloat16
        )
    return from_capsule(array.__dlpack__(max_version=(1, 0)))


def _why_not_shown(array: np.ndarray[Any, Any]) -> str:
    """Return why tensors do not support the layout of a NumPy array, or an empty string."""
    if not array.dtype.isnative:
        return f"tensors have no byte order {array.dtype.byteorder!r}"
    if not array.flags.aligned:
        return "the array's memory is not aligned"
    itemsize = array.dtype.itemsize
    for stride in array.strides:  # including axes of length 1, which PyTorch checks
        if stride < 0:
            return "tensors have no negative strides"
        if stride % itemsize:
            return "the array's strides are not multiples of its item size"
    if array.dtype.kind == "c" and array.ctypes.data % itemsize:
        # NumPy aligns only their parts, and PyTorch may crash.
        return f"PyTorch needs complex numbers at addresses divisible by their size {itemsize}"
    return ""


def shown(x: torch.Tensor) -> np.ndarray[Any, Any]:
    """Return a NumPy view of a tensor in host memory."""
    if x.dtype is torch.bfloat16:
        return x.view(torch.int16).numpy().view(_BFLOAT16)
    host: np.ndarray[Any, Any] = x.numpy()
    return host


def refuse_grad(x: torch.Tensor, to: str) -> None:
    """Raise for a tensor that requires grad, whose gradient would be lost."""
    if x.requires_grad:
        raise RuntimeError(
            f"a tensor that requires grad would lose its gradient in {to}\nHint: pass x.detach()"
        )
