"""Tensors from host memory and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import torch
import torch.utils.dlpack

from portarray.backends.copying import copied
from portarray.backends.torch.devices import Devices
from portarray.backends.torch.places import CPU_DEVICE, Places

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

# PyTorch has no types for this.
from_capsule: Callable[[Any], torch.Tensor] = torch.utils.dlpack.from_dlpack


class HostMemory(Places):
    """PyTorch's arrays from host memory and back."""

    @staticmethod
    def from_host(
        array: np.ndarray[Any, Any],
        device: torch.device,
        *,
        copy: bool | None,
        non_blocking: bool = False,
    ) -> torch.Tensor:
        """Make a tensor on a device from a NumPy array.

        A read-only array is copied, for a tensor has no such mark and would write into it; so is
        one with negative strides, a foreign byte order or an unaligned buffer, which tensors cannot
        have.

        Parameters
        ----------
        array : numpy.ndarray
            Of a dtype that the device has.
        device : torch.device
            Where to.
        copy : bool or None
            None shares memory where it can, True always copies, False raises where it cannot share.

        Raises
        ------
        ValueError
            If ``copy=False`` and memory cannot be shared.
        """
        if not Places.on_host(device):
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
        if not Places.on_host(device):
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
        """Return a tensor as NumPy array.

        Raises
        ------
        ValueError
            If ``copy=False`` and the tensor is not in host memory, or is lazily conjugated or
            negated.
        RuntimeError
            If the tensor requires grad.
        """
        refuse_grad(x, "NumPy")
        obstacle = HostMemory.why_copied_out(x, x.device)
        if obstacle:
            if copy is False:
                raise refusal(obstacle)
            return shown(x.resolve_conj().resolve_neg().cpu())
        return copied(shown(x)) if copy else shown(x)

    def pinned_copy(self, x: torch.Tensor) -> np.ndarray[Any, Any] | None:
        """Return a GPU's tensor in page-locked memory; None where there is too little.

        Metal has none, and the host's own memory needs none.
        """
        if not self.readable_dlpack_types(x.device):
            return None
        refuse_grad(x, "NumPy")
        locked = _page_locked(x)
        return None if locked is None else shown(locked)

    def printable(self, x: torch.Tensor, device: torch.device) -> np.ndarray[Any, Any]:
        """Return values for printing; what is printed needs no gradient."""
        return self.to_host(x.detach(), copy=None)


def refusal(obstacle: str) -> ValueError:
    """Return the error where memory cannot be shared."""
    return ValueError(f"copy=False, but {obstacle}; pass copy=None or copy=True")


def over(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """Return a tensor over a NumPy array's memory."""
    if array.dtype == _BFLOAT16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _uploaded(
    array: np.ndarray[Any, Any], device: torch.device, *, non_blocking: bool
) -> torch.Tensor:
    """Return a tensor in a GPU's memory; the array was read when this returns."""
    host = _readable(array)
    if non_blocking and device.type == "cuda":
        # A GPU fetches data on its own time from page-locked memory only. PyTorch keeps its own
        # such memory until the GPU is done with it.
        locked = _page_locked(host)
        if locked is not None:
            return locked.to(device, non_blocking=True)
    return host.to(device)


def _page_locked(x: torch.Tensor) -> torch.Tensor | None:
    """Return a copy in page-locked memory; None where there is too little of that."""
    try:
        locked = torch.empty_like(x, device=CPU_DEVICE, pin_memory=True)
    except RuntimeError as error:
        if not Devices.is_out_of_memory(error):
            raise
        return None
    return locked.copy_(x)


def _readable(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """Return a tensor of an array's elements for reading, over its memory where possible."""
    if _why_not_shown(array):
        return over(copied(array))
    if array.flags.writeable:
        return over(array)
    # PyTorch warns of tensors over read-only memory, unless that comes by DLPack.
    if array.dtype == _BFLOAT16:
        return from_capsule(array.view(np.int16).__dlpack__(max_version=(1, 0))).view(
            torch.bfloat16
        )
    return from_capsule(array.__dlpack__(max_version=(1, 0)))


def _why_not_shown(array: np.ndarray[Any, Any]) -> str:
    """Return why no tensor has the layout of a NumPy array; empty where one has."""
    if not array.dtype.isnative:
        return f"tensors have no byte order {array.dtype.byteorder!r}"
    if not array.flags.aligned:
        return "the array's memory is not aligned"
    itemsize = array.dtype.itemsize
    for stride in array.strides:  # also those along axes of length 1, which PyTorch looks at
        if stride < 0:
            return "tensors have no negative strides"
        if stride % itemsize:
            return "the array's strides are no multiples of its item size"
    if array.dtype.kind == "c" and array.ctypes.data % itemsize:
        # NumPy aligns their parts only, and PyTorch may end the process.
        return f"PyTorch needs complex numbers at addresses divisible by their size {itemsize}"
    return ""


def shown(x: torch.Tensor) -> np.ndarray[Any, Any]:
    """Return NumPy's view of a tensor in host memory."""
    if x.dtype is torch.bfloat16:
        return x.view(torch.int16).numpy().view(_BFLOAT16)
    host: np.ndarray[Any, Any] = x.numpy()
    return host


def refuse_grad(x: torch.Tensor, to: str) -> None:
    """Refuse a tensor whose gradient would be lost."""
    if x.requires_grad:
        raise RuntimeError(
            f"a tensor that requires grad cannot be handed to {to}, which would lose its "
            f"gradient in silence; call .detach() on the tensor first"
        )
