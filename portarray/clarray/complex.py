"""Components and conjugates of complex numbers."""

from __future__ import annotations

from portarray.clarray.arguments import array_of
from portarray.clarray.engine.elementwise import unary
from portarray.clarray.engine.operation import Operation, integer
from portarray.clarray.engine.parts import part
from portarray.clarray.strided import Array

_CONJ = Operation(
    "conj",
    {**integer("a"), "real": "a", "complex": "c_conj(a)"},
    needs={"complex": ("real", "complex")},
)
# Views, not kernels; these define which dtypes are accepted.
_IMAG = Operation("imag", {"complex": "a.y"}, result="real")
_REAL = Operation("real", {**integer("a"), "real": "a", "complex": "a.x"}, result="real")


def conj(x: Array, /) -> Array:
    """Return complex conjugates; real numbers as they are, in a new array."""
    return unary(_CONJ, x)


def imag(x: Array, /) -> Array:
    """Return imaginary parts, as a view of the same memory."""
    x = array_of(x, "imag")
    _IMAG.result_dtype(x.dtype)
    return part(x, 1)


def real(x: Array, /) -> Array:
    """Return real parts, as a view of the same memory."""
    x = array_of(x, "real")
    _REAL.result_dtype(x.dtype)
    return part(x, 0) if x.dtype.kind == "c" else x.view(x.shape, x.strides, x.offset)
