"""Utility functions: tests over whole arrays, and differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never

from portarray import _name_hints
from portarray._api import arguments
from portarray._api.manipulation.joining import concat
from portarray._api.reductions import reduced
from portarray._array import call
from portarray._array.array import Array

if TYPE_CHECKING:
    from portarray.typing import Axes


@_name_hints.hide_var_keywords
def all(
    x: Array, /, *, axis: Axes | None = None, keepdims: bool = False, **unknown: Never
) -> Array:
    """Test whether every element is true.

    Parameters
    ----------
    x : Array
        Array of any dtype. Numbers are true unless they are zero; NaN is true.
    axis : int or tuple of int, optional
        Axes to test along; all of them by default.
    keepdims : bool, default: False
        Whether the tested axes stay, with size 1.

    Returns
    -------
    Array
        Boolean array without the tested axes.

    Notes
    -----
    Of no elements the answer is True.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1.0, 0.0], [pa.nan, 2.0]])
    >>> pa.all(x, axis=1).tolist(), bool(pa.all(x))
    ([False, True], False)
    >>> bool(pa.all(pa.zeros(0)))
    True
    """
    if unknown:
        raise _name_hints.unexpected_keyword(all, unknown)
    if axis is None and keepdims is False:
        return call.unary("all", x)
    return reduced("all", x, axis, keepdims)


@_name_hints.hide_var_keywords
def any(
    x: Array, /, *, axis: Axes | None = None, keepdims: bool = False, **unknown: Never
) -> Array:
    """Test whether some element is true.

    Parameters
    ----------
    x : Array
        Array of any dtype. Numbers are true unless they are zero; NaN is true.
    axis : int or tuple of int, optional
        Axes to test along; all of them by default.
    keepdims : bool, default: False
        Whether the tested axes stay, with size 1.

    Returns
    -------
    Array
        Boolean array without the tested axes.

    Notes
    -----
    Of no elements the answer is False.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[0.0, 0.0], [pa.nan, 0.0]])
    >>> pa.any(x, axis=1).tolist(), bool(pa.any(x))
    ([False, True], True)
    >>> bool(pa.any(pa.zeros(0)))
    False
    """
    if unknown:
        raise _name_hints.unexpected_keyword(any, unknown)
    if axis is None and keepdims is False:
        return call.unary("any", x)
    return reduced("any", x, axis, keepdims)


@_name_hints.hide_var_keywords
def diff(
    x: Array,
    /,
    n: int = 1,
    axis: int = -1,
    *,
    prepend: Array | None = None,
    append: Array | None = None,
    **unknown: Never,
) -> Array:
    """Compute the differences between neighbours along an axis, `n` times over.

    Parameters
    ----------
    x : Array
        Array with at least one axis.
    n : int, default: 1
        How often; 0 returns `x` with what was prepended and appended.
    axis : int, default: -1
        Axis along which neighbours are subtracted.
    prepend, append : Array, optional
        Arrays put before and after `x` along `axis` first. Their shape is that of `x` but for
        `axis`. They are promoted together with `x`.

    Returns
    -------
    Array
        ``x[i + 1] - x[i]`` along `axis`, whose size is `n` smaller, or 0 if it would be negative,
        of the dtype of `x`. For booleans ``x[i + 1] != x[i]``, as in NumPy.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `n` is negative.

    Notes
    -----
    Differences of unsigned integers wrap around. `n` and `axis` may be given by position, as
    NumPy, PyTorch, CuPy and JAX let them; the standard itself has them by name only.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.diff(pa.asarray([1, 4, 9, 16]), n=2).tolist()
    [2, 2]
    """
    if unknown:
        raise _name_hints.unexpected_keyword(diff, unknown)
    axis = arguments.axis(axis, x)
    n = arguments.size(n, "n")
    if prepend is not None or append is not None:
        # Joined here, where all are promoted: libraries neither promote nor do so for n=0.
        prepended, appended = ([] if part is None else [part] for part in (prepend, append))
        parts = [*prepended, x, *appended]
        x = concat(parts, axis=axis)
    elif n == 0 and type(x) is Array:
        x = x.copy()  # libraries return the same memory
    return call.options("diff", x, axis=axis, n=n)
