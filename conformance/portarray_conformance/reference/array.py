"""The array of the reference: NumPy's memory under portarray's rules."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from portarray_conformance.reference import kinds
from portarray_conformance.reference.kinds import Data, DType, Undefined


class Operations(Protocol):
    """The operations that arrays call; the context of a reference implements them."""

    device: Any
    xp: Any
    live_arrays: Any

    def unary(self, name: str, x: Any) -> Array: ...
    def binary(self, name: str, x1: Any, x2: Any) -> Array: ...
    def call(self, name: str, *args: Any, **options: Any) -> Array: ...
    def dtype_of(self, name: str, operands: Any) -> DType: ...
    def check_device(self, device: Any) -> None: ...
    def getitem(self, x: Array, key: Any) -> Array: ...
    def setitem(self, x: Array, key: Any, value: Any) -> None: ...


def _unary(name: str) -> Callable[[Array], Array]:
    def method(self: Array) -> Array:
        return self._ctx.unary(name, self)

    return method


def _operator(name: str, *, reflected: bool = False) -> Callable[[Array, Any], Any]:
    def method(self: Array, other: Any, /) -> Any:
        if is_foreign(other):
            return NotImplemented
        _require_defined(other)
        return self._ctx.binary(name, *((other, self) if reflected else (self, other)))

    return method


def _require_defined(operand: Any) -> None:
    """Raise Undefined for NumPy arrays, which devices take whose memory is the host's."""
    if isinstance(operand, np.ndarray):
        raise Undefined


def _reflected(name: str) -> Callable[[Array, Any], Any]:
    return _operator(name, reflected=True)


def _inplace(name: str) -> Callable[[Array, Any], Any]:
    def method(self: Array, other: Any, /) -> Any:
        if is_foreign(other):
            return NotImplemented
        _require_defined(other)
        dtype = self._ctx.dtype_of(name, (self, other))
        if kinds.letter(dtype) != kinds.letter(self.dtype):
            error = TypeError(f"in-place {name} gives {dtype}, which {self.dtype} cannot take")
            # The target may report another mistake of the same statement.
            grown = type(other) is Array and not kinds.broadcast(self.shape, other.shape)
            large = type(other) is int and not -(2**63) <= other < 2**63
            raise kinds.with_alternatives(error, *[ValueError] * grown, *[OverflowError] * large)
        return _stored(self, self._ctx.binary(name, self, other), name)

    return method


def _stored(x: Array, result: Array, name: str) -> Array:
    if kinds.letter(result.dtype) != kinds.letter(x.dtype):
        error = TypeError(f"in-place {name} gives {result.dtype}, which {x.dtype} cannot take")
        raise kinds.with_alternatives(error, ValueError) if result.shape != x.shape else error
    if result.shape != x.shape:
        raise ValueError(f"in-place {name} gives shape {result.shape}, and x has {x.shape}")
    x[...] = result
    return x


def is_foreign(x: Any) -> bool:
    """Return whether operators return NotImplemented for an operand."""
    if isinstance(x, (Array, bool, int, float, complex, np.generic, np.ndarray, list, tuple)):
        return False
    return not (hasattr(x, "__dlpack__") or hasattr(x, "__array_namespace__"))


