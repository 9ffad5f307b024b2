"""User kernels on MLX's devices.

MLX's arrays are immutable: programs write into copies in MLX's memory, which become new arrays
without another copy. Arrays are computed before a program reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import mlx.core as mx
import numpy as np

from portarray._launchers.host import OverHost, host_launcher
from portarray._launchers.launcher import Launch, Launcher, Layout, Program, Range, strides_of
from portarray.backends.base import Backend
from portarray.backends.mlx.filling import filled
from portarray.backends.mlx.transfer import to_host

__all__ = ["Launching"]


class Launching(Backend):
    """Launchers of programs on MLX's devices."""

    def launcher(self, device: mx.Device) -> Launcher | str:
        if device.type != mx.cpu:
            return "programs on MLX's GPUs are not supported yet; use the CPU or another library"
        return _launcher()

    def layout(self, x: mx.array) -> Layout:
        """Return the layout that launches give an array; MLX's own takes longer to query."""
        shape = x.shape
        return shape, strides_of(shape), 0

    def extent(self, x: mx.array) -> None:
        """Return None, as MLX's arrays do not have views."""

    def allocation(self, x: mx.array) -> int:
        """Return the identity of an array: assignments give the object other memory."""
        return id(x)

    def evaluate(self, x: mx.array) -> None:
        mx.eval(x)


@cache
def _launcher() -> Launcher | str:
    host = host_launcher()
    return host if isinstance(host, str) else _Launcher(host)


class _Launcher(OverHost):
    """Runs programs in host memory and waits for them."""

    immutable = True

    def copied(self, x: mx.array, *, written: bool) -> str:
        if written:
            return "MLX's arrays are immutable, and the result is a new array"
        return "only if its elements are not in C order"

    def build(self, program: Program) -> Launch:
        inner = self._host.build(program)
        written = program.written

        def launch(
            arrays: Sequence[Any], values: Sequence[Any], ndrange: Range, group: Range
        ) -> list[mx.array]:
            memory = []
            fresh = []
            for x, changes in zip(arrays, written, strict=True):
                host = np.ascontiguousarray(to_host(x, copy=None)).reshape(x.shape)
                if changes and host.size:
                    x = filled(host, host.dtype)
                    host = to_host(x, copy=None)  # the same memory
                if changes:
                    fresh.append(x)
                memory.append(host)
            inner(memory, values, ndrange, group)
            return fresh

        return launch
