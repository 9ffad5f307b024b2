"""Truth of whole arrays, and differences."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call
from portarray_conformance.elementwise import Row, judge
from portarray_conformance.promotion import ALL, FLOATS, NUMERIC
from portarray_conformance.slices import along
from portarray_conformance.target import Target

_FEW = draw.Domain(0, 1, special=True)
_SHAPES = (*draw.AXIS_SHAPES, (), (0,), (2, 0), (0, 3))


def _truth(function: str, target: Target, data: Draw) -> None:
    """Check ``all`` and ``any``: NaN is true, nothing is all true and not any true."""
    _, x = draw.typed_array(target, data, ALL, _SHAPES, _FEW)
    axis, keepdims = draw.axes(data, x.ndim), draw.flag(data, "keepdims")
    call = Call(f"{function}(x, axis={axis}, keepdims={keepdims})", {"x": x})
    out = target.function(function)(draw.put(target, data, x), axis=axis, keepdims=keepdims)
    whole = all if function == "all" else any
    want = along(x != 0, axis, lambda v: np.bool_(whole(bool(e) for e in v)), keepdims=keepdims)
    compare.same(target, out, want.astype(bool), call)


for _name in ("all", "any"):
    case(_name, "values")(partial(_truth, _name))


def _truth_special(function: str, target: Target, data: Draw) -> None:
    """NaN and the infinities are true."""
    for name in draw.available(target, FLOATS):
        for value in (np.nan, np.inf, -np.inf):
            x = np.array([value, value], dtype=name)
            out = target.function(function)(target.put(x))
            compare.same(target, out, np.array(True), Call(f"{function}(x)", {"x": x}))


for _name in ("all", "any"):
    case(_name, "special")(partial(_truth_special, _name))


@case("diff", "values")
def diff_values(target: Target, data: Draw) -> None:
    """Differences of order n along an axis, with values put before and after."""
    name = draw.dtype(target, data, NUMERIC)
    shape = draw.shape(data, ((6,), (3, 4), (4, 2), (2, 3, 3)))
    domain = draw.Domain(-20, 20)
    axis = draw.axis(data, len(shape))
    n = draw.pick(data, (1, 1, 2, 3), "n")
    integral = name not in ("float32", "float64", "complex64", "complex128")
    x = draw.array(data, name, shape, domain)
    parts = [x]
    keywords: dict[str, Any] = {}
    for keyword in ("prepend", "append"):
        if draw.flag(data, keyword):
            size = draw.pick(data, (1, 2), f"size of {keyword}")
            edge = list(shape)
            edge[axis] = size
            extra = draw.array(data, name, tuple(edge), domain, keyword)
            keywords[keyword] = target.put(extra)
            parts = [extra, *parts] if keyword == "prepend" else [*parts, extra]
    joined = np.concatenate(parts, axis=axis)
    want = joined.astype(object) if integral else joined
    for _ in range(n):
        ahead = np.take(want, range(1, want.shape[axis]), axis=axis)
        want = ahead - np.take(want, range(max(want.shape[axis] - 1, 0)), axis=axis)
        if not integral:
            want = want.astype(name)
    call = Call(f"diff(x, axis={axis}, n={n}, {', '.join(keywords)})", {"x": x})
    out = target.function("diff")(draw.put(target, data, x), axis=axis, n=n, **keywords)
    if integral:
        judge(target, out, Row("diff", lambda v: v, NUMERIC, native=True), [want], name, call)
    else:  # the same roundings in the same order
        compare.same(target, out, want, call, signed_zeros=False)
