"""Native arrays of virtual devices, and NumPy's functions lifted to them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from portarray import _dlpack as dlpack
from portarray._array import host_access
from portarray._devices import discovery
from portarray.testing.virtual import INFO
from portarray.testing.virtual.late import shaped
from portarray.testing.virtual.machine import VirtualDevice, default, find

__all__ = ["Memory", "VirtualArray", "lifted", "new_array"]

Values = np.ndarray[Any, Any]

_NARROWER = {
    "int64": "int32",
    "uint64": "uint32",
    "float64": "float32",
    "complex128": "complex64",
}

_DYNAMIC = frozenset(("nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"))
"""Functions whose result shapes depend on values, besides indexing with masks."""


class Memory:
    """A block of device memory that an array and its views share."""

    __slots__ = ("device", "life", "nbytes")

    def __init__(self, device: VirtualDevice, nbytes: int) -> None:
        self.nbytes = 0  # until it is allocated
        self.device, self.life = device, device.life
        self.nbytes = device.allocate(nbytes)

    def __del__(self) -> None:
        self.device.free(self.nbytes, self.life)


class VirtualArray:
    """An array of a virtual device: NumPy values that NumPy cannot read.

    Operators compute on the device with NumPy's promotion, like CuPy's arrays; functions are in
    :func:`portarray.namespace`.
    """

    __slots__ = ("__weakref__", "_memory", "_values")

    def __init__(self, values: Values, memory: Memory) -> None:
        self._values = values
        self._memory = memory

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        shape: tuple[int, ...] = self._values.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""
        dtype: np.dtype[Any] = self._values.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._values.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._values.size

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self._values.nbytes

    @property
    def device(self) -> VirtualDevice:
        """The device that holds the array."""
        return self._memory.device

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[VirtualArray]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> VirtualArray:
        item: VirtualArray = _GETITEM(self, key)
        return item

    def __setitem__(self, key: Any, value: Any) -> None:
        device = self.device
        if device.traits.immutable:
            raise TypeError(
                f"'VirtualArray' object does not support item assignment: {device}, a virtual "
                f"device, emulates the immutable arrays of {device.traits.library}\n"
                f"Hint: use xp.where, or x[key] = value on a portarray.Array"
            )
        _SETITEM(self, key, value)

    def __bool__(self) -> bool:
        return bool(read(self, "bool", bool))

    def __int__(self) -> int:
        return int(read(self, "int", int))

    def __float__(self) -> float:
        return float(read(self, "float", float))

    def __complex__(self) -> complex:
        return complex(read(self, "complex", complex))

    def __index__(self) -> int:
        return operator.index(read(self, "index", operator.index))

    def __array__(self, dtype: object = None, copy: object = None) -> Values:
        """Raise unless the memory is readable by the host."""
        device = self.device
        if not device.traits.host_readable:
            raise TypeError(
                f"Implicit conversion to a NumPy array is not allowed: NumPy cannot read the "
                f"memory of {device}, a virtual device\n"
                f"Hint: copy it first: pa.asarray(x, device='numpy').native"
            )
        report_copy(device, "numpy.asarray")
        return np.array(self._values, dtype=dtype)  # type: ignore[call-overload,no-any-return]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Compute NumPy's ufuncs on the device; raise for NumPy arrays."""
        return lifted(getattr(ufunc, method), f"numpy.{ufunc.__name__}")(*inputs, **options)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a capsule labelled with a device index that does not exist.

        For the CPU as target it is a copy in host memory.
        """
        device = self.device
        device.check_alive(self._memory.life)
        own_device = self.__dlpack_device__()
        target = own_device if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
        if target not in (own_device, dlpack.CPU):
            raise BufferError(
                f"__dlpack__: dl_device={target}, but an array on {device}, a virtual device, can "
                f"be exported only to {own_device} and to the CPU, {dlpack.CPU}"
            )
        if target != own_device and copy is False:
            raise BufferError(f"copy=False, but the array on {device} must be moved first")
        if target == own_device != dlpack.CPU:
            return dlpack.labelled(
                self._exported(copy).__dlpack__(max_version=max_version), own_device
            )
        report_copy(device, "DLPack")
        return self._exported(copy).__dlpack__(max_version=max_version)

    def _exported(self, copy: bool | None) -> Values:
        """Return the values for a consumer, which may modify them."""
        return self._values if copy is False else self._values.copy()

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's device type and an index that no real device has."""
        traits = self.device.traits
        return dlpack.CPU if traits.host_readable else (traits.dlpack, 1000 + self.device.index)

    def __repr__(self) -> str:
        return f"VirtualArray({self._values!r}, device={str(self.device)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        device = self.device
        report_copy(device, "pickle")
        return _unpickled, (self._values.copy(), device.platform, device.index)

    __hash__ = None  # type: ignore[assignment]


