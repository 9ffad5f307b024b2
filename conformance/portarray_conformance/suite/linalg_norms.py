"""Norms of vectors and matrices, and singular values alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portarray_conformance import draw
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call
from portarray_conformance.promotion import FLOATING, REAL_PART
from portarray_conformance.slices import along
from portarray_conformance.suite.linalg import OBLONG, draw_matrix, frobenius, within
from portarray_conformance.target import NumpyArray, Target
from portarray_conformance.ulp import wide


@case("linalg.svdvals", "values")
def svdvals(target: Target, data: Draw) -> None:
    """The singular values alone."""
    x = draw_matrix(target, data, OBLONG)
    name = x.dtype.name
    call = Call("linalg.svdvals(x)", {"x": x})
    out = target.function("linalg.svdvals")(target.put(x))
    want = np.linalg.svd(x.astype(np.complex128), compute_uv=False)
    within(target, out, want, call, REAL_PART.get(name, name), frobenius(x)[..., None])


def _matrix_norm(x: NumpyArray, order: Any) -> NumpyArray:
    if order in (1, -1, np.inf, -np.inf):
        sums = np.sum(np.abs(x), axis=-2 if order in (1, -1) else -1)
        return np.asarray(np.max(sums, axis=-1) if order > 0 else np.min(sums, axis=-1))
    if order == "fro":
        return np.asarray(np.sqrt(np.sum(np.abs(x) ** 2, axis=(-2, -1))))
    values = np.linalg.svd(x.astype(np.complex128), compute_uv=False)
    return np.asarray(
        np.sum(values, -1)
        if order == "nuc"
        else np.max(values, -1)
        if order == 2
        else values[..., -1]
    )


@case("linalg.matrix_norm", "values")
def matrix_norm(target: Target, data: Draw) -> None:
    """Every order, with and without the reduced axes kept."""
    x = draw_matrix(target, data, OBLONG)
    order = draw.pick(data, (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf), "ord")
    keepdims = draw.flag(data, "keepdims")
    keywords: dict[str, Any] = {} if order is None else {"ord": order}
    if keepdims:
        keywords["keepdims"] = True
    call = Call(f"linalg.matrix_norm(x, ord={order!r}, keepdims={keepdims})", {"x": x})
    out = target.function("linalg.matrix_norm")(draw.put(target, data, x), **keywords)
    want = _matrix_norm(wide(x), order or "fro")
    size = frobenius(x)
    if keepdims:
        want, size = want[..., None, None], size[..., None, None]
    name = REAL_PART.get(x.dtype.name, x.dtype.name)
    within(target, out, want, call, name, size)


def _vector_norm(v: NumpyArray, order: float) -> Any:
    sizes = np.abs(v)
    if order == 0:
        return np.sum(sizes != 0).astype(sizes.dtype)
    if math.isinf(order):
        return np.max(sizes) if order > 0 else np.min(sizes)
    return np.sum(sizes**order) ** (sizes.dtype.type(1) / order)


@case("linalg.vector_norm", "values")
def vector_norm(target: Target, data: Draw) -> None:
    """Every order along one axis, several, or all."""
    name = draw.dtype(target, data, FLOATING)
    order = draw.pick(data, (None, 2, 1, 0, 3, 0.5, -1, -2, np.inf, -np.inf, 2.5), "ord")
    domain = (
        draw.Domain(0.125, 8)
        if isinstance(order, (int, float)) and order < 1
        else draw.Domain(-8, 8)
    )
    x = draw.array(data, name, draw.shape(data, draw.AXIS_SHAPES), domain)
    axis, keepdims = draw.axes(data, x.ndim), draw.flag(data, "keepdims")
    keywords: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    if order is not None:
        keywords["ord"] = order
    call = Call(f"linalg.vector_norm(x, axis={axis}, keepdims={keepdims}, ord={order})", {"x": x})
    out = target.function("linalg.vector_norm")(draw.put(target, data, x), **keywords)
    power = 2 if order is None else order
    with np.errstate(all="ignore"):
        want = along(wide(x), axis, lambda v: _vector_norm(v, power), keepdims=keepdims)
    size = np.asarray(np.abs(want), dtype=np.float64)
    real = REAL_PART.get(name, name)
    want = want.astype(wide(np.zeros(0, real)).dtype)
    within(target, out, want, call, real, size)
