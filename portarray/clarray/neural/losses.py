"""Losses."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from portarray.clarray.dtypes import cl_type, computed_dtype
from portarray.clarray.engine.copy import cast, contiguous, copy, fill
from portarray.clarray.neural import rows
from portarray.clarray.neural.checks import integers, matching, real, within
from portarray.clarray.neural.rows import LONG, ROW_VALUES
from portarray.clarray.strided import Array, empty

_REDUCTIONS = ("mean", "sum", "none")


def cross_entropy(
    logits: Array,
    targets: Array,
    /,
    *,
    reduction: Literal["mean", "sum", "none"] = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Array:
    """Return ``-log_softmax(logits)`` at the target classes.

    ``logits`` are (..., classes), ``targets`` integers (...), which are waited for and checked.
    Rows with the target ``ignore_index`` have loss 0 and do not count in the mean, which is NaN of
    no rows. ``label_smoothing`` is the share of the target spread evenly over all classes.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> logits = cl.zeros((3, 4), dtype=cl.float32)
    >>> targets = cl.asarray([3, 0, -100])  # the last row is ignored
    >>> loss = cl.neural.cross_entropy(logits, targets)
    >>> round(float(loss), 4)  # log(4)
    1.3863
    """
    real(logits, "cross_entropy", "logits")
    integers(targets, "cross_entropy", "targets")
    matching(targets, logits, "cross_entropy", "targets", dtype=False)
    if reduction not in _REDUCTIONS:
        raise ValueError(f"reduction is {reduction!r}; it must be 'mean', 'sum' or 'none'")
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"label_smoothing is {label_smoothing!r}; it must be from 0 to 1")
    if not logits.shape or logits.shape[:-1] != targets.shape:
        raise ValueError(
            f"cross_entropy needs targets of shape {logits.shape[:-1]} for logits of shape "
            f"{logits.shape}, got {targets.shape}"
        )
    within(targets, logits.shape[-1], "target", ignore_index)
    targets = contiguous(targets)
    losses = _losses(logits, targets, ignore_index, label_smoothing)
    if reduction == "none":
        return losses if losses.dtype == logits.dtype else cast(losses, logits.dtype)
    return _joined(losses, targets, ignore_index, logits.dtype, mean=reduction == "mean")


def _losses(logits: Array, targets: Array, ignored: int, smoothing: float) -> Array:
    """Return the loss of each row, in the dtype it is computed in."""
    device, dtype = logits.device, computed_dtype(logits.dtype)
    out = empty(targets.shape, dtype, device)
    if not logits.shape[-1]:
        fill(out, 0)  # without classes every target is ignored
    if not logits.size:
        return out
    layout = rows.rows_of(logits.shape, logits.strides)
    if layout is None:
        return _losses(copy(logits), targets, ignored, smoothing)
    values = (LONG, LONG, *ROW_VALUES, LONG, dtype)
    kernel = rows.kernel(
        device, "neural_losses", "losses", logits.dtype, 3, values, layout.length, _index(targets)
    )
    size, group, first = layout.split(device)
    storages = out.storage, logits.storage, targets.storage
    kernel.launch(size, group, storages, logits.offset, targets.offset, *first, ignored, smoothing)
    return out


def _joined(losses: Array, targets: Array, ignored: int, dtype: Any, *, mean: bool) -> Array:
    """Return the sum of losses, or their mean over rows that are not ignored."""
    device = losses.device
    values = LONG, LONG, LONG, np.int32
    kernel = rows.kernel(device, "neural_losses", "joined", dtype, 3, values, 1, _index(targets))
    out = empty((), dtype, device)
    storages = out.storage, losses.storage, targets.storage
    kernel.launch((1,), (1,), storages, targets.offset, losses.size, ignored, int(mean))
    return out


def _index(targets: Array) -> tuple[str, ...]:
    return (f"-DI={cl_type(targets.dtype).storage}",)
