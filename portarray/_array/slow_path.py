"""The slow path of calls: first calls, promotion, creation and foreign operands.

:mod:`portarray._array.call` is the fast path.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._array import base, call_cache, dispatch, dtypes
from portarray._array.operands import common, from_scalar, refused, scalar
from portarray._array.results import countable, reraise, wrapped
from portarray._devices import selection
from portarray._dtypes.promotion import COMPARISONS
from portarray.backends import registry
from portarray.backends.types import NoOwnGradientError

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._array.dispatch import DispatchTable
    from portarray._devices.device import Device


def leave_to_tape(name: str, *values: Any) -> None:
    """Raise if a library's own gradients follow an operand, where the table of rules is used."""
    for x in values:
        if type(x) is not base.array_type:
            continue
        device = x._dispatch.device
        if device._home is device and device._backend.is_watched(x._native):
            raise NoOwnGradientError(f"{name} has its own gradient rule")


_MIRRORED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
    "equal": "equal",
    "not_equal": "not_equal",
}


def binary(name: str, x1: Any, x2: Any) -> Array:
    """Call a binary function on operands of two dtypes, or on an array and a scalar."""
    if type(x1) is not base.array_type and type(x2) is not base.array_type:
        x1 = from_scalar(x1, name)
    table, (first, second) = common(name, (x1, x2))
    if table.kind in "iu" and name in COMPARISONS:
        answer = _compared_outside(name, table, first, second)
        if answer is not None:
            return answer
        first, second = _operands(table, first, second)
    return called(name, table, (first, second), {})  # type: ignore[no-any-return]


def cache_call(name: str, table: DispatchTable, *natives: Any) -> Array:
    """Call a function of arrays for the first time and cache it with the table of its results."""
    out: Array = called(name, table, natives, {})
    table.call_cache[name] = call_cache.cache_entry(table, name, out._dispatch, scalar=False)
    return out


def cache_scalar_call(name: str, table: DispatchTable, first: Any, second: Any) -> Array:
    """Like :func:`cache_call`, for a native array and a Python scalar that its table takes."""
    out: Array = called(name, table, _operands(table, first, second), {})
    table.scalar_call_cache[name] = call_cache.cache_entry(table, name, out._dispatch, scalar=True)
    return out


def cache_options_call(
    name: str, table: DispatchTable, natives: Sequence[Any], options: dict[str, Any]
) -> Array:
    """Do the same for native arrays and options that do not decide the dtype of the result."""
    out = called(name, table, natives, options)
    first = out[0] if type(out) is tuple and out else out
    if type(first) is base.array_type:
        result_type = None if type(out) is tuple else table.known_type
        table.options_call_cache[name] = (table.functions[name], first._dispatch, result_type)
    return out  # type: ignore[no-any-return]


def failed(
    error: Exception, name: str, table: DispatchTable, *operands: Any, **options: Any
) -> Array:
    """Raise what the user sees in a library's error's place.

    With a Python scalar the namespace's function is tried, which works or raises a clearer error.
    """
    try:
        flags = _coerce_flags(error, options)
        if flags:
            return called(name, table, operands, {**options, **flags})  # type: ignore[no-any-return]
        if (
            len(operands) == 2
            and isinstance(error, (TypeError, ValueError, OverflowError, RuntimeError))
            and name in table.scalar_call_cache
            and not all(map(table.device._backend.owns, operands))
        ):
            return called(name, table, _operands(table, *operands), {})  # type: ignore[no-any-return]
        reraise(error, name, table.device, call=(operands, options))
    finally:
        # As in reraise: this frame is in the traceback, and would keep alive what it refers to.
        del error, operands, options


def finished(result: Any, table: DispatchTable) -> Array:
    """Wrap any result of a library; containers become tuples."""
    kind = type(result)
    if kind is table.array_type or issubclass(kind, np.generic):
        return wrapped(result, table)
    if issubclass(kind, (tuple, list)):  # functions with several results
        return _several(result, table)  # type: ignore[return-value]
    return _result(result, table)  # type: ignore[no-any-return]


