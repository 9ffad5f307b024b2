"""Array creation."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np

from portarray_conformance.bounds import NORMWISE
from portarray_conformance.reference import arguments, elementwise, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.context import Context
from portarray_conformance.reference.kinds import BFLOAT16, BOOL, NAMED, Data, DType
from portarray_conformance.reference.reductions import round_with_noise
from portarray_conformance.reference.registry import function

_KIND = {bool: "b", int: "i", float: "f", complex: "c"}


def _dtype_or_default(ctx: Context, dtype: Any, kind: str = "f") -> DType:
    return ctx.default_of(kind) if dtype is None else ctx.dtype(dtype)


@function("custom")
def asarray(
    ctx: Context,
    obj: Any,
    /,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    narrow: bool = False,
) -> Array:
    arguments.copy(copy)
    target = None if dtype is None else ctx.dtype(dtype)
    ctx.check_device(device)
    if type(obj) is Array:
        if target is None or target == obj.dtype:
            return ctx.array(obj._data.copy(), obj.undefined) if copy else obj
        if copy is False:
            raise ValueError("copy=False, but another dtype needs a copy")
        out: Array = ctx.call("astype", obj, target)
        return out
    undefined = None
    if any(type(x) is Array and x.undefined is not None for x in _leaves(obj)):
        undefined = np.asarray(True)
    values = _values(obj, target)
    source = _canonical(values)
    if target is None:
        kind = kinds.letter(source)
        from_values = kind == "b" or source == NAMED["uint64"] or not _has_python_numbers(obj)
        if from_values and isinstance(_first(obj), np.generic) and not ctx.has(source):
            from_values = False  # numpy.float64 is a Python float too
        target = ctx.available(source) if from_values else ctx.default_of(kind)
    if copy is False and not (isinstance(obj, np.ndarray) and target == source):
        raise ValueError("copy=False, but making this array needs a copy")
    if source.kind == "c" and kinds.letter(target) not in "bc":
        raise TypeError(f"converting {source} to {target} loses the imaginary part")
    opened = elementwise.open_cast(values, target)
    if opened is not None:
        undefined = opened
    data = values != 0 if target == BOOL else kinds.rounded(values, target)
    return ctx.array(np.array(data), undefined)


def _canonical(values: Data) -> DType:
    dtype = kinds.NAMED.get(values.dtype.name)
    if dtype is None:
        raise TypeError(f"arrays of {values.dtype} cannot be made")
    return dtype


def _leaves(obj: Any) -> Any:
    if isinstance(obj, (list, tuple)):
        for item in obj:
            yield from _leaves(item)
    else:
        yield obj


def _first(obj: Any) -> Any:
    return next(iter(_leaves(obj)), None)


def _has_python_numbers(obj: Any) -> bool:
    """Return whether there are Python numbers among the elements, or none at all."""
    leaves = list(_leaves(obj))
    return not leaves or builtins.any(type(x) in (int, float, complex) for x in leaves)


def _values(obj: Any, target: DType | None) -> Data:
    """Return a Python object's values as a NumPy array; raises if they are not numbers."""
    try:
        values = np.asarray(obj)
        if target is not None and kinds.letter(target) in "iu" and values.dtype.kind in "Oiuf":
            if not isinstance(obj, np.ndarray):
                values = np.asarray(obj, dtype=target)
        elif values.dtype.kind in "Of":
            numbers = list(_leaves(obj))
            if numbers and builtins.all(type(x) is int for x in numbers):
                values = np.asarray(obj, dtype=np.uint64 if target is None else np.float64)
    except OverflowError as error:
        raise OverflowError(f"a value does not fit any integer dtype: {error}") from None
    if values.dtype.kind in "OSUTVMm" and values.dtype != BFLOAT16:
        raise TypeError(f"arrays of {values.dtype} cannot be made")
    return values.astype(values.dtype.newbyteorder("="), copy=False)


