"""``asarray`` and its kin: from anything sensible to an array on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._array import base, dispatch, dtypes, operands, producers, results
from portarray._devices import discovery, selection
from portarray._movement import routes
from portarray.backends import registry

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._array.dispatch import DispatchTable
    from portarray._devices.device import Device

__all__ = [
    "adopted",
    "asarray",
    "astype",
    "from_host",
    "home",
    "table_for",
    "moved",
    "planned",
    "truth",
]

DType = np.dtype[Any]


def asarray(
    obj: Any,
    /,
    *,
    dtype: object = None,
    device: object = None,
    copy: bool | None = None,
    narrow: bool = False,
) -> Array:
    """Return an array made from nearly anything; see :func:`portarray.asarray`."""
    copy = copy if copy is None else truth(copy)
    wanted = None if dtype is None else dtypes.canonical(dtype)
    if isinstance(obj, base.array_type):
        where = obj.device if device is None else selection.resolve(device)
        return _finished(obj, wanted, where, copy=copy, narrow=narrow)
    owner = home(obj)
    if owner is not None:
        native = adopted(obj, owner, copy=copy)
        where = owner if device is None else selection.resolve(device)
        # NumPy arrays are everyone's host format: they follow the default device.
        if device is None and type(obj) is np.ndarray:
            where = selection.current()
        return _finished(native, wanted, where, copy=copy, narrow=narrow)
    where = selection.resolve(device)
    if not isinstance(obj, np.ndarray) and producers.is_producer(obj):
        if wanted is None:
            return producers.imported(obj, where, copy=copy, narrow=narrow)
        taken = producers.imported(obj, where, copy=False if copy is False else None, narrow=narrow)
        return _finished(taken, wanted, where, copy=copy, narrow=narrow)
    producers.refuse_capsule(obj, "asarray")
    return _from_python(obj, wanted, where, copy=copy, narrow=narrow)


def from_host(
    values: np.ndarray[Any, Any], device: Device, *, narrow: bool = False, own: bool = False
) -> Array:
    """Return an array of host values in one of portarray's own dtypes.

    What :func:`asarray` returns, with less to ask: files and pickles have thousands of arrays.
    ``own`` says that nobody else has the memory, so that the device has all of it.
    """
    table = dispatch.dtypes_of(device).get(values.dtype)
    if table is None or values.dtype.num != table.dtype.num:  # see _under_one_name
        return asarray(values, device=device, narrow=narrow)
    try:
        if own:
            native = device.backend.from_owned_host(values, device.native)
        else:
            native = device.backend.from_host(values, device.native, copy=None)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        results.reraise(error, "moving", device, asked=values.nbytes)
    return results.wrapped(native, table)


def astype(x: Any, dtype: object, /, *, copy: bool = True, device: object = None) -> Array:
    """Return an array in another dtype, on another device if asked; see the public docstring."""
    if type(x) is not base.array_type:
        raise operands.refused(x, "astype", scalars=False)
    wanted = dtypes.canonical(dtype)
    table = x._table
    where = table.device if device is None else selection.resolve(device)
    if wanted == table.dtype:
        return moved(x, where, copy=True if copy else None)
    if table.kind == "c" and dtypes.kind_of(wanted) not in "bc":
        raise _loses_imaginary_part(table.dtype, wanted)
    target = dispatch.table_of(where, wanted)
    try:
        if where is table.device:
            return results.wrapped(target.cast(x._native), target)
        # Convert on the side that knows both dtypes; either device may lack the other's.
        if wanted in dispatch.dtypes_of(table.device):
            cast = dispatch.table_of(table.device, wanted).cast
            if table.kind == "f" and target.kind in "iu":
                # Libraries differ in what they make of values that do not fit.
                native = routes.move(cast(x._native), table.device, where, copy=None, own=True)
            else:
                native = routes.convert(x._native, table.device, where, wanted, cast)
            return results.wrapped(native, target)
        if table.dtype in dispatch.dtypes_of(where):
            return results.wrapped(target.cast(moved(x, where, copy=None)._native), target)
        # Neither knows both, as bfloat16 from NumPy's float64 to where that is missing.
        with np.errstate(all="ignore"):
            values = table.device.backend.read_host(x._native, table.device.native).astype(wanted)
        return from_host(values, where, own=True)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        results.reraise(error, "astype", where, table.device, asked=x.size * wanted.itemsize)


def moved(
    x: Array,
    device: Device,
    *,
    copy: bool | None,
    narrow: bool = False,
    non_blocking: bool = False,
) -> Array:
    """Return an array on a device; itself where it is there and no copy is asked for."""
    table = x._table
    here = table.device
    if here is device and not copy:
        return x
    target = table_for(table.dtype, device, narrow=narrow)
    native = x._native
    try:
        if target.dtype == table.dtype:
            native = routes.move(native, here, device, copy=copy, non_blocking=non_blocking)
        elif copy is False:
            raise _needs_copy(table.dtype, target.dtype)
        else:
            cast = dispatch.table_of(here, target.dtype).cast
            native = routes.convert(
                native, here, device, target.dtype, cast, non_blocking=non_blocking
            )
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        asked = x.size * target.dtype.itemsize
        results.reraise(error, "moving", device, here, asked=asked)
    return results.wrapped(native, target)


def planned(x: Array, device: Device, *, narrow: bool) -> routes.TransferPlan:
    """Return how :func:`moved` would bring an array to a device."""
    if type(x) is not base.array_type:
        raise operands.refused(x, "transfer_plan", scalars=False)
    table = x._table
    here = table.device
    target = table_for(table.dtype, device, narrow=narrow)
    native = x._native
    why = f"{device} has no {table.dtype} and takes {target.dtype}"
    try:
        if target.dtype == table.dtype:
            return routes.plan(native, here, device, dtype=table.dtype)
        if routes.converts(here, device):
            # What would be copied at last is converted instead.
            found = routes.plan(native, here, device, dtype=table.dtype)
            more = x.size * (target.dtype.itemsize - table.dtype.itemsize)
            return found._replace(
                dtype=target.dtype, nbytes=found.nbytes + more, reasons=(*found.reasons[:-1], why)
            )
        # What is converted is new memory; nothing is converted to find out how it would move.
        there = dispatch.table_of(here, target.dtype)
        new = there.functions["empty"](native.shape, dtype=there.native, device=here.native)
        found = routes.plan(new, here, device, dtype=target.dtype)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        results.reraise(error, "transfer_plan", device, here)
    return found._replace(
        nbytes=found.nbytes + x.size * target.dtype.itemsize,
        reasons=(why, *found.reasons),
    )


def adopted(obj: Any, owner: Device, *, copy: bool | None) -> Array:
    """Return a native array of a device, see :func:`home`, as array there."""
    if type(obj) is np.ndarray:
        obj = _under_one_name(obj)
    return results.wrap(owner.backend.normalize(obj, copy=copy), owner)


def _finished(
    x: Array, dtype: DType | None, device: Device, *, copy: bool | None, narrow: bool
) -> Array:
    """Return an array as asked for: in another dtype, on another device."""
    if dtype is None or dtype == x.dtype:
        return moved(x, device, copy=copy, narrow=narrow)
    if copy is False:
        raise _needs_copy(x.dtype, dtype)
    return astype(x, dtype, device=device)


def native_of(x: Any) -> Any:
    """Return an array's native part, and anything else as it is."""
    return x._native if type(x) is base.array_type else x


