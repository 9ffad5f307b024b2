"""Losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from portarray.kernels.checks import rows as checks
from portarray.kernels.core_kernel import CoreKernel

if TYPE_CHECKING:
    from portarray._array.array import Array

CROSS_ENTROPY = CoreKernel("cross_entropy", checks.cross_entropy)


def cross_entropy(
    logits: Array,
    targets: Array,
    /,
    *,
    reduction: Literal["mean", "sum", "none"] = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Array:
    """Compute the cross entropy between logits and the classes that were due.

    Parameters
    ----------
    logits : Array
        Array of shape ``(..., classes)``, of a real floating-point dtype: logarithms of
        probabilities, up to a constant of each row.
    targets : Array
        Integer array of shape ``(...)``: the class that was due in each row, from 0 to
        ``classes - 1``, or `ignore_index`.
    reduction : {"mean", "sum", "none"}, default: "mean"
        ``"none"`` returns the loss of each row, ``"sum"`` their sum, and ``"mean"`` their mean over
        the rows that are not ignored; NaN where all are.
    ignore_index : int, default: -100
        Rows with this target have no loss: 0 with ``"none"``.
    label_smoothing : float, default: 0.0
        Part of the probability that is due to all classes alike, from 0 to 1.

    Returns
    -------
    Array
        0-d array, or one of the shape of `targets` with ``"none"``; of the dtype of `logits`.

    Raises
    ------
    ValueError
        If shapes do not fit, there is no class, or an option is out of range.
    IndexError
        If a target is not a class. Functions compiled by JAX, MLX and partly PyTorch do not raise.
    TypeError
        If an argument is not a portarray array, `logits` are not real floating-point, or `targets`
        are not integers.

    Notes
    -----
    The loss of a row is ``-sum(p * log_softmax(logits))``, where `p` is
    ``label_smoothing / classes`` everywhere and ``1 - label_smoothing`` more at the target
    (C. Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", 2015,
    arXiv:1512.00567). float16 and bfloat16 are computed in float32 and rounded once.

    Examples
    --------
    >>> import portarray as pa
    >>> with pa.device("numpy"):
    ...     logits, targets = pa.asarray([[0.0, 1000.0], [0.0, 0.0]]), pa.asarray([0, -100])
    >>> float(pa.kernels.cross_entropy(logits, targets))
    1000.0
    """
    return CROSS_ENTROPY(
        logits,
        targets,
        reduction=reduction,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
    )
