"""Memory checks for MLX, which crashes when memory runs out.

In builds without a GPU its allocator then returns a null pointer, which MLX writes to; the
allocators for GPUs raise:
https://github.com/ml-explore/mlx/blob/main/mlx/backend/no_gpu/allocator.cpp

MLX is lazy, so the size of each result is compared with the free memory when it is requested.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mlx.core as mx

from portarray.backends.common import machine, sizes
from portarray.backends.types import served_by

_Function = Callable[..., Any]

_FAULTY = not mx.is_available(mx.gpu)
_OWN = type(mx.add)
_WITHIN = "__portarray_within_bounds__"
_FEW = 1 << 20  # elements up to which nothing is checked: querying the system takes too long
_LITTLE = 1 << 22  # bytes, likewise

# Functions that return views or scalars, or check themselves.
_VIEWS = frozenset(
    (
        *("asarray", "broadcast_arrays", "broadcast_to", "expand_dims", "flip", "from_dlpack"),
        *("getitem", "imag", "item", "matrix_transpose", "moveaxis", "permute_dims", "positive"),
        *("real", "reshape", "squeeze", "unstack", "linalg.diagonal", "linalg.matrix_transpose"),
    )
)

# Peak memory in units of the largest operand or result, measured with `mx.get_peak_memory`; 2 for
# other composed functions and transforms, 1 for the rest.
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
    """Raise TooLargeError if there is not enough memory for an array."""
    if nbytes <= _LITTLE or not _FAULTY:
        return
    free = machine.memory().free
    if free is not None and nbytes > free:
        mx.clear_cache()  # cached blocks are only reused for arrays of similar size
        free = machine.memory().free
        if free is not None and nbytes > free:
            raise sizes.TooLargeError(shape, nbytes)


def bounded(name: str, function: _Function, *, arrays: float | None = None) -> _Function:
    """Wrap a function of the standard so that it raises if memory is short.

    ``arrays`` is its peak memory in units of the largest operand or result; known for the standard.
    """
    if name in _VIEWS or not _FAULTY or hasattr(function, _WITHIN):
        return function
    steps = name.startswith("fft.") or served_by(function) == "composed"
    count = arrays or _ARRAYS.get(name, 2 if steps else 1)
    copies_operands = name.startswith("linalg.")  # LAPACK works on copies of the operands
    if count == 1 and type(function) is _OWN:
        return _bounded_row(function)

    def checked(*args: Any, **options: Any) -> Any:
        more = 0
        if count > 1 or copies_operands:
            for operand in args:
                if type(operand) is mx.array and operand.size > _FEW:
                    more = max(more, operand.nbytes)
                    if copies_operands:
                        check(operand.shape, operand.nbytes)
        result = function(*args, **options)
        large = type(result) is mx.array and (more or result.size > _FEW)
        if large and not any(result is operand for operand in args):
            largest = max(more, result.nbytes) if count > 1 else result.nbytes
            check(result.shape, math.ceil(count * largest))
        return result

    return checked


def _bounded_row(function: _Function) -> _Function:
    """Wrap one of MLX's elementwise functions, with fewer checks than :func:`bounded`."""

    def checked(*operands: Any) -> Any:
        result = function(*operands)
        if result.size > _FEW:
            check(result.shape, result.nbytes)
        return result

    return checked


def within_bounds(function: _Function) -> _Function:
    """Mark a function that needs no memory check."""
    setattr(function, _WITHIN, True)
    return function
