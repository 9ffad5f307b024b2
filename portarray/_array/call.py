"""The one crossing between portarray and the libraries.

Every call goes: unwrap, check, promote, enter the device, call, translate errors, wrap. The first
branch of :func:`unary` and :func:`binary` is the path of arrays that need nothing but the call, and
its cost is measured in ``benchmarks/overhead.py``; all else is in the functions behind it.

What depends only on the dtype and the device (which function serves, casts, scopes, host
accounting) is decided in :mod:`portarray._array.dispatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from portarray._array import array as _array
from portarray._array import dispatch, dtypes
from portarray._devices import selection
from portarray.errors import DeviceMismatchError, OutOfMemoryError, PortarrayError

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._array.dispatch import Lane
    from portarray._devices.device import Device

__all__ = [
    "apply",
    "binary",
    "binary_operator",
    "create",
    "dtype_beside",
    "floating",
    "host_view",
    "inplace_operator",
    "integral",
    "matmul_inplace",
    "matmul_operator",
    "promote",
    "promoted",
    "reflected_operator",
    "sequence",
    "spread",
    "unary",
    "wrap",
]

_new = object.__new__
_SCALARS = (bool, int, float, complex)
_KIND_OF_SCALAR = {bool: "b", int: "i", float: "f", complex: "c"}
_ORDER = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
_COMPARISONS_OUTSIDE = {
    # Integer comparisons with a Python integer that the dtype cannot hold: the answer when it is
    # (below the range, above the range).
    "equal": (False, False),
    "not_equal": (True, True),
    "less": (False, True),
    "less_equal": (False, True),
    "greater": (True, False),
    "greater_equal": (True, False),
}
_MIRRORED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
    "equal": "equal",
    "not_equal": "not_equal",
}


def wrap(native: Any, device: Device) -> Array:
    """Return a native array of a device as :class:`~portarray.Array`."""
    lanes = dispatch.lanes_of(device)
    out = _new(_array.Array)
    if type(native) is not device.room.devices.ARRAY_TYPE:
        native = _as_array(native, device)
    try:
        out._lane = lanes[native.dtype]
    except KeyError:
        raise TypeError(
            f"{device.room.info.title} dtype {native.dtype} is no dtype of portarray; "
            f"convert the array with {device.room.info.title}'s own functions first"
        ) from None
    out._native = native
    return out


def _as_array(native: Any, device: Device) -> Any:
    """Make an array of what a library returns in an array's place (NumPy's scalars, subclasses)."""
    if isinstance(native, np.generic) and device.room.devices.ARRAY_TYPE is np.ndarray:
        return np.asarray(native)
    if isinstance(native, (np.generic, np.ndarray)):
        return device.room.transfer.from_host(np.asarray(native), device.native, copy=None)
    if isinstance(native, device.room.devices.ARRAY_TYPE):
        return native
    raise TypeError(f"{device.library} returned {type(native).__name__} where an array was due")


def _translated(error: Exception, name: str, device: Device) -> Exception:
    """Return the error that the user sees in a library's error's place."""
    if isinstance(error, PortarrayError):
        return error
    if device.room.devices.is_out_of_memory(error):
        figures = device.room.memory(device.native)
        asked = getattr(error, "asked", None)
        return OutOfMemoryError(str(device), asked=asked, free=figures.free, total=figures.total)
    if isinstance(error, (TypeError, ValueError, IndexError, ArithmeticError, KeyError)):
        return error
    # Libraries raise RuntimeError (and their own classes) for wrong shapes and values; users of
    # every other library expect ValueError there.
    if isinstance(error, RuntimeError) and not isinstance(
        error, (NotImplementedError, RecursionError)
    ):
        return ValueError(f"{name} on {device}: {error}")
    return error


def reraise(error: Exception, name: str, device: Device) -> NoReturn:
    translated = _translated(error, name, device)
    if translated is error:
        raise error
    raise translated from error


# --- elementwise -----------------------------------------------------------------------------


def unary(name: str, x: Any) -> Array:
    """Call an elementwise function of one array."""
    if type(x) is _array.Array:
        lane = x._lane
        try:
            native = lane.functions[name](x._native)
        except Exception as error:  # noqa: BLE001  (translated and raised again)
            reraise(error, name, lane.device)
        if type(native) is lane.array_type:
            out = _new(_array.Array)
            out._native = native
            out._lane = lane if native.dtype is lane.native else lane.lanes[native.dtype]
            return out
        return wrap(native, lane.device)
    return unary(name, _from_scalar(x, name))


def binary(name: str, x1: Any, x2: Any) -> Array:
    """Call an elementwise function of two operands, of which one may be a Python scalar."""
    if type(x1) is _array.Array and type(x2) is _array.Array:
        lane = x1._lane
        if lane is x2._lane:
            try:
                native = lane.functions[name](x1._native, x2._native)
            except Exception as error:  # noqa: BLE001  (translated and raised again)
                reraise(error, name, lane.device)
            if type(native) is lane.array_type:
                out = _new(_array.Array)
                out._native = native
                out._lane = lane if native.dtype is lane.native else lane.lanes[native.dtype]
                return out
            return wrap(native, lane.device)
    return _binary(name, x1, x2)


def _binary(name: str, x1: Any, x2: Any) -> Array:
    """Call a binary function on operands of two dtypes, or on an array and a scalar."""
    if type(x1) is not _array.Array and type(x2) is not _array.Array:
        x1 = _from_scalar(x1, name)
    lane, (first, second) = _common(name, (x1, x2))
    if lane.kind in "iu" and name in _COMPARISONS_OUTSIDE:
        answer = _compared_outside(name, lane, first, second)
        if answer is not None:
            return answer
    return _called(name, lane, (first, second), {})


def _called(name: str, lane: Lane, natives: Sequence[Any], options: dict[str, Any]) -> Any:
    """Call a lane's function and wrap what it returns."""
    try:
        result = lane.functions[name](*natives, **options)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        reraise(error, name, lane.device)
    return _wrapped(result, lane.device)


