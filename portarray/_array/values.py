"""Arrays from Python scalars, nested sequences, buffers and ``__array__`` objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from operator import countOf
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._array import base, dispatch, dtypes, host_access, native_arrays, results, slow_path
from portarray._devices import selection
from portarray.errors import DeviceMismatchError

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._array.dispatch import DispatchTable
    from portarray._devices.device import Device

DType = np.dtype[Any]


def from_python(
    obj: Any, dtype: DType | None, device: Device, *, copy: bool | None, narrow: bool
) -> Array:
    """Make an array from an object that is neither a native array nor a DLPack producer."""
    typed = _has_dtype(obj)
    nbytes = None
    try:
        host_values = _host_values(obj, dtype, sequence=not typed, copy=copy if typed else None)
        values = native_arrays.canonical_values(
            host_values.astype(host_values.dtype.newbyteorder("="), copy=False)
        )
        if dtype is not None:
            table = dispatch.table_of(device, dtype)
        elif _is_python(obj, values):
            table = _default_table(values.dtype, device)
        elif typed or dtypes.canonical(values.dtype) in dispatch.dtypes_of(device):
            table = native_arrays.table_for(dtypes.canonical(values.dtype), device, narrow=narrow)
        else:  # numpy.float64 is a Python float too
            table = _default_table(values.dtype, device)
        nbytes = values.size * table.dtype.itemsize
        # Objects with a dtype have memory that NumPy views; lists of them are copied.
        shares = typed and host_values.dtype.isnative and not isinstance(obj, (list, tuple))
        if copy is False and not (shares and values.dtype == table.dtype):
            order = (
                ""
                if host_values.dtype.isnative
                else f" of byte order {host_values.dtype.byteorder!r}"
            )
            raise made_anew(obj, order)
        if values.dtype != table.dtype:
            if values.dtype.kind == "c" and table.kind not in "bc":
                raise loses_imaginary_part(values.dtype, table.dtype)
            with np.errstate(all="ignore"):  # overflow in the conversion
                native = device._backend.from_host_converted(values, table.dtype, device.native)
        elif shares:
            native = device._backend.from_host(values, device.native, copy=copy)
        else:
            native = device._backend.from_owned_host(values, device.native)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        results.reraise(error, "asarray", device, nbytes=nbytes)
    return results.wrapped(native, table)


_SEQUENCES = frozenset((list, tuple))
HOST_TYPES = dtypes.NUMBERS | _SEQUENCES
"""Types that :func:`from_numbers` takes."""


def from_numbers(obj: Any, dtype: object, device: Any) -> Array | None:
    """Make an array of a number, or of a list or rows of Python numbers or of one NumPy type.

    Returns None for other sequences, and for numbers that need a check: :func:`from_python`.
    """
    kind = _type_of_numbers(obj)
    if kind is None:
        return None
    where = selection.resolve(device)
    try:
        table, host_dtype, make, convert = where._creation[kind, dtype]
    except (AttributeError, KeyError, TypeError):
        _cache_numbers(kind, dtype, where)
        return None
    try:
        host_values = make(obj, host_dtype)
    except (OverflowError, ValueError):  # out of range, or ragged
        return None
    host_access.tell("asarray", where, to_host=False)
    try:
        return results.wrapped(convert(host_values), table)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        results.reraise(error, "asarray", where, nbytes=host_values.size * table.dtype.itemsize)


def _type_of_numbers(obj: Any) -> type | None:
    """Return the type of an object's numbers, the widest one of Python's; None if not numbers."""
    kind = type(obj)
    if kind in _SEQUENCES and obj:
        kind = type(obj[0])
        if kind is int and len(obj) > _BATCH and _have_plain_sums(obj, kind, (int,)):
            return int  # of booleans among them too
        if kind in _SEQUENCES and obj[0] and _SEQUENCES.issuperset(map(type, obj)):
            kind = type(obj[0][0])
            obj = list(chain.from_iterable(obj))
        if countOf(map(type, obj), kind) < len(obj):
            if len(obj) > _BATCH:
                return None  # looking at their sizes too would take longer than NumPy
            kinds, python = set(map(type, obj)), dtypes.PYTHON_SCALARS
            if not kinds.issubset(python) or not max(map(abs, obj)) < 2**63:
                return None  # NumPy does not add integers beyond 64 bits to others
            return max(kinds, key=python.index)
    return kind if kind in dtypes.NUMBERS else None


def _cache_numbers(kind: type, dtype: object, device: Device) -> None:
    """Cache how numbers of a type become arrays, if no number of it needs a check."""
    from portarray.backends.common.silence import silently

    host_dtype: DType = np.dtype(kind)
    if kind not in dtypes.PYTHON_SCALARS:
        host_table = dispatch.dtypes_of(device).get(host_dtype)
        if dtype is not None or host_table is None:
            return
        table = host_table
    elif dtype is None:
        table = _default_table(host_dtype, device)
    else:
        table = dispatch.table_of(device, dtypes.canonical(dtype))
        if kind is int and table.kind in "iu":
            host_dtype = table.dtype  # NumPy checks the range
        elif host_dtype.kind == table.kind and table.dtype.itemsize >= 4:
            host_dtype = table.dtype  # which NumPy rounds to
    if dtypes.KIND_ORDER[host_dtype.kind] > dtypes.KIND_ORDER[table.kind] and table.kind != "b":
        return
    backend, native_device = device._backend, device.native
    overflows = host_dtype.kind in "fc" and host_dtype.itemsize < np.dtype(kind).itemsize
    make = partial(silently, np.array) if overflows else np.array

    def convert(host_values: np.ndarray[Any, Any]) -> Any:
        if host_dtype == table.dtype:
            return backend.from_owned_host(host_values, native_device)
        return silently(backend.from_host_converted, host_values, table.dtype, native_device)

    dispatch.cache_creation(table, (kind, dtype), (table, host_dtype, make, convert))


def made_anew(obj: Any, order: str = "") -> ValueError:
    return ValueError(
        f"asarray: copy=False, but making an array from {type(obj).__name__}{order} needs a copy\n"
        f"Hint: pass copy=None"
    )


def _has_dtype(obj: Any) -> bool:
    """Return whether an object has a dtype, unlike Python's numbers."""
    first = _first(obj)
    if isinstance(first, (np.ndarray, base.array_type)):
        return True
    if isinstance(first, dtypes.SCALARS):
        return False
    if first is not obj and native_arrays.device_of(first) is not None:
        return True
    if any(hasattr(obj, f"__array{name}__") for name in ("", "_interface", "_struct")):
        return True
    try:
        memoryview(obj).release()
    except TypeError:  # no buffer
        return False
    return True


