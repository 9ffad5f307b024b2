"""Drawers of matrices and their second operands, and the table of all drawers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from portarray_conformance.programs import arguments, shapes, values
from portarray_conformance.programs.arguments import Draft, Info
from portarray_conformance.programs.values import KINDS

MATRIX_DTYPES = ("float32", "float64", "complex64", "complex128")
Drawer = Callable[[Draft, str], str]


def matrix_dtype(d: Draft) -> str:
    """Return a dtype that decompositions accept; rarely another, where mistakes are compared."""
    if d.g.extended and d.g.rng.random() < 0.1:
        return arguments.pick_dtype(d.g, "iufcb")
    candidates = [n for n in d.g.dtypes if n in MATRIX_DTYPES]
    return d.g.rng.choice(candidates or [n for n in d.g.everything if n in MATRIX_DTYPES])


def stack_of(d: Draft) -> tuple[int, ...]:
    """Return the shape of a stack of matrices, mostly none."""
    return d.g.rng.choice(((), (), (), (2,), (1,), (3,), (2, 1), (0,)))


def draw_square(d: Draft, spec: str) -> str:
    n = d.g.rng.choice((1, 2, 2, 3, 3, 4))
    return arguments.use(
        d, arguments.new_array(d.g, (*stack_of(d), n, n), matrix_dtype(d), plain=True)
    )


def draw_tall(d: Draft, spec: str) -> str:
    rng = d.g.rng
    shape = (*stack_of(d), rng.randint(1, 4), rng.randint(1, 4))
    return arguments.use(d, arguments.new_array(d.g, shape, matrix_dtype(d), plain=True))


def draw_definite(d: Draft, spec: str) -> str:
    name = draw_square(d, "")
    dtype = d.info.dtype
    if KINDS[dtype] not in "fc" or not d.info.shape:
        return name
    adjoint = f"xp.conj({name}.mT)" if KINDS[dtype] == "c" else f"{name}.mT"
    n = d.info.shape[-1]
    product = d.g.make(f"{name} @ {adjoint} + xp.eye({n}, dtype=xp.{dtype})")
    return arguments.use(d, product) if product in d.g.arrays else name


def draw_right_side(d: Draft, spec: str) -> str:
    *stack, n, _ = d.info.shape if len(d.info.shape) > 1 else (1, 1)
    if d.g.rng.random() < 0.3 and not stack:
        shape: tuple[int, ...] = (n,)
    else:
        shape = (*stack, n, d.g.rng.randint(1, 3))
    return arguments.new_array(d.g, shape, arguments.promoted(d.g, d.info.dtype, "fc"), plain=True)


def draw_product(d: Draft, spec: str) -> str:
    rng, shape = d.g.rng, d.info.shape
    if not shape:
        return arguments.draw_same(d, "")
    inner = shape[-1]
    chance = rng.random()
    if chance < 0.25:
        want: tuple[int, ...] = (inner,)
    elif chance < 0.8 or len(shape) < 3:
        want = (inner, rng.randint(1, 3))
    else:
        want = (*arguments.partner_shape(rng, shape[:-2]), inner, rng.randint(1, 3))
    return arguments.find(d.g, KINDS[arguments.promoted(d.g, d.info.dtype, "iufc")], shape=want)


def draw_contracted(d: Draft, spec: str) -> str:
    rng, shape = d.g.rng, d.info.shape
    count = rng.randint(0, min(2, len(shape)))
    second = (*shape[len(shape) - count :], *((rng.randint(1, 3),) if rng.random() < 0.7 else ()))
    if values.size_of(shape) * values.size_of(second) > arguments.MOST_ELEMENTS * 4:
        count, second = len(shape), shape
    d.memory["contraction"] = str(count)
    if count and rng.random() < 0.4:
        first = tuple(range(len(shape) - count, len(shape)))
        d.memory["contraction"] = repr((first, tuple(range(count))))
    return arguments.find(d.g, KINDS[arguments.promoted(d.g, d.info.dtype, "iufc")], shape=second)


def draw_threes(d: Draft, spec: str) -> str:
    rng = d.g.rng
    shape = [3, *values.shape_of(rng, most=2, empty=0)]
    axis = rng.randrange(len(shape))
    shape[0], shape[axis] = shape[axis], 3
    d.memory["cross"] = str(axis - len(shape))
    return arguments.use(
        d, arguments.new_array(d.g, tuple(shape), arguments.pick_dtype(d.g, "iufc"))
    )


def draw_threes_too(d: Draft, spec: str) -> str:
    return arguments.new_array(d.g, d.info.shape, arguments.promoted(d.g, d.info.dtype, "iufc"))


def draw_axis_or_none(d: Draft, spec: str) -> str:
    if "axis" in d.memory and d.g.rng.random() < 0.85:
        return d.memory["axis"]
    return "None"


def draw_number(d: Draft, spec: str) -> str:
    if d.info.dtype and not d.x:
        d.info = Info((), "float32")
    return d.g.rng.choice(("0", "1", "-2.5", "0.5", "10", "3", "1.0"))


def draw_bare_axis(d: Draft, spec: str) -> str:
    ndim = len(d.info.shape)
    return str(d.g.rng.randrange(-ndim, ndim) if ndim else 0)


def _named(namespace: Mapping[str, Drawer]) -> dict[str, Drawer]:
    """Return the functions ``draw_NAME`` of a module by NAME."""
    prefix = "draw_"
    return {n.removeprefix(prefix): f for n, f in namespace.items() if n.startswith(prefix)}


DRAWERS: Mapping[str, Drawer] = {
    **_named(vars(arguments)),
    **_named(vars(shapes)),
    **_named(globals()),
    "roll_axis": shapes.draw_axis,
    "stack_axis": shapes.draw_new_axis,
    "contraction": lambda d, spec: d.memory.get("contraction", "1"),
    "cross_axis": lambda d, spec: d.memory.get("cross", "-1"),
    "size": lambda d, spec: str(d.g.rng.randint(1, 8)),
    "start": shapes.choice("0", "1", "5", "10", "-3", "2.5", "0.0", "7"),
    "stop": shapes.choice("0", "5", "10", "3.5", "-4", "12", "9.0"),
    "step": shapes.choice("1", "2", "-1", "3", "0.5", "-0.25", "-2", "1.5"),
    "length": shapes.choice("0", "1", "2", "3", "3", "4", "5"),
    "offset": shapes.choice("0", "1", "-1", "2", "-2", "5", "-7"),
    "flag": shapes.choice("True", "False"),
    "times": shapes.choice("0", "1", "1", "2", "3"),
    "positive": shapes.choice("0.5", "2.0", "1.0", "3"),
    "correction": shapes.choice("0", "1", "0.5", "1.0"),
    "side": shapes.choice("'left'", "'right'"),
    "indexing": shapes.choice("'xy'", "'ij'"),
    "norm": shapes.choice("'forward'", "'backward'", "'ortho'"),
    "kind": shapes.choice(
        *("'bool'", "'integral'", "'signed integer'", "'unsigned integer'", "'real floating'"),
        *("'complex floating'", "'numeric'", "('integral', 'bool')"),
    ),
    "dtype": shapes.dtype_of("iufcb"),
    "float_dtype": shapes.dtype_of("f"),
    "integer_dtype": shapes.dtype_of("iu"),
    "number_dtype": shapes.dtype_of("iuf"),
    "matrix_ord": shapes.choice("'fro'", "'nuc'", "1", "-1", "2", "-2", "inf", "-inf"),
    "vector_ord": shapes.choice("0", "1", "2", "3", "-1", "inf", "-inf", "0.5"),
    "qr_mode": shapes.choice("'reduced'", "'complete'"),
    "power": shapes.choice("0", "1", "2", "3", "-1", "-2", "5"),
    "rtol": shapes.choice("0.1", "1e-3", "None"),
}
"""Drawer by its name in the rows of calls."""
