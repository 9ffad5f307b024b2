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

    def from_host(
        self, array: Array, device: str, *, copy: bool | None, non_blocking: bool = False
    ) -> Array:
        """Return the array, or a copy where one is asked for.

        Read-only memory, such as that of immutable arrays, is shared too: ``setitem`` copies it
        before the first assignment.

        Raises
        ------
        ValueError
            If ``copy=False`` and the array is of foreign byte order.
        """
        if not array.dtype.isnative:
            if copy is False:
                raise ValueError(
                    f"copy=False, but {self.why_copied_in(array, device)}; pass copy=None"
                )
            return copied(array)
        return copied(array) if copy else array

    def why_copied_in(self, array: Array, device: str) -> str:
        """Return why an array is copied, or an empty string."""
        order = array.dtype.byteorder
        return "" if array.dtype.isnative else f"portarray's arrays have no byte order {order!r}"

    def to_host(self, x: Array, *, copy: bool | None) -> Array:
        """Return the array, or a copy where one is asked for."""
        return copied(x) if copy else x

    def move(
        self, x: Array, device: str, *, copy: bool | None, non_blocking: bool = False
    ) -> Array:
        """Return the array, or a copy where one is asked for: there is one device."""
        return copied(x) if copy else x

    def from_dlpack(self, x: Any, device: str, *, copy: bool | None) -> Array:
        """Return an array over a DLPack producer's memory, or a copy where one is asked for.

        Producers of device memory are asked for a copy in host memory.

        Raises
        ------
        ValueError
            If ``copy=False`` and the data is not in host memory.
        BufferError
            If the producer cannot export its data to the CPU.
        """
        kind = int(x.__dlpack_device__()[0])
        if kind in dlpack.HOST_KINDS:
            values = dlpack.host_values(x)
            return copied(values) if copy else values
        if copy is False:
            raise ValueError(
                f"copy=False, but the data lies in {dlpack.kind_name(kind)} memory, which is not "
                f"the host's; pass copy=None or copy=True"
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

        Raises
        ------
        BufferError
            If ``copy=False`` and a read-only array cannot be flagged, or the device asked for is
            not the CPU.
        """
        sealed = not x.flags.writeable and (max_version is None or max_version[0] < 1)
        if sealed and copy is None:
            x = copied(x)
        return x.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def dlpack_device(self, x: Array) -> tuple[int, int]:
        return x.__dlpack_device__()
