"""Products and triangular systems by SciPy's BLAS, where SciPy is installed.

Called by its C interface (``scipy.linalg.cython_blas``): in place, on matrices with a stride
between rows, and without Python's lock, which the functions of ``scipy.linalg.blas`` hold.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from portarray.backends.numpy.tuned.blocks import Array

__all__ = ["gemm", "no_gemm", "no_solve", "solve_triangular"]

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_KINDS: dict[str, Any] = {
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "complex64": ctypes.c_float * 2,
    "complex128": ctypes.c_double * 2,
}
_ARGUMENTS = {"gemm": 13, "trsm": 11}
_LEAF = 64
"""Unknowns up to which BLAS substitutes; more are split, as products are faster."""

_NO_SCIPY = "SciPy, whose BLAS it calls, is not installed"


@cache
def _routine(name: str, dtype: str) -> Callable[..., None] | None:
    """Return a routine of BLAS; None where SciPy is missing, or its integers are others."""
    try:
        table = importlib.import_module("scipy.linalg.cython_blas").__pyx_capi__
    except ImportError:
        return None
    capsule = table[_LETTERS[dtype] + name]
    signature, address = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    signature.restype, signature.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    text = signature(capsule)
    if b" int *" not in text:
        return None
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * _ARGUMENTS[name])
    return function(address(capsule, text))


def _number(value: complex, dtype: str) -> Any:
    kind = _KINDS[dtype]
    return kind(value.real, value.imag) if dtype[0] == "c" else kind(value)


def _layout(x: Array) -> tuple[Array, bool, int]:
    """Return a matrix that BLAS reads, whether it lies row by row, and the stride of its lines."""
    item = x.itemsize
    for by_rows, place in ((True, 0), (False, 1)):
        line, step = x.strides[place], x.strides[1 - place]
        length = x.shape[1 - place]
        if (step == item or length == 1) and line >= item * length and line % item == 0:
            return x, by_rows, line // item
        if (step == item or length == 1) and x.shape[place] == 1:
            return x, by_rows, length
    copied = np.ascontiguousarray(x)
    return copied, True, copied.shape[1]


def _ints(*values: int) -> list[Any]:
    return [ctypes.c_int(value) for value in values]


def _by(*arguments: Any) -> list[Any]:
    """Return references, which Fortran's routines take; addresses of arrays as they are."""
    return [one if type(one) is int else ctypes.byref(one) for one in arguments]


def _text(value: bytes) -> Any:
    return ctypes.c_char(value)


def _product(a: Array, b: Array, c: Array, alpha: complex, beta: complex) -> None:
    """Compute ``c = alpha * a @ b + beta * c`` in the memory of c, which is one of its lines."""
    name = c.dtype.name
    routine = _routine("gemm", name)
    assert routine is not None  # asked before
    _, by_rows, line = _layout(c)
    if by_rows:  # BLAS counts by columns: of the transposed product
        a, b, c = b.T, a.T, c.T
    first, first_rows, first_line = _layout(a)
    second, second_rows, second_line = _layout(b)
    m, n, k, lda, ldb, ldc = _ints(*c.shape, a.shape[1], first_line, second_line, line)
    routine(
        *_by(_text(b"T" if first_rows else b"N"), _text(b"T" if second_rows else b"N")),
        *_by(m, n, k, _number(alpha, name), first.ctypes.data, lda, second.ctypes.data, ldb),
        *_by(_number(beta, name), c.ctypes.data, ldc),
    )


def gemm(
    a: Array,
    b: Array,
    /,
    *,
    out: Array | None,
    alpha: complex,
    beta: complex,
    transpose_a: bool,
    transpose_b: bool,
    in_place: bool,
) -> Array:
    """Return ``alpha * a @ b + beta * out``, in the memory of ``out`` where that is asked."""
    first, second = a.T if transpose_a else a, b.T if transpose_b else b
    target = out if out is not None and in_place and _is_apart(out, a, b) else None
    if target is None:
        if out is None or beta == 0:
            target = np.empty((first.shape[0], second.shape[1]), a.dtype)
        else:
            target = out.copy(order="C")
    _product(first, second, target, alpha, beta)
    return target


def _is_apart(out: Array, *others: Array) -> bool:
    """Tell whether a matrix can be written where it is."""
    lines, _, _ = _layout(out)
    return lines is out and not any(np.may_share_memory(out, other) for other in others)


def no_gemm(a: Array, b: Array, /, **_: Any) -> str:
    """Say why not."""
    if not a.size or not b.size:
        return "there is nothing to add up"
    return "" if _routine("gemm", a.dtype.name) is not None else _NO_SCIPY


def solve_triangular(
    a: Array, b: Array, /, *, lower: bool, transpose: bool, unit_diagonal: bool
) -> Array:
    """Solve by halves: the unknowns of one, then of the other with these."""
    x = np.array(b, order="F" if b.flags.f_contiguous else "C")
    rows = x[:, None] if x.ndim == 1 else x
    _substitute(a.T if transpose else a, rows, lower is not transpose, unit_diagonal)
    return x


def _substitute(a: Array, x: Array, lower: bool, unit: bool) -> None:
    n = len(a)
    if n > _LEAF:
        half = -(-n // (2 * _LEAF)) * _LEAF if n > 2 * _LEAF else n // 2
        parts = slice(0, half), slice(half, n)
        first, last = parts if lower else parts[::-1]
        _substitute(a[first, first], x[first], lower, unit)
        _product(a[last, first], x[first], x[last], -1.0, 1.0)
        _substitute(a[last, last], x[last], lower, unit)
        return
    name = x.dtype.name
    routine = _routine("trsm", name)
    assert routine is not None  # asked before
    # BLAS counts by columns: of matrices that lie row by row it has the transpose.
    matrix, by_rows, line = _layout(a)
    _, right, step = _layout(x)  # from the right it solves x.T @ a.T = b.T
    upper = lower if by_rows else not lower
    side, turned = (b"R", not by_rows) if right else (b"L", by_rows)
    m, k, lda, ldb = _ints(*(x.shape[::-1] if right else x.shape), line, step)
    routine(
        *_by(_text(side), _text(b"U" if upper else b"L"), _text(b"T" if turned else b"N")),
        *_by(_text(b"U" if unit else b"N"), m, k, _number(1.0, name), matrix.ctypes.data, lda),
        *_by(x.ctypes.data, ldb),
    )


def no_solve(a: Array, b: Array, /, **_: Any) -> str:
    """Say why not."""
    if a.ndim > 2 or b.ndim > 2:
        return "it solves with one matrix"
    if not a.size or not b.size:
        return "there is nothing to solve"
    return "" if _routine("trsm", a.dtype.name) is not None else _NO_SCIPY
