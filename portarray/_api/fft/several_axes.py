"""Transforms along several axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.exceptions import AxisError

from portarray._api import arguments
from portarray._api.fft.one_axis import NORMS
from portarray._array import call, conversion, operands
from portarray._array.array import Array
from portarray._dispatch import argument_rules

if TYPE_CHECKING:
    from portarray.typing import FftNorm


def fftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: FftNorm = "backward",
) -> Array:
    """Transform along several axes.

    Parameters
    ----------
    x : Array
        Array of any dtype with at least one axis. Integers and booleans are converted to the
        device's default floating-point dtype first.
    s : sequence of int, optional
        Numbers of elements to transform along `axes`: `x` is cut, or padded with zeros, to them;
        -1 keeps the size.
    axes : sequence of int, optional
        Axes to transform along, as many as `s` has sizes. By default the last ``len(s)``, or all
        of them.
    norm : {"backward", "ortho", "forward"}, default: "backward"
        No factor, ``1 / sqrt(n)`` or ``1 / n``, where ``n`` is the product of the sizes.

    Returns
    -------
    Array
        Complex array of the precision of `x`, with the sizes `s` along `axes`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `s` and `axes` differ in length, `x` or `s` has no element along an axis, or `norm` is
        unknown.

    Examples
    --------
    >>> import portarray as pa
    >>> y = pa.fft.fftn(pa.ones((2, 4)))
    >>> y.shape, y.dtype
    ((2, 4), dtype('complex128'))
    >>> pa.abs(y).tolist()
    [[8.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    >>> pa.fft.fftn(pa.ones((2, 4)), s=(8,)).shape
    (2, 8)
    """
    return _several("fft.fftn", x, s, axes, norm)


def ifftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: FftNorm = "backward",
) -> Array:
    """Invert :func:`fftn`.

    Parameters
    ----------
    x : Array
        Array of any dtype with at least one axis. Integers and booleans are converted to the
        device's default floating-point dtype first.
    s : sequence of int, optional
        Numbers of elements to transform along `axes`: `x` is cut, or padded with zeros, to them;
        -1 keeps the size.
    axes : sequence of int, optional
        Axes to transform along, as many as `s` has sizes. By default the last ``len(s)``, or all
        of them.
    norm : {"backward", "ortho", "forward"}, default: "backward"
        Factor ``1 / n``, ``1 / sqrt(n)`` or none, where ``n`` is the product of the sizes.

    Returns
    -------
    Array
        Complex array of the precision of `x`, with the sizes `s` along `axes`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `s` and `axes` differ in length, `x` or `s` has no element along an axis, or `norm` is
        unknown.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> pa.round(pa.real(pa.fft.ifftn(pa.fft.fftn(x)))).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return _several("fft.ifftn", x, s, axes, norm)


def rfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: FftNorm = "backward",
) -> Array:
    """Transform real numbers along several axes, and return the half that is not redundant.

    Parameters
    ----------
    x : Array
        Real array with at least one axis. Integers and booleans are converted to the device's
        default floating-point dtype first.
    s : sequence of int, optional
        Numbers of elements to transform along `axes`: `x` is cut, or padded with zeros, to them;
        -1 keeps the size.
    axes : sequence of int, optional
        Axes to transform along, as many as `s` has sizes. By default the last ``len(s)``, or all
        of them.
    norm : {"backward", "ortho", "forward"}, default: "backward"
        No factor, ``1 / sqrt(n)`` or ``1 / n``, where ``n`` is the product of the sizes.

    Returns
    -------
    Array
        Complex array of the precision of `x`, with the sizes `s` along `axes`, but
        ``s[-1] // 2 + 1`` along the last of them.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `s` and `axes` differ in length, `x` or `s` has no element along an axis, or `norm` is
        unknown.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.ones((4, 6))
    >>> pa.fft.rfftn(x).shape
    (4, 4)
    >>> pa.fft.rfftn(x, axes=(1, 0)).shape
    (3, 6)
    """
    return _several("fft.rfftn", x, s, axes, norm)


def irfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: FftNorm = "backward",
) -> Array:
    """Invert :func:`rfftn`.

    Parameters
    ----------
    x : Array
        Array of any dtype with at least one axis. Integers and booleans are converted to the
        device's default floating-point dtype first.
    s : sequence of int, optional
        Numbers of elements of the *result* along `axes`, by default those of `x`, and
        ``2 * (M - 1)`` for the last. Of `x` as many as needed are used, zeros if there are fewer.
    axes : sequence of int, optional
        Axes to transform along, as many as `s` has sizes. By default the last ``len(s)``, or all
        of them.
    norm : {"backward", "ortho", "forward"}, default: "backward"
        Factor ``1 / n``, ``1 / sqrt(n)`` or none, where ``n`` is the product of the sizes.

    Returns
    -------
    Array
        Real array of the precision of `x`, with the sizes `s` along `axes`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `s` and `axes` differ in length, `x` or `s` has no element along an axis, or `norm` is
        unknown.

    Notes
    -----
    Whether the original had an even or an odd size along the last axis is not to be seen in `x`:
    pass `s` if it was odd.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> half = pa.fft.rfftn(x)
    >>> pa.fft.irfftn(half).shape
    (2, 2)
    >>> pa.round(pa.fft.irfftn(half, s=x.shape)).tolist()
    [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    """
    return _several("fft.irfftn", x, s, axes, norm)


def _several(
    name: str, x: Array, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str
) -> Array:
    """Transform along several axes, after checking what all transforms check."""
    if norm not in NORMS:
        arguments.choice(norm, "norm", NORMS)
    options: dict[str, Any] = {"norm": norm}
    if s is not None:
        sizes = arguments.integers(s, "s")
        axes = tuple(range(-len(sizes), 0)) if axes is None else axes
        options["s"] = sizes
    if axes is None and arguments.is_array(x) and x.ndim == 0:
        raise AxisError(f"{name}: a 0-d array has no axes to transform")
    if axes is not None:
        normalized = tuple([arguments.axis(axis, x) for axis in arguments.integers(axes, "axes")])
        if s is not None and len(normalized) != len(sizes):
            raise ValueError(f"{name}: s={s!r} and axes={axes!r} must have the same length")
        options["axes"] = normalized
    if type(x) is Array:
        argument_rules.check_all_transformed(name, x.shape, options.get("s"), options.get("axes"))
        if options.get("axes") == ():
            # Nothing is computed, and libraries return the same memory, or real numbers.
            return conversion.astype(x, operands.dtype_with_scalar(x.dtype, 1j, x.device))
    return call.options(name, x, **options)