@function("custom")
def from_dlpack(
    ctx: Context, x: Any, /, *, device: Any = None, copy: bool | None = None, narrow: bool = False
) -> Array:
    arguments.copy(copy)
    ctx.check_device(device)
    if type(x) is Array:
        return ctx.array(x._data.copy(), x.undefined) if copy else x
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack takes objects with __dlpack__, not {type(x).__name__}")
    data = np.from_dlpack(x)
    return ctx.array(data.copy() if copy else data)


def _filled(ctx: Context, shape: Any, value: Any, dtype: DType, device: Any) -> Array:
    ctx.check_device(device)
    sizes = arguments.shape(shape)
    arguments.require_memory(sizes, dtype)
    return ctx.array(np.full(sizes, value).astype(dtype))


def _like(ctx: Context, x: Any, dtype: Any, name: str) -> DType:
    x = ctx.require_array(x, name)
    return x.dtype if dtype is None else ctx.dtype(dtype)


def _register_filled(name: str, value: int) -> None:
    """Register ``zeros``, ``ones`` or ``empty``, whose values are undefined, and ``NAME_like``."""

    def undefined(ctx: Context, out: Array) -> Array:
        return ctx.array(out._data, np.ones(out.shape, BOOL)) if name == "empty" else out

    def filled(ctx: Context, shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
        target = _dtype_or_default(ctx, dtype)
        return undefined(ctx, _filled(ctx, shape, value, target, device))

    def like(ctx: Context, x: Any, /, *, dtype: Any = None, device: Any = None) -> Array:
        target = _like(ctx, x, dtype, f"{name}_like")
        return undefined(ctx, _filled(ctx, x.shape, value, target, device))

    function("custom", name)(filled)
    function("custom", f"{name}_like")(like)


_register_filled("empty", 0)
_register_filled("zeros", 0)
_register_filled("ones", 1)


def _fill_value(value: Any, dtype: DType) -> Any:
    scalar = arguments.python_number(value, "fill_value")
    kind = kinds.letter(dtype)
    if isinstance(scalar, complex) and kind not in "bc":
        raise TypeError(f"fill_value {scalar!r} is complex and {dtype} is not")
    if kind in "iu":
        low, high = kinds.limits(dtype)
        if not low <= scalar <= high:
            raise OverflowError(f"fill_value {scalar!r} does not fit {dtype}")
    return kinds.rounded_number(scalar, dtype)


@function("custom")
def full(
    ctx: Context, shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Array:
    if dtype is None and type(fill_value) is Array:
        dtype = fill_value.dtype
    value = arguments.python_number(fill_value, "fill_value")
    kind = _KIND[type(value)]
    target = BOOL if dtype is None and kind == "b" else _dtype_or_default(ctx, dtype, kind)
    return _filled(ctx, shape, _fill_value(value, target), target, device)


@function("custom")
def full_like(
    ctx: Context, x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Array:
    target = _like(ctx, x, dtype, "full_like")
    return _filled(ctx, x.shape, _fill_value(fill_value, target), target, device)


@function("custom")
def eye(
    ctx: Context,
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
    ctx.check_device(device)
    target = _dtype_or_default(ctx, dtype)
    arguments.require_memory((rows, columns), target)
    return ctx.array(np.eye(rows, columns, k).astype(target))


@function("custom")
def arange(
    ctx: Context,
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
    if by == 0 or not builtins.all(math.isfinite(value) for value in (first, last, by)):
        raise ValueError(f"arange got start, stop, step = {first, last, by}")
    exact = builtins.all(isinstance(value, int) for value in (first, last, by))
    target = _dtype_or_default(ctx, dtype, "i" if exact else "f")
    if target == BOOL:
        raise TypeError("arange got dtype bool; it makes numbers")
    ctx.check_device(device)
    kind = kinds.letter(target)
    if kind in "iu" and not exact:
        if first != int(first) or by != int(by):
            raise ValueError(
                f"arange in {target} got start {first} and step {by}; both must be whole"
            )
        first, by = int(first), int(by)
    if exact:
        count = max(0, -((int(first) - int(last)) // int(by)))
    else:
        count = max(0, math.ceil((last - first) / by))
    arguments.require_memory((count,), target)
    if kind in "iu":
        low, high = kinds.limits(target)
        ends = (first, first + (count - 1) * by) if count else ()
        if not builtins.all(low <= value <= high for value in ends):
            raise OverflowError(f"arange({first}, {last}, {by}) does not fit {target}")
        numbers = range(first, first + count * by, by) if count else []
        return ctx.array(np.asarray(list(numbers), dtype=target))
    real = kinds.REAL.get(target, target)
    wide = kinds.WIDE[real].type
    values = np.asarray(wide(first) + np.arange(count, dtype=kinds.WIDE[real]) * wide(by))

    def scale() -> Any:
        return max(abs(first), abs(last))

    whole = bool(np.all(values == np.rint(values)))
    out = round_with_noise(ctx, values, real, scale, NORMWISE["linspace"], whole)
    return out if real == target else ctx.array(out._data.astype(target))


@function("custom")
def linspace(
    ctx: Context,
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Array:
    first, last = arguments.python_number(start, "start"), arguments.python_number(stop, "stop")
    is_complex = isinstance(first, complex) or isinstance(last, complex)
    target = _dtype_or_default(ctx, dtype, "c" if is_complex else "f")
    kind = kinds.letter(target)
    if is_complex and kind != "c":
        raise TypeError(f"linspace got complex bounds and dtype {target}")
    if kind == "b":
        raise TypeError("linspace got dtype bool; it makes numbers")
    count = arguments.size(num, "num")
    ctx.check_device(device)
    arguments.require_memory((count,), target)
    endpoint = arguments.flag(endpoint, "endpoint")
    gaps = max(1, count - 1 if endpoint else count)
    work = ctx.default_of("f") if kind in "iu" else target
    work_type = kinds.WIDE[work].type
    ends = [
        kinds.rounded(np.asarray(kinds.python_number(e, work)), work).astype(work_type)
        for e in (first, last)
    ]
    steps = np.arange(count).astype(kinds.WIDE[work])
    values = np.asarray(ends[0] + (ends[1] - ends[0]) * steps / work_type(gaps))
    if endpoint and count > 1:
        values[-1] = ends[1]
    if kind in "iu":
        low, high = kinds.limits(target)
        whole = np.floor(values).astype(object)
        if not builtins.all(math.isfinite(e) for e in (first, last)):
            raise ValueError(f"linspace({first}, {last}) is not finite")
        if not builtins.all(low <= work_type <= high for work_type in whole):
            raise OverflowError(f"linspace({first}, {last}) does not fit {target}")
        open_ = np.abs(values - np.rint(values)) < 1e-6 * np.maximum(np.abs(values), 1)
        # Ends are exact, and so are steps of a whole number.
        by = (last - first) / gaps
        open_ &= (values != first) & (values != last) & (by != np.rint(by))
        return ctx.array(np.asarray(whole, dtype=object).astype(target), open_)

    def scale() -> Any:
        return np.where((values == ends[0]) | (values == ends[1]), 0, max(abs(e) for e in ends))

    undefined = None if np.all(np.isfinite(ends)) else np.ones(count, BOOL)
    out = round_with_noise(ctx, values, target, scale, NORMWISE["linspace"], exact=False)
    return ctx.array(out._data, undefined)


@function("custom")
def logspace(
    ctx: Context,
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Array:
    exponents = linspace(ctx, start, stop, num, device=device, endpoint=endpoint)
    powers = ctx.binary("pow", arguments.real_number(base, "base"), exponents)
    if dtype is None:
        return powers
    out: Array = ctx.call("astype", powers, dtype, copy=False)
    return out
