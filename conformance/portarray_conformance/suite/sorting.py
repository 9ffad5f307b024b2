"""Sorting, and the indices that sort."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call
from portarray_conformance.promotion import REAL
from portarray_conformance.target import NumpyArray, Target

_TIES = draw.Domain(-2, 2)
_SHAPES = (*draw.AXIS_SHAPES, (40,), (0,), (3, 0))


def _order(values: list[Any], descending: bool) -> list[int]:
    """Indices that sort, equal values in the order in which they stand."""
    sign = -1 if descending else 1
    return sorted(range(len(values)), key=lambda i: sign * values[i])


def _draw(target: Target, data: Draw) -> tuple[NumpyArray, dict[str, Any], int, bool]:
    name = draw.dtype(target, data, REAL)
    domain = draw.pick(data, (_TIES, draw.MODERATE), "domain")
    x = draw.array(data, name, draw.shape(data, _SHAPES), domain)
    if domain is _TIES:
        x = np.round(x) + 0  # no -0.0: the order of zeros of both signs is open
    x = np.where(x == 0, np.zeros_like(x), x)
    keywords: dict[str, Any] = {}
    axis = -1
    if draw.flag(data, "with axis"):
        axis = draw.axis(data, x.ndim)
        keywords["axis"] = axis
    descending = draw.flag(data, "descending")
    if descending:
        keywords["descending"] = True
    return x, keywords, axis, descending


def _indices(x: NumpyArray, axis: int, descending: bool) -> NumpyArray:
    moved = np.moveaxis(x, axis, -1)
    rows = moved.reshape(-1, moved.shape[-1]) if moved.size else moved.reshape(0, 0)
    orders = [_order(row.tolist(), descending) for row in rows]
    return np.moveaxis(np.array(orders, dtype=np.int64).reshape(moved.shape), -1, axis)


@case("argsort", "values")
def argsort_values(target: Target, data: Draw) -> None:
    """Stable indices, ascending and descending."""
    x, keywords, axis, descending = _draw(target, data)
    call = Call(f"argsort(x, {keywords})", {"x": x})
    out = target.function("argsort")(draw.put(target, data, x), **keywords)
    want = _indices(x, axis, descending)
    compare.same(target, out, want, call, dtype=target.default("indexing"))


@case("argsort", "unstable")
def argsort_unstable(target: Target, data: Draw) -> None:
    """With ``stable=False`` any indices that sort."""
    x, keywords, axis, descending = _draw(target, data)
    call = Call(f"argsort(x, stable=False, {keywords})", {"x": x})
    out = target.function("argsort")(target.put(x), stable=False, **keywords)
    got = compare.fetch(target, out, target.default("indexing"), x.shape, call)
    want = np.take_along_axis(x, _indices(x, axis, descending), axis=axis)
    if not np.array_equal(np.take_along_axis(x, got.astype(np.int64), axis=axis), want):
        raise call.fail(f"these indices do not sort x: {compare.show(got)}")
    if not np.array_equal(np.sort(got, axis=axis), np.sort(_indices(x, axis, False), axis=axis)):
        raise call.fail(f"these are not each index once: {compare.show(got)}")


@case("argsort", "stable")
def argsort_stable(target: Target, data: Draw) -> None:
    """Long runs of equal values, on which unstable algorithms show."""
    for name in draw.available(target, ("int32", "float32", "uint8")):
        x = (np.arange(100) * 7 % 3).astype(name)
        for descending in (False, True):
            call = Call(f"argsort(x, descending={descending}), x = (arange(100) * 7 % 3) in {name}")
            out = target.function("argsort")(target.put(x), descending=descending, stable=True)
            want = _indices(x, 0, descending)
            compare.same(target, out, want, call, dtype=target.default("indexing"))


@case("sort", "values")
def sort_values(target: Target, data: Draw) -> None:
    """Sorted values in a new array; x stays as it was."""
    x, keywords, axis, descending = _draw(target, data)
    stable = draw.pick(data, (True, False, None), "stable")
    if stable is not None:
        keywords["stable"] = stable
    moved = draw.put(target, data, x)
    call = Call(f"sort(x, {keywords})", {"x": x})
    out = target.function("sort")(moved, **keywords)
    want = np.take_along_axis(x, _indices(x, axis, descending), axis=axis)
    compare.same(target, out, want, call)
    compare.same(target, moved, x, Call(f"x after sort(x, {keywords})"))
