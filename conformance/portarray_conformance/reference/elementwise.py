"""Elementwise functions: which dtypes they take, how they are computed, and what stays open."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from portarray_conformance.bounds import ELEMENTWISE, ROUNDED
from portarray_conformance.reference import kinds, numerics, open_answers
from portarray_conformance.reference.kinds import BOOL, Data, DType
from portarray_conformance.reference.numerics import Function
from portarray_conformance.special_complex import COMPLEX_UNARY

if TYPE_CHECKING:
    from portarray_conformance.reference.noise import Noise
    from portarray_conformance.reference.rules import Rules

Plan: TypeAlias = "Callable[[Sequence[Data], Noise | None], tuple[Data, Data | None]]"


class Accepts(NamedTuple):
    """Which kinds a function computes on, and what becomes of others."""

    kinds: str
    converted: str = ""
    to: str = ""
    """``"f"`` or ``"i"`` (the default dtype), ``"uint8"``, ``"and back"``, ``"truth"``, or the
    function that serves them instead."""


FLOATING = Accepts("fc", "bui", "f")
REAL_FLOATING = Accepts("f", "bui", "f")
NUMERIC = Accepts("iufc")
SUMS = Accepts("iufc", "b", "i")
ORDERED = Accepts("iuf", "b", "uint8")
EXTREMES = Accepts("iuf", "b", "and back")
_ANY = Accepts("biufc")
_ROUNDS = Accepts("iuf", "b", "positive")
_SIZE = Accepts("iufc", "b", "positive")
_PARTS = Accepts("iufc", "b", "uint8")
_LOGICAL = Accepts("b", "iufc", "truth")
_BITS = Accepts("biu")
_SHIFTS = Accepts("iu")


class Row(NamedTuple):
    """One function: what it takes, its NumPy function of wide values, and the result's dtype."""

    accepts: Accepts
    function: Function
    result: str = "same"
    native: bool = False
    """Whether the function takes the dtype itself, not the wide one."""


ROWS: dict[str, Row] = {
    "abs": Row(_SIZE, np.abs, "real"),
    "add": Row(Accepts("iufc", "b", "logical_or"), np.add),
    "copysign": Row(REAL_FLOATING, np.copysign),
    "divide": Row(FLOATING, np.divide),
    "floor_divide": Row(Accepts("iuf"), numerics.floor_divide),
    "multiply": Row(Accepts("iufc", "b", "logical_and"), np.multiply),
    "negative": Row(NUMERIC, np.negative),
    "nextafter": Row(REAL_FLOATING, numerics.nextafter, native=True),
    "positive": Row(_ANY, np.array, native=True),
    "reciprocal": Row(FLOATING, np.reciprocal),
    "remainder": Row(Accepts("iuf"), np.remainder),
    "sign": Row(NUMERIC, numerics.sign),
    "signbit": Row(REAL_FLOATING, np.signbit, "bool"),
    "subtract": Row(NUMERIC, np.subtract),
    "equal": Row(_ANY, np.equal, "bool"),
    "not_equal": Row(_ANY, np.not_equal, "bool"),
    "greater": Row(ORDERED, np.greater, "bool"),
    "greater_equal": Row(ORDERED, np.greater_equal, "bool"),
    "less": Row(ORDERED, np.less, "bool"),
    "less_equal": Row(ORDERED, np.less_equal, "bool"),
    "isfinite": Row(_PARTS, np.isfinite, "bool"),
    "isinf": Row(_PARTS, np.isinf, "bool"),
    "isnan": Row(_PARTS, np.isnan, "bool"),
    "maximum": Row(Accepts("iuf", "b", "logical_or"), np.maximum),
    "minimum": Row(Accepts("iuf", "b", "logical_and"), np.minimum),
    "exp": Row(FLOATING, np.exp),
    "expm1": Row(FLOATING, numerics.expm1),
    "log": Row(FLOATING, np.log),
    "log10": Row(FLOATING, np.log10),
    "log1p": Row(FLOATING, numerics.log1p),
    "log2": Row(FLOATING, np.log2),
    "logaddexp": Row(REAL_FLOATING, np.logaddexp),
    "pow": Row(NUMERIC, numerics.power),
    "sqrt": Row(FLOATING, np.sqrt),
    "square": Row(_SIZE, np.square),
    "acos": Row(FLOATING, np.arccos),
    "acosh": Row(FLOATING, np.arccosh),
    "asin": Row(FLOATING, np.arcsin),
    "asinh": Row(FLOATING, np.arcsinh),
    "atan": Row(FLOATING, np.arctan),
    "atan2": Row(REAL_FLOATING, np.arctan2),
    "atanh": Row(FLOATING, np.arctanh),
    "cos": Row(FLOATING, np.cos),
    "cosh": Row(FLOATING, np.cosh),
    "hypot": Row(REAL_FLOATING, np.hypot),
    "sin": Row(FLOATING, np.sin),
    "sinh": Row(FLOATING, np.sinh),
    "tan": Row(FLOATING, np.tan),
    "tanh": Row(FLOATING, numerics.tanh),
    "ceil": Row(_ROUNDS, numerics.whole(np.ceil)),
    "floor": Row(_ROUNDS, numerics.whole(np.floor)),
    "round": Row(_SIZE, numerics.whole(np.rint)),
    "trunc": Row(_ROUNDS, numerics.whole(np.trunc)),
    "bitwise_and": Row(_BITS, np.bitwise_and),
    "bitwise_invert": Row(_BITS, np.invert),
    "bitwise_left_shift": Row(_SHIFTS, np.left_shift),
    "bitwise_or": Row(_BITS, np.bitwise_or),
    "bitwise_right_shift": Row(_SHIFTS, np.right_shift),
    "bitwise_xor": Row(_BITS, np.bitwise_xor),
    "logical_and": Row(_LOGICAL, np.logical_and, "bool"),
    "logical_not": Row(_LOGICAL, np.logical_not, "bool"),
    "logical_or": Row(_LOGICAL, np.logical_or, "bool"),
    "logical_xor": Row(_LOGICAL, np.logical_xor, "bool"),
    "conj": Row(NUMERIC, np.conj),
    "imag": Row(_PARTS, numerics.imag, "real"),
    "real": Row(_PARTS, numerics.real, "real"),
}
UNARY = frozenset(
    (
        *("abs", "negative", "positive", "reciprocal", "sign", "signbit", "isfinite", "isinf"),
        *("isnan", "exp", "expm1", "log", "log10", "log1p", "log2", "sqrt", "square", "acos"),
        *("acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh"),
        *("ceil", "floor", "round", "trunc", "bitwise_invert", "logical_not", "conj", "imag"),
        "real",
    )
)
_EXACT = frozenset(("add", "subtract", "floor_divide"))
"""What is correctly rounded in every part, or compared only where it is exact."""


