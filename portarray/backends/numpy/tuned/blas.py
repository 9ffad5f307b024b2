"""Triangular systems by SciPy's BLAS, where SciPy is installed.

Called through its C interface (``scipy.linalg.cython_blas``): in place, on matrices with a stride
between rows, and without the GIL, which the functions of ``scipy.linalg.blas`` hold.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from portarray.backends.numpy.tuned.blocks import Array

__all__ = ["no_solve", "solve_triangular"]

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_LEAF = 64
"""Unknowns up to which BLAS substitutes; larger systems are split, as products are faster."""


@cache
def _trsm(dtype: str) -> Callable[..., None] | None:
    """Return BLAS's ``trsm``; None if SciPy is missing or its BLAS has 64-bit integers."""
    try:
        capsules = importlib.import_module("scipy.linalg.cython_blas").__pyx_capi__
    except ImportError:
        return None
    capsule = capsules[_LETTERS[dtype] + "trsm"]
    signature, address = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    signature.restype, signature.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    text = signature(capsule)
    if b" int *" not in text:
        return None
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 11)(address(capsule, text))


def _layout(x: Array) -> tuple[Array, bool, int]:
    """Return a matrix that BLAS can read, whether it is row-major, and its leading dimension."""
    for is_row_major, axis in ((True, 0), (False, 1)):
        stride, step = x.strides[axis], x.strides[1 - axis]
        length = x.shape[1 - axis]
        if step == x.itemsize or length == 1:
            if stride >= x.itemsize * length and stride % x.itemsize == 0:
                return x, is_row_major, stride // x.itemsize
            if x.shape[axis] == 1:
                return x, is_row_major, length
    return np.ascontiguousarray(x), True, x.shape[1]


def solve_triangular(
    a: Array, b: Array, /, *, lower: bool, transpose: bool, unit_diagonal: bool
) -> Array:
    """Solve by halves: the unknowns of the first half, then those of the second one."""
    x = np.array(b, order="F" if b.flags.f_contiguous else "C")
    rows = x[:, None] if x.ndim == 1 else x
    _substitute(a.T if transpose else a, rows, lower is not transpose, unit_diagonal)
    return x


def _substitute(a: Array, x: Array, lower: bool, unit_diagonal: bool) -> None:
    n = len(a)
    if n > _LEAF:
        half = -(-n // (2 * _LEAF)) * _LEAF if n > 2 * _LEAF else n // 2
        halves = slice(0, half), slice(half, n)
        first, second = halves if lower else halves[::-1]
        _substitute(a[first, first], x[first], lower, unit_diagonal)
        x[second] -= a[second, first] @ x[first]
        _substitute(a[second, second], x[second], lower, unit_diagonal)
        return
    trsm = _trsm(x.dtype.name)
    assert trsm is not None  # no_solve has checked
    # BLAS expects column-major matrices: of a row-major one it reads the transpose.
    matrix, is_row_major, lda = _layout(a)
    _, from_right, ldb = _layout(x)  # from the right it solves x.T @ a.T = b.T
    is_upper = lower if is_row_major else not lower
    side, is_transposed = (b"R", not is_row_major) if from_right else (b"L", is_row_major)
    flags = (side, b"U" if is_upper else b"L", b"T" if is_transposed else b"N")
    letters = [ctypes.c_char(letter) for letter in (*flags, b"U" if unit_diagonal else b"N")]
    m, k = x.shape[::-1] if from_right else x.shape
    alpha = np.ones((), x.dtype)
    sizes = [ctypes.c_int(value) for value in (m, k, lda, ldb)]
    values: list[Any] = [*letters, *sizes]
    refs = [ctypes.byref(value) for value in values]
    trsm(*refs[:6], alpha.ctypes.data, matrix.ctypes.data, refs[6], x.ctypes.data, refs[7])


def no_solve(a: Array, b: Array, /, **_: Any) -> str:
    """Return why :func:`solve_triangular` cannot take its arguments."""
    if a.ndim > 2 or b.ndim > 2:
        return "it solves with one matrix"
    if not a.size or not b.size:
        return "there is nothing to solve"
    if _trsm(a.dtype.name) is None:
        return "SciPy, whose BLAS it calls, is not installed"
    return ""
