"""Host and DLPack, in and out of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray import _dlpack as dlpack
from portarray.backends.base import Backend
from portarray.backends.copying import copied

__all__ = ["Transfer"]

Array = np.ndarray[Any, Any]


class Transfer(Backend):
    """NumPy's arrays in and out: host memory, other devices, DLPack."""

    def on_host(self, device: str) -> bool:
        return True

    def from_host(
        self, array: Array, device: str, *, copy: bool | None, non_blocking: bool = False
    ) -> Array:
        """Return the array, or a copy where one is asked for.

        Memory that is not to be written, such as another library's that never changes, is shared
        like any other: an assignment to the array copies it first (``setitem``).

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
        """Return why an array is copied; empty for nearly all."""
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

        What lies elsewhere than in host memory the producer is asked to copy there.

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

        Of read-only memory, consumers that read no DLPack 1.0 get a copy, for its mark came with
        that.

        Raises
        ------
        BufferError
            If ``copy=False`` and there is no such mark, or the device asked for is not the CPU.
        """
        sealed = not x.flags.writeable and (max_version is None or max_version[0] < 1)
        if sealed and copy is None:
            x = copied(x)
        return x.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def dlpack_device(self, x: Array) -> tuple[int, int]:
        return x.__dlpack_device__()
