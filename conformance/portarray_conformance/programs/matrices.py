"""Drawers of matrices and of what stands beside them; and the table of all drawers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from portarray_conformance.programs import arguments as a
from portarray_conformance.programs import sizes as z
from portarray_conformance.programs import values
from portarray_conformance.programs.arguments import Draft, Info
from portarray_conformance.programs.values import KINDS

MATRIX_DTYPES = ("float32", "float64", "complex64", "complex128")
Drawer = Callable[[Draft, str], str]


def matrix_dtype(d: Draft) -> str:
    """Return a dtype that decompositions take; seldom another, where every mistake is compared."""
    if d.g.rules and d.g.rng.random() < 0.1:
        return a.pick_dtype(d.g, "iufcb")
    known = [n for n in d.g.dtypes if n in MATRIX_DTYPES]
    return d.g.rng.choice(known or [n for n in d.g.everything if n in MATRIX_DTYPES])


def stack_of(d: Draft) -> tuple[int, ...]:
    """Return the shape of a stack of matrices, mostly none."""
    return d.g.rng.choice(((), (), (), (2,), (1,), (3,), (2, 1), (0,)))


def draw_square(d: Draft, told: str) -> str:
    n = d.g.rng.choice((1, 2, 2, 3, 3, 4))
    return a.use(d, a.new_array(d.g, (*stack_of(d), n, n), matrix_dtype(d), plain=True))


def draw_tall(d: Draft, told: str) -> str:
    rng = d.g.rng
    shape = (*stack_of(d), rng.randint(1, 4), rng.randint(1, 4))
    return a.use(d, a.new_array(d.g, shape, matrix_dtype(d), plain=True))


def draw_definite(d: Draft, told: str) -> str:
    name = draw_square(d, "")
    dtype = d.info.dtype
    if KINDS[dtype] not in "fc" or not d.info.shape:
        return name
    other = f"xp.conj({name}.mT)" if KINDS[dtype] == "c" else f"{name}.mT"
    n = d.info.shape[-1]
    made = d.g.make(f"{name} @ {other} + xp.eye({n}, dtype=xp.{dtype})")
    return a.use(d, made) if made in d.g.arrays else name


def draw_right_side(d: Draft, told: str) -> str:
    *stack, n, _ = d.info.shape if len(d.info.shape) > 1 else (1, 1)
    if d.g.rng.random() < 0.3 and not stack:
        shape: tuple[int, ...] = (n,)
    else:
        shape = (*stack, n, d.g.rng.randint(1, 3))
    return a.new_array(d.g, shape, a.promoted(d.g, d.info.dtype, "fc"), plain=True)


def draw_product(d: Draft, told: str) -> str:
    rng, shape = d.g.rng, d.info.shape
    if not shape:
        return a.draw_same(d, "")
    inner = shape[-1]
    way = rng.random()
    if way < 0.25:
        want: tuple[int, ...] = (inner,)
    elif way < 0.8 or len(shape) < 3:
        want = (inner, rng.randint(1, 3))
    else:
        want = (*a.partner_shape(rng, shape[:-2]), inner, rng.randint(1, 3))
    return a.find(d.g, KINDS[a.promoted(d.g, d.info.dtype, "iufc")], shape=want)


def draw_contracted(d: Draft, told: str) -> str:
    rng, shape = d.g.rng, d.info.shape
    count = rng.randint(0, min(2, len(shape)))
    other = (*shape[len(shape) - count :], *((rng.randint(1, 3),) if rng.random() < 0.7 else ()))
    if values.size_of(shape) * values.size_of(other) > a.MOST_ELEMENTS * 4:
        count, other = len(shape), shape
    d.memory["contraction"] = str(count)
    if count and rng.random() < 0.4:
        first = tuple(range(len(shape) - count, len(shape)))
        d.memory["contraction"] = repr((first, tuple(range(count))))
    return a.find(d.g, KINDS[a.promoted(d.g, d.info.dtype, "iufc")], shape=other)


def draw_contraction(d: Draft, told: str) -> str:
    return d.memory.get("contraction", "1")


def draw_threes(d: Draft, told: str) -> str:
    rng = d.g.rng
    shape = [3, *values.shape_of(rng, most=2, empty=0)]
    axis = rng.randrange(len(shape))
    shape[0], shape[axis] = shape[axis], 3
    d.memory["cross"] = str(axis - len(shape))
    return a.use(d, a.new_array(d.g, tuple(shape), a.pick_dtype(d.g, "iufc")))


def draw_threes_too(d: Draft, told: str) -> str:
    return a.new_array(d.g, d.info.shape, a.promoted(d.g, d.info.dtype, "iufc"))


def draw_cross_axis(d: Draft, told: str) -> str:
    return d.memory.get("cross", "-1")


def draw_indexing_axis(d: Draft, told: str) -> str:
    if "axis" in d.memory and d.g.rng.random() < 0.85:
        return d.memory["axis"]
    return "None"


def draw_stack_axis(d: Draft, told: str) -> str:
    ndim = len(d.info.shape)
    return str(d.g.rng.randint(-ndim - 1, ndim))


def draw_size(d: Draft, told: str) -> str:
    return str(d.g.rng.randint(1, 8))


def draw_number(d: Draft, told: str) -> str:
    if d.info.dtype and not d.x:
        d.info = Info((), "float32")
    return d.g.rng.choice(("0", "1", "-2.5", "0.5", "10", "3", "1.0"))


def draw_bare_axis(d: Draft, told: str) -> str:
    ndim = len(d.info.shape)
    return str(d.g.rng.randrange(-ndim, ndim) if ndim else 0)


DRAWERS: Mapping[str, Drawer] = {
    "x": a.draw_x,
    "y": a.draw_y,
    "shift": a.draw_shift,
    "same": a.draw_same,
    "same_kind": a.draw_same_kind,
    "same_dtype": a.draw_same_dtype,
    "bound": a.draw_bound,
    "vector": a.draw_vector,
    "condition": a.draw_condition,
    "increasing": a.draw_increasing,
    "edge": a.draw_edge,
    "group": a.draw_group,
    "stackable": a.draw_stackable,
    "indices": a.draw_indices,
    "along": a.draw_along,
    "axis": z.draw_axis,
    "axes": z.draw_axes,
    "bare_axis": draw_bare_axis,
    "axis_or_none": draw_indexing_axis,
    "new_axis": z.draw_new_axis,
    "stack_axis": draw_stack_axis,
    "unit_axes": z.draw_unit_axes,
    "permutation": z.draw_permutation,
    "last_axis": z.draw_last_axis,
    "rolls": z.draw_rolls,
    "roll_axis": z.draw_roll_axis,
    "shape": z.draw_shape,
    "other_shape": z.draw_other_shape,
    "larger_shape": z.draw_larger_shape,
    "new_shape": z.draw_new_shape,
    "repetitions": z.draw_repetitions,
    "repeats": z.draw_repeats,
    "x_or_dtype": z.draw_x_or_dtype,
    "x_or_dtype_or_scalar": z.draw_x_or_dtype_or_scalar,
    "anything": z.draw_anything,
    "scalar": z.draw_scalar,
    "start": z.draw_start,
    "stop": z.draw_stop,
    "step": z.draw_step,
    "number": draw_number,
    "size": draw_size,
    "length": z.choice("0", "1", "2", "3", "3", "4", "5"),
    "offset": z.choice("0", "1", "-1", "2", "-2", "5", "-7"),
    "flag": z.choice("True", "False"),
    "times": z.choice("0", "1", "1", "2", "3"),
    "positive": z.choice("0.5", "2.0", "1.0", "3"),
    "correction": z.choice("0", "1", "0.5", "1.0"),
    "side": z.choice("'left'", "'right'"),
    "indexing": z.choice("'xy'", "'ij'"),
    "norm": z.choice("'forward'", "'backward'", "'ortho'"),
    "kind": z.choice(
        "'bool'", "'integral'", "'signed integer'", "'unsigned integer'", "'real floating'",
        "'complex floating'", "'numeric'", "('integral', 'bool')",
    ),
    "dtype": z.dtype_of("iufcb"),
    "float_dtype": z.dtype_of("f"),
    "integer_dtype": z.dtype_of("iu"),
    "number_dtype": z.dtype_of("iuf"),
    "sum_dtype": z.draw_sum_dtype,
    "matrix_ord": z.choice("'fro'", "'nuc'", "1", "-1", "2", "-2", "inf", "-inf"),
    "vector_ord": z.choice("0", "1", "2", "3", "-1", "inf", "-inf", "0.5"),
    "qr_mode": z.choice("'reduced'", "'complete'"),
    "power": z.choice("0", "1", "2", "3", "-1", "-2", "5"),
    "rtol": z.choice("0.1", "1e-3", "None"),
    "square": draw_square,
    "tall": draw_tall,
    "definite": draw_definite,
    "right_side": draw_right_side,
    "product": draw_product,
    "contracted": draw_contracted,
    "contraction": draw_contraction,
    "threes": draw_threes,
    "threes_too": draw_threes_too,
    "cross_axis": draw_cross_axis,
}  # fmt: skip
"""Drawer by its name in the rows of calls."""
