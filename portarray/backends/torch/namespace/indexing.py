"""Indexing of tensors.

PyTorch has no negative steps, orders axes differently from NumPy if a key mixes integers and
integer tensors, ignores an ellipsis for no axes between tensors, and refuses masks with an axis of
size 0 for a longer one. Such keys are split: a basic part gives a view, and an advanced part with
integer tensors and masks indexes the view. PyTorch checks no indices if the result has no elements.
"""

from __future__ import annotations

import builtins
import operator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from portarray.backends.common.keys import (
    ALL,
    check_bounds,
    check_unshared,
    expand_ellipsis,
    split_key,
)  # fmt: skip
from portarray.backends.composed.indexing import take_axis
from portarray.backends.torch.gradients import HALVES, in_float32, leave_to_tape
from portarray.backends.torch.namespace import unsigned
from portarray.backends.torch.namespace.creation import asarray
from portarray.backends.torch.namespace.overlap import share_memory
from portarray.backends.torch.namespace.unsigned import UNSIGNED, bits, moving, signed
from portarray.backends.torch.reversed_copies import marked
from portarray.backends.torch.tracing import is_traced
from portarray.backends.types import Rows

Key = tuple[Any, ...]

_FEW = 64


def getitem(x: Tensor, key: Key, /) -> Tensor:
    """Return part of a tensor: a view if key has no tensors and no negative steps.

    With negative steps it is a marked copy.
    """
    if _is_plain(key):
        return x[key]
    if x.requires_grad and x.dtype in HALVES and _has_indices(key):
        return getitem(x.float(), key).to(x.dtype)  # sums of repeated elements' gradients
    if _is_direct(x, key):
        selected = bits(x)[key].view(x.dtype) if x.dtype in UNSIGNED else x[key]
        if not selected.numel():
            _check_direct(x, key)
        if len(key) == 1 and not key[0].ndim and selected._is_view():
            # 0-d integer tensors select a view; an array index means a copy.
            return selected.clone()
        return selected
    parts = _split(x, key)
    out = parts.view
    if parts.backward:
        out = _flip(out, parts.backward)
    if not parts.advanced:
        return marked(out, x) if parts.backward else out
    part = bits(out) if out.dtype in UNSIGNED else out
    selected = part[parts.advanced]
    if not selected.numel():
        check_bounds(part.shape, parts.advanced, torch.bool, _check_within)
    if parts.separator:
        selected = selected.squeeze(parts.separator)
    if selected._is_view():
        # 0-d integer tensors select a view; an array index means a copy.
        selected = selected.clone()
    return selected.view(out.dtype) if part is not out else selected


def setitem(x: Tensor, key: Key, value: Any, /) -> Tensor:
    """Assign to part of a tensor and return the tensor."""
    _check_unshared(x)
    if isinstance(value, Tensor) and _has_indices(key):
        # Autograd gives the gradient of repeated places to all their values, not to the last.
        leave_to_tape("assignment", value)
    try:
        return _write(x, key, value)
    except RuntimeError as error:
        if isinstance(value, Tensor) or "without overflow" not in str(error):
            raise
        # Creating a tensor turns scalars out of range into infinities; assignment refuses them.
        return _write(x, key, asarray(value, dtype=x.dtype, device=x.device))


def _check_unshared(x: Tensor) -> None:
    if not x.is_contiguous():
        check_unshared(x.shape, x.stride())


def _write(x: Tensor, key: Key, value: Any) -> Tensor:
    target = x
    if x.dtype in UNSIGNED:
        if not isinstance(value, Tensor):
            value = torch.scalar_tensor(value, dtype=x.dtype, device=x.device)
        target = bits(x)
        value = value.view(signed[x.dtype])
    if isinstance(value, Tensor) and share_memory(target, value):
        # PyTorch refuses to copy between overlapping memory.
        value = value.clone()
    if _is_plain(key):
        target[key] = value
        return x
    if _is_direct(x, key):
        if x.is_cpu:
            _check_direct(x, key)
        target[key] = value
        return x
    parts = _split(target, key)
    part = parts.view
    if x.is_cpu:
        # Before anything is written: PyTorch stops at the wrong index.
        check_bounds(part.shape, parts.advanced, torch.bool, _check_within)
    if parts.separator and isinstance(value, Tensor) and value.ndim >= -parts.separator:
        value = value.unsqueeze(parts.separator)
    if not parts.backward:
        part[parts.advanced] = value
        return x
    if parts.advanced:
        reversed_part = _flip(part, parts.backward)
        reversed_part[parts.advanced] = value
        part.copy_(_flip(reversed_part, parts.backward))
    elif isinstance(value, Tensor):
        while value.ndim > part.ndim and value.shape[0] == 1:
            value = value[0]
        part.copy_(_flip(value.expand(part.shape), parts.backward))
    else:
        part.fill_(value)
    return x


