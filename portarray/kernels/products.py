"""Products with weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._array.kernel import Kernel
from portarray.kernels import checks, generic

if TYPE_CHECKING:
    from portarray._array.array import Array

MATMUL = Kernel("matmul", generic.matmul, checks.matmul)
LINEAR = Kernel("linear", generic.linear, checks.linear)
EMBEDDING = Kernel("embedding", generic.embedding, checks.embedding, leads=1)


def matmul(x1: Array, x2: Array, /) -> Array:
    """Multiply matrices, with sums that 16-bit floats are too short for in float32.

    Parameters
    ----------
    x1 : Array
        Numeric array of shape ``(..., M, K)`` or ``(K,)``.
    x2 : Array
        Numeric array of shape ``(..., K, N)`` or ``(K,)``, of the dtype of `x1`.

    Returns
    -------
    Array
        Array of shape ``(..., M, N)`` and the dtype of both; the leading axes are broadcast. A 1-d
        operand is a row on the left and a column on the right, and its axis is missing from the
        result.

    Raises
    ------
    ValueError
        If an operand is 0-d or the shapes do not fit.
    TypeError
        If an operand is no portarray array or boolean, or the dtypes differ.

    See Also
    --------
    portarray.matmul : The standard's function, which promotes its operands.

    Notes
    -----
    float16 and bfloat16 are added up in float32 and rounded once. Devices add in different orders,
    and some multiply float32 in a lower precision where they are told to.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1, 2], [3, 4]], device="numpy")
    >>> pa.kernels.matmul(x, x).tolist()
    [[7, 10], [15, 22]]
    """
    return MATMUL(x1, x2)


def linear(x: Array, weight: Array, bias: Array | None = None, /) -> Array:
    """Apply a linear layer: ``x @ weight.T + bias``.

    Parameters
    ----------
    x : Array
        Numeric array of shape ``(..., in)``.
    weight : Array
        Array of shape ``(out, in)``, one row for each feature that comes out, as models store it;
        of the dtype of `x`.
    bias : Array, optional
        Array of shape ``(out,)`` and the same dtype.

    Returns
    -------
    Array
        Array of shape ``(..., out)`` and the dtype of `x`.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    TypeError
        If an argument is no portarray array or boolean, or the dtypes differ.

    Notes
    -----
    float16 and bfloat16 are added up in float32, the bias included, and rounded once.

    Examples
    --------
    >>> import portarray as pa
    >>> with pa.device("numpy"):
    ...     x, weight = pa.asarray([1.0, 2.0]), pa.asarray([[1.0, 1.0], [0.0, 3.0], [1.0, 0.0]])
    >>> pa.kernels.linear(x, weight).tolist()
    [3.0, 6.0, 1.0]
    """
    return LINEAR(x, weight, bias)


def embedding(indices: Array, weight: Array, /) -> Array:
    """Take the rows of a table at indices.

    Parameters
    ----------
    indices : Array
        Integer array of any shape, from 0 up to the number of rows less 1. The values are not
        checked: what another index does is up to the library.
    weight : Array
        Array of shape ``(rows, dim)`` and any dtype.

    Returns
    -------
    Array
        Array of shape ``indices.shape + (dim,)`` and the dtype of `weight`.

    Raises
    ------
    ValueError
        If `weight` has not two axes.
    TypeError
        If an argument is no portarray array, or `indices` are no integers.

    Examples
    --------
    >>> import portarray as pa
    >>> with pa.device("numpy"):
    ...     tokens, table = pa.asarray([2, 0]), pa.asarray([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    >>> pa.kernels.embedding(tokens, table).tolist()
    [[4.0, 5.0], [0.0, 1.0]]
    """
    return EMBEDDING(indices, weight)