def _several(natives: Sequence[Any], table: DispatchTable) -> tuple[Array, ...]:
    """Wrap several results."""
    array_type, new, tables = table.array_type, base.new_uninitialized, table.tables
    out = []
    for native in natives:
        if type(native) is not array_type or native.dtype not in tables:
            out.append(_result(native, table))
            continue
        x = new()
        x._native = native
        x._dispatch = tables[native.dtype]
        out.append(x)
    return tuple(out)


def _operands(table: DispatchTable, *values: Any) -> list[Any]:
    """Return a native array and a Python scalar as a table's functions take them."""
    return [table.operand(x) if type(x) in _PYTHON else x for x in values]


_PYTHON = frozenset((bool, int, float, complex))


def check_countable(name: str, x: Any, shape: tuple[int, ...], *, times: bool = False) -> None:
    """Raise if the size in bytes of a result overflows 64 bits.

    ``shape`` is that of the result; with ``times``, the factors by which x grows.
    """
    if type(x) is base.array_type:
        countable((*x.shape, *shape) if times else shape, x._dispatch, name)


def called(
    name: str,
    table: DispatchTable,
    natives: Sequence[Any],
    options: dict[str, Any],
    *,
    shape: tuple[int, ...] | None = None,
) -> Any:
    """Call a table's function and wrap what it returns.

    ``shape`` is that of the result, if known and of this table's dtype.
    """
    try:
        function = table.functions[name]
    except Exception as error:  # noqa: BLE001  (a dtype that it does not take)
        reraise(error, name, table.device)
    try:
        result = function(*natives, **options)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        return _called_with_flags(error, name, table, natives, options, shape)
    return wrapped(result, table) if type(result) is table.array_type else finished(result, table)


def _called_with_flags(
    error: Exception,
    name: str,
    table: DispatchTable,
    natives: Sequence[Any],
    options: dict[str, Any],
    shape: tuple[int, ...] | None,
) -> Any:
    """Call a function again if its flags were not bool; raise the translated error otherwise."""
    try:
        flags = _coerce_flags(error, options)
        if flags:
            return called(name, table, natives, {**options, **flags}, shape=shape)
        nbytes = None if shape is None else table.dtype.itemsize * math.prod(shape)
        reraise(error, name, table.device, nbytes=nbytes, call=(natives, options))
    finally:
        del error, natives, options  # as in reraise: this frame is in the traceback


_FLAGS = frozenset(("descending", "full_matrices", "include_initial", "invert", "stable", "upper"))


def _coerce_flags(error: Exception, options: dict[str, Any]) -> dict[str, Any]:
    """Return flags that are not bool as bool, because some libraries reject others.

    And the sizes that are one, by True.
    """
    if not isinstance(error, (TypeError, ValueError)):
        return {}
    coerced: dict[str, Any] = {
        key: bool(x) for key, x in options.items() if key in _FLAGS and type(x) is not bool
    }
    if any(type(n) is bool for n in options.get("shape", ())):
        coerced["shape"] = tuple(map(int, options["shape"]))
    return coerced


def _result(result: Any, table: DispatchTable) -> Any:
    """Wrap the arrays in a result; containers become tuples."""
    if isinstance(result, (tuple, list)):
        return tuple(_result(item, table) for item in result)
    if isinstance(result, np.generic) or table.device._backend.owns(result):
        return wrapped(result, table)
    return result


def _compared_outside(name: str, table: DispatchTable, first: Any, second: Any) -> Array | None:
    """Compare an integer array with an out-of-range integer; None if it is in range."""
    if not isinstance(second, int):
        if not isinstance(first, int):
            return None
        first, second, name = second, first, _MIRRORED[name]
    if table.low <= second <= table.high:
        return None
    above = second > table.high
    answer = name == "not_equal" or name.startswith("less" if above else "greater")
    device = table.device
    boolean = dispatch.table_of(device, dtypes.STANDARD["bool"])
    return wrapped(
        boolean.functions["full"](
            tuple(first.shape), answer, dtype=boolean.native, device=device.native
        ),
        boolean,
    )