def truth(copy: object) -> bool:
    """Return what ``copy=`` asks for where it is not None, NumPy's booleans included."""
    if copy is True or copy is False:
        return copy
    if isinstance(copy, np.bool_):
        return bool(copy)
    raise TypeError(f"copy={copy!r}: pass True, False or None")


def _needs_copy(dtype: DType, wanted: DType) -> ValueError:
    return ValueError(
        f"copy=False, but converting {dtype} to {wanted} needs a copy; pass copy=None"
    )


def _loses_imaginary_part(dtype: DType, wanted: DType) -> TypeError:
    return TypeError(
        f"converting {dtype} to {wanted} loses the imaginary part; take pa.real(x) first"
    )


def table_for(dtype: DType, device: Device, *, narrow: bool) -> DispatchTable:
    """Return the table that data of a dtype gets on a device."""
    available = dispatch.dtypes_of(device)
    table = available.get(dtype)
    if table is not None:
        return table
    near = dtypes.nearest(dtype, set(available))
    if narrow and near is not None:
        if not isinstance(narrow, (bool, np.bool_)):  # a dtype, say, which would not be taken
            raise TypeError(
                f"narrow={narrow!r}: pass True or False; {device} has {near} for {dtype}, and "
                f"another dtype is chosen with x.astype or asarray(..., dtype=)"
            )
        return available[near]
    raise dtypes.missing(dtype, device, set(available), moving=True)


