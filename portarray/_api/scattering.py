"""Functions that combine values with the elements at indices, which may repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from portarray._api import arguments
from portarray._api.creation.ranges import arange
from portarray._api.creation.values import asarray
from portarray._api.data_type import astype, isdtype, result_type
from portarray._api.indexing import take
from portarray._api.manipulation.order import moveaxis, permute_dims
from portarray._api.manipulation.shapes import broadcast_to, reshape
from portarray._array import interop, operands, slow_path
from portarray._array.array import Array

if TYPE_CHECKING:
    from portarray.typing import Scalar

__all__ = ["scatter_add", "scatter_max", "scatter_min", "scatter_multiply"]


@interop.beyond_standard
def scatter_add(x: Array, indices: Array, values: Array | Scalar, /, *, axis: int = 0) -> Array:
    """Return an array with values added to the elements at indices, which may repeat.

    Parameters
    ----------
    x : Array
        Array with at least one axis, of a numeric dtype. It does not change.
    indices : Array
        Integer array. Negative indices count from the end.
    values : Array or scalar
        What to add, of a dtype that promotes to that of `x`; its shape broadcasts to that of
        ``pa.take(x, indices, axis=axis)``.
    axis : int, default: 0
        The axis that `indices` count along.

    Returns
    -------
    Array
        Array of the shape and dtype of `x`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    TypeError
        If `indices` is not an integer array, or a dtype does not fit.
    ValueError
        If the shape of `values` does not broadcast.
    IndexError
        For an index out of bounds, on devices that check; see :func:`take`.

    See Also
    --------
    take : Elements at indices; its gradient is this function.

    Notes
    -----
    ``x.at[index].add(values)`` takes any index, and ``np.add.at(x, index, values)`` adds in place.
    Integers are exact; the order in which floating-point numbers are added differs between
    devices, and between calls on GPUs of CuPy, JAX, MLX and PyTorch.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.zeros((3,))
    >>> pa.scatter_add(x, pa.asarray([0, 2, 2]), pa.asarray([1.0, 2.0, 3.0])).tolist()
    [1.0, 0.0, 5.0]
    """
    return _scattered("add", x, indices, values, axis)


@interop.beyond_standard
def scatter_multiply(
    x: Array, indices: Array, values: Array | Scalar, /, *, axis: int = 0
) -> Array:
    """Return an array with the elements at indices multiplied by values; indices may repeat.

    Parameters
    ----------
    x : Array
        Array with at least one axis, of a numeric dtype. It does not change.
    indices : Array
        Integer array. Negative indices count from the end.
    values : Array or scalar
        The values, as for :func:`scatter_add`.
    axis : int, default: 0
        The axis that `indices` count along.

    Returns
    -------
    Array
        Array of the shape and dtype of `x`.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.scatter_multiply(pa.ones((2,)), pa.asarray([1, 1]), pa.asarray([2.0, 3.0])).tolist()
    [1.0, 6.0]
    """
    return _scattered("multiply", x, indices, values, axis)


@interop.beyond_standard
def scatter_max(x: Array, indices: Array, values: Array | Scalar, /, *, axis: int = 0) -> Array:
    """Return an array with the larger of the elements at indices and values; indices may repeat.

    Parameters
    ----------
    x : Array
        Array with at least one axis, of a real dtype. It does not change.
    indices : Array
        Integer array. Negative indices count from the end.
    values : Array or scalar
        The values, as for :func:`scatter_add`.
    axis : int, default: 0
        The axis that `indices` count along.

    Returns
    -------
    Array
        Array of the shape and dtype of `x`; NaN where a number is.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.scatter_max(pa.zeros((2,)), pa.asarray([1, 1]), pa.asarray([2.0, -3.0])).tolist()
    [0.0, 2.0]
    """
    return _scattered("max", x, indices, values, axis)


@interop.beyond_standard
def scatter_min(x: Array, indices: Array, values: Array | Scalar, /, *, axis: int = 0) -> Array:
    """Return an array with the smaller of the elements at indices and values; indices may repeat.

    Parameters
    ----------
    x : Array
        Array with at least one axis, of a real dtype. It does not change.
    indices : Array
        Integer array. Negative indices count from the end.
    values : Array or scalar
        The values, as for :func:`scatter_add`.
    axis : int, default: 0
        The axis that `indices` count along.

    Returns
    -------
    Array
        Array of the shape and dtype of `x`; NaN where a number is.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.scatter_min(pa.zeros((2,)), pa.asarray([1, 1]), pa.asarray([2.0, -3.0])).tolist()
    [0.0, -3.0]
    """
    return _scattered("min", x, indices, values, axis)


def _scattered(operation: str, x: Array, indices: Array, values: Any, axis: int) -> Array:
    name = f"scatter_{operation}"
    if not arguments.is_array(x):
        raise operands.refused(x, name, scalars=False)
    if not arguments.is_array(indices):
        raise operands.refused(indices, name, scalars=False)
    axis = arguments.axis(axis, x) % x.ndim
    arguments.indices(indices, "indices")
    others = (*x.shape[:axis], *x.shape[axis + 1 :])
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    values = _fitted(name, operation, x, values, shape)
    # Rows: the axis comes first, and one index for each row of values.
    moved = (*range(axis, axis + indices.ndim), *range(axis))
    values = permute_dims(values, (*moved, *range(len(moved), len(shape))))
    rows = reshape(values, (indices.size, *others))
    places = take(arange(x.shape[axis], device=x.device), reshape(indices, (-1,)))
    combined = slow_path.apply(f"{operation}_at", (moveaxis(x, axis, 0), places, rows))
    return moveaxis(combined, 0, axis)


_KINDS: dict[str, Any] = {
    **dict.fromkeys(("add", "multiply"), ("integral", "real floating", "complex floating")),
    **dict.fromkeys(("max", "min"), ("integral", "real floating")),
}


def _fitted(name: str, operation: str, x: Array, values: Any, shape: tuple[int, ...]) -> Array:
    """Return values as an array of the dtype of x and of a shape."""
    kinds = _KINDS[operation]
    if not isdtype(x.dtype, kinds):
        raise TypeError(
            f"{name}: x has dtype {x.dtype}, which is not {' or '.join(kinds)}\n"
            f"Hint: convert it with pa.astype"
        )
    is_array = arguments.is_array(values)
    if is_array:
        dtype = result_type(x.dtype, values.dtype)
    else:
        if operands.scalar(values) is NotImplemented:
            raise operands.refused(values, name)
        dtype = operands.dtype_with_scalar(x.dtype, values, x.device)
    if dtype != x.dtype:
        described = f"of dtype {values.dtype}" if is_array else repr(values)
        raise TypeError(
            f"{name}: values {described} do not fit x of dtype {x.dtype}\n"
            f"Hint: convert x to {dtype} with pa.astype"
        )
    if not is_array:
        values = asarray(values, dtype=x.dtype, device=x.device)
    return broadcast_to(astype(values, x.dtype, copy=False), shape)
