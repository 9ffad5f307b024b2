"""Rearranging, joining, repeating and splitting arrays."""

from __future__ import annotations

import itertools
from typing import Any

import hypothesis.strategies as st
import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call, raises
from portarray_conformance.promotion import ALL
from portarray_conformance.target import NumpyArray, Target

_SHAPES = (*draw.AXIS_SHAPES, (2, 0), (0,))


def _array(
    target: Target, data: Draw, options: Any = _SHAPES, label: str = "x"
) -> tuple[NumpyArray, Any]:
    """Draw an array of any dtype with distinct values, and its copy on the target."""
    name = draw.dtype(target, data, ALL)
    x = draw.array(data, name, draw.shape(data, options), draw.ANY, label)
    if name != "bool":  # distinct values: a wrong order cannot hide behind equal elements
        start = draw.whole(data, 0, 9, "start")
        x = (np.arange(x.size) + start).astype(name).reshape(x.shape)
    return x, draw.put(target, data, x)


@case("broadcast_arrays", "values")
def broadcast_arrays(target: Target, data: Draw) -> None:
    """Arrays spread to their common shape; dtypes stay apart."""
    shapes = draw.pick(data, (*draw.BROADCASTS, ((3, 1), (1, 4), (4,)), ((2,),)), "shapes")
    names = [draw.dtype(target, data, ALL, f"dtype {i}") for i in range(len(shapes))]
    arrays = [
        draw.array(data, n, s, label=f"x{i}")
        for i, (n, s) in enumerate(zip(names, shapes, strict=True))
    ]
    call = Call("broadcast_arrays(...)", {f"x{i}": x for i, x in enumerate(arrays)})
    out = target.function("broadcast_arrays")(*[target.put(x) for x in arrays])
    shape = np.broadcast_shapes(*shapes)
    if not isinstance(out, tuple) or len(out) != len(arrays):
        raise call.fail(f"got {type(out).__name__} of {len(out)}, wanted a tuple of {len(arrays)}")
    for got, x in zip(out, arrays, strict=True):
        compare.same(target, got, np.broadcast_to(x, shape), call)


def _common(shapes: tuple[tuple[int, ...], ...]) -> tuple[int, ...] | None:
    """The rule of broadcasting, from the last axis on; None where the shapes do not fit."""
    sizes_from_last = []
    for sizes in itertools.zip_longest(*[reversed(s) for s in shapes], fillvalue=1):
        wide = {n for n in sizes if n != 1}
        if len(wide) > 1:
            return None
        sizes_from_last.append(wide.pop() if wide else 1)
    return tuple(reversed(sizes_from_last))


@case("broadcast_shapes", "values")
def broadcast_shapes(target: Target, data: Draw) -> None:
    """Shapes in, the common shape out; an exception where they do not fit."""
    shape = st.lists(st.integers(0, 3), max_size=3).map(tuple)
    shapes = tuple(data.draw(st.lists(shape, min_size=1, max_size=3), label="shapes"))
    want = _common(shapes)
    call = Call(f"broadcast_shapes({', '.join(map(repr, shapes))})")
    function = target.function("broadcast_shapes")
    if want is None:
        raises(function, call, "these shapes do not broadcast", *shapes)
        return
    got = function(*shapes)
    if tuple(got) != want:
        raise call.fail(f"got {got!r}, wanted {want!r}")


@case("broadcast_to", "values")
def broadcast_to(target: Target, data: Draw) -> None:
    """One array spread to a shape."""
    shape, want = draw.pick(
        data,
        (
            *(((3,), (2, 3)), ((), (4,)), ((2, 1), (2, 3)), ((1, 3), (4, 2, 3)), ((1,), (0,))),
            ((5,), (5,)),
        ),
        "shapes",
    )
    x, moved = _array(target, data, (shape,))
    call = Call(f"broadcast_to(x, {want})", {"x": x})
    compare.same(
        target, target.function("broadcast_to")(moved, want), np.broadcast_to(x, want), call
    )


@case("broadcast_to", "errors")
def broadcast_to_errors(target: Target, data: Draw) -> None:
    """A shape that does not fit is refused."""
    x = target.put(np.ones((3,), dtype=target.default("real floating")))
    for shape in ((4,), (3, 2), ()):
        raises(
            target.function("broadcast_to"),
            Call(f"broadcast_to(array of shape (3,), {shape})"),
            "the shape is not compatible",
            x,
            shape,
        )