item = Tensor.item


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return elements at indices along an axis, for one or more axes of indices."""
    key = (ALL,) * (take_axis(x, axis) % x.ndim) + (_as_int64(indices),)
    selected = x[key]
    if not selected.numel():
        check_bounds(x.shape, key, torch.bool, _check_within)
    if not indices.ndim:
        selected = selected.clone()  # 0-d integer tensors select a view
    return selected


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return elements at indices matched with x along an axis; other axes broadcast."""
    size = x.shape[axis]
    indices = _as_int64(indices)
    if x.is_cpu and indices.numel() and not is_traced(indices):
        # On CPUs PyTorch takes the last element for broadcast indices out of bounds.
        low, high = map(int, torch.aminmax(indices))
        if low < -size or high >= size:
            raise IndexError(
                f"take_along_axis: an index is out of bounds for axis {axis} with size {size}"
            )
        if low >= 0:
            return torch.take_along_dim(x, indices, dim=axis)
    return torch.take_along_dim(x, torch.where(indices < 0, indices + size, indices), dim=axis)


@dataclass(slots=True)
class _Parts:
    """A key in two steps: a view, which is flipped along `backward`, and indices of its axes."""

    view: Tensor
    backward: list[int]
    advanced: Key
    separator: int = 0
    """The axis of length 1, from the end, that replaces an ellipsis for no axis; 0 for none."""


def _is_plain(key: Key) -> bool:
    for index in key:
        # Integers first: loops over elements use them.
        if index.__class__ is int or index is None or index is Ellipsis:
            continue
        if isinstance(index, slice):
            if index.step is not None and index.step < 0:
                return False
        elif isinstance(index, Tensor):
            return False
    return True


def _is_direct(x: Tensor, key: Key) -> bool:
    """Return whether a key has index tensors, and masks, that PyTorch treats like NumPy.

    Next to them it may have slices or integers, but not both, and no 0-d index tensor.
    """
    axis = 0
    basic_kind = None
    for index in key:
        kind = index.__class__
        if kind is slice or kind is int:
            if basic_kind not in (None, kind) or (kind is slice and (index.step or 1) < 0):
                return False
            basic_kind = kind
            axis += 1
            continue
        if not isinstance(index, Tensor) or not ((ndim := index.ndim) or len(key) == 1):
            return False
        if index.dtype is torch.bool:
            if not ndim or index.shape != x.shape[axis : axis + ndim]:
                return False
            axis += ndim
        elif index.dtype is torch.int64:
            axis += 1
        else:
            return False
    return True


def _check_direct(x: Tensor, key: Key) -> None:
    """Check the bounds of a key that :func:`_is_direct` accepts."""
    if len(key) > 1:
        check_bounds(x.shape, key, torch.bool, _check_within)
    elif key[0].dtype is not torch.bool:
        _check_within(key[0], x.shape[0], 0)


def _has_indices(key: Key) -> bool:
    """Return whether a key has index tensors, whose places may repeat."""
    for index in key:
        if isinstance(index, Tensor) and index.numel() > 1 and index.dtype is not torch.bool:
            return True
    return False