def _reduction(name: str) -> Callable[..., Array]:
    def method(self: Array, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Array:
        _no_out(out)
        return self._ctx.call(name, self, axis=axis, keepdims=keepdims)

    return method


def _no_out(out: object) -> None:
    if out is not None:
        raise TypeError("no out= here; write y[...] = x.sum(...)")


class Array:
    """An array; ``undefined`` is the mask of elements whose value portarray leaves undefined."""

    __slots__ = ("__weakref__", "_ctx", "_data", "undefined")
    __array_ufunc__ = None  # NumPy's operators give way
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: Data, ctx: Operations, undefined: Data | None = None) -> None:
        self._data = data
        self._ctx = ctx
        self.undefined = undefined
        if ctx.live_arrays is not None:
            ctx.live_arrays.add(self)

    @property
    def dtype(self) -> DType:
        dtype: DType = self._data.dtype
        return dtype

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self._data.shape
        return shape

    ndim, size, nbytes, itemsize = (
        property(operator.attrgetter(f"_data.{name}"))
        for name in ("ndim", "size", "nbytes", "itemsize")
    )

    @property
    def device(self) -> Any:
        return self._ctx.device

    @property
    def T(self) -> Array:  # noqa: N802  (the standard's name)
        if self.ndim != 2:
            raise ValueError(f"x.T is for arrays of two axes, and this one has {self.ndim}")
        return self._ctx.call("matrix_transpose", self)

    @property
    def mT(self) -> Array:  # noqa: N802  (the standard's name)
        if self.ndim < 2:
            raise ValueError(f"x.mT needs at least two axes, and this array has {self.ndim}")
        return self._ctx.call("matrix_transpose", self)

    real, imag = property(_unary("real")), property(_unary("imag"))

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
            raise ValueError(f"api_version={api_version!r} is not supported")
        return self._ctx.xp

    def to_device(
        self, device: Any, /, *, stream: Any = None, copy: bool | None = None, narrow: bool = False
    ) -> Array:
        if stream is not None:
            raise ValueError(f"stream={stream!r}; pass None")
        if device is None:
            raise TypeError("to_device(None) does not name a device")
        self._ctx.check_device(device)
        return self.copy() if copy else self

    def __dlpack__(self, **options: Any) -> Any:
        return self._data.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._data.__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Data:
        return np.array(self._data, dtype=dtype, copy=True)

    def __getitem__(self, key: Any, /) -> Array:
        return self._ctx.getitem(self, key)

    def __setitem__(self, key: Any, value: Any, /) -> None:
        self._ctx.setitem(self, key, value)

    def __contains__(self, value: object, /) -> bool:
        equal: Any = self == value
        return bool(equal.any())

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("a 0-d array has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        if not self.ndim:
            raise TypeError("a 0-d array cannot be iterated over")
        return (self[i] for i in range(self.shape[0]))

    def _scalar(self, target: str) -> Any:
        if self.ndim and not (target == "bool" and self.size == 1):
            error = ValueError if target == "bool" else TypeError
            raise error(f"{target}() of an array of shape {self.shape} is not defined")
        if self.dtype.kind == "c" and target in ("int", "float"):
            raise TypeError(f"{target}() of a complex array is not defined")
        return self.item()

    def __bool__(self) -> bool:
        return bool(self._scalar("bool"))

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if kinds.letter(self.dtype) not in "iu":
            raise TypeError(f"only 0-d integer arrays are indices, and this has {self.dtype}")
        return int(self._scalar("index"))

    __add__, __radd__, __iadd__ = _operator("add"), _reflected("add"), _inplace("add")
    __sub__, __rsub__ = _operator("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _operator("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _operator("divide"), _reflected("divide")
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _reflected("floor_divide")
    __mod__, __rmod__ = _operator("remainder"), _reflected("remainder")
    __pow__, __rpow__ = _operator("pow"), _reflected("pow")
    __and__, __rand__ = _operator("bitwise_and"), _reflected("bitwise_and")
    __or__, __ror__ = _operator("bitwise_or"), _reflected("bitwise_or")
    __xor__, __rxor__ = _operator("bitwise_xor"), _reflected("bitwise_xor")
    __lshift__, __rlshift__ = _operator("bitwise_left_shift"), _reflected("bitwise_left_shift")
    __rshift__, __rrshift__ = _operator("bitwise_right_shift"), _reflected("bitwise_right_shift")
    __isub__, __imul__ = _inplace("subtract"), _inplace("multiply")
    __itruediv__, __ifloordiv__ = _inplace("divide"), _inplace("floor_divide")
    __imod__, __ipow__ = _inplace("remainder"), _inplace("pow")
    __iand__, __ior__, __ixor__ = (_inplace(f"bitwise_{name}") for name in ("and", "or", "xor"))
    __ilshift__ = _inplace("bitwise_left_shift")
    __irshift__ = _inplace("bitwise_right_shift")
    __lt__, __le__ = _operator("less"), _operator("less_equal")
    __gt__, __ge__ = _operator("greater"), _operator("greater_equal")
    __eq__, __ne__ = _operator("equal"), _operator("not_equal")

    def __matmul__(self, other: Any, /) -> Any:
        return NotImplemented if is_foreign(other) else self._ctx.call("matmul", self, other)

    def __rmatmul__(self, other: Any, /) -> Any:
        return NotImplemented if is_foreign(other) else self._ctx.call("matmul", other, self)

    def __imatmul__(self, other: Any, /) -> Any:
        if is_foreign(other):
            return NotImplemented
        return _stored(self, self._ctx.call("matmul", self, other), "matmul")

    __neg__, __pos__ = _unary("negative"), _unary("positive")
    __abs__, __invert__, conj = _unary("abs"), _unary("bitwise_invert"), _unary("conj")

    def sum(
        self, axis: Any = None, dtype: Any = None, out: None = None, *, keepdims: bool = False
    ) -> Array:
        _no_out(out)
        return self._ctx.call("sum", self, axis=axis, dtype=dtype, keepdims=keepdims)

    def mean(
        self, axis: Any = None, dtype: Any = None, out: None = None, *, keepdims: bool = False
    ) -> Array:
        _no_out(out)
        x = self if dtype is None else self.astype(dtype, copy=False)
        return self._ctx.call("mean", x, axis=axis, keepdims=keepdims)

    max, min, any, all = (_reduction(name) for name in ("max", "min", "any", "all"))

    def reshape(self, *shape: Any, copy: bool | None = None) -> Array:
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return self._ctx.call("reshape", self, sizes, copy=copy)

    def squeeze(self, axis: Any = None) -> Array:
        if axis is None:
            axis = tuple(i for i, n in enumerate(self.shape) if n == 1)
        return self._ctx.call("squeeze", self, axis)

    def astype(self, dtype: Any, *, copy: bool = True) -> Array:
        return self._ctx.call("astype", self, dtype, copy=copy)

    def copy(self) -> Array:
        return self._ctx.call("asarray", self, copy=True)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Array:
        return self.copy()

    def _require_defined(self) -> None:
        """Raise Undefined if any element is undefined: the next step depends on it."""
        if self.undefined is not None and self.undefined.any():
            raise Undefined

    def item(self) -> Any:
        if self.size != 1:
            raise ValueError(f"item() is for arrays of one element, and this has {self.shape}")
        self._require_defined()
        value = self._data.reshape(())[()]
        return float(value) if self.dtype == kinds.BFLOAT16 else value.item()

    def tolist(self) -> Any:
        values = self._data
        if values.dtype == kinds.BFLOAT16:
            values = values.astype(np.float64)
        return values.tolist()

    def __repr__(self) -> str:
        return f"Array({self._data!r})"

    def __format__(self, spec: str, /) -> str:
        if self.ndim == 0:
            return format(self.item(), spec)
        if spec:
            raise TypeError(f"format specification {spec!r} is for 0-d arrays")
        return str(self)
