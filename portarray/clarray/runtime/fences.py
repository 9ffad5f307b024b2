"""Guard bytes around blocks, for tests: they detect writes outside of arrays."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from portarray.clarray.errors import KernelError

if TYPE_CHECKING:
    from portarray.clarray.runtime.device import Device

WIDTH = 4096  # a page, so that blocks stay aligned
PATTERN = np.array([0xA5], np.uint8)

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class Fences:
    """Blocks of exact size, with guard bytes before and after them."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._lock = threading.Lock()
        # id of the buffer -> the memory with its guard bytes, and the block's size.
        self._fenced: dict[int, tuple[Bytes | cl.Buffer, int]] = {}

    def block(self, size: int) -> tuple[cl.Buffer, Bytes | None]:
        """Return a new block."""
        flags = cl.mem_flags
        device = self._device
        around: Bytes | cl.Buffer
        if device.host_memory:
            raw = np.empty(size + 3 * WIDTH, np.uint8)
            start = -raw.ctypes.data % WIDTH
            around = raw[start : start + size + 2 * WIDTH]
            host = around[WIDTH : WIDTH + size]
            buffer = cl.Buffer(device.context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=host)
        else:
            around = cl.Buffer(device.context, flags.READ_WRITE, size + 2 * WIDTH)
            buffer, host = around.get_sub_region(WIDTH, size), None
        self._paint(around, size)
        with self._lock:
            self._fenced[id(buffer)] = (around, size)
        return buffer, host

    def forget(self, buffer: cl.Buffer) -> None:
        """Drop a block."""
        self._fenced.pop(id(buffer), None)

    def check(self) -> None:
        """Raise a KernelError if guard bytes changed, and restore them."""
        damages = []
        for around, size in list(self._fenced.values()):
            for side, start in (("before", 0), ("behind", WIDTH + size)):
                wrong = np.flatnonzero(self._read(around, start) != PATTERN)
                if wrong.size:
                    near = WIDTH - int(wrong[-1]) if side == "before" else int(wrong[0]) + 1
                    damages.append(
                        f"{wrong.size} bytes {side} a block of {size}, the nearest {near} away"
                    )
                    self._paint(around, size)
        if damages:
            raise KernelError(
                f"a kernel wrote beside its arrays on {self._device}: {'; '.join(damages)}"
            )

    def _paint(self, around: Bytes | cl.Buffer, size: int) -> None:
        for start in (0, WIDTH + size):
            if isinstance(around, cl.Buffer):
                with self._device.lock:
                    event = cl.enqueue_fill_buffer(
                        self._device.queue, around, PATTERN, start, WIDTH
                    )
                event.wait()
            else:
                around[start : start + WIDTH] = PATTERN

    def _read(self, around: Bytes | cl.Buffer, start: int) -> Bytes:
        if not isinstance(around, cl.Buffer):
            return around[start : start + WIDTH]
        found = np.empty(WIDTH, np.uint8)
        with self._device.lock:
            event = cl.enqueue_copy(
                self._device.queue, found, around, src_offset=start, is_blocking=False
            )
        event.wait()
        return found
