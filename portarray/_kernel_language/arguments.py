"""The arguments of a call: what a program depends on, and their types in the kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from portarray._array.array import Array
from portarray._devices.device import Device
from portarray._kernel_language import tree, types
from portarray._kernel_language.constants import given, plain
from portarray._kernel_language.definition import Definition
from portarray._kernel_language.ranges import Range, checked
from portarray._kernel_language.scope import Wrong
from portarray._launchers.launcher import Layout
from portarray.errors import DeviceMismatchError

_SMALL = 1 << types.INDEX_BITS
_WIDEST = 2**63


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call asks for."""

    args: tuple[Any, ...]  # all of them, in order
    ndrange: Range | None
    group: Range | None
    layouts: list[Layout]  # of the arrays
    device: Device
    axes: int  # of the ndrange; -1 where none is given
    large: bool  # whether indices take more than 32 bits
    key: tuple[Any, ...]  # what a program is compiled for: device, axes, large, types

    def sizes(self, written: Sequence[int]) -> Range:
        """Return the ndrange, by default the shape of the first array that is written."""
        return tuple(self.args[written[0]].shape) if self.ndrange is None else self.ndrange


def asked(
    own: Definition,
    args: tuple[Any, ...],
    named: Mapping[str, Any],
    ndrange: int | Sequence[int] | None,
    group: int | Sequence[int] | None = None,
) -> Asked:
    """Return what a call asks for."""
    if named or len(args) != len(own.names):
        args = own.bound(args, named)
    device: Device | None = None
    keys: list[Any] = []
    layouts: list[Layout] = []
    large = False
    for x, static in zip(args, own.is_static, strict=True):
        if type(x) is Array and not static:
            if device is not None and x.device is not device:
                raise DeviceMismatchError(own.name, str(device), str(x.device))
            device = x.device
            if x._table.device is not device:  # that of traced arrays, and of constants among them
                refuse = getattr(getattr(x.native, "trace", None), "refuse_kernel", None)
                if refuse is not None:
                    refuse(own.name)
            shape, strides, offset = layout = device._backend.layout(x.native)
            layouts.append(layout)
            large = large or extent(shape, strides, offset) >= _SMALL
            keys.append((x.dtype, len(shape), is_strided(shape, strides)))
        else:
            keys.append(key(own, x, static))
    if device is None:
        raise TypeError(f"{own.name} got no arrays; it runs on the device of its arrays")
    places = None if ndrange is None else checked(ndrange, "ndrange")
    items = None if group is None else checked(group, "group")
    axes = -1 if places is None else len(places)
    large = large or (places is not None and math.prod(places) >= _SMALL)
    return Asked(args, places, items, layouts, device, axes, large, (device, axes, large, *keys))


def key(own: Definition, x: Any, static: bool) -> Any:
    """Return what a program depends on of an argument that is no array."""
    if static or isinstance(x, (tuple, str, np.dtype, type)):
        if not hashable(x):
            raise TypeError(
                f"{own.name}: a static argument must be hashable, such as a number, a "
                f"dtype or a tuple, not {type(x).__name__}"
            )
        return ("static", exact(plain(x)))
    if isinstance(x, (bool, np.bool_)):
        return bool
    if isinstance(x, (int, np.integer)):
        if not -_WIDEST <= int(x) < _WIDEST:
            raise OverflowError(f"{own.name} got {x}; integers have 64 bits in kernels")
        return -_SMALL < int(x) < _SMALL
    if isinstance(x, (float, np.floating)):
        return float
    hint = "; pa.asarray makes an array of it" if not isinstance(x, complex) else ""
    raise TypeError(
        f"{own.name} got {type(x).__module__}.{type(x).__qualname__}; a kernel takes "
        f"portarray's arrays, real numbers and static values{hint}"
    )


def parameters(own: Definition, asked: Asked) -> dict[str, Any]:
    """Return the types of the arguments by the names of their parameters."""
    bits = types.ALL_BITS if asked.large else types.INDEX_BITS
    layout = asked.device._backend.layout
    found: dict[str, Any] = {}
    node = own.source.node
    for name, x, static in zip(own.names, asked.args, own.is_static, strict=True):
        if type(x) is Array and not static:
            if x.dtype.kind == "c":
                raise TypeError(
                    f"{own.name} got {name} of {x.dtype}; kernels have no complex numbers "
                    f"yet: pass pa.real(x) and pa.imag(x)"
                )
            shape, strides, _ = layout(x.native)
            strided = is_strided(shape, strides)
            found[name] = types.Array(name, x.dtype, len(shape), strided=strided)
        elif static or isinstance(x, (tuple, str, np.dtype, type)):
            try:
                found[name] = given(node, plain(x))
            except Wrong as wrong:
                raise TypeError(f"{own.name} got {name}={x!r}: {wrong}") from None
        elif isinstance(x, (bool, np.bool_)):
            found[name] = tree.Variable(node, types.TRUTH, name)
        elif isinstance(x, (int, np.integer)):
            small = -_SMALL < int(x) < _SMALL
            type_ = types.weak_int(min(bits, 30) if small else types.ALL_BITS)
            found[name] = tree.Variable(node, type_, name)
        else:
            found[name] = tree.Variable(node, types.WEAK_FLOAT, name)
    return found


def is_strided(shape: Range, strides: Range) -> bool:
    """Tell whether elements are not in C order, next to each other."""
    step = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if stride != step and n > 1:
            return True
        step *= n
    return False


def extent(shape: Range, strides: Range, offset: int) -> int:
    """Return how far elements are from the pointer, at most; no less than their number."""
    far = offset + 1
    for n, stride in zip(shape, strides, strict=True):
        far += n * abs(stride)
    return max(far, math.prod(shape))


def hashable(x: Any) -> bool:
    """Tell whether a dict takes it as a key."""
    try:
        hash(x)
    except TypeError:
        return False
    return True


def exact(x: Any) -> Any:
    """Return what is equal for values of the same types alone: 1 is not True, and 0.0 not -0.0."""
    if type(x) is tuple:
        return (tuple, *map(exact, x))
    return (float, x.hex()) if type(x) is float else (type(x), x)
