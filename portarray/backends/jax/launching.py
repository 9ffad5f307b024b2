"""User kernels on JAX's devices.

JAX's arrays are immutable: programs write into copies, which become new arrays without another
copy. In traced functions the program is called back when the compiled function runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import jax
import numpy as np

from portarray._launchers.host import OverHost, host_launcher
from portarray._launchers.launcher import Launch, Launcher, Layout, Program, Range, strides_of
from portarray.backends.base import Backend
from portarray.backends.common.copying import copied
from portarray.backends.jax import tracing
from portarray.backends.jax.host_memory import HostMemory, adopted

__all__ = ["Launching"]


class Launching(Backend):
    """Launchers of programs on JAX's devices."""

    def launcher(self, device: jax.Device) -> Launcher | str:
        return _launcher(device)

    def layout(self, x: jax.Array) -> Layout:
        shape = x.shape
        return shape, strides_of(shape), 0


@cache
def _launcher(device: jax.Device) -> Launcher | str:
    if not HostMemory.on_host(device):
        return f"JAX cannot run user kernels on {device.platform} devices yet"
    host = host_launcher()
    return host if isinstance(host, str) else _Launcher(host, device)


class _Launcher(OverHost):
    """Runs programs in host memory and waits for them."""

    immutable = True

    def copied(self, x: jax.Array, *, written: bool) -> str:
        return "JAX's arrays are immutable, and the result is a new array" if written else ""

    def __init__(self, host: Launcher, device: jax.Device) -> None:
        super().__init__(host)
        self._device = device

    def build(self, program: Program) -> Launch:
        inner = self._host.build(program)
        device = self._device
        written = program.written

        def on_copies(
            arrays: Sequence[Any], values: Sequence[Any], ndrange: Range, group: Range
        ) -> list[np.ndarray[Any, Any]]:
            memory = []
            fresh = []
            for x, changes in zip(arrays, written, strict=True):
                host = np.asarray(x)
                if changes:
                    host = copied(host, order="C", alignment=64)
                    fresh.append(host)
                elif not host.flags.c_contiguous:
                    host = np.ascontiguousarray(host)
                memory.append(host)
            inner(memory, values, ndrange, group)
            return fresh

        def launch(
            arrays: Sequence[Any], values: Sequence[Any], ndrange: Range, group: Range
        ) -> Sequence[jax.Array]:
            if any(map(tracing.is_traced, arrays)):
                results = [
                    jax.ShapeDtypeStruct(x.shape, x.dtype)  # type: ignore[no-untyped-call]
                    for x, changes in zip(arrays, written, strict=True)
                    if changes
                ]
                outputs: Sequence[jax.Array] = jax.pure_callback(
                    lambda *xs: on_copies(xs, values, ndrange, group),
                    results,
                    *arrays,
                    vmap_method="sequential",
                )
                return outputs
            return [adopted(host, device) for host in on_copies(arrays, values, ndrange, group)]

        return launch
