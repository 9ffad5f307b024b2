"""What the body of a user kernel may call: ``import portarray.kernel_language as kl``.

The functions are for kernels that :func:`portarray.kernel` compiles; called anywhere else, they
raise. The dtypes are NumPy's scalar types. :mod:`portarray.kernel_language.algorithms` provides
algorithms that take a function.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

__all__ = [
    "atomic_add",
    "atomic_compare_exchange",
    "atomic_exchange",
    "atomic_max",
    "atomic_min",
    "barrier",
    "bitcast",
    "bool",
    "complex64",
    "complex128",
    "float16",
    "float32",
    "float64",
    "fma",
    "global_size",
    "group_count",
    "group_index",
    "group_size",
    "index",
    "int8",
    "int16",
    "int32",
    "int64",
    "linear_index",
    "local",
    "local_index",
    "local_linear_index",
    "print",
    "private",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unroll",
]

bool = np.bool_  # a dtype, as in the standard's namespace
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, float32, float64 = np.float16, np.float32, np.float64
complex64, complex128 = np.complex64, np.complex128

if TYPE_CHECKING:
    from portarray.kernel_language import algorithms as algorithms

    bfloat16: type[Any]


def __getattr__(name: str) -> Any:
    """Import ml_dtypes for bfloat16, and the algorithms, on first use."""
    if name == "algorithms":
        return importlib.import_module(f"{__name__}.algorithms")
    if name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _outside(name: str) -> NoReturn:
    raise RuntimeError(
        f"kl.{name} can only be called in kernels\nHint: decorate the function with @pa.kernel"
    )


def index(axis: int | None = None, /) -> Any:
    """Return the work-item's index in the ndrange.

    Parameters
    ----------
    axis : int, optional
        One axis of the ndrange, a constant. The last one is that of neighbouring work-items.

    Returns
    -------
    int or tuple of int
        The index along `axis`. Without `axis` an integer if the ndrange has one axis, else a tuple,
        which indexes arrays: ``y[kl.index()]``.
    """
    _outside("index")


def linear_index() -> int:
    """Return the work-item's row-major index in the ndrange."""
    _outside("linear_index")


def local_index(axis: int | None = None, /) -> Any:
    """Return the work-item's index in its group; see :func:`index`."""
    _outside("local_index")


def local_linear_index() -> int:
    """Return the work-item's row-major index in its group."""
    _outside("local_linear_index")


def group_index(axis: int | None = None, /) -> Any:
    """Return the index of the work-item's group; see :func:`index`."""
    _outside("group_index")


def group_size(axis: int | None = None, /) -> Any:
    """Return the number of work-items in a group; see :func:`index`."""
    _outside("group_size")


def group_count(axis: int | None = None, /) -> Any:
    """Return the number of groups; see :func:`index`."""
    _outside("group_count")


def global_size(axis: int | None = None, /) -> Any:
    """Return the size of the ndrange; see :func:`index`."""
    _outside("global_size")


def local(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """Return memory that the work-items of a group share, uninitialized.

    Parameters
    ----------
    shape : int or tuple of int
        Its shape, a constant.
    dtype : dtype
        Its dtype.

    Returns
    -------
    array
        Assign it to a name at the top level of the kernel.
    """
    _outside("local")


def private(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """Return memory of this work-item alone, uninitialized; see :func:`local`."""
    _outside("private")


def bitcast(x: Any, dtype: Any, /) -> Any:
    """Return the number of a dtype that has the bits of another number of the same size.

    Parameters
    ----------
    x : scalar
        Its dtype is known: ``kl.uint16(...)``, not a literal.
    dtype : dtype
        One of as many bytes.

    Returns
    -------
    scalar
        Such as a float16 of the two bytes of a packed block.
    """
    _outside("bitcast")


def fma(x: Any, y: Any, z: Any, /) -> Any:
    """Return ``x * y + z`` of floating-point numbers, rounded once."""
    _outside("fma")


def barrier() -> None:
    """Wait until all work-items of the group have called it, and make their writes visible.

    Call it at the top level of a kernel, or in loops and branches that all work-items of a group
    take alike. The ndrange of a kernel with barriers is a multiple of the group.
    """
    _outside("barrier")


def atomic_add(x: Any, index: Any, value: Any, /) -> Any:
    """Add to an element atomically, and return its previous value.

    Parameters
    ----------
    x : array
        A parameter, or local memory, of int32, uint32 or float32; of 64 bits where the device has
        such atomic functions.
    index : int or tuple of int
        Index of the element.
    value : scalar
        The number to add.

    Returns
    -------
    scalar
        The previous value. The order of the work-items, and so the rounding of sums, is undefined.
    """
    _outside("atomic_add")


def atomic_min(x: Any, index: Any, value: Any, /) -> Any:
    """Replace an element by the smaller of it and a value; see :func:`atomic_add`."""
    _outside("atomic_min")


def atomic_max(x: Any, index: Any, value: Any, /) -> Any:
    """Replace an element by the larger of it and a value; see :func:`atomic_add`."""
    _outside("atomic_max")


def atomic_exchange(x: Any, index: Any, value: Any, /) -> Any:
    """Replace an element; see :func:`atomic_add`."""
    _outside("atomic_exchange")


def atomic_compare_exchange(x: Any, index: Any, expected: Any, value: Any, /) -> Any:
    """Replace an element that has the expected value; see :func:`atomic_add`.

    Floating-point numbers are compared bit by bit.
    """
    _outside("atomic_compare_exchange")


def print(*values: Any) -> None:  # as Python's
    """Print a line of constant strings and numbers; only in debug mode."""
    _outside("print")


def unroll(numbers: range, /) -> range:
    """Mark a loop, ``for i in kl.unroll(range(4))``, to be unrolled."""
    _outside("unroll")
