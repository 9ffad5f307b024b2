"""Components and conjugates of complex numbers."""

from __future__ import annotations

from portarray.clarray.arguments import array_of
from portarray.clarray.array import Array
from portarray.clarray.engine.elementwise import unary
from portarray.clarray.engine.operation import Operation, integer
from portarray.clarray.engine.parts import part

__all__ = ["conj", "imag", "real"]

_CONJ = Operation(
    "conj",
    {**integer("a"), "real": "a", "complex": "c_conj(a)"},
    needs={"complex": ("real", "complex")},
)
# Views, not kernels: their rows say which dtypes they take.
_IMAG = Operation("imag", {"complex": "a.y"}, result="real")
_REAL = Operation("real", {**integer("a"), "real": "a", "complex": "a.x"}, result="real")


def conj(x: Array, /) -> Array:
    """Return complex conjugates; real numbers as they are, in a new array.

    Parameters
    ----------
    x : Array
        Numeric.

    Returns
    -------
    Array
        Of the dtype of ``x``.

    Raises
    ------
    TypeError
        For bool arrays.
    """
    return unary(_CONJ, x)


def imag(x: Array, /) -> Array:
    """Return imaginary parts, as a view of the same memory.

    Parameters
    ----------
    x : Array
        Complex.

    Returns
    -------
    Array
        Of the dtype of the parts: float32 for complex64.

    Raises
    ------
    TypeError
        For other dtypes.
    """
    x = array_of(x, "imag")
    _IMAG.result_dtype(x.dtype)
    return part(x, 1)


def real(x: Array, /) -> Array:
    """Return real parts, as a view of the same memory.

    Parameters
    ----------
    x : Array
        Numeric.

    Returns
    -------
    Array
        Of the dtype of the parts: float32 for complex64; otherwise of the dtype of ``x``.

    Raises
    ------
    TypeError
        For bool arrays.
    """
    x = array_of(x, "real")
    _REAL.result_dtype(x.dtype)
    return part(x, 0) if x.dtype.kind == "c" else x.view(x.shape, x.strides, x.offset)
