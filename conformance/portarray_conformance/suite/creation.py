"""Making arrays."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import hypothesis.strategies as st
import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.bounds import NORMWISE
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call, raises
from portarray_conformance.promotion import ALL, COMPLEX_OF, FLOATING, FLOATS, INTEGERS, NUMERIC
from portarray_conformance.target import Target
from portarray_conformance.ulp import wide

_SHAPES = ((3,), (2, 3), (), (0,), (2, 0, 3), (2, 1, 2))


def _dtype_keyword(
    target: Target, data: Draw, names: Any = ALL
) -> tuple[str | None, dict[str, Any]]:
    """Draw a ``dtype`` keyword or none, with the target's device."""
    keywords = dict(target.creation_keywords())
    name = draw.pick(data, (None, *draw.available(target, names)), "dtype=")
    if name is not None:
        keywords["dtype"] = target.dtype(name)
    return name, keywords


def _filled(function: str, value: int | None, target: Target, data: Draw) -> None:
    shape: Any = draw.shape(data, _SHAPES)
    name, keywords = _dtype_keyword(target, data)
    size = shape[0] if len(shape) == 1 and draw.flag(data, "shape as int") else shape
    out = target.function(function)(size, **keywords)
    call, dtype = Call(f"{function}({size}, dtype={name})"), name or target.default("real floating")
    if value is None:
        compare.fetch(target, out, dtype, shape, call)
    else:
        compare.same(target, out, np.full(shape, value, dtype=dtype), call)


def _filled_like(function: str, value: int, target: Target, data: Draw) -> None:
    source, x = draw.typed_array(target, data, ALL, _SHAPES)
    name, keywords = _dtype_keyword(target, data)
    out = target.function(function)(draw.put(target, data, x), **keywords)
    want = np.full(x.shape, value, dtype=name or source)
    compare.same(target, out, want, Call(f"{function}(x, dtype={name})", {"x": x}))


case("empty", "shape")(partial(_filled, "empty", None))
for _name, _value in (("ones", 1), ("zeros", 0)):
    case(_name, "values")(partial(_filled, _name, _value))
    case(f"{_name}_like", "values")(partial(_filled_like, f"{_name}_like", _value))


@case("empty_like", "shape")
def empty_like(target: Target, data: Draw) -> None:
    """The shape of another array, and by default its dtype."""
    source, x = draw.typed_array(target, data, ALL, _SHAPES)
    name, keywords = _dtype_keyword(target, data)
    out = target.function("empty_like")(target.put(x), **keywords)
    compare.fetch(
        target, out, name or source, x.shape, Call(f"empty_like(x, dtype={name})", {"x": x})
    )


def _fill_value(data: Draw, name: str) -> Any:
    return draw.array(data, name, (), draw.ANY, "fill_value").item()


@case("full", "values")
def full(target: Target, data: Draw) -> None:
    """A Python scalar everywhere; its kind decides the default dtype."""
    shape: Any = draw.shape(data, _SHAPES)
    name, keywords = _dtype_keyword(target, data)
    if name is None:
        kind = draw.pick(data, ("bool", "integral", "real floating", "complex floating"), "kind")
        name = "bool" if kind == "bool" else target.default(kind)
    value = _fill_value(data, name)
    size = shape[0] if len(shape) == 1 and draw.flag(data, "shape as int") else shape
    call = Call(f"full({size}, {value!r}, dtype={keywords.get('dtype')})")
    out = target.function("full")(size, value, **keywords)
    compare.same(target, out, np.full(shape, value, dtype=name), call)


@case("full_like", "values")
def full_like(target: Target, data: Draw) -> None:
    """A Python scalar everywhere, by default in the dtype of x."""
    source, x = draw.typed_array(target, data, ALL, _SHAPES)
    name, keywords = _dtype_keyword(target, data)
    value = _fill_value(data, name or source)
    out = target.function("full_like")(target.put(x), value, **keywords)
    call = Call(f"full_like(x, {value!r}, dtype={name})", {"x": x})
    compare.same(target, out, np.full(x.shape, value, dtype=name or source), call)


