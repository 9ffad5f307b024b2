"""Joining, splitting, repeating and reordering tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from portarray.backends.composed.manipulation import normalize_axes
from portarray.backends.torch.gradients import in_float32
from portarray.backends.torch.namespace.unsigned import NAMES, bits, moving
from portarray.backends.torch.reversed_copies import marked
from portarray.backends.types import Rows

Axes = int | tuple[int, ...]

moveaxis = torch.movedim
tile = torch.tile

# PyTorch has no types for this.
_broadcast_tensors: Callable[..., Sequence[Tensor]] = torch.broadcast_tensors


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """Return views of one common shape."""
    return tuple(_broadcast_tensors(*arrays)) if arrays else ()


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """Return a view of a shape that x broadcasts to."""
    return torch.broadcast_to(x, tuple(shape))


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Join tensors along an axis; flattened ones for None."""
    if axis is None:
        arrays, axis = [x.reshape(-1) for x in arrays], 0
    return torch.concat(arrays, axis)  # type: ignore[arg-type]


def expand_dims(x: Tensor, /, axis: Axes) -> Tensor:
    """Return a view with new axes of size 1 at these positions of the result."""
    if isinstance(axis, int):
        return torch.unsqueeze(x, axis)
    for position in sorted(normalize_axes(axis, x.ndim + len(axis))):
        x = torch.unsqueeze(x, position)
    return x


def flip(x: Tensor, /, *, axis: Axes | None = None) -> Tensor:
    """Return a marked copy in reversed order along axes, along all for None."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return marked(torch.flip(x, tuple(axes)), x)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """Return a view with axes in another order."""
    return torch.permute(x, axes)


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Repeat each element along an axis; of the flattened tensor for None."""
    if isinstance(repeats, Tensor):
        repeats = repeats.to(torch.int64)
    return torch.repeat_interleave(x, repeats, axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """Return the elements in another shape: a view if possible, unless ``copy=True``."""
    if copy is None:
        return torch.reshape(x, shape)
    shape = tuple(shape)
    if copy:
        return x.clone(memory_format=torch.contiguous_format).reshape(shape)
    try:
        return x.view(shape)
    except RuntimeError as error:
        raise ValueError(
            f"reshape: copy=False, but shape {tuple(x.shape)} with strides {x.stride()} has no "
            f"view of shape {shape}\nHint: pass copy=None"
        ) from error


def roll(x: Tensor, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """Shift elements along axes, with wrap-around."""
    if axis is None:
        return torch.roll(x, shift if isinstance(shift, int) else sum(shift))
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else tuple(shift)
    if not axes:
        return x.clone()
    if len(axes) == 1:
        axes = axes * len(shifts)
    if len(shifts) != len(axes):
        raise ValueError(f"roll: got {len(shifts)} shifts for {len(axes)} axes")
    return torch.roll(x, shifts, axes)


def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
    """Return a view without axes of size 1."""
    axes = normalize_axes((axis,) if isinstance(axis, int) else tuple(axis), x.ndim)
    for position in axes:
        if x.shape[position] != 1:
            raise ValueError(f"squeeze: axis {position} has size {x.shape[position]}, not 1")
    return torch.squeeze(x, axes)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Join tensors of one shape along a new axis."""
    return torch.stack(arrays, axis)  # type: ignore[arg-type]


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Split into views along an axis, which is removed."""
    return torch.unbind(x, axis)


def _joining(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function of a list of unsigned tensors."""

    def on_bits(arrays: Sequence[Tensor], /, **options: Any) -> Tensor:
        return function([bits(x) for x in arrays], **options).view(arrays[0].dtype)

    return on_bits


BY_DTYPE: Rows = {
    "concat": {NAMES: _joining(concat)},
    "flip": {NAMES: moving(flip)},
    "repeat": {NAMES: moving(repeat), "float16 bfloat16": in_float32(repeat)},
    "roll": {NAMES: moving(roll)},
    "stack": {NAMES: _joining(stack)},
    "tile": {NAMES: moving(torch.tile)},
}
