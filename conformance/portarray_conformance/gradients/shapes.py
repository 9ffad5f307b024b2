"""Cases of functions that move elements: joining, reshaping, indexing, assignment."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

import portarray as pa
from portarray_conformance.gradients.case import Case, Draw, Drawn, Function

__all__ = ["CASES"]


def _shapes() -> Iterator[Case]:
    for name, make in (
        *(("concat", _concat), ("stack", _stack), ("unstack", _unstack), ("reshape", _reshape)),
        *(("permute_dims", _permute_dims), ("moveaxis", _moveaxis), ("flip", _flip)),
        *(("roll", _roll), ("repeat", _repeat), ("tile", _tile), ("expand_dims", _expand_dims)),
        *(("squeeze", _squeeze), ("broadcast_to", _broadcast_to)),
        *(("broadcast_arrays", _broadcast_arrays), ("meshgrid", _meshgrid)),
        *(("tril", _triangle("tril")), ("triu", _triangle("triu"))),
    ):
        yield Case(name, name, make)
    yield Case("concat flat", "concat", _concat_flat)
    yield Case("repeat each", "repeat", _repeat_each)
    yield Case("matrix_transpose", "matrix_transpose", _of_matrices(lambda x: x.mT * x.mT))
    yield Case("transpose", "permute_dims", lambda d: Drawn(lambda x: x.T, (d.real(2, 3),)))
    yield Case("astype to complex", "astype", _of_any(_to_complex))
    yield Case("astype and back", "astype", _of_any(_narrowed))
    yield Case("asarray", "asarray", _of_any(lambda x: pa.asarray(x, copy=True) * x.copy()))


def _of_any(function: Function) -> Any:
    return lambda d: Drawn(function, (d.real(*d.shape()),))


def _of_matrices(function: Function) -> Any:
    return lambda d: Drawn(function, (d.real(*d.shape(2)),))


def _to_complex(x: Any) -> Any:
    return pa.astype(x, pa.complex128 if x.dtype == pa.float64 else pa.complex64) * (1 - 2j)


def _narrowed(x: Any) -> Any:
    """Convert without loss, so that differences see no steps."""
    return pa.astype(pa.astype(x, x.dtype, copy=True) * 2, x.dtype, copy=False)


def _concat(d: Draw) -> Drawn:
    shape = d.shape(1)
    axis = d.axis(len(shape))
    second = list(shape)
    second[axis] = d.size(0, 3)
    return Drawn(
        lambda x, y: pa.concat([x, y, x * 2], axis=axis),
        (d.real(*shape), d.of(Draw.real, Draw.complex)(d, *second)),
    )


def _concat_flat(d: Draw) -> Drawn:
    return Drawn(
        lambda x, y: pa.concat([x, y, x * x], axis=None), (d.real(*d.shape()), d.real(*d.shape()))
    )


def _stack(d: Draw) -> Drawn:
    shape = d.shape()
    axis = d.axis(len(shape) + 1)
    return Drawn(lambda x, y: pa.stack([x, y, x], axis=axis), (d.real(*shape), d.real(*shape)))


def _unstack(d: Draw) -> Drawn:
    shape = d.shape(1)
    axis = d.axis(len(shape))

    def first_by_last(x: Any) -> Any:
        parts = pa.unstack(x, axis=axis)
        return parts[0] * parts[-1] if parts else x

    return Drawn(first_by_last, (d.real(*shape),))


def _reshape(d: Draw) -> Drawn:
    a, b, c = d.size(), d.size(), d.size(1, 3)
    shape = d.of((a * b * c,), (c, a * b), (-1, a), (b, c, a), (a, 1, b * c), (c * b, -1, 1))
    return Drawn(lambda x: pa.reshape(x, shape), (d.real(a, b, c),))


def _permute_dims(d: Draw) -> Drawn:
    order = tuple(int(n) for n in d.rng.permutation(3) - d.of(0, 3))
    return Drawn(lambda x: pa.permute_dims(x, order), (d.real(3, 2, d.size()),))


def _moveaxis(d: Draw) -> Drawn:
    a, b = d.axes(3, 1), d.axes(3, 3)
    source, destination = (a, b[: len(a)]) if d.flag() else (d.axis(3), d.axis(3))
    return Drawn(lambda x: pa.moveaxis(x, source, destination), (d.real(3, 2, d.size()),))


def _flip(d: Draw) -> Drawn:
    axis = d.of(None, d.axis(2), d.axes(2))
    return Drawn(lambda x: pa.flip(x, axis=axis), (d.real(d.size(), d.size()),))


def _roll(d: Draw) -> Drawn:
    shift, axis = d.of((2, None), (-1, d.axis(2)), ((2, -4), (0, 1)), ((1, 1), (1, 1)))
    return Drawn(lambda x: pa.roll(x, shift, axis=axis), (d.real(d.size(), 3),))


def _repeat(d: Draw) -> Drawn:
    times, axis = d.size(0, 3), d.of(None, d.axis(2))
    return Drawn(lambda x: pa.repeat(x, times, axis=axis), (d.real(d.size(), d.size()),))


def _repeat_each(d: Draw) -> Drawn:
    axis = d.of(None, 0, -2, 1)
    x = d.real(3, 2)
    length = x.size if axis is None else x.shape[axis]
    times = d.rng.integers(0, 3, length)
    return Drawn(lambda x, times: pa.repeat(x, times, axis=axis), (x, times))


def _tile(d: Draw) -> Drawn:
    times = tuple(d.size(0, 2) if d.rng.random() < 0.1 else d.size(1, 2) for _ in range(d.size()))
    return Drawn(lambda x: pa.tile(x, times), (d.real(*d.shape()),))


def _expand_dims(d: Draw) -> Drawn:
    axis = d.axis(3)
    return Drawn(lambda x: pa.expand_dims(x, axis=axis), (d.real(d.size(), 2),))


def _squeeze(d: Draw) -> Drawn:
    axis = d.of(1, -1, (1, 3), (-3,))
    return Drawn(lambda x: pa.squeeze(x, axis=axis), (d.real(d.size(), 1, 2, 1),))


def _broadcast_to(d: Draw) -> Drawn:
    shape = d.shape()
    source = d.partner(shape)
    return Drawn(lambda x: pa.broadcast_to(x, shape), (d.real(*source),))


def _broadcast_arrays(d: Draw) -> Drawn:
    def product(x: Any, y: Any) -> Any:
        a, b = pa.broadcast_arrays(x, y)
        return a * b + a

    return Drawn(product, (d.real(d.size(), 1), d.real(2, 1, d.size())))


def _meshgrid(d: Draw) -> Drawn:
    indexing = d.of("xy", "ij")
    count = d.size(1, 3)

    def product(*arrays: Any) -> Any:
        grids = pa.meshgrid(*arrays, indexing=indexing)
        out = grids[0]
        for grid in grids[1:]:
            out = out * grid
        return out

    return Drawn(product, tuple(d.real(d.size(1, 3)) for _ in range(count)))


def _triangle(name: str) -> Any:
    def make(d: Draw) -> Drawn:
        k = d.size(0, 4) - 2
        return Drawn(lambda x: getattr(pa, name)(x, k=k), (d.real(2, d.size(), d.size()),))

    return make


KEYS: dict[str, Any] = {
    "slices": (slice(1, None), slice(None, None, 2)),
    "slices backwards": (slice(None, None, -1), slice(3, 0, -2)),
    "an integer": (-2,),
    "an integer, ellipsis and None": (1, ..., None),
    "None in front": (None, slice(0, 2), None, 1),
    "everything": (...,),
    "nothing": (slice(2, 2),),
}
"""Keys of arrays of shape (3, 4)."""


def _indexing() -> Iterator[Case]:
    for title, key in KEYS.items():

        def read(d: Draw, key: Any = key) -> Drawn:
            return Drawn(lambda x: x[key], (d.of(Draw.real, Draw.complex)(d, 3, 4),))

        def written(d: Draw, key: Any = key) -> Drawn:
            shape = np.empty((3, 4))[key].shape
            return Drawn(
                lambda x, y: _assigned(x, key, y), (d.real(3, 4), d.real(*d.partner(shape)))
            )

        yield Case(f"getitem, {title}", "getitem", read)
        yield Case(f"setitem, {title}", "setitem", written)
    yield Case("getitem, mask", "getitem", lambda d: Drawn(lambda x: x[x > 0], (d.real(3, 4),)))
    yield Case("getitem, mask of rows", "getitem", _mask_of_rows)
    yield Case("setitem, mask", "setitem", _mask_assigned)
    yield Case("getitem, index array", "getitem", _index_array)
    yield Case("getitem, index arrays", "getitem", _index_arrays)
    yield Case("getitem, index arrays apart", "getitem", _index_arrays_apart)
    yield Case("setitem, index array", "setitem", _index_array_assigned)
    yield Case("setitem, several times", "setitem", lambda d: Drawn(_several, (d.real(3),)))
    yield Case("setitem, into constants", "setitem", lambda d: Drawn(_into, (d.real(3),)))
    for symbol, function in IN_PLACE.items():
        yield Case(f"in place {symbol}", "setitem", _in_place(function))
    yield Case("take", "take", _take)
    yield Case("take_along_axis", "take_along_axis", _take_along_axis)


def _assigned(x: Any, key: Any, y: Any) -> Any:
    out = x * x
    out[key] = y * 2
    return out * x


def _mask_of_rows(d: Draw) -> Drawn:
    mask = d.rng.random(3) < 0.5
    key = d.of((), (slice(1, None),), (..., None))
    return Drawn(lambda x, mask: x[(mask, *key)], (d.real(3, 4), mask))


def _mask_assigned(d: Draw) -> Drawn:
    mask = d.rng.random((3, 4)) < 0.5
    count = int(mask.sum())

    def assigned(x: Any, y: Any, mask: Any) -> Any:
        return _assigned(x, mask, y)

    return Drawn(assigned, (d.real(3, 4), d.real(*d.of((), (1,), (count,))), mask))


def _index_array(d: Draw) -> Drawn:
    indices = d.indices(3, *d.shape(1, 2))
    ellipsis = d.of((), (...,), (slice(1, 3),))
    return Drawn(lambda x, n: x[(n, *ellipsis)], (d.real(3, 4), indices))


def _index_arrays(d: Draw) -> Drawn:
    first, second = d.indices(3, 4), d.indices(4, *d.of((4,), (1,), (2, 1)))
    return Drawn(lambda x, m, n: x[m, n], (d.complex(3, 4), first, second))


def _index_arrays_apart(d: Draw) -> Drawn:
    first, second = d.indices(3, 2), d.indices(2, 2)
    middle = d.of(slice(None), slice(None, None, -1), None)
    return Drawn(lambda x, m, n: x[m, middle, n], (d.real(3, 2, 2), first, second))


def _index_array_assigned(d: Draw) -> Drawn:
    indices = d.rng.permutation(3)[: d.size(1, 3)]

    def assigned(x: Any, y: Any, n: Any) -> Any:
        return _assigned(x, (n, ...), y)

    return Drawn(assigned, (d.real(3, 4), d.real(*d.of((4,), (len(indices), 1))), indices))


def _several(x: Any) -> Any:
    y = pa.zeros((4, 3), device=x.device, dtype=x.dtype)
    y[1] = x
    y[2, 1:] = x[0] * 2
    y += 1
    y[0, 0] = 7.0
    y[1] = y[2] * x
    return y * y


def _into(x: Any) -> Any:
    y = pa.ones(5, device=x.device, dtype=x.dtype)
    y[::2] = x
    y[1:3] *= x[:2]
    y[-1] += 3 * x[0]
    return y


IN_PLACE = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "%=": operator.imod,
    "**=": operator.ipow,
}


def _in_place(function: Any) -> Any:
    def changed(x: Any, y: Any) -> Any:
        out = x * 1
        function(out, y)
        return out * x

    def make(d: Draw) -> Drawn:
        shape = d.shape()
        return Drawn(changed, (d.positive(*shape), d.real(*d.partner(shape))))

    return make


def _take(d: Draw) -> Drawn:
    sample = d.of(Draw.real, Draw.complex)
    shape = tuple(d.size() for _ in range(d.size(1, 3)))
    axis = d.axis(len(shape))
    indices = d.indices(shape[axis], *d.shape(1, 2))
    if len(shape) == 1 and d.flag():
        return Drawn(lambda x, n: pa.take(x, n), (sample(d, *shape), indices))
    return Drawn(lambda x, n: pa.take(x, n, axis=axis), (sample(d, *shape), indices))


def _take_along_axis(d: Draw) -> Drawn:
    shape = tuple(d.size() for _ in range(d.size(1, 3)))
    axis = d.axis(len(shape))
    along = list(shape)
    along[axis] = d.size()
    indices = d.indices(shape[axis], *along)
    return Drawn(lambda x, n: pa.take_along_axis(x, n, axis=axis), (d.real(*shape), indices))


CASES = (*_shapes(), *_indexing())
