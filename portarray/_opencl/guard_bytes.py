"""Guard bytes around blocks, for tests: they detect writes outside of arrays."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from portarray._opencl.errors import KernelError

if TYPE_CHECKING:
    from portarray._opencl.device import Device

WIDTH = 4096  # a page, so that blocks stay aligned
PATTERN = np.array([0xA5], np.uint8)

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class GuardedBlocks:
    """Blocks of exact size, with guard bytes before and after them."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._lock = threading.Lock()
        # id of the buffer -> the memory including its guard bytes, and the block's size.
        self._blocks: dict[int, tuple[Bytes | cl.Buffer, int]] = {}

    def block(self, size: int) -> tuple[cl.Buffer, Bytes | None]:
        """Return a new block."""
        flags = cl.mem_flags
        device = self._device
        whole: Bytes | cl.Buffer
        if device.host_memory:
            raw = np.empty(size + 3 * WIDTH, np.uint8)
            start = -raw.ctypes.data % WIDTH
            whole = raw[start : start + size + 2 * WIDTH]
            host = whole[WIDTH : WIDTH + size]
            buffer = cl.Buffer(device.context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=host)
        else:
            whole = cl.Buffer(device.context, flags.READ_WRITE, size + 2 * WIDTH)
            buffer, host = whole.get_sub_region(WIDTH, size), None
        self._write_guards(whole, size)
        with self._lock:
            self._blocks[id(buffer)] = (whole, size)
        return buffer, host

    def forget(self, buffer: cl.Buffer) -> None:
        """Drop a block."""
        self._blocks.pop(id(buffer), None)

    def check(self) -> None:
        """Raise a KernelError if guard bytes changed, and restore them."""
        damages = []
        for whole, size in list(self._blocks.values()):
            for side, start in (("before", 0), ("after", WIDTH + size)):
                changed = np.flatnonzero(self._read(whole, start) != PATTERN)
                if changed.size:
                    near = WIDTH - int(changed[-1]) if side == "before" else int(changed[0]) + 1
                    damages.append(
                        f"{changed.size} bytes {side} a block of {size}, the nearest {near} away"
                    )
                    self._write_guards(whole, size)
        if damages:
            raise KernelError(
                f"a kernel wrote outside its arrays on {self._device}: {'; '.join(damages)}"
            )

    def _write_guards(self, whole: Bytes | cl.Buffer, size: int) -> None:
        for start in (0, WIDTH + size):
            if isinstance(whole, cl.Buffer):
                with self._device.lock:
                    event = cl.enqueue_fill_buffer(self._device.queue, whole, PATTERN, start, WIDTH)
                event.wait()
            else:
                whole[start : start + WIDTH] = PATTERN

    def _read(self, whole: Bytes | cl.Buffer, start: int) -> Bytes:
        if not isinstance(whole, cl.Buffer):
            return whole[start : start + WIDTH]
        guards = np.empty(WIDTH, np.uint8)
        with self._device.lock:
            event = cl.enqueue_copy(
                self._device.queue, guards, whole, src_offset=start, is_blocking=False
            )
        event.wait()
        return guards
