"""Products and diagonals that only ``linalg`` has."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.bounds import NORMWISE
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call, raises
from portarray_conformance.promotion import ALL, FLOATING, NUMERIC
from portarray_conformance.slices import accumulator
from portarray_conformance.suite.linear_algebra import ENTRIES, compare_product, draw_two
from portarray_conformance.target import NumpyArray, Target
from portarray_conformance.ulp import wide


@case("linalg.cross", "values")
def cross(target: Target, data: Draw) -> None:
    """The cross product along an axis of size three."""
    first, second, axis = draw.pick(
        data,
        (
            *(((3,), (3,), None), ((2, 3), (2, 3), -1), ((3, 2), (3, 2), -2), ((2, 3), (3,), -1)),
            *(((4, 1, 3), (2, 3), -1), ((0, 3), (0, 3), -1)),
        ),
        "shapes and axis",
    )
    x1, x2, promoted = draw_two(target, data, (first, second))
    keywords = {} if axis is None else {"axis": axis}
    call = Call(f"linalg.cross(x1, x2, axis={axis})", {"x1": x1, "x2": x2})
    out = target.function("linalg.cross")(target.put(x1), target.put(x2), **keywords)
    position = -1 if axis is None else axis

    def part(a: NumpyArray, b: NumpyArray, sign: int) -> NumpyArray:
        a, b = (np.moveaxis(v, position, 0) for v in np.broadcast_arrays(a, b))
        parts = [
            a[(i + 1) % 3] * b[(i + 2) % 3] + sign * a[(i + 2) % 3] * b[(i + 1) % 3]
            for i in range(3)
        ]
        return np.moveaxis(np.stack(parts), 0, position)

    magnitudes = [wide(np.abs(x.astype(promoted))) for x in (x1, x2)]
    if promoted in FLOATING:
        want = part(wide(x1.astype(promoted)), wide(x2.astype(promoted)), -1)
        size = part(magnitudes[0], magnitudes[1], 1).real.astype(np.float64)
        bound = NORMWISE["cross"]
        compare.within(target, out, want, call, dtype=promoted, size=size, bound=bound)
    else:
        compare_product(target, out, lambda a, b: part(a, b, -1), (x1, x2), promoted, call, 0)


@case("linalg.cross", "errors")
def cross_errors(target: Target, data: Draw) -> None:
    """Only vectors of three elements have a cross product here."""
    name = target.default("real floating")
    for first, second in (((2,), (2,)), ((3,), (2,)), ((3, 1), (3, 3))):
        arguments = [target.put(np.ones(s, dtype=name)) for s in (first, second)]
        call = Call(f"linalg.cross of shapes {first} and {second}")
        raises(target.function("linalg.cross"), call, "the size must be 3", *arguments)


@case("linalg.outer", "values")
def outer(target: Target, data: Draw) -> None:
    """Every product of two elements, without conjugation."""
    shapes = draw.pick(data, (((3,), (2,)), ((1,), (4,)), ((0,), (2,))), "shapes")
    x1, x2, promoted = draw_two(target, data, shapes)
    call = Call("linalg.outer(x1, x2)", {"x1": x1, "x2": x2})
    out = target.function("linalg.outer")(draw.put(target, data, x1), target.put(x2))
    compare_product(
        target,
        out,
        lambda a, b: a[:, None] * b[None, :],
        (x1, x2),
        promoted,
        call,
        NORMWISE["outer"],
    )


@case("linalg.diagonal", "values")
def diagonal(target: Target, data: Draw) -> None:
    """A diagonal of each matrix, above or below the main one."""
    name, x = draw.typed_array(target, data, ALL, ((3, 3), (2, 4), (2, 3, 2), (0, 2)), draw.ANY)
    offset = draw.whole(data, -3, 3, "offset")
    rows, columns = x.shape[-2:]
    places = [(i, i + offset) for i in range(rows) if 0 <= i + offset < columns]
    want = np.empty((*x.shape[:-2], len(places)), dtype=name)
    for k, (i, j) in enumerate(places):
        want[..., k] = x[..., i, j]
    keywords = {} if offset == 0 and draw.flag(data, "by default") else {"offset": offset}
    out = target.function("linalg.diagonal")(draw.put(target, data, x), **keywords)
    compare.same(target, out, want, Call(f"linalg.diagonal(x, offset={offset})", {"x": x}))


@case("linalg.trace", "values")
def trace(target: Target, data: Draw) -> None:
    """The sum of a diagonal, in the dtype of sums or in the requested one."""
    dtypes = target.dtypes()
    names = tuple(n for n in NUMERIC if accumulator(target, n) in dtypes)
    name, x = draw.typed_array(target, data, names, ((3, 3), (2, 4), (2, 3, 2), (0, 2)), ENTRIES)
    offset = draw.whole(data, -3, 3, "offset")
    result = accumulator(target, name)
    keywords: dict[str, Any] = {"offset": offset}
    if name in ("float32", "complex64") and draw.flag(data, "wider"):
        wider = {"float32": "float64", "complex64": "complex128"}[name]
        if wider in dtypes:
            result = wider
            keywords["dtype"] = target.dtype(wider)
    call = Call(f"linalg.trace(x, offset={offset}, dtype={keywords.get('dtype')})", {"x": x})
    out = target.function("linalg.trace")(draw.put(target, data, x), **keywords)
    values = wide(x.astype(result))
    rows, columns = x.shape[-2:]
    terms = [values[..., i, i + offset] for i in range(rows) if 0 <= i + offset < columns]
    zero = np.zeros(x.shape[:-2], dtype=values.dtype)
    want = np.asarray(sum(terms, start=zero))
    if result in FLOATING:
        size = np.asarray(sum((np.abs(t) for t in terms), start=np.abs(zero)), dtype=np.float64)
        compare.within(target, out, want, call, dtype=result, size=size, bound=NORMWISE["trace"])
    else:
        compare.same(target, out, want.astype(result), call, dtype=result)