def apply(name: str, arrays: Sequence[Any], /, *more: Any, **options: Any) -> Array:
    """Call a function on arrays without promoting them.

    Parameters
    ----------
    name : str
        Standard name (``"linalg.svd"``).
    arrays : sequence of Array, Python scalar or None
        Positional arguments; arrays must share a device. The first array determines the table.
    *more
        Further positional arguments.
    **options
        Keyword arguments; arrays are unwrapped and ``dtype`` is converted to the library's.
    """
    if len(arrays) == 1 and type(arrays[0]) is base.array_type:
        x = arrays[0]
        table = _unwrapped(name, x._dispatch, options)
        result: Array = called(name, table, (x._native, *more), options)
        return result
    _refuse_others(name, arrays[:1])
    first: DispatchTable | None = None
    natives: list[Any] = []
    for x in arrays:
        if type(x) is base.array_type:
            first = (
                x._dispatch
                if first is None
                else dispatch.require_same_device(name, first, x._dispatch)
            )
            natives.append(x._native)
        elif x is None:
            natives.append(None)
        else:
            value = scalar(x)
            if value is NotImplemented:
                raise refused(x, name)
            natives.append(value)
    assert first is not None  # the first one is an array
    natives.extend(more)
    table = _unwrapped(name, first, options)
    return called(name, table, natives, options)  # type: ignore[no-any-return]


def promoted(name: str, arrays: Sequence[Any], /, **options: Any) -> Array:
    """Call a function on arrays promoted to one dtype."""
    if name not in _WITH_SCALARS:
        _refuse_others(name, arrays)
    table, natives = common(name, arrays)
    table = _unwrapped(name, table, options)
    result: Array = called(name, table, natives, options)
    return result


def sequence(name: str, arrays: Sequence[Any], /, **options: Any) -> Array:
    """Call a function that takes one list of arrays, promoted (``concat``, ``stack``)."""
    table, natives = common(name, arrays)
    result: Array = called(name, table, (natives,), options)
    return result


def call_variadic(name: str, arrays: Sequence[Any], /, **options: Any) -> tuple[Array, ...]:
    """Call a function that takes any number of arrays (``meshgrid``, ``broadcast_arrays``)."""
    _refuse_others(name, arrays)
    if not arrays:
        raise ValueError(f"{name}: expected at least one array")
    table = arrays[0]._dispatch
    for x in arrays:
        table = dispatch.require_same_device(name, table, x._dispatch)
    natives = [x._native for x in arrays]
    table = _unwrapped(name, table, options)
    results: tuple[Array, ...] = called(name, table, natives, options)
    return results


def _refuse_others(name: str, arrays: Sequence[Any]) -> None:
    """Refuse operands that are not portarray's arrays."""
    for x in arrays:
        if type(x) is not base.array_type:
            raise refused(x, name, scalars=False)


_WITH_SCALARS = frozenset(("isin", "searchsorted"))
"""The functions with options of which an operand may be a Python scalar."""


def _unwrapped(name: str, table: DispatchTable, options: dict[str, Any]) -> DispatchTable:
    """Unwrap the arrays and the dtype in a call's options, in place; return the call's table."""
    for key, value in options.items():
        if value is None or value is False:
            continue
        if type(value) is base.array_type:
            table = dispatch.require_same_device(name, table, value._dispatch)
            options[key] = value._native
        elif key == "dtype":
            options[key] = dispatch.table_of(table.device, dtypes.canonical(value)).native
    return table


