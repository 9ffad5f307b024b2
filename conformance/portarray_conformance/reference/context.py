"""Operations shared by the functions of the reference: promotion, noise, indexing, marks."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from portarray_conformance.reference import elementwise, indexing, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.kinds import BOOL, Data, DType, Undefined
from portarray_conformance.reference.noise import Noise
from portarray_conformance.reference.settings import Settings

_MIRRORED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "equal": "equal",
    "greater": "less",
    "greater_equal": "less_equal",
    "not_equal": "not_equal",
}
"""Comparisons, each with the comparison that gives the same result for exchanged operands."""
_SCALAR_KIND = {bool: "b", int: "i", float: "f", complex: "c"}


class Context(Settings):
    """The state and shared operations of one reference."""

    def __init__(
        self,
        dtypes: Sequence[str],
        defaults: Mapping[str, str],
        noise: int | None,
        views: bool | Literal["either"],
        device: Any,
        subnormals: bool,
    ) -> None:
        super().__init__(dtypes, defaults, device)
        self.noise = None if noise is None else Noise(noise)
        self.views = views
        self._flushes = not subnormals
        self.live_arrays = _LiveArrays() if views == "either" else None
        self.functions: dict[str, Callable[..., Any]] = {}
        self.xp: Any = None
        self.marked = False
        self._plans: dict[tuple[str, DType], elementwise.Plan] = {}

    def array(self, data: Any, undefined: Data | None = None) -> Array:
        """Return an array of data; masks without any True are dropped."""
        if self._flushes and kinds.letter(np.asarray(data).dtype) in "fc":
            subnormal = _subnormal(np.asarray(data))
            if subnormal.any():
                undefined = subnormal if undefined is None else undefined | subnormal
        if undefined is not None:
            if not undefined.any():
                undefined = None
            else:
                self.marked = True
                undefined = np.array(np.broadcast_to(undefined, np.shape(data)))
        return Array(np.asarray(data), self, undefined)

    def require_array(self, x: Any, name: str) -> Array:
        """Return an array; a TypeError for anything else."""
        if type(x) is not Array:
            raise kinds.not_array(x, name)
        return x

    def as_array(self, x: Any, name: str) -> Array:
        """Return an array, or the 0-d array of a scalar."""
        if type(x) is Array:
            return x
        value = kinds.scalar(x)
        if value is None:
            raise kinds.not_array(x, name)
        kind = _SCALAR_KIND[type(value)]
        dtype = BOOL if kind == "b" else self.default_of(kind)
        return self.array(kinds.rounded_number(value, dtype))

    def dtype_of(self, name: str, operands: Sequence[Any]) -> DType:
        """Return the dtype that operands promote to."""
        dtype: DType | None = None
        scalars = []
        for x in operands:
            if type(x) is Array:
                dtype = x.dtype if dtype is None else kinds.promote(dtype, x.dtype)
            else:
                value = kinds.scalar(x)
                if value is None:
                    raise kinds.not_array(x, name)
                scalars.append(value)
        if dtype is None:
            raise TypeError(f"{name} needs at least one array")
        for value in scalars:
            dtype = self.with_scalar(dtype, value)
        return self.available(dtype)

    def cast(self, x: Any, dtype: DType) -> Data:
        """Return an operand's data in the dtype that operands promote to."""
        if type(x) is Array:
            return x._data if x.dtype == dtype else kinds.rounded(x._data, dtype)
        return kinds.rounded_number(kinds.scalar(x), dtype)

    def aligned(self, name: str, *operands: Any) -> list[Array]:
        """Return operands as arrays of the dtype that they promote to."""
        dtype = self.dtype_of(name, operands)
        return [
            Array(self.cast(x, dtype), self, x.undefined if type(x) is Array else None)
            for x in operands
        ]

    def unary(self, name: str, x: Any) -> Array:
        """Call an elementwise function of one array."""
        x = self.as_array(x, name)
        if self.views is not False and (
            (name == "real" and x.dtype != BOOL) or (name == "imag" and x.dtype.kind == "c")
        ):
            return self.array(
                getattr(x._data, name) if x.dtype.kind == "c" else x._data, x.undefined
            )
        return self._apply(name, x.dtype, (x,))

    def binary(self, name: str, x1: Any, x2: Any) -> Array:
        """Call an elementwise function of two operands."""
        try:
            return self._binary(name, x1, x2)
        except (TypeError, ValueError, OverflowError) as error:
            shapes = [x.shape for x in (x1, x2) if type(x) is Array]
            if not kinds.broadcast(*shapes):
                raise kinds.with_alternatives(error, ValueError) from None
            raise

    def _binary(self, name: str, x1: Any, x2: Any) -> Array:
        if type(x1) is not Array and type(x2) is not Array:
            x1 = self.as_array(x1, name)
        dtype = self.dtype_of(name, (x1, x2))
        if name in _MIRRORED and kinds.letter(dtype) in "iu":
            answer = self._compared_outside(name, dtype, x1, x2)
            if answer is not None:
                return answer
        out = self._apply(name, dtype, (x1, x2))
        if name.startswith("logical_"):
            for x in (x1, x2):
                # A number may be compared with zero before or after its conversion.
                if type(x) is not Array and kinds.scalar(x) and not self.cast(x, dtype):
                    return self.array(out._data, np.ones(out.shape, BOOL))
        return out

    def _compared_outside(self, name: str, dtype: DType, x1: Any, x2: Any) -> Array | None:
        """Compare with an integer that the dtype cannot hold; None if it can."""
        x, value = x1, x2
        if type(x1) is not Array:
            x, value, name = x2, x1, _MIRRORED[name]
        if type(value) is Array or type(x) is not Array:
            return None
        scalar = kinds.scalar(value)
        low, high = kinds.limits(dtype)
        if low <= scalar <= high:
            return None
        above = scalar > high
        answer = name == "not_equal" or name.startswith("less" if above else "greater")
        return self.array(np.full(x.shape, answer), x.undefined)

    def _apply(self, name: str, dtype: DType, operands: tuple[Any, ...]) -> Array:
        plan = self._plans.get((name, dtype))
        if plan is None:
            plan = self._plans[name, dtype] = elementwise.plan(self, name, dtype)
        data = [self.cast(x, dtype) for x in operands]
        with np.errstate(all="ignore"):
            out, undefined = plan(data, self.noise)
        if self.marked:
            for x in operands:
                if type(x) is Array and x.undefined is not None:
                    mark = np.broadcast_to(x.undefined, out.shape)
                    undefined = mark if undefined is None else undefined | mark
        return self.array(out, undefined)

    def call(self, name: str, *args: Any, **options: Any) -> Array:
        """Call a function of the namespace that returns one array."""
        out: Array = self.functions[name](*args, **options)
        return out

    def getitem(self, x: Array, key: Any) -> Array:
        """Return ``x[key]``."""
        index = indexing.normalized(x, key)
        undefined = None if x.undefined is None else np.asarray(x.undefined[index])
        return self.array(x._data[index], undefined)

    def setitem(self, x: Array, key: Any, value: Any) -> None:
        """Compute ``x[key] = value``; a refused one changes nothing."""
        try:
            index = indexing.normalized(x, key)
        except IndexError as error:
            # Which of several mistakes is named is not promised.
            try:
                self._assigned_values(x, value)
            except (TypeError, ValueError, OverflowError) as second:
                raise kinds.with_alternatives(error, type(second)) from None
            raise (
                kinds.with_alternatives(error, ValueError) if type(value) is Array else error
            ) from None
        new, undefined = self._assigned_values(x, value)
        selected = x._data[index]
        if not (new.size or selected.size) and new.ndim > selected.ndim:
            raise Undefined  # NumPy rejects empty values of more axes than an empty selection
        twice = indexing.repeated(x.shape, index) if type(value) is Array else None
        self._write(x, index, new, undefined, twice)

    def _assigned_values(self, x: Array, value: Any) -> tuple[Data, Any]:
        """Return the values to assign in the dtype of x, and the mask of undefined ones."""
        undefined: Any = None
        if type(value) is Array:
            if value.dtype.kind == "c" and x.dtype.kind != "c":
                raise TypeError(f"complex values cannot be assigned into a {x.dtype} array")
            undefined = value.undefined
            new = value._data
            if value.dtype != x.dtype:
                open_ = elementwise.open_cast(new, x.dtype)
                if open_ is not None:
                    undefined = open_ if undefined is None else open_ | undefined
                new = kinds.rounded(new, x.dtype)
            new = new.copy()
        else:
            new = indexing.fill_value(value, x.dtype)
        return new, undefined

    def _write(
        self, x: Array, index: tuple[Any, ...], new: Data, undefined: Any, twice: Data | None
    ) -> None:
        data = x._data
        copied = self.views is False or not data.flags.writeable or _overlaps_itself(data)
        if copied:
            data = data.copy()
        views = [] if self.live_arrays is None or copied else self.live_arrays.sharing(x)
        previous = [y._data.copy() for y in views]
        data[index] = new
        x._data = data
        for y, old in zip(views, previous, strict=True):
            # Whether a view sees the write is not promised.
            changed = ~elementwise.identical(old, y._data)
            if changed.any():
                self.marked = True
                y.undefined = changed if y.undefined is None else y.undefined | changed
        if x.undefined is not None or undefined is not None or twice is not None:
            self.marked = True
            marks = np.zeros(x.shape, BOOL) if x.undefined is None else x.undefined.copy()
            marks[index] = False if undefined is None else undefined
            if twice is not None:
                marks |= twice
            x.undefined = marks


def _subnormal(x: Data) -> Data:
    if x.dtype.kind == "c":
        return _subnormal(np.asarray(x.real)) | _subnormal(np.asarray(x.imag))
    size = np.abs(x)
    return np.asarray((size != 0) & (size < 2.0 ** kinds.DIGITS[x.dtype][1]))


def _overlaps_itself(data: Data) -> bool:
    return any(s == 0 and n > 1 for s, n in zip(data.strides, data.shape, strict=True))


class _LiveArrays:
    """All living arrays by identity (they have no hash), to find those that share memory."""

    def __init__(self) -> None:
        self._arrays: weakref.WeakValueDictionary[int, Array] = weakref.WeakValueDictionary()

    def add(self, x: Array) -> None:
        self._arrays[id(x)] = x

    def sharing(self, x: Array) -> list[Array]:
        """Return the other arrays that may share memory with one."""
        return [
            y for y in self._arrays.values() if y is not x and np.may_share_memory(x._data, y._data)
        ]
