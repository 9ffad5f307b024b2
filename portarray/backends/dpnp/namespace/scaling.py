"""Norms and deviations whose powers have left the range."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import dpnp

from portarray.backends.common.blocks import least_exact_norm, normalize_axes, rescaled_norm

__all__ = ["in_range"]


def in_range(
    norm: dpnp.ndarray,
    plain: Callable[..., dpnp.ndarray],
    x: dpnp.ndarray,
    *,
    axis: Any,
    keepdims: bool,
    **options: Any,
) -> dpnp.ndarray:
    """Return the norms of real numbers, computed anew if their powers have left the range.

    Parameters
    ----------
    norm : dpnp.ndarray
        What ``plain`` gives.
    plain : callable
        Called with rescaled numbers, ``axis=``, ``keepdims=`` and the options.
    x : dpnp.ndarray
        Real numbers.
    axis : int, tuple of int or None
        Axes of the norm.
    keepdims : bool
        Whether the axes stay.
    **options
        Options of ``plain``; ``ord`` is the norm's order, 2 without it.
    """
    low, high = (dpnp.min(norm), dpnp.max(norm)) if norm.ndim else (norm, norm)
    least = least_exact_norm(dpnp.finfo(norm.dtype), options.get("ord", 2))
    if least < float(low) and float(high) < math.inf:
        return norm
    axes = normalize_axes(axis, x.ndim)
    largest = dpnp.max(dpnp.abs(x), axis=axes, keepdims=True)
    rescaled = rescaled_norm(
        lambda y: plain(y, axis=axes, keepdims=True, **options), largest, dpnp.where, x
    )
    return rescaled if keepdims else dpnp.squeeze(rescaled, axes)
