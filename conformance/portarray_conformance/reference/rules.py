"""What every function of the reference shares: operands, promotion, marks, noise and writing."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from portarray_conformance.reference import elementwise, indexing, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.kinds import BOOL, Data, DType, Unsure
from portarray_conformance.reference.noise import Noise

COMPARISONS = frozenset(("equal", "greater", "greater_equal", "less", "less_equal", "not_equal"))
_MIRRORED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
    "equal": "equal",
    "not_equal": "not_equal",
}
_SCALAR_KIND = {bool: "b", int: "i", float: "f", complex: "c"}
_DEFAULTS = {"i": "integral", "f": "real floating", "c": "complex floating"}


class Rules:
    """The settings of one reference, and what its functions have in common."""

    def __init__(
        self,
        dtypes: Sequence[str],
        defaults: Mapping[str, str],
        noise: int | None,
        views: bool | Literal["either"],
        device: Any,
        subnormals: bool,
    ) -> None:
        self.dtypes = {name: kinds.NAMED[name] for name in dtypes}
        self.default = {
            letter: kinds.NAMED[defaults[kind]]
            for letter, kind in _DEFAULTS.items()
            if kind in defaults
        }
        self.index = kinds.NAMED[defaults.get("indexing", defaults["integral"])]
        self.noise = None if noise is None else Noise(noise)
        self.views = views
        self._flushes = not subnormals
        self.device = device
        # By identity: arrays have no hash.
        self.live: Any = _Live() if views == "either" else None
        self.functions: dict[str, Callable[..., Any]] = {}
        self.xp: Any = None
        self.marked = False
        self._available = frozenset(self.dtypes.values())
        self._plans: dict[tuple[str, DType], elementwise.Plan] = {}

    # --- dtypes and devices -------------------------------------------------------------------

    def has(self, dtype: DType) -> bool:
        """Tell whether the device has a dtype."""
        return dtype in self._available

    def available(self, dtype: DType) -> DType:
        """Return a dtype that the device has; an error for others."""
        if not self.has(dtype):
            raise kinds.DTypeNotSupportedError(f"the device has no {dtype}")
        return dtype

    def dtype(self, dtype: Any) -> DType:
        """Return the dtype that a caller named."""
        return self.available(kinds.canonical(dtype))

    def default_of(self, kind: str) -> DType:
        """Return the default dtype of a kind."""
        found = self.default.get(kind)
        if found is None:
            raise kinds.DTypeNotSupportedError(f"the device has no dtype of kind {kind!r}")
        return found

    def place(self, device: Any) -> None:
        """Check a ``device=``."""
        if device is None or device == self.device:
            return
        if isinstance(device, str):
            raise kinds.UnknownDeviceError(f"unknown device {device!r}")
        raise TypeError(f"device={device!r} is no device")

    def with_scalar(self, dtype: DType, value: Any) -> DType:
        """Return the dtype that an array's dtype and a Python number promote to."""
        order = kinds.ORDER[kinds.letter(dtype)]
        if isinstance(value, bool):
            return dtype
        if isinstance(value, int):
            return dtype if order >= 1 else self.default_of("i")
        if isinstance(value, float):
            return dtype if order >= 2 else self.default_of("f")
        if order == 3:
            return dtype
        if order < 2:
            return self.default_of("c")
        return kinds.COMPLEX[dtype]

    # --- operands -----------------------------------------------------------------------------

    def array(self, data: Any, unsure: Data | None = None) -> Array:
        """Return an array of data; marks that mark nothing are dropped."""
        if self._flushes and kinds.letter(np.asarray(data).dtype) in "fc":
            found = _subnormal(np.asarray(data))
            if found.any():
                unsure = found if unsure is None else unsure | found
        if unsure is not None:
            if not unsure.any():
                unsure = None
            else:
                self.marked = True
                unsure = np.array(np.broadcast_to(unsure, np.shape(data)))
        return Array(np.asarray(data), self, unsure)

    def refused(self, x: Any, name: str) -> TypeError:
        return TypeError(f"{name} takes arrays and Python scalars, not {type(x).__name__}")

    def is_array(self, x: Any, name: str) -> Array:
        """Return an array, and refuse anything else."""
        if type(x) is not Array:
            raise self.refused(x, name)
        return x

    def given(self, x: Any, name: str) -> Array:
        """Return an array, or the 0-d array of a scalar."""
        if type(x) is Array:
            return x
        value = kinds.scalar(x)
        if value is None:
            raise self.refused(x, name)
        kind = _SCALAR_KIND[type(value)]
        dtype = BOOL if kind == "b" else self.default_of(kind)
        return self.array(kinds.number(value, dtype))

    def dtype_of(self, name: str, operands: Sequence[Any]) -> DType:
        """Return the dtype that operands promote to."""
        found: DType | None = None
        scalars = []
        for x in operands:
            if type(x) is Array:
                found = x.dtype if found is None else kinds.promote(found, x.dtype)
            else:
                value = kinds.scalar(x)
                if value is None:
                    raise self.refused(x, name)
                scalars.append(value)
        if found is None:
            raise TypeError(f"{name} needs at least one array")
        for value in scalars:
            found = self.with_scalar(found, value)
        return self.available(found)

    def cast(self, x: Any, dtype: DType) -> Data:
        """Return an operand's data in the dtype that operands promote to."""
        if type(x) is Array:
            return x._data if x.dtype == dtype else kinds.rounded(x._data, dtype)
        return kinds.number(kinds.scalar(x), dtype)

    def aligned(self, name: str, *operands: Any) -> list[Array]:
        """Return operands as arrays of the dtype that they promote to."""
        dtype = self.dtype_of(name, operands)
        return [
            Array(self.cast(x, dtype), self, x.unsure if type(x) is Array else None)
            for x in operands
        ]

    # --- elementwise functions ----------------------------------------------------------------

    def unary(self, name: str, x: Any) -> Array:
        """Call an elementwise function of one array."""
        x = self.given(x, name)
        if self.views is not False and (
            (name == "real" and x.dtype != BOOL) or (name == "imag" and x.dtype.kind == "c")
        ):
            return self.array(getattr(x._data, name) if x.dtype.kind == "c" else x._data, x.unsure)
        return self._called(name, x.dtype, (x,))

    def binary(self, name: str, x1: Any, x2: Any) -> Array:
        """Call an elementwise function of two operands."""
        try:
            return self._binary(name, x1, x2)
        except (TypeError, ValueError, OverflowError) as error:
            shapes = [x.shape for x in (x1, x2) if type(x) is Array]
            if not kinds.broadcast(*shapes):
                raise kinds.also(error, ValueError) from None
            raise

    def _binary(self, name: str, x1: Any, x2: Any) -> Array:
        if type(x1) is not Array and type(x2) is not Array:
            x1 = self.given(x1, name)
        dtype = self.dtype_of(name, (x1, x2))
        if name in COMPARISONS and kinds.letter(dtype) in "iu":
            answer = self._compared_outside(name, dtype, x1, x2)
            if answer is not None:
                return answer
        out = self._called(name, dtype, (x1, x2))
        if name.startswith("logical_"):
            for x in (x1, x2):
                # Whether a number is zero is told before or after it is one of the dtype.
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
        number = kinds.scalar(value)
        low, high = kinds.limits(dtype)
        if low <= number <= high:
            return None
        above = number > high
        answer = name == "not_equal" or name.startswith("less" if above else "greater")
        return self.array(np.full(x.shape, answer), x.unsure)

    def _called(self, name: str, dtype: DType, operands: tuple[Any, ...]) -> Array:
        plan = self._plans.get((name, dtype))
        if plan is None:
            plan = self._plans[name, dtype] = elementwise.plan(self, name, dtype)
        data = [self.cast(x, dtype) for x in operands]
        with np.errstate(all="ignore"):
            out, unsure = plan(data, self.noise)
        if self.marked:
            for x in operands:
                if type(x) is Array and x.unsure is not None:
                    mark = np.broadcast_to(x.unsure, out.shape)
                    unsure = mark if unsure is None else unsure | mark
        return self.array(out, unsure)

    # --- calls by name ------------------------------------------------------------------------

    def call(self, name: str, *args: Any, **options: Any) -> Array:
        """Call a function of the namespace that returns one array."""
        out: Array = self.functions[name](*args, **options)
        return out

    def sure(self, *arrays: Any) -> None:
        """Stop where what comes next depends on an undefined value."""
        for x in arrays:
            if type(x) is Array and x.unsure is not None and x.unsure.any():
                raise Unsure

    # --- indexing and writing -----------------------------------------------------------------

    def getitem(self, x: Array, key: Any) -> Array:
        """Return ``x[key]``."""
        found = indexing.normalized(self, x, key)
        unsure = None if x.unsure is None else np.asarray(x.unsure[found])
        return self.array(x._data[found], unsure)

    def setitem(self, x: Array, key: Any, value: Any) -> None:
        """Compute ``x[key] = value``; a refused one changes nothing."""
        try:
            found = indexing.normalized(self, x, key)
        except IndexError as error:
            # Which of several mistakes is named is not promised.
            try:
                self._value(x, value)
            except (TypeError, ValueError, OverflowError) as other:
                raise kinds.also(error, type(other)) from None
            raise kinds.also(error, ValueError) if type(value) is Array else error from None
        new, unsure = self._value(x, value)
        selected = x._data[found]
        if not (new.size or selected.size) and new.ndim > selected.ndim:
            raise Unsure  # NumPy lets nothing of more axes be assigned to nothing
        twice = indexing.repeated(x.shape, found) if type(value) is Array else None
        self._write(x, found, new, unsure, twice)

    def _value(self, x: Array, value: Any) -> tuple[Data, Any]:
        """Return what is assigned in the dtype of x, and its marks."""
        unsure: Any = None
        if type(value) is Array:
            if value.dtype.kind == "c" and x.dtype.kind != "c":
                raise TypeError(f"complex values cannot be assigned into a {x.dtype} array")
            unsure = value.unsure
            new = value._data
            if value.dtype != x.dtype:
                open_ = elementwise.open_cast(new, x.dtype)
                if open_ is not None:
                    unsure = open_ if unsure is None else open_ | unsure
                new = kinds.rounded(new, x.dtype)
            new = new.copy()
        else:
            new = indexing.fill_value(self, value, x.dtype)
        return new, unsure

    def _write(
        self, x: Array, found: tuple[Any, ...], new: Data, unsure: Any, twice: Data | None
    ) -> None:
        data = x._data
        own = self.views is False or not data.flags.writeable or _overlaps_itself(data)
        if own:
            data = data.copy()
        others = [] if self.live is None or own else self.live.sharing(x)
        before = [y._data.copy() for y in others]
        data[found] = new
        x._data = data
        for y, old in zip(others, before, strict=True):
            # Whether a view sees what is written is not promised.
            changed = ~elementwise.identical(old, y._data)
            if changed.any():
                self.marked = True
                y.unsure = changed if y.unsure is None else y.unsure | changed
        if x.unsure is not None or unsure is not None or twice is not None:
            self.marked = True
            marks = np.zeros(x.shape, BOOL) if x.unsure is None else x.unsure.copy()
            marks[found] = False if unsure is None else unsure
            if twice is not None:
                marks |= twice
            x.unsure = marks


def _subnormal(x: Data) -> Data:
    if x.dtype.kind == "c":
        return _subnormal(np.asarray(x.real)) | _subnormal(np.asarray(x.imag))
    size = np.abs(x)
    return np.asarray((size != 0) & (size < 2.0 ** kinds.DIGITS[x.dtype][1]))


def _overlaps_itself(data: Data) -> bool:
    return any(s == 0 and n > 1 for s, n in zip(data.strides, data.shape, strict=True))


class _Live:
    """The arrays that are alive, to find those that share memory."""

    def __init__(self) -> None:
        self._arrays: weakref.WeakValueDictionary[int, Array] = weakref.WeakValueDictionary()

    def add(self, key: int, x: Array) -> None:
        self._arrays[key] = x

    def sharing(self, x: Array) -> list[Array]:
        """Return the other arrays that may share memory with one."""
        return [
            y for y in self._arrays.values() if y is not x and np.may_share_memory(x._data, y._data)
        ]