def _wrapped(result: Any, device: Device) -> Any:
    """Wrap the arrays in a result; containers become tuples."""
    if isinstance(result, (device.room.devices.ARRAY_TYPE, np.generic)):
        return wrap(result, device)
    if isinstance(result, (tuple, list)):
        return tuple(_wrapped(item, device) for item in result)
    return result


# --- operands --------------------------------------------------------------------------------


def scalar(x: Any) -> Any:
    """Return a Python scalar for a Python or NumPy scalar, NotImplemented for anything else."""
    if type(x) in _KIND_OF_SCALAR:
        return x
    if isinstance(x, np.generic):
        item = x.item()
        return item if type(item) in _KIND_OF_SCALAR else NotImplemented
    if isinstance(x, _SCALARS):  # subclasses, like IntEnum
        return next(cls for cls in _SCALARS if isinstance(x, cls))(x)
    return NotImplemented


def refused(x: Any, name: str) -> TypeError:
    """Return the error for an operand that is no array of portarray."""
    kind = type(x)
    what = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    return TypeError(
        f"{name} takes portarray arrays and Python scalars, not {what}; "
        f"make an array of it first: pa.asarray(x, device=...)"
    )


def _from_scalar(x: Any, name: str) -> Array:
    """Make a 0-d array of a scalar on the default device."""
    value = scalar(x)
    if value is NotImplemented:
        raise refused(x, name)
    device = selection.current()
    kind = _KIND_OF_SCALAR[type(value)]
    dtype = dtypes.STANDARD["bool"] if kind == "b" else dispatch.default_dtype(device, kind)
    lane = dispatch.lane_of(device, dtype)
    return wrap(lane.functions["asarray"](value, dtype=lane.native, device=device.native), device)


def checked(value: Any, lane: Lane) -> Any:
    """Return a scalar as the Python type that fits a lane's kind, within its range."""
    if lane.kind in "iu":
        value = int(value)
        limits = np.iinfo(lane.dtype)
        if not limits.min <= value <= limits.max:
            raise OverflowError(
                f"Python integer {value} is out of bounds for {lane.dtype} "
                f"({limits.min} to {limits.max}); convert the array to a wider dtype first"
            )
        return value
    if lane.kind == "f":
        return float(value)
    return complex(value) if lane.kind == "c" else value


def _lane_beside(lane: Lane, value: Any) -> Lane:
    """Return the lane in which an array of ``lane`` meets a Python scalar."""
    kind = _KIND_OF_SCALAR[type(value)]
    if _ORDER[kind] <= _ORDER[lane.kind]:
        return lane
    return dispatch.lane_of(lane.device, dtype_beside(lane.dtype, value, lane.device))