@case("concat", "values")
def concat(target: Target, data: Draw) -> None:
    """Joined along an axis, or flattened where the axis is None; dtypes promote."""
    first, second, promoted = draw.dtype_pair(target, data, ALL)
    ndim = draw.whole(data, 1, 3, "ndim")
    flat = draw.flag(data, "axis=None")
    axis = None if flat else draw.axis(data, ndim)
    shape = [2, 3, 2][:ndim]
    second_shape = list(shape)
    if axis is not None:
        second_shape[axis] = draw.pick(data, (1, 2, 0), "size of the second")
    x1 = draw.array(data, first, tuple(shape), draw.ANY, "x1")
    x2 = draw.array(data, second, tuple(second_shape), draw.ANY, "x2")
    arrays = [target.put(x1), target.put(x2)]
    call = Call(f"concat([x1, x2], axis={axis})", {"x1": x1, "x2": x2})
    argument: Any = tuple(arrays) if draw.flag(data, "as tuple") else arrays
    keywords = {} if axis == 0 and draw.flag(data, "by default") else {"axis": axis}
    out = target.function("concat")(argument, **keywords)
    parts = [x1.astype(promoted), x2.astype(promoted)]
    if axis is None:
        want = np.array([v for part in parts for v in part.ravel()], dtype=promoted)
    else:
        want = np.concatenate(parts, axis=axis)
    compare.same(target, out, want, call)


@case("expand_dims", "values")
def expand_dims(target: Target, data: Draw) -> None:
    """New axes of size one, at one place or at several."""
    x, moved = _array(target, data, (*_SHAPES, ()))
    several = draw.pick(data, (0, 0, 2), "several")
    if not several:
        axis: Any = draw.whole(data, -x.ndim - 1, x.ndim, "axis")
        places = [axis % (x.ndim + 1)]
    else:
        n = x.ndim + several
        axis = data.draw(
            st.lists(
                st.integers(-n, n - 1),
                min_size=several,
                max_size=several,
                unique_by=lambda a: a % n,
            ).map(tuple),
            label="axis",
        )
        places = [a % n for a in axis]
    remaining = iter(x.shape)
    shape = tuple(1 if a in places else next(remaining) for a in range(x.ndim + len(places)))
    call = Call(f"expand_dims(x, axis={axis})", {"x": x})
    out = target.function("expand_dims")(moved, axis=axis)
    compare.same(target, out, x.reshape(shape), call)


@case("expand_dims", "errors")
def expand_dims_errors(target: Target, data: Draw) -> None:
    """Axes out of range are refused."""
    x = target.put(np.ones((2, 3), dtype=target.default("real floating")))
    for axis in (3, -4, (0, 5)):
        call = Call(f"expand_dims(array of 2 axes, axis={axis})")
        raises(target.function("expand_dims"), call, "the axis is out of range", x, axis=axis)


@case("flip", "values")
def flip(target: Target, data: Draw) -> None:
    """Reversed along one axis, several, or all."""
    x, moved = _array(target, data)
    axis = draw.axes(data, x.ndim)
    gone = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    reversed_axes = {a % x.ndim for a in gone}
    want = x[tuple(slice(None, None, -1 if a in reversed_axes else 1) for a in range(x.ndim))]
    keywords = {} if axis is None else {"axis": axis}
    out = target.function("flip")(moved, **keywords)
    compare.same(target, out, want, Call(f"flip(x, axis={axis})", {"x": x}))


@case("moveaxis", "values")
def moveaxis(target: Target, data: Draw) -> None:
    """One axis or several to other places; the rest keep their order."""
    x, moved = _array(target, data, ((2, 3), (3, 2, 4), (2, 1, 3, 2), (4,)))
    n = x.ndim
    if draw.flag(data, "several"):
        count = draw.whole(data, 1, n, "count")
        some = st.permutations(range(n)).map(lambda p: tuple(p[:count]))
        source: Any = data.draw(some, label="source")
        destination: Any = data.draw(some, label="destination")
        pairs = list(zip(destination, source, strict=True))
    else:
        source, destination = draw.axis(data, n, "source"), draw.axis(data, n, "destination")
        pairs = [(destination % n, source % n)]
    order = [a for a in range(n) if a not in [s for _, s in pairs]]
    for position, axis in sorted(pairs):
        order.insert(position, axis)
    call = Call(f"moveaxis(x, {source}, {destination})", {"x": x})
    out = target.function("moveaxis")(moved, source, destination)
    compare.same(target, out, x.transpose(order), call)