def _is_python(obj: Any, values: np.ndarray[Any, Any]) -> bool:
    """Return whether there are Python numbers among an object's values, or none at all.

    They count as the device's default dtype of their kind, which is what NumPy makes of them
    with NumPy scalars and arrays: ``[numpy.float32(1), 2.0]`` is float64.
    """
    if isinstance(obj, (list, tuple)):
        if values.dtype.kind == "b":
            return False
        return (not values.size and _first(obj) in ([], ())) or any(_is_number(x) for x in obj)
    return _is_number(obj)


def _is_number(obj: Any) -> bool:
    if isinstance(obj, (list, tuple)):
        return any(map(_is_number, obj))
    return isinstance(obj, (int, float, complex)) and not isinstance(obj, (bool, np.generic))


def _first(obj: Any) -> Any:
    """Return the first leaf of a nested sequence, an array or a number."""
    while isinstance(obj, (list, tuple)) and obj:
        obj = obj[0]
    return obj


def arrays_in(obj: Any) -> list[Any]:
    """Return the arrays in a nested sequence, but NumPy's, which count as host values."""
    kind = type(obj[0]) if obj else float
    if len(obj) > _BATCH and _have_plain_sums(obj, kind):
        return []
    if kind in dtypes.NUMBERS and countOf(map(type, obj), kind) == len(obj):
        return []
    if dtypes.NUMBERS.issuperset(map(type, obj)) or (
        _SEQUENCES.issuperset(map(type, obj))
        and dtypes.NUMBERS.issuperset(map(type, chain.from_iterable(obj)))
    ):
        return []  # numbers of several types, or rows of numbers
    arrays = []
    for x in obj:
        if isinstance(x, (list, tuple)):
            arrays += arrays_in(x)
        elif isinstance(x, base.array_type) or (
            not isinstance(x, (np.ndarray, *dtypes.SCALARS))
            and native_arrays.device_of(x) is not None
        ):
            arrays.append(x)
    return arrays


