"""Views and assignments of traced arrays: which tracers stand for the same memory."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from portarray._transforms.tracer import Tracer

__all__ = ["VIEWS", "parts", "sharing_memory", "writing"]

Function = Callable[..., Any]


VIEWS = frozenset(
    {
        *("broadcast_arrays", "broadcast_to", "expand_dims", "flip", "getitem", "imag"),
        *("linalg.diagonal", "matrix_transpose", "moveaxis", "permute_dims", "real", "reshape"),
        *("squeeze", "unstack"),
    }
)
"""Functions whose results may share memory with an operand on mutable backends."""


def sharing_memory(recorded: Function, *, picks: bool) -> Function:
    """Return a function that notes the memory its results share with the first operand."""

    def sharing(x: Any, *args: Any, **options: Any) -> Any:
        result = recorded(x, *args, **options)
        copies = picks and any(getattr(part, "ndim", 0) for part in parts(args[0]))
        for view in result if isinstance(result, (tuple, list)) else (result,):
            if view.__class__ is Tracer and x.__class__ is Tracer and not copies:
                _share(x, view)
                if picks:
                    view.origin = x, args[0]
        return result

    return sharing


def parts(key: Any) -> tuple[Any, ...]:
    """Return the parts of an index."""
    return key if type(key) is tuple else (key,)


def _same_part(shape: tuple[int, ...], first_key: Any, second_key: Any) -> bool:
    """Return whether two keys without index arrays select the same elements."""
    if parts(first_key) == parts(second_key):
        return True
    # Different slices can select the same elements. This array has one element and is never read.
    steps = np.cumprod((1, *shape[:0:-1]))[::-1]
    every = np.lib.stride_tricks.as_strided(np.zeros((), np.int8), shape, steps, writeable=False)
    first, second = every[first_key], every[second_key]
    if first.shape != second.shape or not first.size:
        return bool(first.shape == second.shape)
    apart = any(
        n > 1 and a != b for n, a, b in zip(first.shape, first.strides, second.strides, strict=True)
    )
    start, another = (part.__array_interface__["data"][0] for part in (first, second))
    return not apart and bool(start == another)


def _share(x: Tracer, view: Tracer) -> None:
    if x.sharing is None:
        x.sharing = [weakref.ref(x)]
    x.sharing.append(weakref.ref(view))
    view.sharing = x.sharing


def writing(recorded: Function) -> Function:
    """Return an assignment that marks arrays of the same memory as stale.

    Without a trace they would change, but recorded values do not. ``x[key] += y`` modifies a view
    and assigns it back to its origin, which makes the origin valid again.
    """

    def setitem(x: Any, key: Any, value: Any) -> Any:
        if x.__class__ is not Tracer:
            return recorded(x, key, value)
        back = x.is_stale and value.__class__ is Tracer and value.origin is not None
        if back and value.origin[0] is x and _same_part(x.shape, value.origin[1], key):
            x.is_stale = False
        result = recorded(x, key, value)
        for ref in x.sharing or ():
            sharer = ref()
            if sharer is not None:
                sharer.is_stale = True
        if result.__class__ is Tracer:
            result.origin = x.origin
            if back:
                _share(value, result)
        return result

    return setitem