@case("arange", "values")
def arange(target: Target, data: Draw) -> None:
    """Whole numbers up to, from and by; floating steps within rounding."""
    form = draw.pick(
        data, ("stop", "start, stop", "start, stop, step", "start, stop, step"), "form"
    )
    integers = st.integers(-20, 20)
    start = 0 if form == "stop" else data.draw(integers, label="start")
    stop = data.draw(integers, label="stop")
    step = data.draw(integers.filter(bool), label="step") if form.endswith("step") else 1
    name, keywords = _dtype_keyword(target, data, ("int32", "int64", *FLOATS))
    as_float = (name in FLOATS or name is None) and draw.flag(data, "as floats")
    scale = draw.pick(data, (1.0, 0.5, 0.25), "scale") if as_float else 1
    arguments = [v * scale for v in (start, stop, step)]
    if form == "stop":
        arguments = arguments[1:2]
    elif form == "start, stop":
        arguments = arguments[:2]
    steps = 1 / scale if len(arguments) < 3 else step  # in units of the scale
    count = max(0, math.ceil((stop - start) / steps))
    kind = "real floating" if as_float else "integral"
    values = [(start + i * steps) * scale for i in range(count)]
    want = np.array(values, dtype=name or target.default(kind))
    call = Call(f"arange({', '.join(map(repr, arguments))}, dtype={name})")
    compare.same(
        target, target.function("arange")(*arguments, **keywords), want, call, signed_zeros=False
    )


@case("eye", "values")
def eye(target: Target, data: Draw) -> None:
    """Ones on a diagonal."""
    rows = draw.whole(data, 0, 4, "n_rows")
    columns = draw.pick(data, (None, 0, 1, 3, 4), "n_cols")
    k = draw.whole(data, -4, 4, "k")
    name, keywords = _dtype_keyword(target, data)
    n = rows if columns is None else columns
    want = np.array([[j - i == k for j in range(n)] for i in range(rows)], dtype=bool)
    call = Call(f"eye({rows}, {columns}, k={k}, dtype={name})")
    out = target.function("eye")(rows, *([] if columns is None else [columns]), k=k, **keywords)
    compare.same(
        target, out, want.reshape(rows, n).astype(name or target.default("real floating")), call
    )


@case("linspace", "values")
def linspace(target: Target, data: Draw) -> None:
    """Evenly spaced numbers, with or without the end."""
    name, keywords = _dtype_keyword(target, data, FLOATING)
    kind = draw.pick(data, ("int", "float", "complex"), "kind of ends")
    if name in FLOATS and kind == "complex":
        kind = "float"
    end = {
        "int": st.integers(-20, 20),
        "float": draw.arrays("float32", (), draw.MODERATE).map(np.ndarray.item),
        "complex": draw.arrays("complex64", (), draw.MODERATE).map(np.ndarray.item),
    }[kind]
    start, stop = data.draw(end, label="start"), data.draw(end, label="stop")
    num = draw.whole(data, 0, 12, "num")
    endpoint = draw.flag(data, "endpoint")
    if not endpoint or draw.flag(data, "endpoint said"):
        keywords["endpoint"] = endpoint
    default = target.default("complex floating" if kind == "complex" else "real floating")
    result = name or default
    first = wide(np.array(start, dtype=result))
    last = wide(np.array(stop, dtype=result))
    gaps = max(1, num - 1 if endpoint else num)
    want = np.array([first + (last - first) * i / gaps for i in range(num)], dtype=first.dtype)
    call = Call(f"linspace({start!r}, {stop!r}, {num}, dtype={name}, endpoint={endpoint})")
    out = target.function("linspace")(start, stop, num, **keywords)
    size = float(max(abs(first), abs(last)))
    compare.within(target, out, want, call, dtype=result, size=size, bound=NORMWISE["linspace"])


@case("meshgrid", "values")
def meshgrid(target: Target, data: Draw) -> None:
    """One array for each vector, Cartesian or by matrix indices."""
    name = draw.dtype(target, data, NUMERIC)
    n = draw.whole(data, 1, 3, "vectors")
    vectors = [draw.array(data, name, (s,), label=f"x{i}") for i, s in enumerate((2, 3, 4)[:n])]
    indexing = draw.pick(data, (None, "xy", "ij"), "indexing")
    keywords = {} if indexing is None else {"indexing": indexing}
    call = Call(f"meshgrid(..., indexing={indexing})", {f"x{i}": v for i, v in enumerate(vectors)})
    out = target.function("meshgrid")(*[target.put(v) for v in vectors], **keywords)
    if not isinstance(out, tuple) or len(out) != n:
        raise call.fail(f"got {type(out).__name__} {out!r:.80}, wanted a tuple of {n} arrays")
    shape = tuple(len(v) for v in vectors)
    for axis, (got, vector) in enumerate(zip(out, vectors, strict=True)):
        column = vector.reshape([-1 if a == axis else 1 for a in range(n)])
        want = np.broadcast_to(column, shape)
        if indexing != "ij" and n > 1:
            want = np.swapaxes(want, 0, 1)
        compare.same(target, got, want, call)


