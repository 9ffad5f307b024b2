"""A memory pool: blocks are reused, because fresh pages cost more than most kernels.

On devices that compute in host memory, a block is NumPy memory that OpenCL uses in place, so the
host reads it without a copy.

Destructors return blocks, in any thread and in the middle of other calls of this module. They only
append to a list and never wait.
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
from portarray._opencl.errors import OutOfMemoryError
from portarray._opencl.guard_bytes import GuardedBlocks

if TYPE_CHECKING:
    from portarray._opencl.device import Device

PAGE = 4096

LARGE = 1 << 20
"""Returning a block of at least this many bytes makes the pool check how much is unused."""

HUGE = 16 << 20
"""Creating a block of at least this many bytes makes the pool check the machine's free memory."""

BATCH = 1024
"""After this many returned small blocks of a size, the pool checks how much is unused."""

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
    """Return the size of the block for a request."""
    # Powers of two up to a page, then eight sizes for each doubling: at most an eighth is unused.
    if nbytes <= PAGE:
        return max(128, 1 << (nbytes - 1).bit_length()) if nbytes > 1 else 128
    step = 1 << (nbytes.bit_length() - 4)
    return -(-nbytes // step) * step


class Storage:
    """A block of memory; it returns to its pool when its last array is deleted.

    ``host`` is the same memory as bytes, on devices that compute in host memory. ``owner`` keeps
    another library's memory alive; it is None for a block of the pool. ``shared`` contains exported
    views and owners; while there are any, calls that use the memory wait for their kernels.
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
        """Track an exported view while it lives."""
        # By id: NumPy arrays are not hashable.
        key = id(view)
        self.shared[key] = weakref.ref(view, partial(self.shared.pop, key))

    def __del__(self) -> None:
        if self.owner is None:
            self.device.pool.put_back(self.nbytes, self.buffer, self.host)
        else:
            self.device.retire((self.buffer, self.owner))


class Pool:
    """The blocks of one device.

    ``limit`` bounds the bytes of all blocks, by default to the device's memory. ``unused_limit``
    bounds those of unused blocks; sizes that have not been returned for longest are freed first.
    Creating a large block frees unused ones beyond ``unused_allowance`` or a fifth of the used
    memory, whichever is more. ``largest`` is the largest block that the driver allocates.
    """

    def __init__(self, device: Device, *, guard: bool | None = None) -> None:
        self._device = device
        self._free: dict[int, list[Block]] = {}
        self._returned_at: dict[int, int] = {}  # large size -> when it last came back
        self._clock = itertools.count()
        # Reentrant: a destructor may run while this thread holds it. Held for one addition only.
        self._lock = threading.RLock()
        self._allocated = 0
        self.limit = self.total
        self.unused_limit = self.limit // 8
        self.unused_allowance = 512 << 20
        self.largest = int(device.native.max_mem_alloc_size)
        guard = os.environ.get("CLARRAY_GUARD", "0") not in ("", "0") if guard is None else guard
        self._guarded = GuardedBlocks(device) if guard else None

    def take(self, nbytes: int) -> Storage:
        """Return uninitialized memory of at least ``nbytes`` bytes."""
        size = size_class(nbytes) if self._guarded is None else max(nbytes, 1)
        try:
            buffer, host = self._free[size].pop()
        except (KeyError, IndexError):
            size, buffer, host = self._allocate(size, nbytes)
        return Storage(self._device, buffer, host, size)

    def put_back(self, size: int, buffer: cl.Buffer, host: Bytes | None) -> None:
        """Return a block to the pool. Runs in destructors, so it must not wait."""
        try:
            blocks = self._free[size]
        except KeyError:
            blocks = self._free.setdefault(size, [])
        blocks.append((buffer, host))
        if size >= LARGE:
            self._returned_at[size] = next(self._clock)
            self._trim(self.unused_limit)
        elif not len(blocks) % BATCH:
            self._trim(self.unused_limit)

    def reclaim(self) -> None:
        """Return unused blocks to the system after the kernels that may use them."""
        self._device.finish()
        for size, blocks in list(self._free.items()):
            self._drop(size, blocks, len(blocks))
        self._device.finish()  # releases blocks dropped while another thread launched

    def memory(self) -> Memory:
        """Return the memory figures of the pool and the device."""
        pooled = self.pooled
        return Memory(self.total, self._available() + pooled, self._allocated - pooled, pooled)

    @property
    def total(self) -> int:
        """Bytes of the device's memory; on a CPU, those that the process may use."""
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
        """Bytes of blocks in use by arrays."""
        return self._allocated - self.pooled

    def check(self) -> None:
        """Check the guard bytes around every block, if enabled (``CLARRAY_GUARD=1``)."""
        if self._guarded is not None:
            self._device.finish()
            self._guarded.check()

    def _allocate(self, size: int, nbytes: int) -> tuple[int, cl.Buffer, Bytes | None]:
        """Return a new block and its size, freeing unused ones if needed."""
        if size > self.largest >= nbytes:
            size = self.largest
        if size > self.largest:
            problem = f"{self._device}: an array of {nbytes} bytes exceeds the largest block"
            hint = "split the array, or use another device"
            raise self.out_of_memory(f"{problem}, {self.largest} bytes", hint, nbytes)
        if size >= LARGE:
            self._trim(max(self.unused_allowance, (self.used + size) // 5))
            # Without this, memory that kernels still use adds to the new block.
            self._device.release()
        problem = f"{self._device} has no {nbytes} bytes for an array"
        if not self._reserve(size):
            self.reclaim()
            if not self._reserve(size):
                raise self.out_of_memory(problem, nbytes=nbytes)
        try:
            return size, *self._fresh(size)
        except (MemoryError, cl.Error):
            self.reclaim()
        try:
            return size, *self._fresh(size)
        except (MemoryError, cl.Error) as error:
            self._account(-size)
            problem += f": the driver refused ({error})"
            raise self.out_of_memory(problem, nbytes=nbytes) from error

    def _reserve(self, size: int) -> bool:
        """Account for a new block; return False if there is no room for it."""
        # Writing to overcommitted memory kills the process.
        if size >= HUGE and size > self._available():
            return False
        with self._lock:
            fits = self._allocated + size <= self.limit
            if fits:
                self._allocated += size
        return fits

    def _available(self) -> int:
        """Return the bytes available to new blocks besides the unused ones."""
        free = max(0, self.limit - self._allocated)
        if self._device.kind == "cpu":
            available, resident = host_memory.available(), host_memory.resident()
            if available is not None:
                # Unwritten pages of blocks still count as available.
                unwritten = 0 if resident is None else max(0, self._allocated - resident)
                free = min(free, max(0, available - unwritten))
        return free  # on other devices, OpenCL does not report the memory of other programs

    def _account(self, nbytes: int) -> None:
        with self._lock:
            self._allocated += nbytes

    def _fresh(self, size: int) -> Block:
        if self._guarded is not None:
            return self._guarded.block(size)
        flags = cl.mem_flags
        context = self._device.context
        if not self._device.host_memory:
            return cl.Buffer(context, flags.READ_WRITE, size), None
        raw = np.empty(size + PAGE, np.uint8)
        start = -raw.ctypes.data % PAGE
        host = raw[start : start + size]
        return cl.Buffer(context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=host), host

    def _trim(self, limit: int) -> None:
        """Drop unused blocks until at most ``limit`` bytes are unused. Runs in destructors."""
        over = self.pooled - limit
        if over <= 0:
            return
        # Small sizes have no time and are freed first: they are quick to allocate again.
        for size in sorted(self._free, key=lambda size: self._returned_at.get(size, -1)):
            over -= size * self._drop(size, self._free[size], -(-over // size))
            if over <= 0:
                return

    def _drop(self, size: int, blocks: list[Block], count: int) -> int:
        """Return up to ``count`` blocks to the system; return the number dropped."""
        dropped = 0
        while dropped < count:
            try:
                block = blocks.pop()
            except IndexError:  # another thread took it
                break
            dropped += 1
            self._account(-size)
            if self._guarded is not None:
                self._guarded.forget(block[0])
            self._device.retire(block)
        return dropped

    def out_of_memory(
        self,
        problem: str,
        hint: str = "delete arrays that are no longer needed, or work in parts",
        nbytes: int | None = None,
    ) -> OutOfMemoryError:
        """Return an error with the memory figures."""
        figures = self.memory()
        return OutOfMemoryError(
            f"{problem}: {figures.free} of {figures.total} bytes are free, {figures.used} are used "
            f"by arrays\nHint: {hint}",
            requested=nbytes,
            free=figures.free,
            total=figures.total,
        )
