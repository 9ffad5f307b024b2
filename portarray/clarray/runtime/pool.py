"""Memory: blocks that are used again, because fresh pages cost more than most kernels.

On a device whose memory is host memory a block is NumPy memory that OpenCL uses where it lies, so
that reading it from the host needs no copy.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from portarray.clarray.errors import OutOfMemoryError

if TYPE_CHECKING:
    from portarray.clarray.runtime.device import Device

__all__ = ["Pool", "Storage", "size_class"]

PAGE = 4096
Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def size_class(nbytes: int) -> int:
    """Return the size of the block that serves a request.

    Powers of two up to a page, then eight steps to each doubling: at most an eighth is unused.
    """
    if nbytes <= PAGE:
        return max(128, 1 << (nbytes - 1).bit_length()) if nbytes > 1 else 128
    step = 1 << (nbytes.bit_length() - 4)
    return -(-nbytes // step) * step


class Storage:
    """Memory that arrays lie in; back in its pool when the last of them is gone.

    Attributes
    ----------
    buffer : pyopencl.Buffer
        What kernels get.
    host : numpy.ndarray or None
        The same memory as bytes, on devices whose memory is host memory.
    nbytes : int
        Size of the block.
    device : Device
        Where it is.
    shared : bool
        Whether another library can see it. Kernels that touch it are finished before their call
        returns, for the other library knows nothing of the queue.
    owner : object
        What keeps borrowed memory alive; None for a block of the pool.
    """

    __slots__ = ("__weakref__", "buffer", "device", "host", "nbytes", "owner", "shared")

    def __init__(
        self,
        device: Device,
        buffer: cl.Buffer,
        host: Bytes | None,
        nbytes: int,
        owner: object = None,
        shared: bool = False,
    ) -> None:
        self.device = device
        self.buffer = buffer
        self.host = host
        self.nbytes = nbytes
        self.owner = owner
        self.shared = shared

    def __del__(self) -> None:
        if self.owner is None:
            self.device.pool.give(self.nbytes, self.buffer, self.host)


class Pool:
    """Free blocks of one device, by size."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._free: dict[int, list[tuple[cl.Buffer, Bytes | None]]] = {}
        self._lock = threading.Lock()
        self._allocated = 0

    def take(self, nbytes: int) -> Storage:
        """Return memory of at least so many bytes; its contents are whatever they were.

        Raises
        ------
        OutOfMemoryError
            If there is none even after unused blocks were given back.
        """
        size = size_class(nbytes)
        try:
            buffer, host = self._free[size].pop()
        except (KeyError, IndexError):
            buffer, host = self._allocate(size)
        return Storage(self._device, buffer, host, size)

    def give(self, size: int, buffer: cl.Buffer, host: Bytes | None) -> None:
        """Take a block back. Runs in destructors: it must not wait for anything."""
        self._free.setdefault(size, []).append((buffer, host))

    def _allocate(self, size: int) -> tuple[cl.Buffer, Bytes | None]:
        with self._lock:
            try:
                found = self._fresh(size)
            except (MemoryError, cl.MemoryError, cl.RuntimeError):
                self.reclaim()
                try:
                    found = self._fresh(size)
                except (MemoryError, cl.MemoryError, cl.RuntimeError) as error:
                    raise OutOfMemoryError(
                        f"{self._device} has no {size} bytes left", asked=size
                    ) from error
            self._allocated += size
        return found

    def _fresh(self, size: int) -> tuple[cl.Buffer, Bytes | None]:
        flags = cl.mem_flags
        if not self._device.host_memory:
            buffer = cl.Buffer(self._device.context, flags.READ_WRITE, size)
            return buffer, None
        raw = np.empty(size + PAGE, np.uint8)
        start = -raw.ctypes.data % PAGE
        host = raw[start : start + size]
        buffer = cl.Buffer(
            self._device.context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=host
        )
        return buffer, host

    def reclaim(self) -> None:
        """Give unused blocks back to the system."""
        for size in list(self._free):
            blocks, self._free[size] = self._free[size], []
            self._allocated -= size * len(blocks)

    @property
    def pooled(self) -> int:
        """Bytes of unused blocks."""
        return sum(size * len(blocks) for size, blocks in list(self._free.items()))

    @property
    def used(self) -> int:
        """Bytes of blocks that arrays lie in."""
        return self._allocated - self.pooled
