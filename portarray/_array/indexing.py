"""Indexing: keys are checked and converted to native ones before a backend gets them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index as as_index
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from portarray._array import (
    base,
    call_cache,
    conversion,
    dispatch,
    dtypes,
    host_access,
    operands,
    refusals,
    results,
)
from portarray._array.base import GUARDS, before_write
from portarray._dtypes import promotion

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._array.dispatch import DispatchTable

__all__ = ["getitem", "setitem"]


_FEW = 64
_INTEGERS = frozenset({int})
_BASIC = frozenset({int, slice, type(None), type(Ellipsis)})
is_basic = _BASIC.issuperset
_ON_HOST = (list, np.ndarray, bool, np.bool_)
"""Index arrays in host memory."""


def cache_getitem(x: Array, key: Any) -> Array:
    """Find the function for keys without arrays, and call it."""
    table = x._dispatch
    native_getitem = call_cache.basic_getitem(table)
    result_type = table.array_type if native_getitem else table.known_type
    table.call_cache["getitem"] = (native_getitem or _checking(table), table, result_type)
    return getitem(x, key)


def failed(error: Exception, name: str, table: DispatchTable, native: Any, key: Any) -> Array:
    """Say what is wrong with a key that a library's own function refused, or take it after all."""
    try:
        if isinstance(error, (IndexError, TypeError, ValueError, OverflowError, RuntimeError)):
            key = _basic_key(native.shape, key)
            return results.wrapped(_picked_native(table, native, key), table)
        results.reraise(error, "indexing", table.device)
    finally:
        del error  # as in reraise: this frame is in the traceback


def _checking(table: DispatchTable) -> Callable[[Any, Any], Any]:
    """Return a function for basic keys that checks them first."""
    function = table.functions["getitem"]
    return lambda native, key: function(native, _basic_key(native.shape, key))


def getitem(x: Array, key: Any) -> Array:
    """Return ``x[key]`` for any key, after it was checked."""
    if isinstance(key, np.integer):
        return x[int(key)]
    native_key, table = _native_key(x, key)
    native = _picked_native(table, x._native, native_key)
    if type(native) is not table.known_type:
        return results.wrapped(native, table)
    out = base.new_uninitialized()
    out._native = native
    out._dispatch = table
    return out


def _picked_native(table: DispatchTable, native: Any, key: tuple[Any, ...]) -> Any:
    try:
        return table.functions["getitem"](native, key)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        _refused(error, "indexing", table, native, key)


def setitem(x: Array, key: Any, value: Any) -> None:
    """Compute ``x[key] = value``; the value is cast to x's dtype.

    Raises
    ------
    TypeError
        If the value's kind is above the array's (a complex value in a real array), or it is a
        list, another library's array, or a NumPy array where the device's memory is not host
        memory.
    """
    if not _set_directly(x, key, value):
        _set_checked(x, key, value)


def _set_directly(x: Array, key: Any, value: Any) -> bool:
    """Pass a basic key and a value of x's dtype to the library as they are, if it takes them."""
    table = x._dispatch
    try:
        function, _, _ = table.call_cache["setitem"]
    except KeyError:
        function = call_cache.basic_setitem(table) or _refuse_unchecked
        table.call_cache["setitem"] = (function, table, None)
    if function is _refuse_unchecked:
        return False
    parts = key if type(key) is tuple else (key,)
    if not is_basic(map(type, parts)):
        return False
    if len(parts) > 1 and parts.count(Ellipsis) > 1:  # which PyTorch takes for slices
        return False
    kind = type(value)
    if kind is base.array_type:
        if value._dispatch is not table:
            return False
        value = value._native
    elif not (kind in table.scalars or (kind is int and table.low <= value <= table.high)):
        return False
    if GUARDS:
        before_write(x)
    try:
        x._native = function(x._native, parts, value)
    except (IndexError, TypeError, ValueError, OverflowError, RuntimeError):
        return False
    return True


def _refuse_unchecked(native: Any, key: Any, value: Any) -> NoReturn:
    """Stand for the function that a library does not have."""
    raise TypeError("setitem: the key must be checked first")


