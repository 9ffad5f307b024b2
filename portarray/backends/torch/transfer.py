"""Transfer of tensors between devices and by DLPack; :mod:`~.host_memory` has host memory."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import torch

from portarray import _dlpack as dlpack
from portarray.backends.torch.dlpack_devices import CPU, CPU_DEVICE, CUDA, STREAMED, DLPackDevices
from portarray.backends.torch.host_memory import (
    HostMemory,
    from_capsule,
    over,
    refusal,
    refuse_grad,
    shown,
)

__all__ = ["Transfer", "from_dlpack", "from_host"]

_PER_THREAD = 2  # DLPack's number of CUDA's per-thread default stream

# Older releases support only DLPack before 1.0.
_HAS_VERSIONS = "max_version" in inspect.signature(torch.Tensor.__dlpack__).parameters
_NEWEST = dlpack.NEWEST if _HAS_VERSIONS else None

_ODD = "tensors have no negative strides, and begin where the memory that is handed over does"

_LARGE = 4 << 20
"""Bytes from which NumPy asks Linux for huge pages, which PyTorch does not. First writes take a
fifth of the time there, so large copies on the CPU are allocated by NumPy.
https://numpy.org/doc/stable/reference/global_state.html"""


class Transfer(HostMemory):
    """Transfer of tensors: host memory, other devices, DLPack."""

    def normalize(self, x: torch.Tensor, *, copy: bool | None) -> torch.Tensor:
        """Return a user's tensor; TypeError if it is sparse, nested or in a oneDNN layout."""
        if x.is_nested:
            raise TypeError(
                "a nested tensor is not an array: its rows differ in length\n"
                "Hint: pass x.to_padded_tensor(value)"
            )
        if x.layout is not torch.strided:
            raise TypeError(
                f"a tensor of layout {x.layout} is not an array: it has no strides\n"
                f"Hint: pass x.to_dense()"
            )
        return x

    @staticmethod
    def move(
        x: torch.Tensor, device: torch.device, *, copy: bool | None, non_blocking: bool = False
    ) -> torch.Tensor:
        """Return a tensor on another device; ValueError for ``copy=False`` if it must move."""
        if x.device == device:
            return _cloned(x) if copy else x
        if copy is False:
            raise refusal(f"moving a tensor from {x.device} to {device} copies it")
        # A non-blocking copy to the host would return before it is complete.
        return x.to(device, non_blocking=non_blocking and not DLPackDevices.on_host(device))

    @staticmethod
    def from_dlpack(x: Any, device: torch.device | None, *, copy: bool | None) -> torch.Tensor:
        """Make a tensor on a device from an object with ``__dlpack__``, which is called once.

        If this PyTorch does not support its GPU, it is asked for a copy in host memory.
        ``device=None`` is the device of the data.
        """
        kind, index = map(int, x.__dlpack_device__())
        if copy is False and device is not None and not _is_same_device((kind, index), device):
            raise refusal(f"the data is on DLPack device {(kind, index)} and not on {device}")
        if kind in dlpack.HOST_KINDS:
            return _from_host_memory(x, kind, CPU_DEVICE if device is None else device, copy=copy)
        if kind == STREAMED and not torch.cuda.is_available():
            if copy is False:
                raise refusal(
                    f"this PyTorch cannot use the memory of DLPack device {(kind, index)}"
                )
            values = np.from_dlpack(x, device="cpu")
            return HostMemory.from_host(values, CPU_DEVICE if device is None else device, copy=None)
        stream = _stream(kind, index)
        held = dlpack.take(x, stream=stream, max_version=_NEWEST)
        if held.odd:
            if copy is False:
                raise refusal(_ODD)
            held = dlpack.take(x, stream=stream, max_version=_NEWEST, copy=True)
            copy = None
            if held.odd:
                raise BufferError(f"{_ODD}, and neither is a copy that the producer made")
        if held.read_only and copy is False:
            raise refusal("the data is read-only and tensors are always writable")
        tensor = from_capsule(held.__dlpack__())
        target = tensor.device if device is None else device
        result = Transfer.move(tensor, target, copy=True if held.read_only else copy)
        if result is not tensor:
            # The producer may reuse its memory on its own stream once it is released.
            _wait_for(tensor.device)
        return result

    def why_copied_over(self, x: Any) -> str:
        kind, _ = x.__dlpack_device__()
        return _ODD if dlpack.take(x, stream=-1 if kind == STREAMED else None).odd else ""

    def to_dlpack(
        self,
        x: torch.Tensor,
        *,
        stream: Any,
        max_version: tuple[int, int] | None,
        dl_device: tuple[int, int] | None,
        copy: bool | None,
    ) -> Any:
        """Return a DLPack capsule of a tensor on its own device or the CPU."""
        refuse_grad(x, "DLPack")
        source = x
        if source.is_conj() or source.is_neg():
            source = source.resolve_conj().resolve_neg()
        own_device = self.dlpack_device(source)
        if dl_device is not None and (int(dl_device[0]), int(dl_device[1])) != own_device:
            if int(dl_device[0]) != CPU:
                raise BufferError(
                    f"a tensor on {x.device} can be exported to its own DLPack device "
                    f"{own_device} and to the CPU ({CPU}, 0), not to {tuple(dl_device)}"
                )
            source = source.cpu()
            stream = None
        if source is not x and copy is False:
            raise BufferError(
                f"copy=False, but the tensor on {x.device} must be moved or resolved first"
            )
        if source is x and copy is True:
            source = _cloned(source)
        # The data is moved and copied already.
        options: dict[str, Any] = {"max_version": max_version} if _HAS_VERSIONS else {}
        if source.device.type != "cuda":
            # The consumer cannot pass a stream: synchronize.
            _wait_for(source.device)
            return source.__dlpack__(stream=stream, **options)
        with torch.cuda.device(source.device):  # PyTorch exports only tensors on the current GPU
            if stream == _PER_THREAD:  # which PyTorch does not support
                _wait_for(source.device)
                stream = -1
            return source.__dlpack__(stream=stream, **options)

    def why_copied_on_export(self, x: torch.Tensor) -> str:
        return "the tensor is lazily conjugated or negated" if x.is_conj() or x.is_neg() else ""