@case("permute_dims", "values")
def permute_dims(target: Target, data: Draw) -> None:
    """Axes in another order, negative ones too."""
    x, moved = _array(target, data, (*_SHAPES, (2, 1, 3, 2), ()))
    axes = data.draw(st.permutations(range(x.ndim)).map(tuple), label="axes")
    argument = tuple(a - x.ndim for a in axes) if draw.flag(data, "negative") else axes
    out = target.function("permute_dims")(moved, argument)
    want = np.empty(tuple(x.shape[a] for a in axes), dtype=x.dtype)
    for index in np.ndindex(*x.shape):
        want[tuple(index[a] for a in axes)] = x[index]
    compare.same(target, out, want, Call(f"permute_dims(x, {argument})", {"x": x}))


@case("repeat", "values")
def repeat(target: Target, data: Draw) -> None:
    """Elements repeated by one number or an array of numbers."""
    x, moved = _array(target, data, draw.AXIS_SHAPES)
    axis = None if draw.flag(data, "no axis") else draw.axis(data, x.ndim)
    size = x.size if axis is None else x.shape[axis]
    if draw.flag(data, "array of repeats"):
        counts = draw.array(data, "int64", (size,), draw.Domain(0, 3), "repeats")
        index = draw.dtype(target, data, ("int64", "int32"), "dtype of repeats")
        repeats: Any = target.put(counts.astype(index))
    else:
        repeats = draw.whole(data, 0, 3, "repeats")
        counts = np.full((size,), repeats)
    places = [i for i, n in enumerate(counts.tolist()) for _ in range(n)]
    want = x.ravel()[places] if axis is None else np.take(x, places, axis=axis)
    keywords = {} if axis is None else {"axis": axis}
    call = Call(f"repeat(x, repeats, axis={axis})", {"x": x, "repeats": counts})
    compare.same(target, target.function("repeat")(moved, repeats, **keywords), want, call)


@case("reshape", "values")
def reshape(target: Target, data: Draw) -> None:
    """Another shape, in row-major order, one size may be -1."""
    source, shape = draw.pick(
        data,
        (
            *(((6,), (2, 3)), ((2, 3), (3, 2)), ((2, 3), (-1,)), ((2, 2, 3), (3, -1))),
            *(((), (1, 1)), ((1,), ()), ((0, 3), (3, 0)), ((4, 2), (2, -1, 2))),
        ),
        "shapes",
    )
    x, moved = _array(target, data, (source,))
    copy = draw.pick(data, (None, True), "copy")
    keywords = {} if copy is None else {"copy": copy}
    call = Call(f"reshape(x, {shape}, copy={copy})", {"x": x})
    out = target.function("reshape")(moved, shape, **keywords)
    compare.same(target, out, x.ravel().reshape(shape), call)


@case("reshape", "views")
def reshape_copies(target: Target, data: Draw) -> None:
    """``copy=True`` leaves x alone when the result changes; ``copy=False`` shares memory."""
    x = np.arange(6).astype(draw.dtype(target, data, ALL))
    moved = target.put(x)
    out = target.function("reshape")(moved, (2, 3), copy=True)
    out[0, 0] = x[1].item()
    compare.same(target, moved, x, Call("x after a change in reshape(x, (2, 3), copy=True)"))
    try:
        view = target.function("reshape")(moved, (2, 3), copy=False)
    except (ValueError, NotImplementedError):
        return  # a library without views must refuse
    view[0, 0] = x[1].item()
    x[0] = x[1]
    compare.same(target, moved, x, Call("x after a change in reshape(x, (2, 3), copy=False)"))


@case("reshape", "errors")
def reshape_errors(target: Target, data: Draw) -> None:
    """A shape of another size is refused."""
    x = target.put(np.ones((2, 3), dtype=target.default("real floating")))
    for shape in ((4,), (-1, 4), (5, -1)):
        call = Call(f"reshape(array of 6 elements, {shape})")
        raises(target.function("reshape"), call, "the sizes differ", x, shape)