def home(obj: object) -> Device | None:
    """Return the device of a native array, None for anything else.

    Only backends whose library is imported can own the object, so nothing is imported to ask.
    """
    if isinstance(obj, np.ndarray):
        # A subclass (masked arrays, matrices, units) means more than its values; and what is of
        # foreign byte order, or holds no numbers, is converted or refused first.
        if type(obj) is not np.ndarray or obj.dtype not in _OWNED:
            return None
    elif isinstance(obj, _PLAIN):
        return None
    backend = registry.owner(obj)
    if backend is None:
        return None
    return discovery.get_device(backend.info.library, *backend.device_of_array(obj))


_PLAIN = (*dtypes.SCALARS, str, bytes, list, tuple)
_OWNED = frozenset((*dtypes.STANDARD.values(), np.dtype(np.float16)))


def _from_python(
    obj: Any, dtype: DType | None, device: Device, *, copy: bool | None, narrow: bool
) -> Array:
    """Make an array from Python scalars, nested sequences, buffers and ``__array__`` objects."""
    typed = _has_dtype(obj)
    asked = None
    try:
        given = _host_values(obj, dtype, sequence=not typed, copy=copy if typed else None)
        values = _under_one_name(given.astype(given.dtype.newbyteorder("="), copy=False))
        if dtype is not None:
            table = dispatch.table_of(device, dtype)
        elif typed:
            table = table_for(dtypes.canonical(values.dtype), device, narrow=narrow)
        else:
            table = _default_table(values.dtype, device)
        asked = values.size * table.dtype.itemsize
        # What says its dtype has memory of its own, which NumPy reads; lists of such are copied.
        shares = typed and given.dtype.isnative and not isinstance(obj, (list, tuple))
        if copy is False and not (shares and values.dtype == table.dtype):
            order = "" if given.dtype.isnative else f" of byte order {given.dtype.byteorder!r}"
            raise _made_anew(obj, order)
        if values.dtype != table.dtype:
            if values.dtype.kind == "c" and table.kind not in "bc":
                raise _loses_imaginary_part(values.dtype, table.dtype)
            with np.errstate(all="ignore"):  # of what the dtype cannot hold
                native = device.backend.from_host_converted(values, table.dtype, device.native)
        elif shares:
            native = device.backend.from_host(values, device.native, copy=copy)
        else:
            native = device.backend.from_owned_host(values, device.native)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        results.reraise(error, "asarray", device, asked=asked)
    return results.wrapped(native, table)


def _made_anew(obj: Any, order: str = "") -> ValueError:
    return ValueError(
        f"copy=False, but making an array from {type(obj).__name__}{order} needs a copy; "
        f"pass copy=None"
    )


def _has_dtype(obj: Any) -> bool:
    """Tell whether an object says which dtype its values have; Python's numbers do not."""
    first = _first(obj)
    if isinstance(first, (np.ndarray, base.array_type)):
        return True
    if isinstance(first, dtypes.SCALARS):
        return False
    if first is not obj and home(first) is not None:
        return True
    if any(hasattr(obj, f"__array{name}__") for name in ("", "_interface", "_struct")):
        return True
    try:
        memoryview(obj).release()
    except TypeError:  # no buffer
        return False
    return True


def _first(obj: Any) -> Any:
    """Return the first leaf of a nested sequence: rows that are arrays bring their dtype."""
    while isinstance(obj, (list, tuple)) and obj:
        obj = obj[0]
    return obj


