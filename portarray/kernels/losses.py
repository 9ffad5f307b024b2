"""Losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from portarray._array.kernel import Kernel
from portarray.kernels import generic

if TYPE_CHECKING:
    from portarray._array.array import Array

__all__ = ["cross_entropy"]

_CROSS_ENTROPY = Kernel("cross_entropy", generic.cross_entropy)


def cross_entropy(
    logits: Array,
    targets: Array,
    /,
    *,
    reduction: Literal["mean", "sum", "none"] = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Array:
    """Return the cross entropy between logits and the classes that were due."""
    return _CROSS_ENTROPY(
        logits,
        targets,
        reduction=reduction,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
    )