def create(
    name: str,
    args: Sequence[Any],
    /,
    *,
    dtype: object,
    device: object,
    shape: tuple[int, ...],
    default: str = "real floating",
    **options: Any,
) -> Array:
    """Call a creation function.

    Parameters
    ----------
    name : str
        Standard name.
    args : sequence
        Positional arguments.
    dtype : dtype-like or None
        None uses ``default``.
    device : device-like or None
        None uses the default device.
    shape : tuple of int
        Shape of the result.
    default : {"real floating", "complex floating", "integral", "bool"}
        The kind whose default dtype is used if ``dtype`` is None.
    **options
        Further keyword arguments.
    """
    where = selection.resolve(device)
    try:
        table, native_options = where._creation[default, dtype]
    except (AttributeError, KeyError, TypeError):
        table, native_options = _creation(where, default, dtype)
    if not 0 < math.prod(shape) < _SURELY_COUNTABLE:
        countable(shape, table, name)
    options.update(native_options)
    function = table.functions.get(name)
    if function is None:  # the first call
        return called(name, table, args, options, shape=shape)  # type: ignore[no-any-return]
    try:
        native = function(*args, **options)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        return _called_with_flags(error, name, table, args, options, shape)  # type: ignore[no-any-return]
    return wrapped(native, table)


def _creation(
    device: Device, default: str, dtype: object
) -> tuple[DispatchTable, dict[str, object]]:
    """Return the table of a dtype, or of a kind's default, and the options of its functions."""
    if dtype is not None:
        result_dtype = dtypes.canonical(dtype)
    elif default == "bool":
        result_dtype = dtypes.STANDARD["bool"]
    else:
        result_dtype = dispatch.default_dtype(device, _DEFAULTS[default])
    table = dispatch.table_of(device, result_dtype)
    creation = table, {"dtype": table.native, "device": device.native}
    dispatch.cache_creation(table, (default, dtype), creation)
    return creation


_SURELY_COUNTABLE = 1 << 58
"""Elements of any dtype whose size in bytes fits 64 bits."""
_DEFAULTS = {"real floating": "f", "complex floating": "c", "integral": "i"}


def read(x: Array) -> np.ndarray[Any, Any]:
    """Return an array's values as a temporary NumPy array, for reading only."""
    device = x._dispatch.device
    try:
        return device._backend.read_host(x._native, device.native)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        reraise(error, "reading", device, nbytes=x.nbytes)


def host_view(x: Array, *, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """Return an array's values as a NumPy array, a zero-copy view where possible."""
    device = x._dispatch.device
    try:
        return device._backend.to_host(x._native, copy=copy)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        reraise(error, "reading", device, nbytes=x.nbytes)


def is_foreign(operand: Any, name: str) -> bool:
    """Return whether an operand's own class is left to handle the operation.

    Those of pandas, xarray or units, NumPy's subclasses that compute themselves among them; arrays
    of libraries that portarray does not drive; and what a library has in an array's place while it
    transforms a function. Lists and arrays of the libraries that portarray drives are refused with
    an error that tells what to do.
    """
    if isinstance(operand, np.ndarray):
        return type(operand).__array_ufunc__ is not np.ndarray.__array_ufunc__
    if isinstance(operand, (base.array_type, *dtypes.SCALARS, list, tuple)):
        return False
    if not _is_array(operand):
        return True
    backend = registry.owner(operand)
    if backend is None:
        return name in _EQUALITIES or hasattr(type(operand), "__radd__")
    return type(operand) is not backend.array_type and backend.is_traced(operand)


def deferred(name: str, x: Array, operand: Any) -> Any:
    """Return NotImplemented, so that Python asks the class of a foreign operand.

    ``==`` and ``!=`` of a foreign array ask it here and raise if it does not answer either, because
    Python would then compare identities.
    """
    if name not in _EQUALITIES or not _is_array(operand):
        return NotImplemented
    answer = getattr(type(operand), _EQUALITIES[name])(operand, x)
    if answer is NotImplemented:
        raise refused(operand, name)
    return answer


_EQUALITIES = {"equal": "__eq__", "not_equal": "__ne__"}


def _is_array(x: Any) -> bool:
    return hasattr(x, "__dlpack__") or hasattr(x, "__array_namespace__")