_CORRECT = frozenset(("add", "subtract", "multiply", "divide", "sqrt", "square", "reciprocal"))
"""What NumPy rounds correctly."""


def refusal(name: str, dtype: DType) -> TypeError:
    return TypeError(f"{name} does not take {dtype} arrays; convert with astype first")


def converted(rules: Rules, name: str, accepts: Accepts, dtype: DType) -> DType:
    """Return the dtype that a function computes in for arrays of a dtype; TypeError if none."""
    kind = kinds.letter(dtype)
    if kind in accepts.kinds:
        return dtype
    if kind not in accepts.converted:
        raise refusal(name, dtype)
    if accepts.to in ("uint8", "and back"):
        return kinds.NAMED["uint8"]
    return rules.default_of(accepts.to)


def plan(rules: Rules, name: str, dtype: DType) -> Plan:
    """Return how a function is computed for operands of a dtype."""
    row = ROWS[name]
    accepts, kind = row.accepts, kinds.letter(dtype)
    truth = False
    if kind not in accepts.kinds and kind in accepts.converted:
        if accepts.to in ROWS:
            return plan(rules, accepts.to, dtype)
        truth = accepts.to == "truth"
    work = BOOL if truth else converted(rules, name, accepts, dtype)
    result = {"same": work, "bool": BOOL, "real": kinds.REAL.get(work, work)}[row.result]
    floats = kinds.letter(work) in "fc" and not row.native
    wide = kinds.WIDE[work] if floats else work
    if work == kinds.NAMED["float64"] and name in _CORRECT:
        wide = work  # rounded once, and not to the wider format before
    listed = ELEMENTWISE.get(name)
    bound = 0.0
    if listed is not None and kinds.letter(result) in "fc":
        bound = listed.complex if kinds.letter(work) == "c" else listed.real
    if name in _EXACT or (bound <= ROUNDED and kinds.letter(work) == "f"):
        bound = 0.0  # the correctly rounded answer
    opened = open_answers.of(name, work)
    function = row.function

    def run(data: Sequence[Data], noise: Noise | None) -> tuple[Data, Data | None]:
        if truth:
            data = [d != 0 for d in data]
        elif work != dtype:
            data = [kinds.rounded(d, work) for d in data]
        values = [d.astype(wide) for d in data] if floats else data
        out = np.asarray(function(*values))
        unsure = None if opened is None else opened(values, out, work)
        if noise is not None and bound:
            grown: Any = 1.0
            if name == "pow" and result.kind == "c":
                grown = numerics.growth(*values)
            elif name == "logaddexp":
                grown = numerics.cancelled(values[0], values[1], out)
            out = noise.rounded(out, result, bound * grown, parts=name in COMPLEX_UNARY)
            if name == "logaddexp" or (
                result.kind == "c" and name in ("divide", "reciprocal", "pow")
            ):
                out = noise.signs(out, np.asarray(out == 0))
        elif noise is not None and name in ("maximum", "minimum") and floats:
            out = noise.signs(out, values[0] == values[1])
        return kinds.rounded(out, result), unsure

    return run


def identical(x: Data, y: Data) -> Data:
    """Return where two arrays of one dtype hold the same bits."""
    if x.dtype.kind in "biu":
        return np.asarray(x == y)
    a, b = (np.ascontiguousarray(one) for one in (x, y))
    same = a.view((np.uint8, a.itemsize)) if a.ndim else a.reshape(1).view((np.uint8, a.itemsize))
    other = b.view((np.uint8, b.itemsize)) if b.ndim else b.reshape(1).view((np.uint8, b.itemsize))
    return np.asarray(np.all(same == other, axis=-1).reshape(x.shape))


@functools.cache
def _range(dtype: DType) -> tuple[int, int]:
    return kinds.limits(dtype)


def open_cast(x: Data, dtype: DType) -> Data | None:
    """Return where a conversion has no defined result: outside of an integer dtype, or NaN."""
    if kinds.letter(dtype) not in "iu" or kinds.letter(x.dtype) != "f":
        return None
    low, high = _range(dtype)
    with np.errstate(all="ignore"):
        whole = np.trunc(x.astype(kinds.WIDE[x.dtype]))
        outside = ~((whole >= low) & (whole < float(high) + 1 if high > 2**52 else whole <= high))
    return np.asarray(outside) if outside.any() else None