def dtype_beside(dtype: np.dtype[Any], value: Any, device: Device) -> np.dtype[Any]:
    """Return the dtype in which an array of a dtype meets a Python or NumPy scalar."""
    kind = _KIND_OF_SCALAR[type(_scalar(value))]
    own = dtypes.kind_of(dtype)
    if _ORDER[kind] <= _ORDER[own]:
        return dtype
    if kind == "c" and own == "f":
        wide = dtype == dtypes.STANDARD["float64"]
        return dtypes.STANDARD["complex128" if wide else "complex64"]
    return dispatch.default_dtype(device, kind)


def _common(name: str, operands: Sequence[Any]) -> tuple[Lane, list[Any]]:
    """Return the lane that operands promote to, and the operands in it.

    Arrays become native arrays of the lane's dtype, scalars Python scalars of its kind.
    """
    lane: Lane | None = None
    values: list[Any] = []
    for x in operands:
        if type(x) is _array.Array:
            other = x._lane
            if lane is None:
                lane = other
            elif lane is not other:
                if lane.device is not other.device:
                    raise DeviceMismatchError(name, str(lane.device), str(other.device))
                lane = dispatch.lane_of(lane.device, dtypes.promote(lane.dtype, other.dtype))
            values.append(x)
        elif x is None:
            values.append(None)
        else:
            value = scalar(x)
            if value is NotImplemented:
                raise refused(x, name)
            values.append(value)
    if lane is None:
        raise TypeError(f"{name} needs at least one array; make one with pa.asarray(x)")
    for x in values:
        if type(x) is not _array.Array and x is not None:
            lane = _lane_beside(lane, x)
    comparing = lane.kind in "iu" and name in _COMPARISONS_OUTSIDE
    natives = [
        (x._native if x._lane is lane else lane.cast(x._native))
        if type(x) is _array.Array
        else x
        if x is None or comparing
        else checked(x, lane)
        for x in values
    ]
    return lane, natives


def _compared_outside(name: str, lane: Lane, first: Any, second: Any) -> Array | None:
    """Compare an integer array with an integer its dtype cannot hold; None where it can."""
    if not isinstance(second, int):
        if not isinstance(first, int):
            return None
        first, second, name = second, first, _MIRRORED[name]
    limits = np.iinfo(lane.dtype)
    if limits.min <= second <= limits.max:
        return None
    answer = _COMPARISONS_OUTSIDE[name][second > limits.max]
    device = lane.device
    boolean = dispatch.lane_of(device, dtypes.STANDARD["bool"])
    return wrap(
        boolean.functions["full"](
            tuple(first.shape), answer, dtype=boolean.native, device=device.native
        ),
        device,
    )


# --- operators -------------------------------------------------------------------------------


def binary_operator(name: str) -> Callable[[Array, Any], Array]:
    """Return the method behind ``x op other``.

    The body repeats the first branch of :func:`binary`: one call less is a tenth of a small add.
    """

    def operator(self: Array, other: Any, /) -> Array:
        if type(other) is _array.Array:
            lane = self._lane
            if lane is other._lane:
                try:
                    native = lane.functions[name](self._native, other._native)
                except Exception as error:  # noqa: BLE001  (translated and raised again)
                    reraise(error, name, lane.device)
                if type(native) is lane.array_type:
                    out = _new(_array.Array)
                    out._native = native
                    out._lane = lane if native.dtype is lane.native else lane.lanes[native.dtype]
                    return out
                return wrap(native, lane.device)
        elif _is_foreign(other):
            return NotImplemented
        return _binary(name, self, other)

    return operator


def reflected_operator(name: str) -> Callable[[Array, Any], Array]:
    """Return the method behind ``other op x``."""

    def operator(self: Array, other: Any, /) -> Array:
        return NotImplemented if _is_foreign(other) else _binary(name, other, self)

    return operator


