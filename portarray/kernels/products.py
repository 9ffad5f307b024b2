"""Products of matrices, and triangular systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from portarray._array import array as _array
from portarray._array.base import GUARDS, before_write
from portarray._array.kernel import written
from portarray.kernels.activations import silu
from portarray.kernels.checks import products as checks
from portarray.kernels.checks.packed import activations as check_activations
from portarray.kernels.checks.rows import rms_norm as check_rms_norm
from portarray.kernels.core_kernel import CoreKernel
from portarray.kernels.normalization import rms_norm

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.kernels.packed import Packed

MATMUL = CoreKernel("matmul", checks.matmul)
GEMM = CoreKernel("gemm", checks.gemm)
LINEAR = CoreKernel("linear", checks.linear)
SOLVE_TRIANGULAR = CoreKernel("solve_triangular", checks.solve_triangular)
EMBEDDING = CoreKernel("embedding", checks.embedding, leads=1)


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
        If an operand is not a portarray array or is boolean, or the dtypes differ.

    See Also
    --------
    portarray.matmul : The standard's function, which promotes its operands.

    Notes
    -----
    float16 and bfloat16 are added up in float32 and rounded once. Devices add in different orders,
    and some can be set to multiply float32 in a lower precision.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1, 2], [3, 4]], device="numpy")
    >>> pa.kernels.matmul(x, x).tolist()
    [[7, 10], [15, 22]]
    """
    return MATMUL(x1, x2)


