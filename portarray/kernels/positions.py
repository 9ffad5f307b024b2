"""Rotary position embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray.kernels.checks import positions as checks
from portarray.kernels.core_kernel import CoreKernel

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import DTypeLike

ROPE = CoreKernel("rope", checks.rope)
ROPE_TABLES = CoreKernel("rope_tables", checks.rope_tables)


def rope(
    x: Array,
    positions: Array | None = None,
    /,
    *,
    tables: tuple[Array, Array] | None = None,
    theta: float = 10000.0,
    interleaved: bool = False,
) -> Array:
    """Rotate pairs of features by angles that grow with the position.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., length, dim)``, of a real floating-point dtype: queries or keys.
    positions : Array, optional
        Integer array of shape ``(length,)``, or one that broadcasts to ``x.shape[:-1]``. None
        means 0, 1, 2, and so on. Not together with `tables`.
    tables : tuple of Array, optional
        Cosines and sines as :func:`rope_tables` returns them, for programs that rotate at the same
        positions many times: each of shape ``(length, r / 2)``, or one that broadcasts to
        ``(..., length, r / 2)``, and of the dtype of `x`. Only the first `r` features are
        rotated; the others pass.
    theta : float, default: 10000.0
        Base of the angles: pair `i` is rotated by ``position * theta ** (-2 * i / dim)``.
    interleaved : bool, default: False
        Which features make a pair. False pairs feature `i` with ``i + r / 2``, as models of
        Hugging Face do; True pairs ``2 * i`` with ``2 * i + 1``, as the original does. A model was
        trained with one of the two.

    Returns
    -------
    Array
        Array of the shape, dtype and device of `x`. Lengths of pairs stay as they are, and inner
        products of rotated vectors depend on the difference of their positions only.

    Raises
    ------
    ValueError
        If shapes do not fit, the number of features is odd or 0, or `theta` is not positive.
    TypeError
        If an argument is not a portarray array, dtypes are wrong, or both positions and tables are
        given.

    Notes
    -----
    J. Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding" (2021),
    arXiv:2104.09864. A pair ``(a, b)`` becomes
    ``(a * cos - b * sin, a * sin + b * cos)``. float16 and bfloat16 are rotated in float32.

    Examples
    --------
    >>> import portarray as pa
    >>> with pa.device("numpy"):
    ...     x, positions = pa.asarray([[1.0, 0.0]]), pa.asarray([2])
    >>> pa.round(1e4 * pa.kernels.rope(x, positions)).tolist()  # cos(2) and sin(2)
    [[-4161.0, 9093.0]]
    """
    return ROPE(x, positions, tables=tables, theta=theta, interleaved=interleaved)


def rope_tables(
    positions: Array, dimensions: int, /, *, theta: float = 10000.0, dtype: DTypeLike | None = None
) -> tuple[Array, Array]:
    """Compute the cosines and sines that :func:`rope` takes as `tables`.

    Parameters
    ----------
    positions : Array
        Integer array of any shape.
    dimensions : int
        How many features are rotated; an even number.
    theta : float, default: 10000.0
        Base of the angles: ``position * theta ** (-2 * i / dimensions)`` for each `i` below
        ``dimensions / 2``.
    dtype : dtype-like, optional
        Dtype of the tables, which must be that of the arrays to rotate. None means the device's
        default floating-point dtype.

    Returns
    -------
    tuple of Array
        Cosines and sines, each of shape ``positions.shape + (dimensions // 2,)``, on the device of
        `positions`.

    Raises
    ------
    ValueError
        If `dimensions` is odd or not positive, or `theta` is not positive.
    TypeError
        If `positions` is not a portarray array of integers, or `dtype` is not real floating-point.
    DTypeNotSupportedError
        If the device lacks `dtype`.

    Notes
    -----
    Angles are computed in float64. Where a device has no float64, whole turns are taken off in
    exact steps, and the angles are as good as float32 allows at any position below 2**31.

    Examples
    --------
    >>> import portarray as pa
    >>> positions = pa.asarray([0, 1], device="numpy")
    >>> cos, sin = pa.kernels.rope_tables(positions, 2)
    >>> pa.round(1e4 * cos).tolist(), pa.round(1e4 * sin).tolist()
    ([[10000.0], [5403.0]], [[0.0], [8415.0]])
    """
    cos, sin = ROPE_TABLES.several(positions, dimensions=dimensions, theta=theta, dtype=dtype)
    return cos, sin
