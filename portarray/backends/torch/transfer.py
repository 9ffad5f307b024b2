"""Tensors in and out: host memory and DLPack."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import torch
import torch.utils.dlpack

from portarray.backends import dlpack

__all__ = [
    "dlpack_device",
    "from_dlpack",
    "from_host",
    "move",
    "on_host",
    "peek",
    "to_dlpack",
    "to_host",
    "why_copied_in",
    "why_copied_out",
]

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

_DLPACK_CPU = 1
# PyTorch has no types for this.
_from_dlpack: Callable[[Any], torch.Tensor] = torch.utils.dlpack.from_dlpack

# Older releases export unversioned capsules only, which every consumer takes.
_EXPORTS_VERSIONS = "max_version" in inspect.signature(torch.Tensor.__dlpack__).parameters


def on_host(device: torch.device) -> bool:
    """Tell whether a device's memory is host memory."""
    return device.type == "cpu"


def from_host(
    array: np.ndarray[Any, Any],
    device: torch.device,
    *,
    copy: bool | None,
    non_blocking: bool = False,
) -> torch.Tensor:
    """Make a tensor on a device from a NumPy array.

    A read-only array is copied, for a tensor has no such mark and would write into it; so is one
    with negative strides, a foreign byte order or an unaligned buffer, which tensors cannot have.

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
    obstacle = why_copied_in(array, torch.device("cpu"))
    if copy is False:
        obstacle = why_copied_in(array, device)
        if obstacle:
            raise ValueError(f"copy=False, but {obstacle}; pass copy=None or copy=True")
    elif obstacle or (copy is True and on_host(device)):
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True)
    if array.dtype == _BFLOAT16:
        host = torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    else:
        host = torch.from_numpy(array)
    return host if on_host(device) else host.to(device, non_blocking=non_blocking)


def why_copied_in(array: np.ndarray[Any, Any], device: torch.device) -> str:
    """Return why a tensor cannot use a NumPy array's memory; empty where it can."""
    if not on_host(device):
        return f"{device} has memory of its own"
    if not array.flags.writeable:
        return "the array is read-only and tensors are always writable"
    if not array.dtype.isnative:
        return f"tensors have no byte order {array.dtype.byteorder!r}"
    if not array.flags.aligned:
        return "the array's memory is not aligned"
    itemsize = array.dtype.itemsize
    for size, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            return "tensors have no negative strides"
        if size > 1 and stride % itemsize:
            return "the array's strides are no multiples of its item size"
    return ""


def why_copied_out(x: torch.Tensor) -> str:
    """Return why NumPy cannot use a tensor's memory; empty where it can."""
    if not on_host(x.device):
        return f"{x.device} has memory of its own"
    if x.is_conj() or x.is_neg():
        return "the tensor is lazily conjugated or negated"
    return ""


def to_host(x: torch.Tensor, *, copy: bool | None) -> np.ndarray[Any, Any]:
    """Return a tensor as NumPy array.

    Raises
    ------
    ValueError
        If ``copy=False`` and the tensor is not in host memory, or is lazily conjugated or negated.
    RuntimeError
        If the tensor requires grad.
    """
    _refuse_grad(x, "NumPy")
    shared = x
    if x.is_conj() or x.is_neg():
        shared = x.resolve_conj().resolve_neg()
    if shared.device.type != "cpu":
        shared = shared.cpu()
    if shared is not x and copy is False:
        raise ValueError(
            f"copy=False, but a tensor on {x.device}"
            f"{' that is lazily conjugated or negated' if x.is_conj() or x.is_neg() else ''} "
            f"cannot be read by NumPy without a copy; pass copy=None or copy=True"
        )
    host: np.ndarray[Any, Any]
    if shared.dtype is torch.bfloat16:
        host = shared.view(torch.int16).numpy().view(_BFLOAT16)
    else:
        host = shared.numpy()
    return host.copy() if copy is True and shared is x else host


def peek(x: torch.Tensor) -> np.ndarray[Any, Any]:
    """Return values for printing; what is printed needs no gradient."""
    return to_host(x.detach(), copy=None)


