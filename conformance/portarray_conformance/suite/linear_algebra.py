"""Products of arrays, in the main namespace and again in ``linalg``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.bounds import NORMWISE
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call, raises
from portarray_conformance.promotion import ALL, FLOATING, NUMERIC
from portarray_conformance.target import NumpyArray, Target
from portarray_conformance.ulp import wide

ENTRIES = draw.Domain(-6, 6)
"""Small entries: integer products stay within the narrowest dtype's reach often enough."""


def compare_product(
    target: Target,
    out: Any,
    product: Callable[[NumpyArray, NumpyArray], NumpyArray],
    arrays: tuple[NumpyArray, NumpyArray],
    promoted: str,
    call: Call,
    bound: float,
) -> None:
    """Fail unless an answer is the bilinear product of two arrays.

    Floating-point products may be off by rounding at the scale of the product of the magnitudes;
    integer ones are exact, wherever the dtype holds them.
    """
    x1, x2 = (wide(x.astype(promoted)) for x in arrays)
    want = np.asarray(product(x1, x2))
    if promoted in FLOATING:
        size = np.asarray(np.abs(product(np.abs(x1), np.abs(x2))))
        compare.within(target, out, want, call, dtype=promoted, size=size, bound=bound)
        return
    limits = np.iinfo(promoted)
    got = compare.fetch(target, out, promoted, want.shape, call).astype(object)
    held = np.asarray((want >= int(limits.min)) & (want <= int(limits.max)), dtype=bool)
    wrong = held & np.asarray(got != want, dtype=bool)
    if np.any(wrong):
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise call.fail(f"at {index}: got {got[index]!r}, wanted {want[index]!r}")


def draw_two(
    target: Target, data: Draw, shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> tuple[NumpyArray, NumpyArray, str]:
    """Draw two numeric arrays whose dtypes promote."""
    first, second, promoted = draw.dtype_pair(target, data, NUMERIC)
    x1 = draw.array(data, first, shapes[0], ENTRIES, "x1")
    return x1, draw.array(data, second, shapes[1], ENTRIES, "x2"), promoted


def _matmul(function: str, target: Target, data: Draw) -> None:
    shapes = draw.pick(
        data,
        (
            *(((2, 3), (3, 2)), ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 2, 3), (3, 2))),
            *(((2, 1, 2, 2), (3, 2, 1)), ((2,), (3, 2, 2)), ((2, 0), (0, 3)), ((0, 2), (2, 3))),
        ),
        "shapes",
    )
    x1, x2, promoted = draw_two(target, data, shapes)
    call = Call(f"{function}(x1, x2)", {"x1": x1, "x2": x2})
    out = target.function(function)(draw.put(target, data, x1), target.put(x2))
    compare_product(target, out, np.matmul, (x1, x2), promoted, call, NORMWISE["matmul"])


def _matmul_errors(function: str, target: Target, data: Draw) -> None:
    name = target.default("real floating")
    for first, second in (((), (2,)), ((2, 3), (2, 3)), ((3,), (2,)), ((2, 2), ())):
        arguments = [target.put(np.ones(s, dtype=name)) for s in (first, second)]
        call = Call(f"{function} of shapes {first} and {second}")
        raises(target.function(function), call, "these shapes have no product", *arguments)


def _matrix_transpose(function: str, target: Target, data: Draw) -> None:
    name = draw.dtype(target, data, ALL)
    shape = draw.shape(data, ((2, 3), (3, 1), (2, 3, 4), (0, 2), (1, 2, 2, 3)))
    x = draw.array(data, name, shape, draw.ANY)
    out = target.function(function)(draw.put(target, data, x))
    want = (
        np.stack([x[..., i, :] for i in range(shape[-2])], axis=-1)
        if shape[-2]
        else (np.empty((*shape[:-2], shape[-1], 0), dtype=name))
    )
    compare.same(target, out, want, Call(f"{function}(x)", {"x": x}))


def _tensordot(function: str, target: Target, data: Draw) -> None:
    first, second, axes = draw.pick(
        data,
        (
            *(((2, 3), (2, 3), None), ((2, 3), (3, 2), 1), ((2,), (3,), 0)),
            *(((2, 3, 2), (3, 2, 2), 2), ((2, 3), (2, 2), ((0,), (1,)))),
            *(((2, 3, 4), (4, 2), ((0, 2), (1, 0))), ((3, 2), (2, 3), ((-1, -2), (0, 1)))),
            ((2, 0), (0, 2), 1),
        ),
        "shapes and axes",
    )
    x1, x2, promoted = draw_two(target, data, (first, second))
    keywords = {} if axes is None else {"axes": axes}
    call = Call(f"{function}(x1, x2, axes={axes})", {"x1": x1, "x2": x2})
    out = target.function(function)(target.put(x1), target.put(x2), **keywords)

    def product(a: NumpyArray, b: NumpyArray) -> NumpyArray:
        if axes is None or isinstance(axes, int):
            n = 2 if axes is None else axes
            axes1, axes2 = tuple(range(a.ndim - n, a.ndim)), tuple(range(n))
        else:
            axes1, axes2 = (
                tuple(i % m for i in s) for s, m in zip(axes, (a.ndim, b.ndim), strict=True)
            )
        letters_a = list(range(a.ndim))
        letters_b = [a.ndim + i for i in range(b.ndim)]
        for i, j in zip(axes1, axes2, strict=True):
            letters_b[j] = letters_a[i]
        letters_out = [i for i in letters_a if i not in axes1]
        letters_out += [letters_b[j] for j in range(b.ndim) if j not in axes2]
        return np.asarray(np.einsum(a, letters_a, b, letters_b, letters_out))

    compare_product(target, out, product, (x1, x2), promoted, call, NORMWISE["tensordot"] * 2)


def _vecdot(function: str, target: Target, data: Draw) -> None:
    first, second, axis = draw.pick(
        data,
        (
            *(((3,), (3,), None), ((2, 3), (2, 3), None), ((2, 3), (3,), -1)),
            *(((3, 2), (3, 2), -2), ((2, 1, 3), (4, 3), -1), ((0,), (0,), -1)),
        ),
        "shapes and axis",
    )
    x1, x2, promoted = draw_two(target, data, (first, second))
    keywords = {} if axis is None else {"axis": axis}
    call = Call(f"{function}(x1, x2, axis={axis})", {"x1": x1, "x2": x2})
    out = target.function(function)(draw.put(target, data, x1), target.put(x2), **keywords)

    def product(a: NumpyArray, b: NumpyArray) -> NumpyArray:
        a, b = np.broadcast_arrays(a, b)
        return np.asarray(np.sum(np.conj(a) * b, axis=-1 if axis is None else axis))

    compare_product(target, out, product, (x1, x2), promoted, call, NORMWISE["vecdot"])


def _vecdot_errors(function: str, target: Target, data: Draw) -> None:
    name = target.default("real floating")
    x1, x2 = (target.put(np.ones((n,), dtype=name)) for n in (2, 3))
    call = Call(f"{function} of vectors of 2 and 3 elements")
    raises(target.function(function), call, "the sizes along the axis differ", x1, x2)


for _prefix in ("", "linalg."):
    for _name, _aspect, _check in (
        *(("matmul", "values", _matmul), ("matmul", "errors", _matmul_errors)),
        *(("matrix_transpose", "values", _matrix_transpose), ("tensordot", "values", _tensordot)),
        *(("vecdot", "values", _vecdot), ("vecdot", "errors", _vecdot_errors)),
    ):
        case(_prefix + _name, _aspect)(partial(_check, _prefix + _name))
