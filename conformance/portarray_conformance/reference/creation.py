"""Arrays made of nothing, of numbers and of other data."""

from __future__ import annotations

import builtins
import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray_conformance.bounds import NORMWISE
from portarray_conformance.reference import arguments, elementwise, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.kinds import BFLOAT16, BOOL, NAMED, Data, DType
from portarray_conformance.reference.reductions import finished
from portarray_conformance.reference.registry import function

if TYPE_CHECKING:
    from portarray_conformance.reference.rules import Rules

_KIND = {bool: "b", int: "i", float: "f", complex: "c"}


def _made(rules: Rules, dtype: Any, kind: str = "f") -> DType:
    return rules.default_of(kind) if dtype is None else rules.dtype(dtype)


@function("own")
def asarray(
    rules: Rules,
    obj: Any,
    /,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    narrow: bool = False,
) -> Array:
    arguments.copy(copy)
    wanted = None if dtype is None else rules.dtype(dtype)
    rules.place(device)
    if type(obj) is Array:
        if wanted is None or wanted == obj.dtype:
            return rules.array(obj._data.copy(), obj.unsure) if copy else obj
        if copy is False:
            raise ValueError("copy=False, but another dtype needs a copy")
        out: Array = rules.call("astype", obj, wanted)
        return out
    unsure = None
    if any(type(x) is Array and x.unsure is not None for x in _leaves(obj)):
        unsure = np.asarray(True)
    given = _values(obj, wanted)
    found = _canonical(given)
    if wanted is None:
        kind = kinds.letter(found)
        own = kind == "b" or found == NAMED["uint64"] or not _counts(obj)
        if own and isinstance(_first(obj), np.generic) and not rules.has(found):
            own = False  # numpy.float64 is a Python float too
        wanted = rules.available(found) if own else rules.default_of(kind)
    if copy is False and not (isinstance(obj, np.ndarray) and wanted == found):
        raise ValueError("copy=False, but making this array needs a copy")
    if found.kind == "c" and kinds.letter(wanted) not in "bc":
        raise TypeError(f"converting {found} to {wanted} loses the imaginary part")
    opened = elementwise.open_cast(given, wanted)
    if opened is not None:
        unsure = opened
    data = given != 0 if wanted == BOOL else kinds.rounded(given, wanted)
    return rules.array(np.array(data), unsure)


def _canonical(values: Data) -> DType:
    found = kinds.NAMED.get(values.dtype.name)
    if found is None:
        raise TypeError(f"arrays of {values.dtype} cannot be made")
    return found


def _leaves(obj: Any) -> Any:
    if isinstance(obj, (list, tuple)):
        for one in obj:
            yield from _leaves(one)
    else:
        yield obj


def _first(obj: Any) -> Any:
    return next(iter(_leaves(obj)), None)


def _counts(obj: Any) -> bool:
    """Tell whether there are Python numbers among the elements, or none at all."""
    leaves = list(_leaves(obj))
    return not leaves or builtins.any(type(x) in (int, float, complex) for x in leaves)


def _values(obj: Any, wanted: DType | None) -> Data:
    """Return a Python object's values as a NumPy array; raises if they are not numbers."""
    try:
        values = np.asarray(obj)
        if wanted is not None and kinds.letter(wanted) in "iu" and values.dtype.kind in "Oiuf":
            if not isinstance(obj, np.ndarray):
                values = np.asarray(obj, dtype=wanted)
        elif values.dtype.kind in "Of":
            numbers = list(_leaves(obj))
            if numbers and builtins.all(type(x) is int for x in numbers):
                values = np.asarray(obj, dtype=np.uint64 if wanted is None else np.float64)
    except OverflowError as error:
        raise OverflowError(f"a value does not fit any integer dtype: {error}") from None
    if values.dtype.kind in "OSUTVMm" and values.dtype != BFLOAT16:
        raise TypeError(f"arrays of {values.dtype} cannot be made")
    return values.astype(values.dtype.newbyteorder("="), copy=False)