def _cloned(x: torch.Tensor) -> torch.Tensor:
    """Return a copy on the same device."""
    if (
        DLPackDevices.on_host(x.device)
        and x.nbytes >= _LARGE
        and not (x.requires_grad or HostMemory.why_copied_out(x, x.device))
    ):
        return over(HostMemory.to_host(x, copy=True))
    return x.clone()


def _wait_for(device: torch.device) -> None:
    """Wait for the current stream of a GPU."""
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()
    elif device.type == "xpu":
        torch.xpu.current_stream(device).synchronize()
    elif device.type == "mps":
        torch.mps.synchronize()  # type: ignore[no-untyped-call, unused-ignore]


def _from_host_memory(
    x: Any, kind: int, device: torch.device, *, copy: bool | None
) -> torch.Tensor:
    if isinstance(x, np.ndarray):
        return HostMemory.from_host(x, device, copy=copy)
    held = dlpack.take(x)
    # PyTorch cannot import pinned memory, not even its own, and ignores the read-only flag.
    odd = kind != CPU or held.odd or held.read_only
    odd = odd or (held.versioned and not _HAS_VERSIONS)
    if odd or copy or not DLPackDevices.on_host(device):
        return HostMemory.from_host(dlpack.host_values(held), device, copy=copy)
    tensor = from_capsule(held.__dlpack__())
    if tensor.is_complex():  # which PyTorch accepts unaligned
        return HostMemory.from_host(shown(tensor), device, copy=copy)
    return tensor


def _stream(kind: int, index: int) -> int | None:
    """Return the consumer's stream as DLPack numbers it."""
    if kind != STREAMED:
        return None
    stream: int = torch.cuda.current_stream(index).cuda_stream
    # 1 is CUDA's legacy default stream; ROCm's is 0.
    return 1 if stream == 0 and kind == CUDA else stream


def _is_same_device(source: tuple[int, int], device: torch.device) -> bool:
    if DLPackDevices.on_host(device):
        return source[0] in dlpack.HOST_KINDS
    return DLPackDevices.dlpack_device_of(device) == source


from_dlpack, from_host = Transfer.from_dlpack, Transfer.from_host