def move(
    x: torch.Tensor, device: torch.device, *, copy: bool | None, non_blocking: bool = False
) -> torch.Tensor:
    """Return a tensor on another device.

    Raises
    ------
    ValueError
        If ``copy=False`` and the data must move.
    """
    if x.device == device:
        return x.clone() if copy is True else x
    if copy is False:
        raise ValueError(
            f"copy=False, but moving a tensor from {x.device} to {device} copies it; "
            f"pass copy=None or copy=True"
        )
    return x.to(device, non_blocking=non_blocking)


def from_dlpack(x: Any, device: torch.device | None, *, copy: bool | None) -> torch.Tensor:
    """Make a tensor on a device from an object with ``__dlpack__``.

    Parameters
    ----------
    x : object
        With ``__dlpack__`` and ``__dlpack_device__``.
    device : torch.device or None
        Where to; None is where the data is.
    copy : bool or None
        None shares memory where it can, True always copies, False raises where it cannot share.

    Raises
    ------
    ValueError
        If ``copy=False`` and the data must move.
    """
    source = x.__dlpack_device__()
    if copy is False and device is not None and not _same_place(source, device):
        raise ValueError(
            f"copy=False, but the data lies on DLPack device {tuple(source)} and not on {device}; "
            f"pass copy=None or copy=True"
        )
    if isinstance(x, np.ndarray):
        # NumPy exports no read-only array and no bfloat16; its own way in handles both.
        tensor = from_host(x, torch.device("cpu"), copy=copy)
    else:
        tensor = _from_dlpack(x)
        if int(source[0]) == _DLPACK_CPU and _is_read_only(x):
            if copy is False:
                raise ValueError(
                    "copy=False, but the data is read-only and tensors are always writable; "
                    "pass copy=None or copy=True"
                )
            tensor = tensor.clone()
        elif copy is True and (device is None or tensor.device == device):
            tensor = tensor.clone()
    if device is not None and tensor.device != device:
        tensor = tensor.to(device)
    return tensor


def _is_read_only(x: Any) -> bool:
    """Tell whether a producer marks its memory read-only, which PyTorch's own import overlooks."""
    try:
        capsule = x.__dlpack__(max_version=(1, 0))
    except TypeError:  # Producers of DLPack before 1.0 cannot say.
        return False
    return dlpack.is_read_only(capsule)


def _same_place(source: tuple[Any, int], device: torch.device) -> bool:
    kind, index = int(source[0]), source[1]
    if device.type == "cpu":
        return kind == _DLPACK_CPU
    return dlpack_device(torch.empty(0, device=device)) == (kind, index)


def to_dlpack(
    x: torch.Tensor,
    *,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """Return a DLPack capsule of a tensor.

    Raises
    ------
    BufferError
        If ``copy=False`` and the data must move or be resolved first, or the device asked for is
        neither the tensor's own nor the CPU.
    RuntimeError
        If the tensor requires grad.
    """
    _refuse_grad(x, "DLPack")
    source = x
    if source.is_conj() or source.is_neg():
        source = source.resolve_conj().resolve_neg()
    own = dlpack_device(source)
    if dl_device is not None and (int(dl_device[0]), int(dl_device[1])) != own:
        if int(dl_device[0]) != _DLPACK_CPU:
            raise BufferError(
                f"a tensor on {x.device} can be exported to its own DLPack device {own} and to "
                f"the CPU ({_DLPACK_CPU}, 0), not to {tuple(dl_device)}"
            )
        source = source.cpu()
        stream = None
    if source is not x and copy is False:
        raise BufferError(
            f"copy=False, but the tensor on {x.device} must be moved or resolved first"
        )
    if source is x and copy is True:
        source = source.clone()
    # The room has done the moving and copying, so PyTorch is asked for the tensor as it is.
    if _EXPORTS_VERSIONS:
        return source.__dlpack__(stream=stream, max_version=max_version)
    return source.__dlpack__(stream=stream)


def dlpack_device(x: torch.Tensor) -> tuple[int, int]:
    """Return DLPack's device type and index of a tensor."""
    kind, index = x.__dlpack_device__()
    return int(kind), index


def _refuse_grad(x: torch.Tensor, to: str) -> None:
    if x.requires_grad:
        raise RuntimeError(
            f"a tensor that requires grad cannot be handed to {to}, which would lose its "
            f"gradient in silence; call .detach() on the tensor first"
        )