def _split(x: Tensor, key: Key) -> _Parts:
    key = expand_ellipsis(key, x.ndim, Tensor, torch.bool)
    basic, advanced = split_key(key, Tensor, torch.bool)
    backward: list[int] = []
    axis = view_axis = 0
    for n, index in enumerate(basic):
        if isinstance(index, slice) and index is not ALL:
            basic[n], is_reversed = _forward(index, x.shape[axis])
            if is_reversed:
                backward.append(view_axis)
        axis += index is not None
        view_axis += not isinstance(index, int)
    view = x[tuple(basic)]
    if all(index is ALL for index in advanced):
        return _Parts(view, backward, ())
    # An ellipsis for no axis separates tensors; for PyTorch an axis of length 1 does.
    separator = next((n for n, index in enumerate(advanced) if index is Ellipsis), 0)
    if separator:
        advanced[separator] = ALL
        separator = -builtins.sum(index is ALL for index in advanced[separator:])
    # Next to tensors with axes PyTorch does not treat integers as tensors.
    has_axes = any(isinstance(index, Tensor) and index.ndim > 0 for index in advanced)
    axis = 0
    for n, index in enumerate(advanced):
        if not isinstance(index, Tensor):
            if has_axes and index is not ALL:
                advanced[n] = torch.tensor([index], device=x.device)
        elif index.dtype is torch.bool:
            mask = index if index.ndim else index.reshape(1)
            advanced[n] = _fitting(mask, view.shape[axis : axis + mask.ndim])
            axis += mask.ndim - 1
        else:
            index = _as_int64(index)
            advanced[n] = index.reshape(1) if has_axes and index.ndim == 0 else index
        axis += 1
    return _Parts(view, backward, tuple(advanced), separator)


def _as_int64(indices: Tensor) -> Tensor:
    """Return indices as int64, or raise IndexError if uint64 indices do not fit."""
    if indices.dtype is torch.uint64:
        signed_ = indices.view(torch.int64)
        if bool((signed_ < 0).any()):
            largest = signed_[signed_ < 0][0].item() + 2**64
            raise IndexError(f"index {largest} is out of bounds for any axis")
        return signed_
    return indices.to(torch.int64)


_REVERSED = slice(None, None, -1)


def _forward(index: slice, size: int) -> tuple[slice, bool]:
    """Return a slice with a positive step, and whether to reverse its elements."""
    if index.step is None or index.step > 0:
        return index, False
    if index == _REVERSED:  # whatever the size, which may be symbolic
        return slice(None), True
    steps = range(*index.indices(size))
    if not len(steps):
        return slice(0, 0), False
    return slice(steps[-1], steps[0] + 1, -steps.step), True


def _fitting(mask: Tensor, shape: torch.Size) -> Tensor:
    if mask.shape != shape and all(
        have in (want, 0) for have, want in zip(mask.shape, shape, strict=False)
    ):
        return mask.new_zeros(shape)
    return mask


def _check_within(indices: Tensor, size: int, axis: int) -> None:
    count = indices.numel()
    if count and not is_traced(indices):
        extremes: tuple[Any, ...]
        if count <= _FEW and indices.is_cpu:  # Python's own functions take a third of the time
            few = (indices if indices.ndim == 1 else indices.reshape(-1)).tolist()
            extremes = builtins.min(few), builtins.max(few)
        else:
            extremes = torch.aminmax(indices)
        for extreme in map(int, extremes):
            if not -size <= extreme < size:
                raise IndexError(f"index {extreme} is out of bounds for an axis of length {size}")


def _flip(x: Tensor, axes: list[int]) -> Tensor:
    if x.dtype in UNSIGNED:
        return torch.flip(bits(x), axes).view(x.dtype)
    return torch.flip(x, axes)


BY_DTYPE: Rows = {
    "take": {unsigned.NAMES: moving(take), "float16 bfloat16": in_float32(take)},
    "take_along_axis": {
        unsigned.NAMES: moving(take_along_axis),
        "float16 bfloat16": in_float32(take_along_axis),
    },
}


def _set_basic(x: Tensor, key: Key, value: Any, /) -> Tensor:
    """Do ``x[key] = value`` for a key without arrays; raises for unsupported ones."""
    _check_unshared(x)
    if isinstance(value, Tensor) and share_memory(x, value):
        value = value.clone()
    x[key] = value
    return x


DIRECT: Rows = {
    "getitem": {"biufc": operator.getitem},  # raises for unsupported keys
    "setitem": {"bifc": _set_basic},
}


def add_at(x: Tensor, indices: Tensor, values: Tensor, /) -> Tensor:
    """Return x with ``values[k]`` added to row ``indices[k]`` for all k, repeated or not."""
    indices = indices.to(torch.int64)
    if x.dtype in HALVES:
        return torch.index_add(x.float(), 0, indices, values.float()).to(x.dtype)
    if x.dtype in UNSIGNED:  # sums of the same bits, modulo the same power of two
        return torch.index_add(bits(x), 0, indices, bits(values)).view(x.dtype)
    return torch.index_add(x, 0, indices, values)