def gemm(
    a: Array,
    b: Array,
    /,
    *,
    out: Array | None = None,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Array:
    """Multiply two matrices into a third: ``out = alpha * a @ b + beta * out``.

    Parameters
    ----------
    a : Array
        Floating-point matrix, of shape ``(M, K)`` once it is transposed.
    b : Array
        Matrix of shape ``(K, N)`` once it is transposed, and of the dtype of `a`.
    out : Array, optional
        Matrix of shape ``(M, N)`` and the same dtype, which is written; None makes a new one. It
        may share memory with the others.
    alpha, beta : float or complex, default: 1.0 and 0.0
        Factors of the product and of what is in `out`, which is not read where `beta` is 0.
    transpose_a, transpose_b : bool, default: False
        Whether to multiply with the transpose, without conjugation.

    Returns
    -------
    Array
        `out`, or a new array.

    Raises
    ------
    ValueError
        If an array is not a matrix, the shapes do not fit, or `beta` is given without `out`.
    TypeError
        If an argument is not a floating-point portarray array, or the dtypes differ.

    See Also
    --------
    matmul : Stacks of matrices, vectors and integers.

    Notes
    -----
    Named after the routine of BLAS. With arrays that never change (JAX, MLX) `out` gets another
    native array. float16 and bfloat16 are added up in float32 and rounded once.

    Examples
    --------
    >>> import portarray as pa
    >>> x, y = pa.eye(2, device="numpy"), pa.ones((2, 2), device="numpy")
    >>> found = pa.kernels.gemm(x, x, out=y, alpha=-1.0, beta=1.0)
    >>> found is y, y.tolist()
    (True, [[0.0, 1.0], [1.0, 0.0]])
    """
    if GUARDS and type(out) is _array.Array:
        before_write(out)
    options = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    result = GEMM(a, b, out=out, alpha=alpha, beta=beta, **options)
    return result if out is None else written(out, result)


def linear(
    x: Array,
    weight: Array | Packed,
    bias: Array | None = None,
    /,
    *,
    activations: Literal["int8"] | None = None,
) -> Array:
    """Apply a linear layer: ``x @ weight.T + bias``.

    Parameters
    ----------
    x : Array
        Numeric array of shape ``(..., in)``.
    weight : Array or Packed
        Array of shape ``(out, in)``, one row for each feature that comes out, as models store it;
        of the dtype of `x`. A packed matrix is read as it is, a part at a time.
    bias : Array, optional
        Array of shape ``(out,)`` and the same dtype.
    activations : {"int8"}, optional
        With a packed weight: `x` is rounded to 8 bits before, 32 neighbours with one scale, as
        llama.cpp does. It changes the answer by about 0.5 % of its size and saves nothing here.

    Returns
    -------
    Array
        Array of shape ``(..., out)`` and the dtype of `x`.

    Raises
    ------
    ValueError
        If the shapes do not fit, or `activations` is none of these or given without a packed
        weight.
    TypeError
        If an argument is not a portarray array or is boolean, or the dtypes differ.

    Notes
    -----
    float16 and bfloat16 are added up in float32, the bias included, and rounded once. With a packed
    weight products are those of the weights that :func:`unpack` returns. Gradients reach `x`.

    Examples
    --------
    >>> import portarray as pa
    >>> with pa.device("numpy"):
    ...     x, weight = pa.asarray([1.0, 2.0]), pa.asarray([[1.0, 1.0], [0.0, 3.0], [1.0, 0.0]])
    >>> pa.kernels.linear(x, weight).tolist()
    [3.0, 6.0, 1.0]
    """
    if activations is not None:
        check_activations(activations, weight)
    if type(weight) is not _array.Array:
        return _packed("linear", x, weight, bias, rounded=activations is not None)
    return LINEAR(x, weight, bias)


def fused_linear(
    x: Array,
    weight: Array | Packed,
    /,
    *,
    norm: Array | None = None,
    eps: float = 1e-6,
    gated: bool = False,
    residual: Array | None = None,
    activations: Literal["int8"] | None = None,
) -> Array:
    """Apply a linear layer with the surrounding steps of a transformer.

    With a packed weight, few rows of float32 and a device that runs user kernels this is one
    launch; elsewhere it is the functions that the steps below name.

    Parameters
    ----------
    x : Array
        Real floating-point array of shape ``(..., in)``.
    weight : Array or Packed
        As for :func:`linear`.
    norm : Array, optional
        Of shape ``(in,)``: first ``x = rms_norm(x, norm, eps=eps)``.
    eps : float, default: 1e-6
        As for :func:`rms_norm`.
    gated : bool, default: False
        Whether the first half of the features that come out gates the second half, as in SwiGLU:
        ``silu(first) * second``, of shape ``(..., out / 2)``.
    residual : Array, optional
        Of the shape of the result, and added to it last.
    activations : {"int8"}, optional
        As for :func:`linear`.

    Returns
    -------
    Array
        Array of shape ``(..., out)``, or half as wide if `gated`, and the dtype of `x`.

    Raises
    ------
    ValueError
        If the shapes do not fit, or `gated` meets an odd number of features.
    TypeError
        If an argument is not a portarray array, or the dtypes differ.

    See Also
    --------
    linear, rms_norm, silu : The steps.

    Notes
    -----
    N. Shazeer, "GLU Variants Improve Transformer", 2020, arXiv:2002.05202. Gradients reach `x`,
    `norm`, `residual` and a weight that is not packed.

    Examples
    --------
    >>> import portarray as pa
    >>> with pa.device("numpy"):
    ...     x, weight = pa.asarray([3.0, 4.0]), pa.asarray([[1.0, 0.0], [0.0, 1.0]])
    >>> pa.kernels.fused_linear(x, weight, residual=x).tolist()
    [6.0, 8.0]
    """
    checks.fused_linear(x, weight, norm, residual, gated)
    if type(weight) is not _array.Array and activations is None:
        from portarray.kernels import packed  # most programs have none

        options = {"eps": eps}
        if norm is not None:
            check_rms_norm("fused_linear", (x, norm), options)
        result = packed.fused(x, weight, norm, residual, eps=options["eps"], gated=gated)
        if result is not None:
            return result
    if norm is not None:
        x = rms_norm(x, norm, eps=eps)
    y = linear(x, weight, activations=activations)
    if gated:
        half = y.shape[-1] // 2
        y = silu(y[..., :half]) * y[..., half:]
    return y if residual is None else residual + y


def embedding(indices: Array, weight: Array | Packed, /) -> Array:
    """Take the rows of a table at indices.

    Parameters
    ----------
    indices : Array
        Integer array of any shape, from 0 up to the number of rows less 1: negative ones do not
        count from the end.
    weight : Array or Packed
        Array of shape ``(rows, dim)`` and any dtype, or a packed matrix.

    Returns
    -------
    Array
        Array of shape ``indices.shape + (dim,)`` and the dtype of `weight`; float32 where that is
        packed.

    Raises
    ------
    ValueError
        If `weight` does not have two axes.
    IndexError
        If an index is out of bounds. Functions compiled by JAX, MLX and partly PyTorch do not
        raise.
    TypeError
        If an argument is not a portarray array, or `indices` are not integers.

    Examples
    --------
    >>> import portarray as pa
    >>> with pa.device("numpy"):
    ...     tokens, table = pa.asarray([2, 0]), pa.asarray([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    >>> pa.kernels.embedding(tokens, table).tolist()
    [[4.0, 5.0], [0.0, 1.0]]
    """
    if type(weight) is not _array.Array:
        return _packed("embedding", indices, weight)
    return EMBEDDING(indices, weight)


def _packed(name: str, *arguments: Any, rounded: bool = False) -> Array:
    """Call a kernel with a packed weight."""
    from portarray.kernels import packed  # most programs have none

    kernel, arrays, options = packed.call_of(name, arguments, rounded=rounded)
    return kernel(*arrays, **options)


def solve_triangular(
    a: Array,
    b: Array,
    /,
    *,
    lower: bool = False,
    transpose: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """Solve ``a @ x = b`` for a triangular matrix.

    Parameters
    ----------
    a : Array
        Floating-point array of shape ``(..., N, N)``, of which one half is read.
    b : Array
        Array of shape ``(N,)`` or ``(..., N, K)`` and the dtype of `a`; the leading axes are
        broadcast.
    lower : bool, default: False
        Whether the lower half is read, and not the upper one.
    transpose : bool, default: False
        Whether to solve with the transpose of `a`, without conjugation; `lower` says which half of
        `a` itself is read.
    unit_diagonal : bool, default: False
        Whether to take ones for the diagonal, which is not read.

    Returns
    -------
    Array
        Array of the shape of `b`, with the leading axes broadcast, and its dtype.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    TypeError
        If an argument is not a floating-point portarray array, or the dtypes differ.

    See Also
    --------
    portarray.linalg.solve : Any square matrices.

    Notes
    -----
    Values are not looked at: a zero on the diagonal gives infinities or NaN. To solve
    ``x @ a = b``, transpose: ``solve_triangular(a, b.mT, transpose=True).mT``. float16 and bfloat16
    are computed in float32 and rounded once. The bound of the error is that of substitution
    (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2002, theorem 8.5).

    Examples
    --------
    >>> import portarray as pa
    >>> with pa.device("numpy"):
    ...     a, b = pa.asarray([[2.0, 9.0], [1.0, 4.0]]), pa.asarray([2.0, 9.0])
    >>> pa.kernels.solve_triangular(a, b, lower=True).tolist()
    [1.0, 2.0]
    """
    return SOLVE_TRIANGULAR(a, b, lower=lower, transpose=transpose, unit_diagonal=unit_diagonal)
