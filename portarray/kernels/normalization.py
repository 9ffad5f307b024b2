"""Normalization of the last axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray.kernels.checks import rows as checks
from portarray.kernels.core_kernel import CoreKernel

if TYPE_CHECKING:
    from portarray._array.array import Array

RMS_NORM = CoreKernel("rms_norm", checks.rms_norm)
LAYER_NORM = CoreKernel("layer_norm", checks.layer_norm)


def rms_norm(x: Array, weight: Array | None = None, /, *, eps: float = 1e-6) -> Array:
    """Divide the last axis by the root of its mean square.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., dim)``, of a real floating-point dtype.
    weight : Array, optional
        Array of shape ``(dim,)`` that the result is multiplied by; of the dtype of `x`.
    eps : float, default: 1e-6
        Added to the mean square, so that rows of zeros stay zeros.

    Returns
    -------
    Array
        Array of the shape, dtype and device of `x`: ``x / sqrt(mean(x**2) + eps) * weight``.

    Raises
    ------
    ValueError
        If `weight` does not fit the last axis of `x`, `x` is 0-d, or `eps` is negative.
    TypeError
        If an argument is not a portarray array, or their dtypes differ or are not real
        floating-point.

    Notes
    -----
    B. Zhang and R. Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019,
    arXiv:1910.07467. float16 and bfloat16 are computed in float32, the product with `weight`
    included, and rounded once. Rows whose mean square leaves the range (elements beyond 1e19 in
    float32) give zeros.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[3.0, -3.0], [0.0, 0.0]], device="numpy")
    >>> pa.round(pa.kernels.rms_norm(x)).tolist()
    [[1.0, -1.0], [0.0, 0.0]]
    """
    return RMS_NORM(x, weight, eps=eps)


def layer_norm(
    x: Array, weight: Array | None = None, bias: Array | None = None, /, *, eps: float = 1e-5
) -> Array:
    """Give the last axis mean 0 and variance 1.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., dim)``, of a real floating-point dtype.
    weight : Array, optional
        Array of shape ``(dim,)`` that the result is multiplied by; of the dtype of `x`.
    bias : Array, optional
        Array of shape ``(dim,)`` that is added then; of the dtype of `x`.
    eps : float, default: 1e-5
        Added to the variance, which is the mean squared distance from the mean (no correction).

    Returns
    -------
    Array
        Array of the shape, dtype and device of `x`:
        ``(x - mean(x)) / sqrt(var(x) + eps) * weight + bias``.

    Raises
    ------
    ValueError
        If `weight` or `bias` does not fit the last axis of `x`, `x` is 0-d, or `eps` is negative.
    TypeError
        If an argument is not a portarray array, or their dtypes differ or are not real
        floating-point.

    Notes
    -----
    J. L. Ba, J. R. Kiros and G. E. Hinton, "Layer Normalization" (2016), arXiv:1607.06450. float16
    and bfloat16 are computed in float32 and rounded once.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1.0, 3.0], [5.0, 5.0]], device="numpy")
    >>> pa.round(pa.kernels.layer_norm(x)).tolist()
    [[-1.0, 1.0], [0.0, 0.0]]
    """
    return LAYER_NORM(x, weight, bias, eps=eps)
