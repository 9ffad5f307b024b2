"""Transfer of NumPy's arrays: host memory and DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray import _dlpack as dlpack
from portarray.backends.base import Backend
from portarray.backends.common.copying import copied

__all__ = ["Transfer"]

Array = np.ndarray[Any, Any]


class Transfer(Backend):
    """Transfer of NumPy's arrays: host memory, other devices, DLPack."""

    def on_host(self, device: str) -> bool:
        return True

    def from_owned_host(self, array: Array, device: str, *, non_blocking: bool = False) -> Array:
        return array if array.dtype.isnative else copied(array)

    def from_host(
        self, array: Array, device: str, *, copy: bool | None, non_blocking: bool = False
    ) -> Array:
        """Return the array, or a copy on request.

        Read-only memory is shared too: ``setitem`` copies it before the first assignment.
        """
        if not array.dtype.isnative:
            if copy is False:
                reason = self.why_copied_in(array, device)
                raise ValueError(f"copy=False, but {reason}\nHint: pass copy=None")
            return copied(array)
        return copied(array) if copy else array

    def why_copied_in(self, array: Array, device: str) -> str:
        order = array.dtype.byteorder
        return "" if array.dtype.isnative else f"portarray does not support byte order {order!r}"

    def to_host(self, x: Array, *, copy: bool | None) -> Array:
        return copied(x) if copy else x

    def move(
        self, x: Array, device: str, *, copy: bool | None, non_blocking: bool = False
    ) -> Array:
        return copied(x) if copy else x

    def from_dlpack(self, x: Any, device: str, *, copy: bool | None) -> Array:
        """Return an array over a DLPack producer's memory, or a copy on request.

        Producers of device memory export a copy in host memory.
        """
        kind = int(x.__dlpack_device__()[0])
        if kind in dlpack.HOST_KINDS:
            values = dlpack.host_values(x)
            return copied(values) if copy else values
        if copy is False:
            raise ValueError(
                f"copy=False, but the data is in {dlpack.kind_name(kind)} memory\n"
                f"Hint: pass copy=None or copy=True"
            )
        return np.from_dlpack(x, device="cpu")

    def to_dlpack(
        self,
        x: Array,
        *,
        stream: Any,
        max_version: tuple[int, int] | None,
        dl_device: tuple[int, int] | None,
        copy: bool | None,
    ) -> Any:
        """Return a DLPack capsule.

        Consumers before DLPack 1.0, which lacks the read-only flag, get a copy of read-only memory.
        """
        lacks_flag = max_version is None or max_version[0] < 1
        if lacks_flag and not x.flags.writeable and copy is None:
            x = copied(x)
        return x.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def dlpack_device(self, x: Array) -> tuple[int, int]:
        return x.__dlpack_device__()
