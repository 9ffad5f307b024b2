"""Taking elements by integer indices."""

from __future__ import annotations

import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call
from portarray_conformance.promotion import ALL, INTEGERS
from portarray_conformance.target import Target


def _index_domain(name: str, size: int) -> draw.Domain:
    return draw.Domain(0 if name.startswith("u") else -size, size - 1)


@case("take", "values")
def take_values(target: Target, data: Draw) -> None:
    """Slices along an axis, by indices that may be negative and may repeat."""
    _, x = draw.typed_array(target, data, ALL, draw.AXIS_SHAPES, draw.ANY)
    axis = draw.axis(data, x.ndim)
    size = x.shape[axis]
    index = draw.dtype(target, data, ("int64", "int64", *INTEGERS), "dtype of indices")
    n = draw.pick(data, (3, 5, 1, 0), "number of indices")
    indices = draw.array(data, index, (n,), _index_domain(index, size), "indices")
    keywords = {} if x.ndim == 1 and draw.flag(data, "no axis") else {"axis": axis}
    call = Call(f"take(x, indices, {keywords})", {"x": x, "indices": indices})
    out = target.function("take")(draw.put(target, data, x), target.put(indices), **keywords)
    moved = np.moveaxis(x, axis, 0)
    picked = np.empty((n, *moved.shape[1:]), dtype=x.dtype)
    for position, i in enumerate(indices.tolist()):
        picked[position] = moved[i]
    compare.same(target, out, np.moveaxis(picked, 0, axis), call)


@case("take_along_axis", "values")
def take_along_axis_values(target: Target, data: Draw) -> None:
    """One index for each place of the result; the other axes broadcast."""
    name = draw.dtype(target, data, ALL)
    shape = draw.shape(data, ((5,), (2, 3), (3, 2, 2), (3, 1)))
    x = draw.array(data, name, shape, draw.ANY)
    by_default = draw.flag(data, "axis by default")
    axis = -1 if by_default else draw.axis(data, x.ndim)
    size = shape[axis]
    sizes = list(shape)
    sizes[axis] = draw.pick(data, (1, 2, 4), "indices along the axis")
    for other_axis in range(x.ndim):
        if (
            other_axis != axis % x.ndim
            and sizes[other_axis] > 1
            and draw.flag(data, f"one for axis {other_axis}")
        ):
            sizes[other_axis] = 1
    index = draw.dtype(target, data, ("int64", "int64", "int32", "uint8"), "dtype of indices")
    indices = draw.array(data, index, tuple(sizes), _index_domain(index, size), "indices")
    keywords = {} if by_default else {"axis": axis}
    call = Call(f"take_along_axis(x, indices, {keywords})", {"x": x, "indices": indices})
    out = target.function("take_along_axis")(
        draw.put(target, data, x), target.put(indices), **keywords
    )
    result = list(
        np.broadcast_shapes(
            tuple(1 if a == axis % x.ndim else n for a, n in enumerate(shape)), tuple(sizes)
        )
    )
    want = np.empty(result, dtype=x.dtype)
    broadcast = np.broadcast_to(indices, result)
    for position in np.ndindex(*result):
        source = [i if n > 1 else 0 for i, n in zip(position, shape, strict=True)]
        source[axis] = int(broadcast[position])
        want[position] = x[tuple(source)]
    compare.same(target, out, want, call)
