"""Softmax and the activations of neural networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Never

from portarray import _name_hints
from portarray.kernels.checks import rows as checks
from portarray.kernels.core_kernel import CoreKernel

if TYPE_CHECKING:
    from portarray._array.array import Array

SOFTMAX = CoreKernel("softmax", checks.softmax)
LOG_SOFTMAX = CoreKernel("log_softmax", checks.softmax)
SILU = CoreKernel("silu", checks.floating)
GELU = CoreKernel("gelu", checks.gelu)
RELU = CoreKernel("relu", checks.floating)


@_name_hints.hide_var_keywords
def softmax(x: Array, /, *, axis: int = -1, **unknown: Never) -> Array:
    """Divide exponentials by their sum: weights that are positive and sum to one.

    Parameters
    ----------
    x : Array
        Array of at least one axis, of a real floating-point dtype.
    axis : int, default: -1
        Axis along which the weights sum to one.

    Returns
    -------
    Array
        Array of the shape, dtype and device of `x`: ``exp(x) / sum(exp(x))``. The largest value of
        each row is taken off first, so that no exponential overflows.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    TypeError
        If `x` is not a portarray array of a real floating-point dtype.

    Notes
    -----
    float16 and bfloat16 are computed in float32. A row with NaN or infinity, and one of nothing but
    minus infinity, gives NaN. :func:`attention` gives zeros for a row that sees nothing.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[0.0, 0.0], [1000.0, 0.0]], device="numpy")
    >>> pa.kernels.softmax(x).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    if unknown:
        raise _name_hints.unexpected_keyword(softmax, unknown)
    return SOFTMAX(x, axis=axis)


@_name_hints.hide_var_keywords
def log_softmax(x: Array, /, *, axis: int = -1, **unknown: Never) -> Array:
    """Compute the logarithm of :func:`softmax`, exact where the softmax itself would be 0.

    Parameters
    ----------
    x : Array
        Array of at least one axis, of a real floating-point dtype.
    axis : int, default: -1
        Axis along which the softmax sums to one.

    Returns
    -------
    Array
        Array of the shape, dtype and device of `x`: ``x - log(sum(exp(x)))``.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    TypeError
        If `x` is not a portarray array of a real floating-point dtype.

    Notes
    -----
    As for :func:`softmax`: 16-bit dtypes are computed in float32, and a row of nothing but minus
    infinity gives NaN.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.kernels.log_softmax(pa.asarray([1000.0, 0.0], device="numpy")).tolist()
    [0.0, -1000.0]
    """
    if unknown:
        raise _name_hints.unexpected_keyword(log_softmax, unknown)
    return LOG_SOFTMAX(x, axis=axis)


def silu(x: Array, /) -> Array:
    """Multiply values by their sigmoid: ``x / (1 + exp(-x))``, also called swish.

    Parameters
    ----------
    x : Array
        Array of any shape, of a real floating-point dtype.

    Returns
    -------
    Array
        Array of the shape, dtype and device of `x`.

    Raises
    ------
    TypeError
        If `x` is not a portarray array of a real floating-point dtype.

    Notes
    -----
    D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units" (2016), arXiv:1606.08415. float16 and
    bfloat16 are computed in float32. Finite values give finite results; minus infinity gives NaN,
    as minus infinity times 0 does.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.kernels.silu(pa.asarray([-1000.0, 0.0, 1000.0], device="numpy")).tolist()
    [-0.0, 0.0, 1000.0]
    """
    return SILU(x)


def gelu(x: Array, /, *, approximate: Literal["none", "tanh"] = "none") -> Array:
    """Multiply values by the normal distribution's function of them.

    Parameters
    ----------
    x : Array
        Array of any shape, of a real floating-point dtype.
    approximate : {"none", "tanh"}, default: "none"
        ``"none"`` computes ``x * (1 + erf(x / sqrt(2))) / 2`` as exactly as the dtype allows.
        ``"tanh"`` computes ``x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2``, which
        some models were trained with; it differs by up to 5e-4.

    Returns
    -------
    Array
        Array of the shape, dtype and device of `x`.

    Raises
    ------
    ValueError
        If `approximate` is neither.
    TypeError
        If `x` is not a portarray array of a real floating-point dtype.

    Notes
    -----
    D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units" (2016), arXiv:1606.08415. float16 and
    bfloat16 are computed in float32. Errors are small relative to `x`; far below 0, where the
    result is tiny, versions made for a library may return 0. Minus infinity gives NaN.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([-1.0, 0.0, 1.0], device="numpy")
    >>> pa.round(1e4 * pa.kernels.gelu(x)).tolist()
    [-1587.0, 0.0, 8413.0]
    """
    return GELU(x, approximate=approximate)


def relu(x: Array, /) -> Array:
    """Replace negative values by 0.

    Parameters
    ----------
    x : Array
        Array of any shape, of a real floating-point dtype.

    Returns
    -------
    Array
        Array of the shape, dtype and device of `x`. NaN stays.

    Raises
    ------
    TypeError
        If `x` is not a portarray array of a real floating-point dtype.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.kernels.relu(pa.asarray([-2.0, 3.0], device="numpy")).tolist()
    [0.0, 3.0]
    """
    return RELU(x)