def inplace_operator(name: str) -> Callable[[Array, Any], Array]:
    """Return the method behind ``x op= other``; the dtype and shape of x stay."""

    def operator(self: Array, other: Any, /) -> Array:
        if _is_foreign(other):
            return NotImplemented
        lane, (first, second) = _common(name, (self, other))
        if lane is not self._lane:
            raise TypeError(
                f"in-place {name} would change the dtype from {self.dtype} to {lane.dtype}, and "
                f"in-place operators keep it; write x = x op y, or convert the operand first"
            )
        direct = lane.device.room.inplace(name, lane.native)
        if direct is not None:
            if getattr(second, "ndim", 0) > first.ndim or _grows(first, second):
                raise ValueError(_growth(name, first, second))
            try:
                self._native = direct(first, second)
            except Exception as error:  # noqa: BLE001  (translated and raised again)
                reraise(error, name, lane.device)
            return self
        result = _called(name, lane, (first, second), {})
        if result.shape != self.shape:
            raise ValueError(_growth(name, first, second))
        if result._lane is not lane:
            raise TypeError(
                f"in-place {name} would change the dtype from {self.dtype} to {result.dtype}; "
                f"write x = x op y"
            )
        self[...] = result
        return self

    return operator


def _grows(first: Any, second: Any) -> bool:
    """Tell whether broadcasting with the second operand would enlarge the first."""
    shape = getattr(second, "shape", ())
    offset = first.ndim - len(shape)
    return any(n not in (1, first.shape[offset + i]) for i, n in enumerate(shape))


def _growth(name: str, first: Any, second: Any) -> str:
    return (
        f"in-place {name}: an operand of shape {tuple(getattr(second, 'shape', ()))} does not "
        f"broadcast to x's shape {tuple(first.shape)}, and x keeps its shape; write x = x op y"
    )


def _is_foreign(other: Any) -> bool:
    """Tell whether an operand's own class should have its say (pandas, xarray, units, ...).

    Lists and other libraries' arrays are not foreign: they are refused with the fix.
    """
    if isinstance(other, (_array.Array, *_SCALARS, np.generic, np.ndarray, list, tuple)):
        return False
    return not (hasattr(other, "__dlpack__") or hasattr(other, "__array_namespace__"))


# --- everything else -------------------------------------------------------------------------


def apply(name: str, arrays: Iterable[Any], /, *more: Any, **options: Any) -> Any:
    """Call a function on arrays as they are; see the module docstring.

    Parameters
    ----------
    name : str
        Standard name (``"linalg.svd"``).
    arrays : iterable of Array, Python scalar or None
        Positional arguments; arrays must share a device and are not promoted. The first array
        decides the lane.
    *more
        Handed on behind the arrays: arguments that the standard makes positional-only.
    **options
        Handed on; arrays among them are unwrapped, and ``dtype`` becomes the library's.
    """
    lane: Lane | None = None
    natives: list[Any] = []
    for x in arrays:
        if type(x) is _array.Array:
            if lane is None:
                lane = x._lane
            elif lane.device is not x._lane.device:
                raise DeviceMismatchError(name, str(lane.device), str(x._lane.device))
            natives.append(x._native)
        elif x is None:
            natives.append(None)
        else:
            value = scalar(x)
            if value is NotImplemented:
                raise refused(x, name)
            natives.append(value)
    if lane is None:
        raise TypeError(f"{name} needs at least one array; make one with pa.asarray(x)")
    natives.extend(more)
    return _called(name, lane, natives, _native_options(name, lane, options))


def promoted(name: str, arrays: Sequence[Any], /, **options: Any) -> Any:
    """Call a function on arrays and scalars promoted to one dtype."""
    lane, natives = _common(name, arrays)
    return _called(name, lane, natives, _native_options(name, lane, options))


def sequence(name: str, arrays: Sequence[Any], /, *, promote: bool, **options: Any) -> Any:
    """Call a function that takes one list of arrays (``concat``, ``stack``)."""
    lane, natives = _listed(name, arrays, promote=promote)
    return _called(name, lane, (natives,), _native_options(name, lane, options))


def spread(name: str, arrays: Sequence[Any], /, **options: Any) -> Any:
    """Call a function that takes any number of arrays (``meshgrid``, ``broadcast_arrays``)."""
    lane, natives = _listed(name, arrays, promote=False)
    return _called(name, lane, natives, _native_options(name, lane, options))


def _listed(name: str, arrays: Sequence[Any], *, promote: bool) -> tuple[Lane, list[Any]]:
    for x in arrays:
        if type(x) is not _array.Array:
            raise refused(x, name)
    lane, natives = _common(name, arrays) if promote else (None, [])
    if lane is None:
        if not arrays:
            raise ValueError(f"{name} needs at least one array, got none")
        lane = arrays[0]._lane
        for x in arrays:
            if x._lane.device is not lane.device:
                raise DeviceMismatchError(name, str(lane.device), str(x._lane.device))
        natives = [x._native for x in arrays]
    return lane, natives


