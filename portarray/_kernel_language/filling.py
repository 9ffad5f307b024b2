"""Repeated launches of kernels that fill a new array from another one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from portarray._array import base, native_arrays
from portarray._config import config

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from portarray._array.array import Array
    from portarray._kernel_language.kernel import KernelFunction
    from portarray._kernel_language.launch_cache import BoundLaunch

__all__ = ["filling_of"]


def filling_of(
    kernel: KernelFunction, args: Sequence[Any], ndrange: tuple[int, ...], shape: tuple[int, ...]
) -> Callable[[Array], Array | None] | None:
    """Return the launch of an earlier call whose arrays were its first two arguments.

    It takes the array that the kernel reads, and returns a new one of a shape with as many elements
    as the first argument; None if the kernel must be called with all checks. There is no such
    launch, and None is returned, if it is not cached, or makes its arrays itself.
    """
    out = args[0]
    device = out._dispatch.device
    launcher = device._backend.launcher(device.native)
    if isinstance(launcher, str) or launcher.immutable or native_arrays.is_traced(out):
        return None
    bound = kernel._bound((1,), args, ndrange, None)
    return None if bound is None else _filling(bound, out, shape)


def _filling(
    bound: BoundLaunch, out: Array, shape: tuple[int, ...]
) -> Callable[[Array], Array | None]:
    table = out._dispatch
    device = table.device
    create = partial(table.functions["empty"], shape, dtype=table.native, device=device.native)
    is_traced = device._backend.is_traced
    launch, values, rounded, items = bound.launch, bound.values, bound.rounded, bound.items
    is_current, layout_key = bound.is_current, bound.layout_key
    ((_, expected),) = bound.layout_keys

    def fill(x: Array) -> Array | None:
        source = x._native
        if (
            config._kernel_debug
            or not config._tuned_kernels
            or is_traced(source)
            or layout_key(source) != expected
            or not is_current()
        ):
            return None
        native = create()
        if is_traced(native):
            return None
        launch((native, source), values, rounded, items)
        filled = base.new_uninitialized()
        filled._native = native
        filled._dispatch = table
        return filled

    return fill