def _triangle(function: str, target: Target, data: Draw) -> None:
    name = draw.dtype(target, data, ALL)
    shape = draw.shape(data, ((3, 3), (2, 4), (4, 2), (2, 3, 2), (0, 2), (1, 1)))
    x = draw.array(data, name, shape, draw.ANY)
    k = draw.whole(data, -3, 3, "k")
    keywords = {} if k == 0 and draw.flag(data, "by default") else {"k": k}
    rows, columns = shape[-2:]
    inside = [
        [(j - i <= k) if function == "tril" else (j - i >= k) for j in range(columns)]
        for i in range(rows)
    ]
    mask = np.array(inside, dtype=bool).reshape(rows, columns)
    want = np.where(mask, x, np.zeros((), dtype=x.dtype))
    out = target.function(function)(draw.put(target, data, x), **keywords)
    compare.same(target, out, want, Call(f"{function}(x, k={k})", {"x": x}))


for _name in ("tril", "triu"):
    case(_name, "values")(partial(_triangle, _name))


@case("asarray", "values")
def asarray(target: Target, data: Draw) -> None:
    """Nested sequences and scalars of Python; the kinds of the values decide the dtype."""
    kind = draw.pick(data, ("bool", "integral", "real floating", "complex floating"), "kind")
    default = "bool" if kind == "bool" else target.default(kind)
    x = draw.array(data, default, draw.shape(data, _SHAPES), draw.MODERATE)
    keywords = dict(target.creation_keywords())
    name = default
    if draw.flag(data, "with dtype"):
        wider = {"integral": INTEGERS, "real floating": FLOATS}.get(kind, (default,))
        name = draw.dtype(target, data, wider)
        keywords["dtype"] = target.dtype(name)
        if name.startswith("u"):
            x = np.abs(x)
        x = x.astype(name).astype(default)
    obj: Any = x.tolist()
    if draw.flag(data, "as tuple") and isinstance(obj, list):
        obj = tuple(tuple(row) if isinstance(row, list) else row for row in obj)
    shape = np.array(obj).shape  # nested lists end at the first size of 0
    if x.size == 0 and name == default:
        keywords["dtype"] = target.dtype(name)  # an empty list has no kind
    call = Call(f"asarray({obj!r}, dtype={keywords.get('dtype')})")
    out = target.function("asarray")(obj, **keywords)
    compare.same(target, out, x.astype(name).reshape(shape), call)


@case("asarray", "dtypes")
def asarray_dtypes(target: Target, data: Draw) -> None:
    """Mixed Python scalars: bool < int < float < complex."""
    function, keywords = target.function("asarray"), target.creation_keywords()
    for values, kind in (
        ([True, False], "bool"),
        ([True, 2], "integral"),
        ([1, 2], "integral"),
        ([1, 2.5], "real floating"),
        ([0.5, 1j], "complex floating"),
        ([1, 1j], "complex floating"),
    ):
        if kind == "complex floating" and target.default(kind) not in target.dtypes():
            continue
        name = "bool" if kind == "bool" else target.default(kind)
        compare.check_dtype(target, function(values, **keywords), name, Call(f"asarray({values})"))


@case("asarray", "views")
def asarray_copies(target: Target, data: Draw) -> None:
    """``copy=True`` is a new array; None and False give the same data."""
    name = draw.dtype(target, data, ALL)
    x = np.arange(4).astype(name)
    moved = target.put(x)
    function = target.function("asarray")
    copied = function(moved, copy=True)
    copied[0] = x[1].item()
    compare.same(target, moved, x, Call("x after a change in asarray(x, copy=True)"))
    shared = function(moved, copy=draw.pick(data, (None, False), "copy"))
    shared[0] = x[1].item()
    x[0] = x[1]
    compare.same(target, moved, x, Call("x after a change in asarray(x, copy=False)"))
    second = "float64" if name == "float32" else "float32"
    if name in FLOATS and second in target.dtypes():
        call = Call(f"asarray({name} array, dtype={second}, copy=False)")
        raises(
            function,
            call,
            "another dtype needs a copy",
            moved,
            dtype=target.dtype(second),
            copy=False,
        )


@case("asarray", "promotion")
def asarray_widens(target: Target, data: Draw) -> None:
    """An array given with a wider dtype is converted exactly."""
    name, x = draw.typed_array(target, data, FLOATS, _SHAPES, draw.ANY)
    wider = draw.dtype(
        target, data, {"float32": ALL[9:], "float64": ("float64", "complex128")}[name]
    )
    out = target.function("asarray")(target.put(x), dtype=target.dtype(wider))
    call = Call(f"asarray(x, dtype={wider})", {"x": x})
    compare.same(target, out, x.astype(wider), call, signed_zeros=wider not in COMPLEX_OF.values())