def _have_plain_sums(
    obj: Sequence[Any], kind: type, types: Iterable[type] = dtypes.PYTHON_SCALARS
) -> bool:
    """Return whether a long sequence of numbers, or of rows of numbers, certainly has no arrays.

    A sum is an array or an error where there is an array among the summands, and has another type
    where there are numbers of a wider one. Python adds its own numbers in 3 ns each, less than half
    of what looking at their types takes.
    """
    batches: Iterator[Any]
    if kind in dtypes.PYTHON_SCALARS:
        batches = (obj[i : i + _BATCH] for i in range(0, len(obj), _BATCH))
    elif kind in _SEQUENCES and countOf(map(type, obj), kind) == len(obj):
        batches = iter(obj)
    else:
        return False
    with np.errstate(all="ignore"):  # of NumPy's scalars
        try:
            return all(type(sum(batch)) in types for batch in batches)
        except (ArithmeticError, AttributeError, RuntimeError, TypeError, ValueError):
            return False  # of classes that have no sum with numbers


_BATCH = 1000
"""As many numbers of a list are added before arrays among them are noticed."""


def home_of(arrays: Sequence[Any]) -> Device | None:
    """Return the device of arrays, None if there are none.

    Raises
    ------
    DeviceMismatchError
        If they are on different devices.
    """
    home: Device | None = None
    for x in arrays:
        device = x.device if isinstance(x, base.array_type) else native_arrays.device_of(x)
        if home is None:
            home = device
        elif device is not home:
            raise DeviceMismatchError("asarray", str(home), str(device))
    return home


def is_traced(x: Any) -> bool:
    """Return whether a gradient or compilation follows an array."""
    return isinstance(x, base.array_type) and x._dispatch.device is not x.device


def stacked(obj: Any, dtype: DType | None, device: Any) -> Array:
    """Make an array of a nested sequence by stacking, which traces follow."""
    if isinstance(obj, base.array_type):
        return obj
    if not isinstance(obj, (list, tuple)) or not arrays_in(obj):
        return from_python(obj, dtype, device, copy=None, narrow=False)
    rows = [stacked(x, dtype, device) for x in obj]
    shapes = {x.shape for x in rows}
    if len(shapes) > 1:
        raise ValueError(
            f"asarray: the nested sequence is ragged: its parts have shapes "
            f"{', '.join(map(str, sorted(shapes)))}\n"
            f"Hint: pad the rows to the same length, or make one array for each"
        )
    return slow_path.sequence("stack", rows, axis=0)