@case("roll", "values")
def roll(target: Target, data: Draw) -> None:
    """Shifted round along one axis, several, or the flattened array."""
    x, moved = _array(target, data)
    form = draw.pick(data, ("flat", "one", "one", "several", "same"), "form")
    if form == "flat":
        shift: Any = draw.whole(data, -7, 7, "shift")
        axis: Any = None
    elif form == "one":
        shift, axis = draw.whole(data, -7, 7, "shift"), draw.axis(data, x.ndim)
    else:
        axis = tuple(range(x.ndim))
        shift = tuple(draw.whole(data, -4, 4, f"shift {a}") for a in axis)
        shift = shift if form == "several" else shift[0]
    want = x
    if axis is None:
        places = [(i - shift) % max(x.size, 1) for i in range(x.size)]
        want = x.ravel()[places].reshape(x.shape)
    else:
        for a, s in zip(
            axis if isinstance(axis, tuple) else (axis,),
            shift if isinstance(shift, tuple) else itertools.repeat(shift),
            strict=False,
        ):
            n = x.shape[a]
            want = np.take(want, [(i - s) % max(n, 1) for i in range(n)], axis=a)
    keywords = {} if axis is None else {"axis": axis}
    call = Call(f"roll(x, {shift}, axis={axis})", {"x": x})
    compare.same(target, target.function("roll")(moved, shift, **keywords), want, call)


@case("squeeze", "values")
def squeeze(target: Target, data: Draw) -> None:
    """Axes of size one taken away, one or several."""
    x, moved = _array(target, data, ((1, 3), (3, 1, 2), (1,), (1, 2, 1), (1, 0, 1)))
    ones = [a for a, n in enumerate(x.shape) if n == 1]
    axis: Any = draw.pick(data, tuple(ones), "axis")
    if draw.flag(data, "all of them"):
        axis = tuple(a - x.ndim if a % 2 else a for a in ones)
    elif draw.flag(data, "negative"):
        axis -= x.ndim
    gone = {a % x.ndim for a in (axis if isinstance(axis, tuple) else (axis,))}
    shape = tuple(n for a, n in enumerate(x.shape) if a not in gone)
    call = Call(f"squeeze(x, axis={axis})", {"x": x})
    compare.same(target, target.function("squeeze")(moved, axis=axis), x.reshape(shape), call)


@case("squeeze", "errors")
def squeeze_errors(target: Target, data: Draw) -> None:
    """An axis of another size is refused."""
    x = target.put(np.ones((2, 1), dtype=target.default("real floating")))
    for axis in (0, (0, 1)):
        call = Call(f"squeeze(array of shape (2, 1), axis={axis})")
        raises(target.function("squeeze"), call, "the axis has size 2", x, axis=axis)


@case("stack", "values")
def stack(target: Target, data: Draw) -> None:
    """Joined along a new axis; dtypes promote."""
    first, second, promoted = draw.dtype_pair(target, data, ALL)
    shape = draw.pick(data, ((3,), (2, 3), (), (0,)), "shape")
    x1 = draw.array(data, first, shape, draw.ANY, "x1")
    x2 = draw.array(data, second, shape, draw.ANY, "x2")
    axis = draw.whole(data, -len(shape) - 1, len(shape), "axis")
    position = axis % (len(shape) + 1)
    want = np.empty((*shape[:position], 2, *shape[position:]), dtype=promoted)
    for i, x in enumerate((x1, x2)):
        want[(slice(None),) * position + (i,)] = x.astype(promoted)
    call = Call(f"stack([x1, x2], axis={axis})", {"x1": x1, "x2": x2})
    out = target.function("stack")([target.put(x1), target.put(x2)], axis=axis)
    compare.same(target, out, want, call)


@case("tile", "values")
def tile(target: Target, data: Draw) -> None:
    """The whole array again and again, along more or fewer axes than it has."""
    x, moved = _array(target, data, (*_SHAPES, ()))
    times = tuple(data.draw(st.lists(st.integers(0, 3), max_size=3), label="repetitions"))
    n = max(x.ndim, len(times))
    padded = (1,) * (n - len(times)) + times
    want = x.reshape((1,) * (n - x.ndim) + x.shape)
    for axis, count in enumerate(padded):
        want = np.concatenate([want[(slice(None),) * axis + (slice(0, 0),)], *[want] * count], axis)
    call = Call(f"tile(x, {times})", {"x": x})
    compare.same(target, target.function("tile")(moved, times), want, call)


@case("unstack", "values")
def unstack(target: Target, data: Draw) -> None:
    """A tuple of slices along an axis."""
    x, moved = _array(target, data)
    axis = draw.axis(data, x.ndim)
    keywords = {} if axis == 0 and draw.flag(data, "by default") else {"axis": axis}
    out = target.function("unstack")(moved, **keywords)
    call = Call(f"unstack(x, axis={axis})", {"x": x})
    if not isinstance(out, tuple) or len(out) != x.shape[axis]:
        raise call.fail(f"got {type(out).__name__}, wanted a tuple of {x.shape[axis]} arrays")
    for i, part in enumerate(out):
        compare.same(target, part, x[(slice(None),) * (axis % x.ndim) + (i,)], call)