def _native_options(name: str, lane: Lane, options: dict[str, Any]) -> dict[str, Any]:
    if not options:
        return options
    out: dict[str, Any] = {}
    for key, value in options.items():
        if type(value) is _array.Array:
            if value._lane.device is not lane.device:
                raise DeviceMismatchError(name, str(lane.device), str(value._lane.device))
            out[key] = value._native
        elif key == "dtype" and value is not None:
            out[key] = dispatch.lane_of(lane.device, dtypes.canonical(value)).native
        else:
            out[key] = value
    return out


def promote(*operands: Any) -> tuple[Array, ...]:
    """Return operands as arrays of the one dtype they promote to, on their device."""
    lane, natives = _common("promote", operands)
    make = lane.functions["asarray"]
    device = lane.device
    return tuple(
        wrap(
            x
            if isinstance(x, lane.array_type)
            else make(x, dtype=lane.native, device=device.native),
            device,
        )
        for x in natives
    )


def create(
    name: str,
    args: Sequence[Any],
    /,
    *,
    dtype: object,
    device: object,
    default: str | None,
    **options: Any,
) -> Array:
    """Call a creation function.

    Parameters
    ----------
    name : str
        Standard name.
    args : sequence
        Positional arguments, handed on; an array among them is unwrapped.
    dtype : dtype-like or None
        None takes ``default``.
    device : device-like or None
        None takes the default device.
    default : {"real floating", "complex floating", "integral", "bool"} or None
        The kind whose default dtype is used; None hands ``dtype=None`` on.
    **options
        Handed on.
    """
    where = selection.resolve(device)
    if dtype is not None:
        lane = dispatch.lane_of(where, dtypes.canonical(dtype))
    elif default == "bool":
        lane = dispatch.lane_of(where, dtypes.STANDARD["bool"])
    else:
        lane = dispatch.lane_of(
            where, dispatch.default_dtype(where, _DEFAULTS[default or "real floating"])
        )
    natives = []
    for x in args:
        if type(x) is _array.Array:
            if x._lane.device is not where:
                raise DeviceMismatchError(name, str(where), str(x._lane.device))
            x = x._native
        natives.append(x)
    given = lane.native if dtype is not None or default is not None else None
    return _called(name, lane, natives, {"dtype": given, "device": where.native, **options})  # type: ignore[no-any-return]


_DEFAULTS = {"real floating": "f", "complex floating": "c", "integral": "i"}


def floating(x: Array) -> Array:
    """Return x, cast to the device's default floating-point dtype where it is not floating."""
    lane = x._lane
    if lane.kind in "fc":
        return x
    target = dispatch.lane_of(lane.device, dispatch.default_dtype(lane.device, "f"))
    return wrap(target.cast(x._native), lane.device)


def integral(x: Array) -> Array:
    """Return x, cast to the device's default integer dtype where it is boolean."""
    lane = x._lane
    if lane.kind != "b":
        return x
    target = dispatch.lane_of(lane.device, dispatch.default_dtype(lane.device, "i"))
    return wrap(target.cast(x._native), lane.device)


def matmul_operator(x1: Any, x2: Any) -> Array:
    """Do ``x1 @ x2``; scalars are no matrices."""
    for x in (x1, x2):
        if _is_foreign(x):
            return NotImplemented
        if type(x) is not _array.Array:
            raise refused(x, "matmul")
    return promoted("matmul", (x1, x2))  # type: ignore[no-any-return]


def matmul_inplace(x1: Array, x2: Any) -> Array:
    """Do ``x1 @= x2``; dtype and shape of x1 stay."""
    result = matmul_operator(x1, x2)
    if result is NotImplemented:
        return result
    if result.dtype != x1.dtype or result.shape != x1.shape:
        raise ValueError(
            f"in-place matmul keeps dtype {x1.dtype} and shape {x1.shape}, and the product has "
            f"{result.dtype} and {result.shape}; write x = x @ y"
        )
    x1[...] = result
    return x1


def host_view(x: Array, *, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """Return an array's values as a NumPy array, through the device's own transfer."""
    device = x._lane.device
    return device.room.transfer.to_host(x._native, copy=copy)
