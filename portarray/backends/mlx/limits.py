"""Memory that MLX cannot get, refused before it ends the process.

Its allocator for processors, in builds without a GPU, returns a null pointer where the system has
no memory, and what is computed is written there; the allocators for GPUs raise:
https://github.com/ml-explore/mlx/blob/main/mlx/backend/no_gpu/allocator.cpp

MLX computes later than it is asked to, so what can be looked at is the size of each result when it
is asked for, against the memory that is free then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mlx.core as mx

from portarray.backends import machine, sizes
from portarray.backends.types import served_by

_Function = Callable[..., Any]

_FAULTY = not mx.is_available(mx.gpu)
_OWN = type(mx.add)
_WITHIN = "__portarray_within_bounds__"
_FEW = 1 << 20  # elements, and for them asking the system would cost more than it saves
_LITTLE = 1 << 22  # bytes, likewise

# Their results lie in the memory of operands or are numbers, or they look for themselves.
_VIEWS = frozenset(
    (
        *("asarray", "broadcast_arrays", "broadcast_to", "expand_dims", "flip", "from_dlpack"),
        *("getitem", "imag", "item", "matrix_transpose", "moveaxis", "permute_dims", "positive"),
        *("real", "reshape", "squeeze", "unstack", "linalg.diagonal", "linalg.matrix_transpose"),
    )
)

# How many arrays as large as the largest operand or the result are there at once, as measured with
# `mx.get_peak_memory`. All other composed functions and transforms have two, and the rest one.
_ARRAYS: Mapping[str, float] = {
    "argsort": 1.5,
    "copysign": 2,
    "cos": 5,
    "floor_divide": 6,
    "hypot": 9,
    "nextafter": 5,
    "sin": 3,
    "trunc": 3,
}


def check(shape: Sequence[int], nbytes: int) -> None:
    """Refuse an array that there is no memory for.

    Raises
    ------
    MemoryError
        With ``asked``, the bytes that it takes.
    """
    if nbytes <= _LITTLE or not _FAULTY:
        return
    free = machine.memory().free
    if free is not None and nbytes > free:
        mx.clear_cache()  # unused blocks serve arrays of about their size alone
        free = machine.memory().free
        if free is not None and nbytes > free:
            raise sizes.TooLargeError(shape, nbytes)


def bounded(name: str, function: _Function, *, arrays: float | None = None) -> _Function:
    """Return a function of the standard that raises where its result gets no memory.

    Parameters
    ----------
    name : str
        The function's, as the standard has it.
    function : callable
        What serves it.
    arrays : float, optional
        How many arrays as large as the largest operand or the result are there at once, for MLX
        computes it in several steps; of the standard's functions it is known here.
    """
    if name in _VIEWS or not _FAULTY or hasattr(function, _WITHIN):
        return function
    steps = name.startswith("fft.") or served_by(function) == "composed"
    count = arrays or _ARRAYS.get(name, 2 if steps else 1)
    at_once = name.startswith("linalg.")  # by LAPACK, in copies of the operands
    if count == 1 and type(function) is _OWN:
        return _bounded_row(function)

    def checked(*args: Any, **options: Any) -> Any:
        more = 0
        if count > 1 or at_once:
            for one in args:
                if type(one) is mx.array and one.size > _FEW:
                    more = max(more, one.nbytes)
                    if at_once:
                        check(one.shape, one.nbytes)
        result = function(*args, **options)
        large = type(result) is mx.array and (more or result.size > _FEW)
        if large and not any(result is one for one in args):
            largest = max(more, result.nbytes) if count > 1 else result.nbytes
            check(result.shape, math.ceil(count * largest))
        return result

    return checked


def _bounded_row(function: _Function) -> _Function:
    """Return one of MLX's own functions, which rows have alone: called by position, it costs less.

    The result is a new array, as that of all elementwise functions is.
    """

    def checked(*operands: Any) -> Any:
        result = function(*operands)
        if result.size > _FEW:
            check(result.shape, result.nbytes)
        return result

    return checked


def within_bounds(function: _Function) -> _Function:
    """Mark a function whose results are no larger than its operands, and need no memory to tell."""
    setattr(function, _WITHIN, True)
    return function
