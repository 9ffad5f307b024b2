"""Shapes of tensors: joining, splitting, repeating, reordering."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from portarray.backends.torch.namespace.promotion import together
from portarray.backends.torch.namespace.unsigned import UNSIGNED, bits

Axes = int | tuple[int, ...]

# PyTorch has no types for this.
_broadcast_tensors: Callable[..., Sequence[Tensor]] = torch.broadcast_tensors


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """Return views of one common shape."""
    return tuple(_broadcast_tensors(*arrays)) if arrays else ()


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """Return a view of a shape that x broadcasts to."""
    return torch.broadcast_to(x, tuple(shape))


def concat(arrays: tuple[Tensor, ...] | list[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Join tensors along an axis; flattened ones for None."""
    parts = together(arrays)
    if axis is None:
        parts, axis = [x.reshape(-1) for x in parts], 0
    if parts[0].dtype in UNSIGNED:
        return torch.concat([bits(x) for x in parts], axis).view(parts[0].dtype)
    return torch.concat(parts, axis)


def expand_dims(x: Tensor, /, axis: Axes) -> Tensor:
    """Return a view with new axes of size 1, at their places in the result."""
    axes = (axis,) if isinstance(axis, int) else axis
    ndim = x.ndim + len(axes)
    for place in sorted(_places(axes, ndim)):
        x = torch.unsqueeze(x, place)
    return x


def _places(axes: tuple[int, ...], ndim: int) -> list[int]:
    """Return non-negative axes, refusing those out of range and repeated."""
    places = []
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise IndexError(f"axis {axis} is out of bounds for {ndim} axes")
        place = axis % ndim
        if place in places:
            raise ValueError(f"axis {axis} is named twice in {axes}")
        places.append(place)
    return places


def flip(x: Tensor, /, *, axis: Axes | None = None) -> Tensor:
    """Reverse the order along axes, all of them for None."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    if x.dtype in UNSIGNED:
        return torch.flip(bits(x), tuple(axes)).view(x.dtype)
    return torch.flip(x, tuple(axes))


def moveaxis(x: Tensor, source: Axes, destination: Axes, /) -> Tensor:
    """Return a view with axes moved."""
    origin = (source,) if isinstance(source, int) else tuple(source)
    target = (destination,) if isinstance(destination, int) else tuple(destination)
    return torch.movedim(x, origin, target)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """Return a view with axes in another order."""
    return torch.permute(x, tuple(axes))


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Repeat each element along an axis; of the flattened tensor for None."""
    if isinstance(repeats, Tensor):
        repeats = repeats.to(torch.int64)
    if x.dtype in UNSIGNED:
        return torch.repeat_interleave(bits(x), repeats, axis).view(x.dtype)
    return torch.repeat_interleave(x, repeats, axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """Return the elements in another shape: a view where PyTorch can, unless ``copy=True``.

    Raises
    ------
    ValueError
        If ``copy=False`` and a view cannot be made.
    """
    shape = tuple(shape)
    if copy is True:
        return x.clone(memory_format=torch.contiguous_format).reshape(shape)
    if copy is False:
        try:
            return x.view(shape)
        except RuntimeError as error:
            raise ValueError(
                f"copy=False, but shape {tuple(x.shape)} with strides {x.stride()} has no view "
                f"of shape {shape}; pass copy=None"
            ) from error
    return torch.reshape(x, shape)


def roll(x: Tensor, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """Shift elements along axes, what leaves comes back at the other end."""
    if axis is None:
        shifts = (shift,) if isinstance(shift, int) else tuple(shift)
        return roll(x.reshape(-1), sum(shifts), axis=0).reshape(x.shape)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else tuple(shift)
    if len(axes) == 1:
        axes = axes * len(shifts)
    if len(shifts) != len(axes):
        raise ValueError(f"roll got {len(shifts)} shifts for {len(axes)} axes")
    if x.dtype in UNSIGNED:
        return torch.roll(bits(x), shifts, axes).view(x.dtype)
    return torch.roll(x, shifts, axes)


def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
    """Return a view without axes of size 1."""
    places = _places((axis,) if isinstance(axis, int) else tuple(axis), x.ndim)
    for place in places:
        if x.shape[place] != 1:
            raise ValueError(
                f"cannot squeeze axis {place} of size {x.shape[place]}, which is not 1"
            )
    return torch.squeeze(x, tuple(places))


def stack(arrays: tuple[Tensor, ...] | list[Tensor], /, *, axis: int = 0) -> Tensor:
    """Join tensors of one shape along a new axis."""
    parts = together(arrays)
    if parts[0].dtype in UNSIGNED:
        return torch.stack([bits(x) for x in parts], axis).view(parts[0].dtype)
    return torch.stack(parts, axis)


def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    """Lay copies of a tensor side by side."""
    if x.dtype in UNSIGNED:
        return torch.tile(bits(x), tuple(repetitions)).view(x.dtype)
    return torch.tile(x, tuple(repetitions))


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Split into views along an axis, which goes."""
    return torch.unbind(x, axis)
