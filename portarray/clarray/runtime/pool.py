"""Memory: blocks that are used again, because fresh pages cost more than most kernels.

On a device whose memory is host memory a block is NumPy memory that OpenCL uses where it lies, so
that reading it from the host needs no copy.

Blocks come back in destructors, which run anywhere: in any thread, and amid other calls of this
module. So what they do is one ``list.append``, and nothing that waits.
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from portarray import _host_memory as host_memory
from portarray.clarray.errors import OutOfMemoryError
from portarray.clarray.runtime.fences import Fences

if TYPE_CHECKING:
    from portarray.clarray.runtime.device import Device

PAGE = 4096

LARGE = 1 << 20
"""Bytes from which a block that comes back is worth a look at how much lies unused."""

WEIGHTY = 16 << 20
"""Bytes from which a new block is worth a look at what the machine has left."""

MANY = 1024
"""Small blocks of one size, after each so many of which there is that look as well."""

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Block = tuple[cl.Buffer, Bytes | None]


@dataclass(frozen=True, slots=True)
class Memory:
    """A device's memory in bytes."""

    total: int
    free: int
    used: int
    pooled: int


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
    shared : dict
        Through what others can see it; empty where they cannot. Kernels that touch it are finished
        before their call returns, for other libraries know nothing of the queue.
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
        self.shared: dict[int, object] = {id(owner): owner} if shared else {}

    def show(self, view: object) -> None:
        """Remember that others see the memory through an object, for as long as that lives."""
        # NumPy's arrays have no hash, as keys of weak references need.
        key = id(view)
        self.shared[key] = weakref.ref(view, partial(self.shared.pop, key))

    def __del__(self) -> None:
        if self.owner is None:
            self.device.pool.give(self.nbytes, self.buffer, self.host)
        else:
            self.device.retire((self.buffer, self.owner))


