"""Searching: extremes, nonzero elements, sorted arrays, ``where``."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call, raises
from portarray_conformance.promotion import ALL, INTEGERS, REAL
from portarray_conformance.slices import along, first_extreme
from portarray_conformance.target import Target

_TIES = draw.Domain(-2, 2)
_SHAPES = (*draw.AXIS_SHAPES, ())


def _arg_extreme(function: str, target: Target, data: Draw) -> None:
    """Check the first of equal extremes; ties are frequent."""
    name = draw.dtype(target, data, REAL)
    domain = draw.pick(data, (_TIES, draw.MODERATE), "domain")
    x = np.round(draw.array(data, name, draw.shape(data, _SHAPES), domain))
    axis = None if x.ndim == 0 or draw.flag(data, "no axis") else draw.axis(data, x.ndim)
    keepdims = draw.flag(data, "keepdims")
    call = Call(f"{function}(x, axis={axis}, keepdims={keepdims})", {"x": x})
    out = target.function(function)(draw.put(target, data, x), axis=axis, keepdims=keepdims)
    better = operator.gt if function == "argmax" else operator.lt
    want = along(x, axis, lambda v: first_extreme(v.tolist(), better), keepdims=keepdims)
    compare.same(target, out, want, call, dtype=target.default("indexing"))


for _name in ("argmax", "argmin"):
    case(_name, "values")(partial(_arg_extreme, _name))


@case("count_nonzero", "values")
def count_nonzero_values(target: Target, data: Draw) -> None:
    """How many elements are not zero; NaN is not, and one component is enough."""
    name = draw.dtype(target, data, ALL)
    shape = draw.shape(data, (*_SHAPES, (0,), (2, 0)))
    x = draw.array(data, name, shape, draw.Domain(0, 1, special=True))
    axis, keepdims = draw.axes(data, x.ndim), draw.flag(data, "keepdims")
    call = Call(f"count_nonzero(x, axis={axis}, keepdims={keepdims})", {"x": x})
    out = target.function("count_nonzero")(draw.put(target, data, x), axis=axis, keepdims=keepdims)
    want = along(x != 0, axis, lambda v: sum(bool(e) for e in v), keepdims=keepdims)
    compare.same(target, out, want.astype(np.int64), call, dtype=target.default("indexing"))


@case("nonzero", "values")
def nonzero_values(target: Target, data: Draw) -> None:
    """Indices in row-major order, one array for each axis."""
    name = draw.dtype(target, data, ALL)
    shape = draw.shape(data, (*draw.AXIS_SHAPES, (0,), (2, 0)))
    x = draw.array(data, name, shape, draw.Domain(0, 1, special=True))
    call = Call("nonzero(x)", {"x": x})
    out = target.function("nonzero")(draw.put(target, data, x))
    if not isinstance(out, tuple) or len(out) != x.ndim:
        raise call.fail(f"got {type(out).__name__} {out!r:.80}, wanted a tuple of {x.ndim} arrays")
    positions = [index for index in np.ndindex(*shape) if x[index] != 0]
    want = np.array(positions, dtype=np.int64).reshape(len(positions), x.ndim)
    for axis, indices in enumerate(out):
        compare.same(target, indices, want[:, axis], call, dtype=target.default("indexing"))


@case("nonzero", "errors")
def nonzero_errors(target: Target, data: Draw) -> None:
    """A 0-d array has no axis to give indices for."""
    zero = target.put(np.array(1, dtype=target.default("integral")))
    raises(target.function("nonzero"), Call("nonzero(0-d array)"), "x must have an axis", zero)


@case("searchsorted", "values")
def searchsorted_values(target: Target, data: Draw) -> None:
    """Places that keep the order, left or right of equal values; with a sorter; numbers."""
    name = draw.dtype(target, data, REAL)
    x1 = np.round(
        draw.array(data, name, draw.pick(data, ((6,), (9,), (1,), (0,)), "n"), _TIES, "x1")
    )
    shape = draw.pick(data, ((5,), (2, 3), (), (0,)), "shape of x2")
    x2 = np.round(draw.array(data, name, shape, draw.Domain(-4, 4), "x2"))
    side = draw.pick(data, ("left", "right", None), "side")
    keywords: dict[str, Any] = {} if side is None else {"side": side}
    order = np.argsort(x1, kind="stable")
    ascending = x1[order]
    inputs: dict[str, Any] = {"x1": ascending, "x2": x2}
    argument = ascending
    if draw.flag(data, "sorter"):
        index = draw.dtype(target, data, ("int64", "int32"), "dtype of sorter")
        keywords["sorter"] = target.put(order.astype(index))
        argument = x1
        inputs = {"x1": x1, "x2": x2, "sorter": order}
    values: Any = x2.item() if shape == () and draw.flag(data, "number") else target.put(x2)
    call = Call(f"searchsorted(x1, x2, {', '.join(map(str, keywords))})", {**inputs, "side": side})
    out = target.function("searchsorted")(target.put(argument), values, **keywords)
    precedes = operator.le if side == "right" else operator.lt
    want = np.array(
        [sum(bool(precedes(a, v)) for a in ascending) for v in x2.ravel()], dtype=np.int64
    ).reshape(shape)
    compare.same(target, out, want, call, dtype=target.default("indexing"))


@case("where", "values")
def where_values(target: Target, data: Draw) -> None:
    """Three arrays that broadcast, two dtypes that promote."""
    first, second, promoted = draw.dtype_pair(target, data, ALL)
    shapes = draw.pick(
        data,
        (
            *(((5,), (5,), (5,)), ((2, 3), (3,), ()), ((), (4,), (4,)), ((3, 1), (1, 2), (3, 2))),
            ((0,), (1,), ()),
        ),
        "shapes",
    )
    condition = draw.array(data, "bool", shapes[0], label="condition")
    x1 = draw.array(data, first, shapes[1], draw.ANY, "x1")
    x2 = draw.array(data, second, shapes[2], draw.ANY, "x2")
    call = Call("where(condition, x1, x2)", {"condition": condition, "x1": x1, "x2": x2})
    out = target.function("where")(
        draw.put(target, data, condition), target.put(x1), target.put(x2)
    )
    compare.same(target, out, np.where(condition, x1, x2).astype(promoted), call)


@case("where", "scalars")
def where_scalars(target: Target, data: Draw) -> None:
    """A Python scalar takes the dtype of the other array."""
    name = draw.dtype(target, data, ALL)
    condition = draw.array(data, "bool", (5,), label="condition")
    x = draw.array(data, name, (5,), draw.MODERATE)
    scalar = draw.array(data, name, (), draw.MODERATE, "scalar").item()
    first = draw.flag(data, "scalar first")
    call = Call("where with a scalar", {"condition": condition, "x": x, "scalar": scalar})
    where, moved = target.function("where"), (target.put(condition), target.put(x))
    if first:
        out, want = where(moved[0], scalar, moved[1]), np.where(condition, scalar, x)
    else:
        out, want = where(moved[0], moved[1], scalar), np.where(condition, x, scalar)
    compare.same(target, out, want.astype(name), call)


@case("where", "dtypes")
def where_dtypes(target: Target, data: Draw) -> None:
    """Integers of mixed signs promote by the table."""
    available = draw.available(target, INTEGERS)
    first, second, promoted = draw.dtype_pair(target, data, available)
    condition = target.put(np.array([True, False]))
    call = Call(f"where(condition, {first} array, {second} array)")
    out = target.function("where")(
        condition, target.put(np.ones(2, first)), target.put(np.ones(2, second))
    )
    compare.check_dtype(target, out, promoted, call)
