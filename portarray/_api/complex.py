"""Parts and conjugates of complex numbers, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._array import call

if TYPE_CHECKING:
    from portarray._array.array import Array


def conj(x: Array, /) -> Array:
    """Return the complex conjugate of each element.

    Parameters
    ----------
    x : Array
        Numbers; any shape. Real numbers are their own conjugates.

    Returns
    -------
    Array
        x's shape and dtype. Whether it shares memory with x depends on the device.

    Raises
    ------
    TypeError
        For booleans.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([1 + 2j, 3 - 4j])
    >>> pa.conj(x).tolist()
    [(1-2j), (3+4j)]
    >>> pa.real(x * pa.conj(x)).tolist()
    [5.0, 25.0]
    """
    return call.unary("conj", x)


def imag(x: Array, /) -> Array:
    """Return the imaginary part of each element.

    Parameters
    ----------
    x : Array
        Complex numbers, of any shape. Real numbers have zeros as imaginary parts.

    Returns
    -------
    Array
        x's shape and the real dtype of x's precision: float32 for complex64. Whether it shares
        memory with x depends on the device.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.imag(pa.asarray([1 + 2j, 3 - 4j])).tolist()
    [2.0, -4.0]
    """
    return call.unary("imag", x)


def real(x: Array, /) -> Array:
    """Return the real part of each element.

    Parameters
    ----------
    x : Array
        Numbers; any shape.

    Returns
    -------
    Array
        x's shape and the real dtype of x's precision: float32 for complex64, and x's own dtype for
        real numbers. Whether it shares memory with x depends on the device.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([1 + 2j, 3 - 4j], dtype=pa.complex64)
    >>> pa.real(x).tolist(), pa.real(x).dtype
    ([1.0, 3.0], dtype('float32'))
    >>> pa.real(pa.asarray([1, 2])).dtype
    dtype('int64')
    """
    return call.unary("real", x)