def _set_checked(x: Array, key: Any, value: Any) -> None:
    if isinstance(key, np.integer):
        key = int(key)
    native_key, table = _native_key(x, key)
    is_float = type(value) is float and x._dispatch.kind == "f"
    value = value if is_float else conversion.operand(value, x, "assignment")
    if is_float:
        native = value
    elif type(value) is base.array_type:
        table = dispatch.require_same_device("assignment", table, value._dispatch)
        if value._dispatch.kind == "c" and table.kind != "c":
            raise TypeError(
                f"assignment: complex values do not fit a {table.dtype} array\n"
                f"Hint: take pa.real(value) first"
            )
        same = value._dispatch.dtype == table.dtype
        native = value._native if same else table.cast(value._native)
    else:
        native = _fill_value(value, x)
    if GUARDS and table is x._dispatch:
        before_write(x)
    try:
        previous = x._native
        x._native = table.functions["setitem"](previous, native_key, native)
        # The array is traced from now on, unless the value is a constant, as of pa.zeros_like.
        if table is not x._dispatch and x._native.__class__ is not previous.__class__:
            x._native.trace.note_assignment(x, previous)
            x._dispatch = table
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        _refused(error, "assignment", table, x._native, native_key, native)


def _refused(
    error: Exception,
    name: str,
    table: DispatchTable,
    native: Any,
    key: tuple[Any, ...],
    value: Any = None,
) -> NoReturn:
    """Raise the error for indices, index arrays or values that do not fit, or the library's own."""
    clearer: Exception | None = None
    try:
        if isinstance(error, (IndexError, TypeError, ValueError, RuntimeError)):
            clearer = refusals.key_fault(name, table.device, tuple(native.shape), key, value)
        if clearer is not None:
            raise clearer from error
        results.reraise(error, name, table.device)
    finally:
        del error, clearer  # as in reraise: this frame is in the traceback


def _fill_value(value: Any, x: Array) -> Any:
    """Return a Python scalar that fits an array's dtype."""
    table = x._dispatch
    scalar = operands.scalar(value)
    if scalar is NotImplemented:
        raise operands.refused(value, "assignment")
    if isinstance(scalar, complex) and table.kind != "c":
        raise TypeError(
            f"assignment: the complex number {scalar!r} does not fit a {table.dtype} array\n"
            f"Hint: take its real part first"
        )
    if table.kind == "b":
        return bool(scalar)
    if isinstance(scalar, float) and table.kind in "iu" and not np.isfinite(scalar):
        raise ValueError(f"assignment: {scalar!r} does not fit a {table.dtype} array")
    return promotion.checked(scalar, table.dtype)


def _native_key(x: Array, key: Any) -> tuple[tuple[Any, ...], DispatchTable]:
    """Return a key as a tuple of native parts, with its bounds checked, and the table for it.

    The table is the array's, traced if a part of the key is.
    """
    table, shape = x._dispatch, x._native.shape
    kind = type(key)
    if kind is base.array_type and key._dispatch.device is table.device:
        mask = key._dispatch.kind == "b"
        if (key._native.shape == shape) if mask else (shape and key._dispatch.kind == "i"):
            return (key._native,), table
    elif shape and kind is np.ndarray and key.dtype.kind in "iu":
        _check_bounds(key, 0, shape)
        return (_native_index_array(x, key),), table
    parts: Sequence[Any] = key if isinstance(key, tuple) else (key,)
    if kind is not list and is_basic(map(type, parts)):
        return _basic_key(shape, key), table
    common = _common_key(table, shape, parts)
    if common is not None:
        return common, table
    native = []
    needs_check = False
    parts = [np.asarray(part) if isinstance(part, _ON_HOST) else part for part in parts]
    for part in parts:
        kind = type(part)
        if kind is base.array_type:
            if part._dispatch.device is not table.device:
                table = dispatch.require_same_device("indexing", table, part._dispatch)
            needs_check = needs_check or part._dispatch.kind == "b"
        elif kind is not slice:
            needs_check = True
        native.append(_native_part(x, part))
    if needs_check or len(parts) > len(shape):
        _check(native, parts, x)
    return tuple(native), table