class Pool:
    """The blocks of one device.

    Attributes
    ----------
    limit : int
        Bytes that all blocks together may have; the device's memory unless set.
    keep : int
        Bytes that may lie unused; the sizes longest not asked for go first.
    slack : int
        Bytes that may lie unused while a new large block is made, where a fifth of what arrays use
        is not more: beyond it other sizes make room, so that little more than the arrays' memory is
        ever taken.
    largest : int
        Bytes of the largest block that the driver gives.
    """

    def __init__(self, device: Device, *, guard: bool | None = None) -> None:
        self._device = device
        self._free: dict[int, list[Block]] = {}
        self._asked: dict[int, int] = {}  # large size -> when it last came back
        self._clock = itertools.count()
        # Reentrant, for a destructor may run while this thread holds it; held for one sum only.
        self._lock = threading.RLock()
        self._allocated = 0
        self.limit = self.total
        self.keep = self.limit // 8
        self.slack = 512 << 20
        self.largest = int(device.native.max_mem_alloc_size)
        guard = os.environ.get("CLARRAY_GUARD", "0") not in ("", "0") if guard is None else guard
        self._fences = Fences(device) if guard else None

    def take(self, nbytes: int) -> Storage:
        """Return memory of at least so many bytes; its contents are whatever they were."""
        size = size_class(nbytes) if self._fences is None else max(nbytes, 1)
        try:
            buffer, host = self._free[size].pop()
        except (KeyError, IndexError):
            size, buffer, host = self._allocate(size, nbytes)
        return Storage(self._device, buffer, host, size)

    def give(self, size: int, buffer: cl.Buffer, host: Bytes | None) -> None:
        """Take a block back. Runs in destructors: it must not wait for anything."""
        try:
            blocks = self._free[size]
        except KeyError:
            blocks = self._free.setdefault(size, [])
        blocks.append((buffer, host))
        if size >= LARGE:
            self._asked[size] = next(self._clock)
            self._trim(self.keep)
        elif not len(blocks) % MANY:
            self._trim(self.keep)

    def reclaim(self) -> None:
        """Give unused blocks back to the system, after the kernels that may still use them."""
        self._device.finish()
        for size, blocks in list(self._free.items()):
            self._drop(size, blocks, len(blocks))
        self._device.finish()  # what was dropped while another thread launched

    def memory(self) -> Memory:
        """Return the pool's and the device's figures."""
        pooled = self.pooled
        return Memory(self.total, self._left() + pooled, self._allocated - pooled, pooled)

    @property
    def total(self) -> int:
        """Bytes of the device's memory; of a processor's, those that the process may use now."""
        total = int(self._device.native.global_mem_size)
        if self._device.kind == "cpu":
            total = min(total, host_memory.total() or total)
        return total

    @property
    def pooled(self) -> int:
        """Bytes of unused blocks."""
        return sum(size * len(blocks) for size, blocks in list(self._free.items()))

    @property
    def used(self) -> int:
        """Bytes of blocks that arrays lie in."""
        return self._allocated - self.pooled

    def check(self) -> None:
        """Look at the guard bytes around every block, where there are any (``CLARRAY_GUARD=1``)."""
        if self._fences is not None:
            self._device.finish()
            self._fences.check()

    def _allocate(self, size: int, nbytes: int) -> tuple[int, cl.Buffer, Bytes | None]:
        """Return a new block and its size; the unused ones are given back where that helps."""
        if size > self.largest >= nbytes:
            size = self.largest
        if size > self.largest:
            raise self._out_of_memory(
                nbytes,
                f"one block can have at most {self.largest} bytes there; "
                f"split the array, or use another device",
            )
        if size >= LARGE:
            self._trim(max(self.slack, (self.used + size) // 5))
            # What kernels still use would come on top of the new block.
            self._device.release()
        if not self._reserve(size):
            self.reclaim()
            if not self._reserve(size):
                raise self._out_of_memory(
                    nbytes, "delete arrays that are no longer needed, or work in parts"
                )
        try:
            return size, *self._fresh(size)
        except (MemoryError, cl.Error):
            self.reclaim()
        try:
            return size, *self._fresh(size)
        except (MemoryError, cl.Error) as error:
            self._account(-size)
            raise self._out_of_memory(
                nbytes, f"the driver refused ({error}); delete arrays, or work in parts"
            ) from error

    def _reserve(self, size: int) -> bool:
        """Note that a block is being made, unless there is no room for it."""
        # A block that the system promises and does not have ends the process when it is written.
        if size >= WEIGHTY and size > self._left():
            return False
        with self._lock:
            fits = self._allocated + size <= self.limit
            if fits:
                self._allocated += size
        return fits

    def _left(self) -> int:
        """Return the bytes that new blocks could have, unused ones staying where they are."""
        left = max(0, self.limit - self._allocated)
        if self._device.kind == "cpu":
            available, resident = host_memory.available(), host_memory.resident()
            if available is not None:
                # Pages of blocks that nobody wrote so far still count as available.
                unwritten = 0 if resident is None else max(0, self._allocated - resident)
                left = min(left, max(0, available - unwritten))
        return left  # of other devices OpenCL does not tell what other programs use

    def _account(self, nbytes: int) -> None:
        with self._lock:
            self._allocated += nbytes

    def _fresh(self, size: int) -> Block:
        if self._fences is not None:
            return self._fences.block(size)
        flags = cl.mem_flags
        context = self._device.context
        if not self._device.host_memory:
            return cl.Buffer(context, flags.READ_WRITE, size), None
        raw = np.empty(size + PAGE, np.uint8)
        start = -raw.ctypes.data % PAGE
        host = raw[start : start + size]
        return cl.Buffer(context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=host), host

    def _trim(self, keep: int) -> None:
        """Drop unused blocks until no more bytes lie there than may. Runs in destructors."""
        over = self.pooled - keep
        if over <= 0:
            return
        # Small sizes have no time and go first: they are quick to make again.
        for size in sorted(self._free, key=lambda one: self._asked.get(one, -1)):
            over -= size * self._drop(size, self._free[size], -(-over // size))
            if over <= 0:
                return

    def _drop(self, size: int, blocks: list[Block], count: int) -> int:
        """Give so many blocks of a list back to the system and return how many there were."""
        dropped = 0
        while dropped < count:
            try:
                block = blocks.pop()
            except IndexError:  # another thread took it
                break
            dropped += 1
            self._account(-size)
            if self._fences is not None:
                self._fences.forget(block[0])
            self._device.retire(block)
        return dropped

    def _out_of_memory(self, nbytes: int, advice: str) -> OutOfMemoryError:
        figures = self.memory()
        return OutOfMemoryError(
            f"{self._device} has no {nbytes} bytes for an array: of {figures.total} bytes "
            f"{figures.free} are free and {figures.used} are used by arrays; {advice}",
            asked=nbytes,
            free=figures.free,
            total=figures.total,
        )
