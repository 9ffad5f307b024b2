"""Invalid arguments of every kind, put into one place of a valid call."""

from __future__ import annotations

from portarray_conformance.programs.arguments import Builder, Draft
from portarray_conformance.programs.values import KINDS

ANYTHING = (
    "None", "True", "3", "-1", "2.5", "1j", "'abc'", "[1, 2]", "(0, 1)", "{}", "np.ones(2)",
    "slice(None)", "xp.float32", "...", "10**30", "nan", "b'x'", "[None]", "[[1, 2], [3]]",
    "object()", "()", "[]", "{1, 2}", "range(2)", "np.float32(1.5)", "lambda: 0", "'float32'",
)  # fmt: skip
# None of these may allocate much memory.
BY_DRAWER: dict[str, tuple[str, ...]] = {
    "axis": ("9", "-9", "(0, 0)", "0.0", "1.5", "None", "'0'", "True", "(0,)", "[0]", "10**30"),
    "shape": ("(-1,)", "(2, -3)", "-2", "(2.0,)", "'ab'", "(2, None)", "None", "(True,)", "2.5",
              "[2, 2]", "(2, 'a')", "[-1, -1]"),
    "dtype": ("'float7'", "int", "float", "None", "3", "xp.float32(1)", "'f4'", "np.float32",
              "'float32'", "str", "object", "np.dtype('float64')", "bool"),
    "flag": ("None", "2", "'yes'", "0.0", "1"),
    "text": ("'left '", "None", "3", "'LEFT'", "''", "'full'", "True"),
    "count": ("-1", "2.5", "None", "'3'", "True", "-7", "(2,)", "1.0", "xp.asarray(2)"),
    "number": ("'1'", "None", "1j", "[1]", "()", "nan", "xp.asarray(1)"),
}  # fmt: skip
POOL: dict[str, str] = {
    **dict.fromkeys(
        ("axis", "axes", "bare_axis", "new_axis", "stack_axis", "unit_axes", "last_axis",
         "roll_axis", "axis_or_none", "cross_axis", "permutation", "contraction"), "axis"
    ),
    **dict.fromkeys(("shape", "other_shape", "larger_shape", "new_shape", "repetitions"), "shape"),
    **dict.fromkeys(
        ("dtype", "float_dtype", "integer_dtype", "number_dtype", "sum_dtype", "x_or_dtype"),
        "dtype",
    ),
    "flag": "flag",
    **dict.fromkeys(("side", "indexing", "norm", "kind", "qr_mode", "matrix_ord", "vector_ord"),
                    "text"),
    **dict.fromkeys(("size", "length", "offset", "times", "repeats", "rolls", "power"), "count"),
    **dict.fromkeys(
        ("positive", "correction", "rtol", "start", "stop", "step", "number"), "number"
    ),
}  # fmt: skip
KEYWORDS = (
    "dim", "keepdim", "out", "where", "axes", "axis", "dtype", "order", "keepdims", "n", "copy",
    "descending", "nonsense", "x", "device",
)  # fmt: skip


def bad_array(g: Builder, d: Draft) -> str:
    """Return an unsuitable operand: another shape or dtype, or not an array at all."""
    rng = g.rng
    chance = rng.random()
    if chance < 0.45 and g.arrays:
        return rng.choice(list(g.arrays))  # of any shape and dtype
    if chance < 0.6:
        dtype = rng.choice(g.dtypes)
        value = "True" if KINDS[dtype] == "b" else "1"
        shape = rng.choice(("(7,)", "(0,)", "(3, 2)", "(2, 0, 2)", "(1, 5)", "()", "(2, 2)"))
        return f"xp.full({shape}, {value}, dtype=xp.{dtype})"
    if chance < 0.68:
        singular = rng.choice(
            ("xp.ones((2, 2))", "xp.zeros((3, 3))", "xp.asarray([[1.0, 2.0], [2.0, 4.0]])",
             "-xp.eye(2)", "xp.asarray([[1.0, 2.0], [2.0, 1.0]])", "xp.ones((2, 3))",
             "xp.full((2, 2), nan)", "xp.zeros((0, 0))", "xp.zeros((2, 0, 3))",
             "xp.asarray([[inf, 1.0], [0.0, 1.0]])")
        )  # fmt: skip
        return str(singular)
    return rng.choice(ANYTHING)


def replacement(g: Builder, d: Draft, drawer: str) -> str:
    """Return a wrong argument for a drawer."""
    pool = POOL.get(drawer)
    if drawer in ("scalar", "anything", "kind"):
        return g.rng.choice(("'abc'", "None", "[[1, 2], [3]]", "{}", "object()", "[None]", "1j"))
    if pool is None:
        return bad_array(g, d)
    if g.rng.random() < 0.75:
        return g.rng.choice(BY_DRAWER[pool])
    chosen = g.rng.choice(ANYTHING)
    return "-1" if chosen in ("10**30", "3") else chosen


def corrupt(
    g: Builder, d: Draft, positional: list[tuple[str, str]], keywords: list[tuple[str, str, str]]
) -> None:
    """Make one argument of a call wrong, in place: (drawer, text) and (name, drawer, text)."""
    rng = g.rng
    chance = rng.random()
    if chance < 0.08 and positional:
        positional.pop(rng.randrange(len(positional)))
    elif chance < 0.13:
        positional.append(("extra", rng.choice(("None", "0", "1", "True", d.x or "2"))))
    elif chance < 0.22:
        used = {name for name, _, _ in keywords}
        name = rng.choice([keyword for keyword in KEYWORDS if keyword not in used])
        keywords.append((name, "", rng.choice(("None", "0", "1", "True", "-1"))))
    elif chance < 0.5 and keywords:
        index = rng.randrange(len(keywords))
        name, drawer, _ = keywords[index]
        keywords[index] = (name, drawer, replacement(g, d, drawer))
    elif positional:
        index = rng.randrange(len(positional))
        drawer, _ = positional[index]
        positional[index] = (drawer, replacement(g, d, drawer))