def _host_values(
    obj: Any, dtype: DType | None, *, sequence: bool, copy: bool | None
) -> np.ndarray[Any, Any]:
    """Return an object's values as a NumPy array, refusing what is no number."""
    if isinstance(obj, np.ndarray) and type(obj) is not np.ndarray and np.ma.is_masked(obj):
        raise TypeError(
            "a masked array has elements without a value, which no device has; "
            "pass x.filled(value), or x.data to take what is behind the mask"
        )
    try:
        try:
            values = np.asarray(obj, copy=False if copy is False else None)
        except (TypeError, ValueError):
            if not isinstance(obj, (list, tuple)):
                raise
            # NumPy cannot read arrays of devices with their own memory, nor others' bfloat16.
            obj = _with_values(obj)
            values = np.asarray(obj)
        if (
            sequence
            and dtype is not None
            and dtypes.kind_of(dtype) in "iu"
            and values.dtype.kind in "Oiuf"
        ):
            # NumPy reads integers beyond int64 as floats or objects unless it is told the dtype.
            values = np.asarray(obj, dtype=dtype)
        elif sequence and values.dtype.kind in "Of" and _beyond_64_bits(values, obj):
            values = np.asarray(obj, dtype=np.uint64 if dtype is None else np.float64)
    except ValueError as error:
        if "inhomogeneous" in str(error):
            raise ValueError(
                f"the nested sequence is ragged: {str(error).rstrip('.')}. Every row must have the "
                f"same length; pad the rows, or make one array each"
            ) from error
        if copy is False:
            raise _made_anew(obj) from error
        raise
    except OverflowError as error:
        fix = "" if dtype else "; pass dtype=pa.float64 to round what is too large"
        raise OverflowError(
            f"a value does not fit {dtype or 'any integer dtype'}: {error}{fix}"
        ) from error
    if values.dtype.kind in "OSUTVMm" and values.dtype.name != "bfloat16":
        what = {
            "O": "Python objects",
            "S": "bytes",
            "U": "strings",
            "T": "strings",
            "M": "dates",
            "m": "time spans",
            "V": "records" if values.dtype.names else values.dtype.name,
        }
        fix = "Convert the values first, for example numpy.asarray(values).astype(float)"
        if values.dtype.kind == "O" and not values.shape:  # it is no sequence of anything
            fix = (
                "Pass an array, or a nested list of numbers: list(x) of an iterator or a set, "
                "x.toarray() of a sparse array"
            )
        raise TypeError(
            f"arrays of {what[values.dtype.kind]} cannot be made (NumPy reads the "
            f"{type(obj).__name__} as dtype {values.dtype}); portarray holds booleans and numbers. "
            f"{fix}"
        )
    return values


def _beyond_64_bits(values: np.ndarray[Any, Any], obj: Any) -> bool:
    """Tell whether NumPy read Python's integers as floats or objects, for they are too large."""
    if values.dtype.kind == "f" and not (values.size and np.abs(values).max() >= 2.0**63):
        return False
    if isinstance(obj, (list, tuple)):
        return all(_beyond_64_bits(values, item) for item in obj)
    return type(obj) is int


def _with_values(obj: Any) -> Any:
    """Return a nested sequence with the values of arrays in the arrays' places."""
    if isinstance(obj, (list, tuple)):
        return [_with_values(item) for item in obj]
    if isinstance(obj, base.array_type):
        return obj.device.backend.read_host(obj._native, obj.device.native)
    owner = home(obj)
    return obj if owner is None else owner.backend.read_host(obj, owner.native)


def _under_one_name(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return NumPy's values under the dtype that portarray uses for them.

    NumPy has two integer types of 64 bits, equal but not the same, and PyTorch takes only one.
    """
    dtype = dtypes.canonical(values.dtype)
    return values if values.dtype.num == dtype.num else values.view(dtype)


def _default_table(dtype: DType, device: Device) -> DispatchTable:
    """Return the table of Python values that NumPy read as a dtype."""
    if dtype.kind == "u":  # integers that only uint64 holds
        return dispatch.table_of(device, dtypes.STANDARD["uint64"])
    if dtype.kind in "ifc":
        return dispatch.table_of(device, dispatch.default_dtype(device, dtype.kind))
    return dispatch.table_of(device, dtypes.canonical(dtype))