def _common_key(
    table: DispatchTable, shape: Sequence[int], parts: Sequence[Any]
) -> tuple[Any, ...] | None:
    """Return a checked key of integers, whole axes, lists and arrays of integers in native form.

    Returns None for other keys and for those that are out of bounds.
    """
    if len(parts) > len(shape):
        return None
    device = table.device
    native: list[Any] = []
    axis = -1
    for part in parts:
        axis += 1
        size = shape[axis]
        kind = type(part)
        if kind is base.array_type:
            if part._dispatch.device is not device or part._dispatch.kind != "i":
                return None
            part = part._native
        elif kind is list:
            if not 0 < len(part) < _FEW or not _INTEGERS.issuperset(map(type, part)):
                return None
            if min(part) < -size or max(part) >= size:
                return None
            if host_access.LISTENERS:
                host_access.tell("indexing", device, to_host=False)
            index = np.array(part, dispatch.default_dtype(device, "i"))
            part = device._backend.from_owned_host(index, device.native)
        elif kind is int:
            if not -size <= part < size:
                return None
        elif kind is not slice or not part.start is part.stop is part.step is None:
            return None
        native.append(part)
    return tuple(native)


def _basic_key(shape: Sequence[int], key: Any) -> tuple[Any, ...]:
    """Return a checked key of integers, slices, None and Ellipsis in native form."""
    if type(key) is int:
        if shape and -shape[0] <= key < shape[0]:
            return (key,)
        raise _out_of_bounds(key, 0, shape)
    parts = key if isinstance(key, tuple) else (key,)
    ellipses = parts.count(Ellipsis)
    used = len(parts) - parts.count(None) - ellipses
    _check_counts(ellipses, used, shape)
    axis = 0
    for part in parts:
        if part is Ellipsis:
            axis += len(shape) - used
        elif part is not None:
            if type(part) is int and not -shape[axis] <= part < shape[axis]:
                raise _out_of_bounds(part, axis, shape)
            axis += 1
    return tuple([_native_slice(part, shape) if type(part) is slice else part for part in parts])


def _native_slice(part: slice, shape: Sequence[int]) -> slice:
    """Return a slice of Python integers, clamped to the largest axis.

    Libraries take 32-bit or 64-bit numbers, and multiply steps by strides.
    """
    beyond = max(shape, default=0) + 1
    if part.start is part.stop is part.step is None:
        return part
    start, stop, step = [
        value if value is None else max(-beyond, min(as_index(value), beyond))
        for value in (part.start, part.stop, part.step)
    ]
    if step == 0:
        raise ValueError(f"indexing: slice step cannot be zero in {part}")
    return slice(start, stop, step)


def _native_part(x: Array, part: Any) -> Any:
    """Return one part of a key in native form."""
    if part is None or part is Ellipsis or type(part) is int:
        return part
    if isinstance(part, slice):
        return _native_slice(part, x._native.shape)
    if type(part) is base.array_type:
        if part._dispatch.kind not in "biu":
            raise IndexError(
                f"indexing: index arrays must have an integer or boolean dtype, not {part.dtype}\n"
                f"Hint: convert with pa.astype(index, pa.int64)"
            )
        return part._native if part._dispatch.high < 2**63 else _as_signed(part)
    if isinstance(part, np.ndarray):
        return _native_index_array(x, part)
    try:
        if not _is_one_integer(part):
            raise TypeError
        return as_index(part)
    except TypeError:
        kind = type(part)
        type_name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
        raise IndexError(
            f"indexing: {type_name} is not an index\n"
            f"Hint: use integers, slices, None, Ellipsis, or integer or boolean arrays"
        ) from None


def _is_one_integer(part: Any) -> bool:
    """Return whether ``__index__`` says all: arrays of one element have it too."""
    return getattr(part, "shape", ()) == () and "bool" not in str(getattr(part, "dtype", ""))


def _as_signed(index: Array) -> Any:
    """Return a uint64 index array as int64, which some libraries do with 2**64 - 1 giving -1.

    What int64 does not hold is its largest number there, which is out of bounds for any axis.
    """
    table = index._dispatch
    largest = table.functions["asarray"](2**63 - 1, dtype=table.native, device=table.device.native)
    held = table.functions["minimum"](index._native, largest)
    return dispatch.table_of(table.device, dtypes.STANDARD["int64"]).cast(held)


