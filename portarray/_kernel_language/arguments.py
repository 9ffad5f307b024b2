"""The arguments of a call: their cache key, and their types in the kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from portarray._array.array import Array
from portarray._devices.device import Device
from portarray._hashing import hashable
from portarray._kernel_language import tree, types
from portarray._kernel_language.captures import exact
from portarray._kernel_language.constants import from_python, is_static, plain
from portarray._kernel_language.definition import Definition
from portarray._kernel_language.ranges import Range, checked
from portarray._kernel_language.scope import Wrong
from portarray._launchers.launcher import Layout
from portarray.errors import DeviceMismatchError

SMALL = 1 << types.INDEX_BITS
"""Integers below it are indices of 32 bits."""
_WIDEST = 2**63


@dataclass(frozen=True, slots=True)
class CallSpec:
    """The resolved arguments, device and ranges of a call."""

    args: tuple[Any, ...]  # all of them, in order
    ndrange: Range | None
    group: Range | None
    layouts: list[Layout]  # of the arrays
    device: Device
    axes: int  # of the ndrange; -1 where none is given
    large: bool  # whether indices take more than 32 bits
    key: tuple[Any, ...]  # what a program is compiled for: device, axes, large, types

    def sizes(self, written: Sequence[int]) -> Range:
        """Return the ndrange, by default the shape of the first written array."""
        return tuple(self.args[written[0]].shape) if self.ndrange is None else self.ndrange


def call_spec(
    definition: Definition,
    args: tuple[Any, ...],
    named: Mapping[str, Any],
    ndrange: int | Sequence[int] | None,
    group: int | Sequence[int] | None = None,
) -> CallSpec:
    """Resolve the arguments, device and ranges of a call."""
    if named or len(args) != len(definition.names):
        args = definition.bound(args, named)
    device: Device | None = None
    keys: list[Any] = []
    layouts: list[Layout] = []
    large = False
    for x, static in zip(args, definition.is_static, strict=True):
        if type(x) is Array and not static:
            if device is not None and x.device is not device:
                raise DeviceMismatchError(definition.name, str(device), str(x.device))
            device = x.device
            if (
                x._dispatch.device is not device
            ):  # that of traced arrays, and of constants among them
                refuse = getattr(getattr(x.native, "trace", None), "refuse_kernel", None)
                if refuse is not None:
                    refuse(definition.name)
            shape, strides, offset = layout = device._backend.layout(x.native)
            layouts.append(layout)
            large = large or extent(shape, strides, offset) >= SMALL
            keys.append((x.dtype, len(shape), is_strided(shape, strides)))
        else:
            keys.append(key(definition, x, static))
    if device is None:
        raise TypeError(
            f"{definition.name}: no argument is an array; a kernel runs on the device of its arrays"
        )
    places = None if ndrange is None else checked(ndrange, "ndrange")
    items = None if group is None else checked(group, "group")
    axes = -1 if places is None else len(places)
    large = large or (places is not None and math.prod(places) >= SMALL)
    return CallSpec(args, places, items, layouts, device, axes, large, (device, axes, large, *keys))


def innermost_trace(args: Sequence[Any]) -> Any:
    """Return the innermost trace of traced arrays, None without one."""
    traces: list[Any] = [getattr(x.native, "trace", None) for x in args if type(x) is Array]
    recording = [trace for trace in traces if hasattr(trace, "call_kernel")]
    return max(recording, key=lambda trace: trace.level, default=None)


def key(definition: Definition, x: Any, static: bool) -> Any:
    """Return the part of the cache key for an argument that is not an array."""
    if static or is_static(x):
        if not hashable(x):
            raise TypeError(
                f"{definition.name}: a static argument must be hashable, not {type(x).__name__}"
                f"\nHint: pass a number, a dtype or a tuple"
            )
        return ("static", exact(plain(x)))
    if isinstance(x, (bool, np.bool_)):
        return bool
    if isinstance(x, (int, np.integer)):
        if not -_WIDEST <= int(x) < _WIDEST:
            raise OverflowError(
                f"{definition.name}: {x} does not fit the 64 bits of integers in kernels"
            )
        return -SMALL < int(x) < SMALL
    if isinstance(x, (float, np.floating)):
        return float
    if isinstance(x, (complex, np.complexfloating)):
        return complex
    raise TypeError(
        f"{definition.name}: unsupported type {type(x).__module__}.{type(x).__qualname__}; "
        f"supported: portarray's arrays, numbers and static values"
        f"\nHint: convert it with pa.asarray"
    )


def parameters(definition: Definition, spec: CallSpec) -> dict[str, Any]:
    """Return the types of the arguments by parameter name."""
    bits = types.ALL_BITS if spec.large else types.INDEX_BITS
    layout = spec.device._backend.layout
    parameters_by_name: dict[str, Any] = {}
    node = definition.source.node
    for name, x, static in zip(definition.names, spec.args, definition.is_static, strict=True):
        if type(x) is Array and not static:
            shape, strides, _ = layout(x.native)
            strided = is_strided(shape, strides)
            parameters_by_name[name] = types.Array(name, x.dtype, len(shape), strided=strided)
        elif static or is_static(x):
            try:
                parameters_by_name[name] = from_python(node, plain(x))
            except Wrong as wrong:
                raise TypeError(f"{definition.name}: {name}={x!r}: {wrong}") from None
        elif isinstance(x, (bool, np.bool_)):
            parameters_by_name[name] = tree.Variable(node, types.TRUTH, name)
        elif isinstance(x, (int, np.integer)):
            small = -SMALL < int(x) < SMALL
            type_ = types.weak_int(min(bits, 30) if small else types.ALL_BITS)
            parameters_by_name[name] = tree.Variable(node, type_, name)
        else:
            is_real = isinstance(x, (float, np.floating))
            type_ = types.WEAK_FLOAT if is_real else types.WEAK_COMPLEX
            parameters_by_name[name] = tree.Variable(node, type_, name)
    return parameters_by_name


def is_strided(shape: Range, strides: Range) -> bool:
    """Return whether an array is not C-contiguous."""
    step = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if stride != step and n > 1:
            return True
        step *= n
    return False


def extent(shape: Range, strides: Range, offset: int) -> int:
    """Return an upper bound of element offsets, at least the number of elements."""
    far = offset + 1
    for n, stride in zip(shape, strides, strict=True):
        far += n * abs(stride)
    return max(far, math.prod(shape))
