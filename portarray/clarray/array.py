"""The public array: ``Strided`` with operators, conversions and methods."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from portarray.clarray import arithmetic, bitwise, comparison, indexing, interop, operators
from portarray.clarray.engine import elementwise
from portarray.clarray.strided import Strided, class_of_new_arrays


@class_of_new_arrays
class Array(Strided):
    """An n-dimensional array on an OpenCL device, as in the Python array API standard.

    Created by :func:`~portarray.clarray.asarray` and other functions. Basic indexing, ``.T``,
    ``permute_dims`` and ``broadcast_to`` return views.
    """

    __slots__ = ()

    # NumPy's operators return NotImplemented, so that ours are called.
    __array_ufunc__ = None

    __add__, __radd__, __iadd__ = operators.methods(arithmetic.ADD)
    __sub__, __rsub__, __isub__ = operators.methods(arithmetic.SUBTRACT)
    __mul__, __rmul__, __imul__ = operators.methods(arithmetic.MULTIPLY)
    __truediv__, __rtruediv__, __itruediv__ = operators.methods(arithmetic.DIVIDE)
    __floordiv__, __rfloordiv__, __ifloordiv__ = operators.methods(arithmetic.FLOOR_DIVIDE)
    __mod__, __rmod__, __imod__ = operators.methods(arithmetic.REMAINDER)
    __and__, __rand__, __iand__ = operators.methods(bitwise.BITWISE_AND)
    __or__, __ror__, __ior__ = operators.methods(bitwise.BITWISE_OR)
    __xor__, __rxor__, __ixor__ = operators.methods(bitwise.BITWISE_XOR)
    __lshift__, __rlshift__, __ilshift__ = operators.methods(bitwise.BITWISE_LEFT_SHIFT)
    __rshift__, __rrshift__, __irshift__ = operators.methods(bitwise.BITWISE_RIGHT_SHIFT)

    def __pow__(self, other: Array | complex, /) -> Array:
        return operators.pow(self, other)

    def __matmul__(self, other: Array, /) -> Array:
        return operators.matmul(self, other)

    def __lt__(self, other: Array | complex, /) -> Array:
        return operators.binary(comparison.LESS, self, other)

    def __le__(self, other: Array | complex, /) -> Array:
        return operators.binary(comparison.LESS_EQUAL, self, other)

    def __gt__(self, other: Array | complex, /) -> Array:
        return operators.binary(comparison.GREATER, self, other)

    def __ge__(self, other: Array | complex, /) -> Array:
        return operators.binary(comparison.GREATER_EQUAL, self, other)

    def __eq__(self, other: Any, /) -> Array:  # type: ignore[override]
        return operators.binary(comparison.EQUAL, self, other)

    def __ne__(self, other: Any, /) -> Array:  # type: ignore[override]
        return operators.binary(comparison.NOT_EQUAL, self, other)

    # Comparison returns arrays, so arrays are not hashable.
    __hash__ = None  # type: ignore[assignment]

    def __rpow__(self, other: complex, /) -> Array:
        return operators.reflected_pow(self, other)

    def __rmatmul__(self, other: Array, /) -> Array:
        return operators.reflected_matmul(self, other)

    def __ipow__(self, other: Array | complex, /) -> Array:
        return operators.inplace_pow(self, other)

    def __imatmul__(self, other: Array, /) -> Array:
        return operators.inplace_matmul(self, other)

    def __neg__(self) -> Array:
        return elementwise.unary(arithmetic.NEGATIVE, self)

    def __pos__(self) -> Array:
        return elementwise.unary(arithmetic.POSITIVE, self)

    def __abs__(self) -> Array:
        return elementwise.unary(arithmetic.ABS, self)

    def __invert__(self) -> Array:
        return elementwise.unary(bitwise.BITWISE_INVERT, self)

    def __bool__(self) -> bool:
        return bool(operators.scalar(self, "bool"))

    def __int__(self) -> int:
        return int(operators.scalar(self, "int"))

    def __float__(self) -> float:
        return float(operators.scalar(self, "float"))

    def __complex__(self) -> complex:
        return complex(operators.scalar(self, "complex"))

    def __index__(self) -> int:
        return operators.index(self)

    def __repr__(self) -> str:
        return operators.representation(self)

    @property
    def T(self) -> Array:  # noqa: N802
        """A view of a matrix with its axes exchanged; ValueError for anything else."""
        return operators.transposed(self, "T")

    @property
    def mT(self) -> Array:  # noqa: N802
        """A view with the last two axes exchanged; ValueError for fewer axes."""
        return operators.transposed(self, "mT")

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """Return the clarray module; ValueError for unsupported versions of the standard."""
        return operators.namespace(api_version)

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return interop.dlpack(
            self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return interop.dlpack_device(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return interop.array(self, dtype, copy)

    def __reduce__(self) -> tuple[Any, ...]:
        return interop.reduce(self)

    def to_device(self, device: object, /, *, stream: object = None) -> Array:
        """Return the array on another clarray device, or itself if it is there."""
        return interop.to_device(self, device, stream=stream)

    def __getitem__(self, key: Any, /) -> Array:
        return indexing.getitem(self, key)

    def __setitem__(self, key: Any, value: Array | complex, /) -> None:
        indexing.setitem(self, key, value)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a 0-d array has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        if not self.shape:
            raise TypeError("a 0-d array cannot be iterated over")
        return (self[index] for index in range(self.shape[0]))

    def item(self) -> bool | int | float | complex:
        """Return the one element as Python scalar."""
        return indexing.item(self)

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python scalars; of a 0-d array its element."""
        return indexing.tolist(self)