def _native_index_array(x: Array, index: np.ndarray[Any, Any]) -> Any:
    """Copy a NumPy index array to x's device."""
    if index.size == 0 and index.dtype.kind == "f":  # an empty list
        index = index.astype(np.int64)
    if index.dtype.kind not in "biu":
        raise IndexError(
            f"indexing: index arrays must have an integer or boolean dtype, not {index.dtype}"
        )
    device = x._dispatch.device
    host_access.tell("indexing", device, to_host=False)
    target_dtype = dtypes.canonical(index.dtype)
    if target_dtype not in dispatch.dtypes_of(device):
        target_dtype = dispatch.default_dtype(device, "i")
    return device._backend.from_owned_host(index.astype(target_dtype), device.native)


def _check(parts: list[Any], key: Sequence[Any], x: Array) -> None:
    """Check a key's number of axes, the bounds of its integers and the shapes of its masks.

    Integer arrays are checked only if given on the host: checking others would copy them there.
    """
    table = x._dispatch
    shape = tuple(x._native.shape)
    used = ellipses = 0
    widths = []
    masks = []
    for index, part in zip(key, parts, strict=True):
        is_mask = type(index) not in _BASIC and _kind_of_index(index) == "b"
        if part is None or part is Ellipsis:
            width = 0
            ellipses += part is Ellipsis
        elif is_mask:
            width = len(part.shape)
        else:
            width = 1
        widths.append(width)
        masks.append(is_mask)
        used += width
    _check_counts(ellipses, used, shape)
    axis = 0
    for position, (part, width) in enumerate(zip(parts, widths, strict=True)):
        if part is Ellipsis:
            axis += len(shape) - used
            continue
        if type(part) is int and not -shape[axis] <= part < shape[axis]:
            raise _out_of_bounds(part, axis, shape)
        if width == 1 and isinstance(key[position], np.ndarray):
            _check_bounds(key[position], axis, shape)
        if width and masks[position] and part.shape != shape[axis : axis + width]:
            covered = shape[axis : axis + width]
            # The standard allows masks of size 0 along an axis; they select nothing.
            if all(length in (0, n) for length, n in zip(part.shape, covered, strict=True)):
                make = table.tables[part.dtype].functions["zeros"]
                parts[position] = make(covered, dtype=part.dtype, device=table.device.native)
            else:
                raise IndexError(
                    f"indexing: a boolean index of shape {tuple(part.shape)} does not fit axes of "
                    f"lengths {covered}"
                )
        axis += width


def _kind_of_index(part: Any) -> str:
    """Return the kind of an index array, or an empty string."""
    if type(part) is base.array_type:
        return part._dispatch.kind
    return part.dtype.kind if isinstance(part, np.ndarray) else ""


def _check_counts(ellipses: int, used: int, shape: Sequence[int]) -> None:
    """Check that a key has at most one ellipsis and not too many indices."""
    if ellipses > 1:
        raise IndexError("indexing: an index can have only one ellipsis ('...')")
    if used > len(shape):
        raise IndexError(
            f"indexing: too many indices: the array has {len(shape)} axes, and {used} were indexed"
        )


def _check_bounds(indices: np.ndarray[Any, Any], axis: int, shape: Sequence[int]) -> None:
    """Check that integers are in bounds for an axis."""
    if indices.size and indices.dtype.kind in "iu":
        if indices.size < _FEW:  # Python's own functions take a tenth of the time
            few = indices.ravel().tolist()
            least, most = min(few), max(few)
        else:
            least, most = int(indices.min()), int(indices.max())
        for index in (least, most):
            if not -shape[axis] <= index < shape[axis]:
                raise _out_of_bounds(index, axis, shape)


def _out_of_bounds(index: int, axis: int, shape: Sequence[int]) -> IndexError:
    if not shape:
        return IndexError("indexing: too many indices for a 0-d array\nHint: use x[()]")
    return IndexError(
        f"indexing: index {index} is out of bounds for axis {axis} with length {shape[axis]}"
    )
