"""Copies to and from devices with separate memory.

Drivers copy at full speed only between *pinned* host memory and the device. They copy other memory
in pieces through internal pinned buffers, waiting for each piece. Large copies here use two pinned
blocks: while the device copies one, the host copies the other.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyopencl as cl

from portarray._opencl.device import Device
from portarray._opencl.pool import Storage

LARGE = 1 << 20
"""Bytes from which copies go through pinned memory; below, the extra calls cost more."""

CHUNK = 4 << 20
"""Bytes of each of the two pinned blocks."""

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(slots=True)
class _Block:
    """A block of pinned memory, and the last copy from or to it."""

    buffer: cl.Buffer
    host: Bytes
    event: cl.Event | None = None


class _Staging:
    """The pinned blocks of one device, for one copy at a time."""

    def __init__(self, device: Device) -> None:
        self.lock = threading.Lock()
        self.blocks = (_pinned(device), _pinned(device))


def _pinned(device: Device) -> _Block:
    flags = cl.mem_flags
    buffer = cl.Buffer(device.context, flags.READ_WRITE | flags.ALLOC_HOST_PTR, CHUNK)
    # pyopencl's type stubs declare a combination of these flags as int.
    both: Any = cl.map_flags.READ | cl.map_flags.WRITE
    with device.lock:
        # Mapped for the process's life: drivers recognize the address as pinned.
        mapped: Any = cl.enqueue_map_buffer(
            device.queue, buffer, both, 0, (CHUNK,), np.dtype(np.uint8)
        )
    return _Block(buffer, mapped[0])


_stagings: weakref.WeakKeyDictionary[Device, _Staging] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


@contextmanager
def _translating(device: Device) -> Iterator[None]:
    try:
        yield
    except cl.Error as error:
        raise device.translate_error(error) from error


def _staging_of(device: Device) -> _Staging:
    with _lock:
        staging = _stagings.get(device)
        if staging is None:
            staging = _stagings[device] = _Staging(device)
        return staging


def upload(values: np.ndarray[Any, Any], storage: Storage) -> None:
    """Copy a C-contiguous NumPy array to the start of a storage, and wait."""
    with _translating(storage.device):
        _upload(_bytes_of(values), storage)


def download(storage: Storage, offset: int, values: np.ndarray[Any, Any]) -> None:
    """Copy bytes of a storage from an offset into a C-contiguous NumPy array, and wait."""
    with _translating(storage.device):
        _download(storage, offset, _bytes_of(values))


def _upload(source: Bytes, storage: Storage) -> None:
    device = storage.device
    if source.size < LARGE:
        with device.lock:
            event = cl.enqueue_copy(device.queue, storage.buffer, source, is_blocking=False)
        event.wait()
        return
    staging = _staging_of(device)
    with staging.lock:
        for chunk, start in enumerate(range(0, source.size, CHUNK)):
            block = staging.blocks[chunk % 2]
            _wait(block)
            part = source[start : start + CHUNK]
            block.host[: part.size] = part
            with device.lock:
                block.event = cl.enqueue_copy(
                    device.queue,
                    storage.buffer,
                    block.host[: part.size],
                    dst_offset=start,
                    is_blocking=False,
                )
                device.queue.flush()
        for block in staging.blocks:
            _wait(block)


def _download(storage: Storage, offset: int, target: Bytes) -> None:
    device = storage.device
    if target.size < LARGE:
        with device.lock:
            event = cl.enqueue_copy(
                device.queue, target, storage.buffer, src_offset=offset, is_blocking=False
            )
        event.wait()
        return
    staging = _staging_of(device)
    with staging.lock:
        starts = range(0, target.size, CHUNK)
        for chunk, start in enumerate(starts):
            # The device fills this block while the host empties the previous one.
            block = staging.blocks[chunk % 2]
            length = min(CHUNK, target.size - start)
            with device.lock:
                block.event = cl.enqueue_copy(
                    device.queue,
                    block.host[:length],
                    storage.buffer,
                    src_offset=offset + start,
                    is_blocking=False,
                )
                device.queue.flush()
            if chunk:
                _copy_out(staging.blocks[(chunk - 1) % 2], target, starts[chunk - 1])
        last = len(starts) - 1
        _copy_out(staging.blocks[last % 2], target, starts[last])


def _copy_out(block: _Block, target: Bytes, start: int) -> None:
    """Wait for a block, and copy it to its position in the target."""
    _wait(block)
    part = target[start : start + CHUNK]
    part[...] = block.host[: part.size]


def _wait(block: _Block) -> None:
    # Cleared first: a failed copy raises once, and the block can be used again.
    event, block.event = block.event, None
    if event is not None:
        event.wait()


def _bytes_of(values: np.ndarray[Any, Any]) -> Bytes:
    """Return a C-contiguous array as bytes: pyopencl does not take bfloat16."""
    return values.reshape(-1).view(np.uint8)
