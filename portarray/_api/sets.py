"""Set functions: membership and unique elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._api import arguments
from portarray._array import call
from portarray._result_types import UniqueAllResult, UniqueCountsResult, UniqueInverseResult

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import Scalar


def isin(x1: Array | Scalar, x2: Array | Scalar, /, *, invert: bool = False) -> Array:
    """Test for each element of one array whether another array contains it.

    Parameters
    ----------
    x1 : Array or scalar
        Elements to look for.
    x2 : Array or scalar
        Array, of any shape, to look in. At least one of the two must be an array. They are
        promoted together.
    invert : bool, default: False
        Whether to answer "is not in" instead.

    Returns
    -------
    Array
        Boolean array of the shape of `x1`, 0-d for a scalar.

    Notes
    -----
    Elements are compared as ``equal`` compares them: NaN is in no array, and 0.0 is -0.0.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.isin(pa.asarray([[1, 2], [3, 4]]), pa.asarray([2, 4, 6])).tolist()
    [[False, True], [False, True]]
    >>> pa.isin(pa.asarray([0.0, pa.nan]), pa.asarray([-0.0, pa.nan])).tolist()
    [True, False]
    """
    if invert is not False:
        invert = arguments.flag(invert, "invert")
    return call.aligned("isin", x1, x2, invert=invert)


def unique_all(x: Array, /) -> UniqueAllResult[Array]:
    """Return the unique elements with their places, what rebuilds the array, and their counts.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype; it is read as if flattened.

    Returns
    -------
    UniqueAllResult
        Named tuple ``(values, indices, inverse_indices, counts)``: the unique elements (1-d, dtype
        of `x`), the index of the first occurrence of each in flattened `x`, the index into
        `values` for each element of `x` (shape of `x`), and how often each occurs. The last three
        have the device's index dtype.

    See Also
    --------
    unique_counts, unique_inverse, unique_values : Return only a part of this.

    Notes
    -----
    Each NaN is an element of its own; 0.0 and -0.0 are one element. The order of the elements is
    not part of the contract. The size of the results depends on the data, so a device must be
    waited for.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([3, 1, 3])
    >>> values, indices, inverse_indices, counts = pa.unique_all(x)
    >>> sorted(zip(values.tolist(), indices.tolist(), counts.tolist()))
    [(1, 1, 1), (3, 0, 2)]
    >>> values[inverse_indices].tolist()
    [3, 1, 3]
    """
    return UniqueAllResult(*call.several("unique_all", x))


def unique_counts(x: Array, /) -> UniqueCountsResult[Array]:
    """Return the unique elements and how often each occurs.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype; it is read as if flattened.

    Returns
    -------
    UniqueCountsResult
        Named tuple ``(values, counts)`` of two 1-d arrays: the unique elements in the dtype of
        `x`, and their counts in the device's index dtype.

    Notes
    -----
    Each NaN is an element of its own; 0.0 and -0.0 are one element. The order of the elements is
    not part of the contract.

    Examples
    --------
    >>> import portarray as pa
    >>> values, counts = pa.unique_counts(pa.asarray([[3, 1], [3, 3]]))
    >>> sorted(zip(values.tolist(), counts.tolist()))
    [(1, 1), (3, 3)]
    >>> pa.unique_counts(pa.asarray([pa.nan, pa.nan])).counts.tolist()
    [1, 1]
    """
    return UniqueCountsResult(*call.several("unique_counts", x))


def unique_inverse(x: Array, /) -> UniqueInverseResult[Array]:
    """Return the unique elements and the indices that rebuild the array from them.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype; its elements are read in row-major order.

    Returns
    -------
    UniqueInverseResult
        Named tuple ``(values, inverse_indices)``: the unique elements (1-d, dtype of `x`) and
        indices of the shape of `x`, in the device's index dtype. ``values[inverse_indices]`` is
        `x`.

    Notes
    -----
    Each NaN is an element of its own; 0.0 and -0.0 are one element. The order of the elements is
    not part of the contract.

    Examples
    --------
    >>> import portarray as pa
    >>> values, inverse_indices = pa.unique_inverse(pa.asarray([[20, 10], [20, 30]]))
    >>> inverse_indices.shape
    (2, 2)
    >>> values[inverse_indices].tolist()
    [[20, 10], [20, 30]]
    """
    return UniqueInverseResult(*call.several("unique_inverse", x))


def unique_values(x: Array, /) -> Array:
    """Return the unique elements.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype; it is read as if flattened.

    Returns
    -------
    Array
        1-d array of the dtype of `x`.

    Notes
    -----
    Each NaN is an element of its own; 0.0 and -0.0 are one element. The order of the elements is
    not part of the contract.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.sort(pa.unique_values(pa.asarray([2, 1, 2]))).tolist()
    [1, 2]
    """
    return call.options("unique_values", x)