def read(x: VirtualArray, kind: str, convert: Callable[[Any], Any]) -> Any:
    """Convert an array's only element to a Python scalar, waiting for the device."""
    x.device.check_alive(x._memory.life)
    report_copy(x.device, kind)
    return convert(x._values)


def report_copy(device: VirtualDevice, kind: str, *, to_host: bool = True) -> None:
    """Report a copy of a native array; portarray.Array reports its own copies."""
    if host_access.LISTENERS or kind in host_access.REFUSED:
        reported = discovery.get_device(INFO.library, device.platform, device.index)
        host_access.tell(kind, reported, to_host=to_host)
    device.wait()


def new_array(values: Values, device: VirtualDevice) -> VirtualArray:
    """Return values as an array in new device memory."""
    if device.traits.immutable:
        values.flags.writeable = False
    return VirtualArray(values, Memory(device, values.nbytes))


def _unpickled(values: Values, platform: str, index: int) -> VirtualArray:
    device = find(platform, index)
    report_copy(device, "unpickle", to_host=False)
    return new_array(values, device)


def lifted(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Lift a function of NumPy arrays to arrays of virtual devices."""
    dynamic = name in _DYNAMIC
    indexing = name == "getitem"

    @functools.wraps(function, updated=())
    def on_device(*args: Any, **options: Any) -> Any:
        arrays: list[VirtualArray] = []
        requested = options.pop("device", None)
        bare = [_bare(x, arrays, name) for x in args]
        options = {key: _bare(x, arrays, name) for key, x in options.items()}
        device = _common(arrays, requested, name)
        if device is None:  # neither arrays nor a device
            out = function(*bare, **options)
            return _wrapped(out, default(), arrays) if isinstance(out, np.ndarray) else out
        device.called(name, entered=not arrays)
        if not device.traits.dynamic_shapes and (dynamic or (indexing and _has_mask(bare[1]))):
            _refuse_dynamic(name, device)
        for dtype in (*bare, *options.values()):
            if isinstance(dtype, np.dtype):
                _check_dtype(dtype, device)
        try:
            out = function(*bare, **options)
        except Exception as error:
            if not device.traits.late:
                raise
            out = shaped(error, function, bare, options)
            device.failure = device.failure or error
        return _wrapped(out, device, arrays)

    return on_device


def _bare(value: Any, arrays: list[VirtualArray], name: str) -> Any:
    """Return the NumPy values of arrays, also in lists and tuples; add the arrays to ``arrays``."""
    kind = type(value)
    if kind is VirtualArray:
        arrays.append(value)
        return value._values
    if kind is tuple or kind is list:
        return kind([_bare(part, arrays, name) for part in value])
    if isinstance(value, np.ndarray):
        if arrays and name in ("getitem", "setitem"):  # copied to the device, as CuPy and JAX do
            report_copy(arrays[0].device, "indexing", to_host=False)
            return value
        raise TypeError(
            f"Unsupported type <class 'numpy.ndarray'>: {name} takes arrays on one virtual device\n"
            f"Hint: copy it there first: xp.asarray(x, device=...)"
        )
    return value


def _common(arrays: list[VirtualArray], requested: Any, name: str) -> VirtualDevice | None:
    """Return the device of a call."""
    if requested is not None and not isinstance(requested, VirtualDevice):
        raise TypeError(f"{name}: device={requested!r} is not a native device such as x.device")
    device: VirtualDevice | None = None
    for x in arrays:
        memory = x._memory
        memory.device.check_alive(memory.life)
        if device is None:
            device = memory.device
        elif memory.device is not device:
            raise ValueError(
                f"{name}: arrays are on {device} and {memory.device}, two virtual devices\n"
                f"Hint: move one of them with x.to_device(...) of a portarray.Array"
            )
    if requested is not None and requested is not device:
        requested.check_alive(requested.life)
        if device is None:
            return requested
        raise ValueError(f"{name}: device={requested}, but an array is on {device}")
    return device


def _check_dtype(dtype: np.dtype[Any], device: VirtualDevice) -> None:
    if dtype.name in device.traits.lacks:
        raise TypeError(
            f"{device}, a virtual device, does not have {dtype.name}, like "
            f"{device.traits.library}\nHint: use {_NARROWER[dtype.name]}"
        )


def _has_mask(key: Any) -> bool:
    parts = key if isinstance(key, tuple) else (key,)
    return any(isinstance(x, bool) or getattr(x, "dtype", None) == np.bool_ for x in parts)


def _refuse_dynamic(name: str, device: VirtualDevice) -> NoReturn:
    """Raise like compilers that need all shapes: JAX raises a subclass of IndexError."""
    if name == "getitem":
        raise IndexError(
            f"boolean masks give shapes that depend on values, which {device}, a virtual device "
            f"with dynamic_shapes=False, refuses\nHint: use xp.where(mask, x, fill)"
        )
    raise TypeError(
        f"{name}: the shape of the result depends on values, which {device}, a virtual device with "
        f"dynamic_shapes=False, refuses\nHint: use xp.where, sorting or sums"
    )


def _root(values: Values) -> Values:
    while isinstance(values.base, np.ndarray):
        values = values.base
    return values


def _wrapped(out: Any, device: VirtualDevice, arrays: list[VirtualArray]) -> Any:
    """Wrap results as arrays of a device; views share the memory of their arrays."""
    if isinstance(out, np.ndarray | np.generic):
        values = np.asarray(out)
        name = values.dtype.name
        if name in device.traits.lacks:
            while name in device.traits.lacks:
                name = _NARROWER[name]
            values = values.astype(name)
        root = _root(values)
        for x in arrays:
            if values is x._values:
                return x
            if root is _root(x._values):
                return VirtualArray(values, x._memory)
        return new_array(values, device)
    if isinstance(out, tuple):
        parts = [_wrapped(part, device, arrays) for part in out]
        return type(out)(*parts) if hasattr(out, "_fields") else tuple(parts)
    if isinstance(out, list):
        return [_wrapped(part, device, arrays) for part in out]
    if arrays and isinstance(out, bool | int | float | complex):
        device.wait()
    return out


_GETITEM = lifted(operator.getitem, "getitem")
_SETITEM = lifted(operator.setitem, "setitem")


def _operator(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    compute = lifted(function, name)

    def method(self: VirtualArray, *others: Any) -> Any:
        if any(hasattr(type(x), "__array_namespace__") for x in others):  # a portarray.Array, say
            return NotImplemented
        return compute(self, *others)

    return method


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: function(y, x)


for _name in ("neg", "pos", "abs", "invert", "lt", "le", "eq", "ne", "gt", "ge"):
    setattr(VirtualArray, f"__{_name}__", _operator(_name, getattr(operator, f"__{_name}__")))
for _name in (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
    *("and", "or", "xor", "lshift", "rshift"),
):
    _function = getattr(operator, f"__{_name}__")
    setattr(VirtualArray, f"__{_name}__", _operator(_name, _function))
    setattr(VirtualArray, f"__r{_name}__", _operator(_name, _reflected(_function)))