@function("own")
def from_dlpack(
    rules: Rules, x: Any, /, *, device: Any = None, copy: bool | None = None, narrow: bool = False
) -> Array:
    arguments.copy(copy)
    rules.place(device)
    if type(x) is Array:
        return rules.array(x._data.copy(), x.unsure) if copy else x
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack takes objects with __dlpack__, not {type(x).__name__}")
    found = np.from_dlpack(x)
    return rules.array(found.copy() if copy else found)


def _filled(rules: Rules, shape: Any, value: Any, dtype: DType, device: Any) -> Array:
    rules.place(device)
    sizes = arguments.shape(shape)
    arguments.counted(sizes, dtype)
    return rules.array(np.full(sizes, value).astype(dtype))


@function("own")
def empty(rules: Rules, shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    out = _filled(rules, shape, 0, _made(rules, dtype), device)
    return rules.array(out._data, np.ones(out.shape, BOOL))


@function("own")
def zeros(rules: Rules, shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    return _filled(rules, shape, 0, _made(rules, dtype), device)


@function("own")
def ones(rules: Rules, shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    return _filled(rules, shape, 1, _made(rules, dtype), device)


def _like(rules: Rules, x: Any, dtype: Any, name: str) -> DType:
    x = rules.is_array(x, name)
    return x.dtype if dtype is None else rules.dtype(dtype)


@function("own")
def empty_like(rules: Rules, x: Any, /, *, dtype: Any = None, device: Any = None) -> Array:
    out = _filled(rules, getattr(x, "shape", ()), 0, _like(rules, x, dtype, "empty_like"), device)
    return rules.array(out._data, np.ones(out.shape, BOOL))


@function("own")
def zeros_like(rules: Rules, x: Any, /, *, dtype: Any = None, device: Any = None) -> Array:
    return _filled(rules, getattr(x, "shape", ()), 0, _like(rules, x, dtype, "zeros_like"), device)


@function("own")
def ones_like(rules: Rules, x: Any, /, *, dtype: Any = None, device: Any = None) -> Array:
    return _filled(rules, getattr(x, "shape", ()), 1, _like(rules, x, dtype, "ones_like"), device)


def _fill_value(value: Any, dtype: DType) -> Any:
    found = arguments.number(value, "fill_value")
    kind = kinds.letter(dtype)
    if isinstance(found, complex) and kind not in "bc":
        raise TypeError(f"fill_value {found!r} is complex and {dtype} is not")
    if kind in "iu":
        low, high = kinds.limits(dtype)
        if not low <= found <= high:
            raise OverflowError(f"fill_value {found!r} does not fit {dtype}")
    return kinds.number(found, dtype)


@function("own")
def full(
    rules: Rules, shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Array:
    if dtype is None and type(fill_value) is Array:
        dtype = fill_value.dtype
    value = arguments.number(fill_value, "fill_value")
    kind = _KIND[type(value)]
    wanted = BOOL if dtype is None and kind == "b" else _made(rules, dtype, kind)
    return _filled(rules, shape, _fill_value(value, wanted), wanted, device)


@function("own")
def full_like(
    rules: Rules, x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Array:
    wanted = _like(rules, x, dtype, "full_like")
    return _filled(rules, x.shape, _fill_value(fill_value, wanted), wanted, device)


@function("own")
def eye(
    rules: Rules,
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
) -> Array:
    rows = arguments.size(n_rows, "n_rows")
    columns = rows if n_cols is None else arguments.size(n_cols, "n_cols")
    k = max(-rows, min(columns, operator.index(k)))
    rules.place(device)
    wanted = _made(rules, dtype)
    arguments.counted((rows, columns), wanted)
    return rules.array(np.eye(rows, columns, k).astype(wanted))


@function("own")
def arange(
    rules: Rules,
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Array:
    if stop is None:
        start, stop = 0, start
    first = arguments.real_number(start, "start")
    last = arguments.real_number(stop, "stop")
    by = arguments.real_number(step, "step")
    if by == 0 or not builtins.all(math.isfinite(one) for one in (first, last, by)):
        raise ValueError(f"arange got start, stop, step = {first, last, by}")
    exact = builtins.all(isinstance(one, int) for one in (first, last, by))
    wanted = _made(rules, dtype, "i" if exact else "f")
    if wanted == BOOL:
        raise TypeError("arange got dtype bool; it makes numbers")
    rules.place(device)
    kind = kinds.letter(wanted)
    if kind in "iu" and not exact:
        if first != int(first) or by != int(by):
            raise ValueError(
                f"arange in {wanted} got start {first} and step {by}; both must be whole"
            )
        first, by = int(first), int(by)
    if exact:
        count = max(0, -((int(first) - int(last)) // int(by)))
    else:
        count = max(0, math.ceil((last - first) / by))
    arguments.counted((count,), wanted)
    if kind in "iu":
        low, high = kinds.limits(wanted)
        ends = (first, first + (count - 1) * by) if count else ()
        if not builtins.all(low <= one <= high for one in ends):
            raise OverflowError(f"arange({first}, {last}, {by}) does not fit {wanted}")
        numbers = range(first, first + count * by, by) if count else []
        return rules.array(np.asarray(list(numbers), dtype=wanted))
    real = kinds.REAL.get(wanted, wanted)
    wide = kinds.WIDE[real].type
    values = np.asarray(wide(first) + np.arange(count, dtype=kinds.WIDE[real]) * wide(by))

    def scale() -> Any:
        return max(abs(first), abs(last))

    whole = bool(np.all(values == np.rint(values)))
    out = finished(rules, values, real, scale, NORMWISE["linspace"], whole)
    return out if real == wanted else rules.array(out._data.astype(wanted))


@function("own")
def linspace(
    rules: Rules,
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Array:
    first, last = arguments.number(start, "start"), arguments.number(stop, "stop")
    is_complex = isinstance(first, complex) or isinstance(last, complex)
    wanted = _made(rules, dtype, "c" if is_complex else "f")
    kind = kinds.letter(wanted)
    if is_complex and kind != "c":
        raise TypeError(f"linspace got complex bounds and dtype {wanted}")
    if kind == "b":
        raise TypeError("linspace got dtype bool; it makes numbers")
    count = arguments.size(num, "num")
    rules.place(device)
    arguments.counted((count,), wanted)
    endpoint = arguments.flag(endpoint, "endpoint")
    gaps = max(1, count - 1 if endpoint else count)
    work = rules.default_of("f") if kind in "iu" else wanted
    one = kinds.WIDE[work].type
    ends = [kinds.rounded(np.asarray(kinds.held(e, work)), work).astype(one) for e in (first, last)]
    steps = np.arange(count).astype(kinds.WIDE[work])
    values = np.asarray(ends[0] + (ends[1] - ends[0]) * steps / one(gaps))
    if endpoint and count > 1:
        values[-1] = ends[1]
    if kind in "iu":
        low, high = kinds.limits(wanted)
        whole = np.floor(values).astype(object)
        if not builtins.all(math.isfinite(e) for e in (first, last)):
            raise ValueError(f"linspace({first}, {last}) is not finite")
        if not builtins.all(low <= one <= high for one in whole):
            raise OverflowError(f"linspace({first}, {last}) does not fit {wanted}")
        open_ = np.abs(values - np.rint(values)) < 1e-6 * np.maximum(np.abs(values), 1)
        # Ends are exact, and so are steps of a whole number.
        by = (last - first) / gaps
        open_ &= (values != first) & (values != last) & (by != np.rint(by))
        return rules.array(np.asarray(whole, dtype=object).astype(wanted), open_)

    def scale() -> Any:
        return np.where((values == ends[0]) | (values == ends[1]), 0, max(abs(e) for e in ends))

    unsure = None if np.all(np.isfinite(ends)) else np.ones(count, BOOL)
    out = finished(rules, values, wanted, scale, NORMWISE["linspace"], exact=False)
    return rules.array(out._data, unsure)


@function("own")
def logspace(
    rules: Rules,
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Array:
    exponents = linspace(rules, start, stop, num, device=device, endpoint=endpoint)
    powers = rules.binary("pow", arguments.real_number(base, "base"), exponents)
    if dtype is None:
        return powers
    out: Array = rules.call("astype", powers, dtype, copy=False)
    return out