def _host_values(
    obj: Any, dtype: DType | None, *, sequence: bool, copy: bool | None
) -> np.ndarray[Any, Any]:
    """Return an object's values as a NumPy array; raises if they are not numbers."""
    if isinstance(obj, np.ndarray) and type(obj) is not np.ndarray and np.ma.is_masked(obj):
        raise TypeError(
            "asarray: a masked array has elements without a value, which no device supports\n"
            "Hint: pass x.filled(value), or x.data to ignore the mask"
        )
    try:
        try:
            values = np.asarray(obj, copy=False if copy is False else None)
        except (TypeError, ValueError):
            if not isinstance(obj, (list, tuple)):
                raise
            # NumPy cannot read device memory, nor bfloat16 of other libraries.
            obj = _with_values(obj)
            values = np.asarray(obj)
        if (
            sequence
            and dtype is not None
            and dtypes.kind_of(dtype) in "iu"
            and values.dtype.kind in "Oiuf"
        ):
            # NumPy makes floats or objects of integers beyond int64 unless given a dtype.
            values = np.asarray(obj, dtype=dtype)
        elif sequence and values.dtype.kind in "Of" and _beyond_64_bits(values, obj):
            values = np.asarray(obj, dtype=np.uint64 if dtype is None else np.float64)
    except ValueError as error:
        if "inhomogeneous" in str(error):
            raise ValueError(
                f"asarray: the nested sequence is ragged: {str(error).rstrip('.')}\n"
                f"Hint: pad the rows to the same length, or make one array for each"
            ) from error
        if copy is False:
            raise made_anew(obj) from error
        raise
    except OverflowError as error:
        fix = "" if dtype else "\nHint: pass dtype=pa.float64 to round values that are too large"
        raise OverflowError(
            f"asarray: a value does not fit {dtype or 'any integer dtype'}: {error}{fix}"
        ) from error
    if values.dtype.kind in "OSUTVMm" and values.dtype.name not in dtypes.EXTRA:
        reasons = {
            "O": "Python objects",
            "S": "bytes",
            "U": "strings",
            "T": "strings",
            "M": "dates",
            "m": "time spans",
            "V": "records" if values.dtype.names else values.dtype.name,
        }
        fix = "convert the values first, for example numpy.asarray(values).astype(float)"
        if values.dtype.kind == "O" and not values.shape:  # not a sequence
            fix = (
                "pass an array or a nested list of numbers: list(x) of an iterator or a set, "
                "x.toarray() of a sparse array"
            )
        raise TypeError(
            f"asarray: arrays of {reasons[values.dtype.kind]} are not supported, only booleans and "
            f"numbers "
            f"(NumPy reads the {type(obj).__name__} as dtype {values.dtype})\nHint: {fix}"
        )
    return values


def _beyond_64_bits(values: np.ndarray[Any, Any], obj: Any) -> bool:
    """Return whether NumPy made floats or objects of integers beyond 64 bits."""
    if values.dtype.kind == "f" and (
        not values.size or max(values.max(), -values.min()) < 2.0**63  # NaN is not less
    ):
        return False
    if isinstance(obj, (list, tuple)):
        return all(_beyond_64_bits(values, item) for item in obj)
    return type(obj) is int


def _with_values(obj: Any) -> Any:
    """Return a nested sequence with arrays replaced by their values."""
    if isinstance(obj, (list, tuple)):
        return [_with_values(item) for item in obj]
    if isinstance(obj, base.array_type):
        host_access.tell("asarray", obj.device)
        return slow_path.read(obj)
    owner = native_arrays.device_of(obj)
    return obj if owner is None else owner._backend.read_host(obj, owner.native)


def _default_table(dtype: DType, device: Device) -> DispatchTable:
    """Return the default table for Python values that NumPy converted to a dtype."""
    if dtype.kind == "u":  # integers beyond int64
        return dispatch.table_of(device, dtypes.STANDARD["uint64"])
    if dtype.kind in "ifc":
        return dispatch.table_of(device, dispatch.default_dtype(device, dtype.kind))
    return dispatch.table_of(device, dtypes.canonical(dtype))


def loses_imaginary_part(dtype: DType, target_dtype: DType) -> TypeError:
    return TypeError(
        f"converting {dtype} to {target_dtype} loses the imaginary part\nHint: take pa.real(x) "
        f"first"
    )
