"""Elementwise functions: accepted dtypes, computation, and undefined results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from portarray_conformance.bounds import ELEMENTWISE, ROUNDED
from portarray_conformance.reference import kinds, numerics
from portarray_conformance.reference.kinds import BOOL, Data, DType
from portarray_conformance.reference.noise import Noise
from portarray_conformance.reference.numerics import Function
from portarray_conformance.reference.settings import Settings
from portarray_conformance.reference.undefined import undefined_where
from portarray_conformance.special_complex import COMPLEX_UNARY

Plan: TypeAlias = Callable[[Sequence[Data], Noise | None], tuple[Data, Data | None]]


class Accepts(NamedTuple):
    """Which kinds a function computes on, and how others are converted."""

    kinds: str
    convertible: str = ""
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
    """One function: accepted kinds, NumPy function of wide values, and dtype of the result."""

    accepts: Accepts
    function: Function
    result: str = "same"
    native: bool = False
    """Whether the function takes the dtype itself, not the wide one."""


IMPLEMENTATIONS: dict[str, Row] = {
    "abs": Row(_SIZE, np.abs, "real"),
    "add": Row(Accepts("iufc", "b", "logical_or"), np.add),
    "copysign": Row(REAL_FLOATING, np.copysign),
    "floor_divide": Row(Accepts("iuf"), numerics.floor_divide),
    "multiply": Row(Accepts("iufc", "b", "logical_and"), np.multiply),
    "negative": Row(NUMERIC, np.negative),
    "nextafter": Row(REAL_FLOATING, numerics.nextafter, native=True),
    "positive": Row(_ANY, np.array, native=True),
    "remainder": Row(Accepts("iuf"), np.remainder),
    "sign": Row(NUMERIC, numerics.sign),
    "signbit": Row(REAL_FLOATING, np.signbit, "bool"),
    "subtract": Row(NUMERIC, np.subtract),
    **{f.__name__: Row(_ANY, f, "bool") for f in (np.equal, np.not_equal)},
    **{
        f.__name__: Row(ORDERED, f, "bool")
        for f in (np.greater, np.greater_equal, np.less, np.less_equal)
    },
    **{f.__name__: Row(_PARTS, f, "bool") for f in (np.isfinite, np.isinf, np.isnan)},
    "maximum": Row(Accepts("iuf", "b", "logical_or"), np.maximum),
    "minimum": Row(Accepts("iuf", "b", "logical_and"), np.minimum),
    **{
        f.__name__: Row(FLOATING, f)
        for f in (np.divide, np.reciprocal, np.exp, np.log, np.log10, np.log2, np.sqrt)
    },
    **{f.__name__: Row(FLOATING, f) for f in (np.cos, np.cosh, np.sin, np.sinh, np.tan)},
    **{
        f"a{name}": Row(FLOATING, getattr(np, f"arc{name}"))
        for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")
    },
    "expm1": Row(FLOATING, numerics.expm1),
    "log1p": Row(FLOATING, numerics.log1p),
    "logaddexp": Row(REAL_FLOATING, np.logaddexp),
    "pow": Row(NUMERIC, numerics.power),
    "square": Row(_SIZE, np.square),
    "atan2": Row(REAL_FLOATING, np.arctan2),
    "hypot": Row(REAL_FLOATING, np.hypot),
    "tanh": Row(FLOATING, numerics.tanh),
    "ceil": Row(_ROUNDS, numerics.whole(np.ceil)),
    "floor": Row(_ROUNDS, numerics.whole(np.floor)),
    "round": Row(_SIZE, numerics.whole(np.rint)),
    "trunc": Row(_ROUNDS, numerics.whole(np.trunc)),
    **{f.__name__: Row(_BITS, f) for f in (np.bitwise_and, np.bitwise_or, np.bitwise_xor)},
    "bitwise_invert": Row(_BITS, np.invert),
    "bitwise_left_shift": Row(_SHIFTS, np.left_shift),
    "bitwise_right_shift": Row(_SHIFTS, np.right_shift),
    **{
        f.__name__: Row(_LOGICAL, f, "bool")
        for f in (np.logical_and, np.logical_not, np.logical_or, np.logical_xor)
    },
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
"""Functions that round every part correctly, or are compared only where they are exact."""


_CORRECT = frozenset(("add", "subtract", "multiply", "divide", "sqrt", "square", "reciprocal"))
"""Functions that NumPy rounds correctly."""


def computation_dtype(settings: Settings, name: str, accepts: Accepts, dtype: DType) -> DType:
    """Return the dtype that a function computes in for arrays of a dtype; TypeError if none."""
    kind = kinds.letter(dtype)
    if kind in accepts.kinds:
        return dtype
    if kind not in accepts.convertible:
        raise TypeError(f"{name} does not take {dtype} arrays; convert with astype first")
    if accepts.to in ("uint8", "and back"):
        return kinds.NAMED["uint8"]
    return settings.default_of(accepts.to)


def plan(settings: Settings, name: str, dtype: DType) -> Plan:
    """Return how a function is computed for operands of a dtype."""
    row = IMPLEMENTATIONS[name]
    accepts, kind = row.accepts, kinds.letter(dtype)
    truth = False
    if kind not in accepts.kinds and kind in accepts.convertible:
        if accepts.to in IMPLEMENTATIONS:
            return plan(settings, accepts.to, dtype)
        truth = accepts.to == "truth"
    work = BOOL if truth else computation_dtype(settings, name, accepts, dtype)
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
    opened = undefined_where(name, work)
    function = row.function

    def run(data: Sequence[Data], noise: Noise | None) -> tuple[Data, Data | None]:
        if truth:
            data = [d != 0 for d in data]
        elif work != dtype:
            data = [kinds.rounded(d, work) for d in data]
        values = [d.astype(wide) for d in data] if floats else data
        out = np.asarray(function(*values))
        undefined = None if opened is None else opened(values, out, work)
        if noise is not None and bound:
            grown: Any = 1.0
            if name == "pow" and result.kind == "c":
                grown = numerics.growth(*values)
            elif name == "logaddexp":
                grown = numerics.cancelled(values[0], values[1], out)
            out = noise.perturb_ulps(out, result, bound * grown, parts=name in COMPLEX_UNARY)
            if name == "logaddexp" or (
                result.kind == "c" and name in ("divide", "reciprocal", "pow")
            ):
                out = noise.draw_zero_signs(out, np.asarray(out == 0))
        elif noise is not None and name in ("maximum", "minimum") and floats:
            out = noise.draw_zero_signs(out, values[0] == values[1])
        return kinds.rounded(out, result), undefined

    return run


def identical(x: Data, y: Data) -> Data:
    """Return where two arrays of one dtype hold the same bits."""
    if x.dtype.kind in "biu":
        return np.asarray(x == y)
    a, b = (np.ascontiguousarray(v).reshape(-1).view((np.uint8, v.itemsize)) for v in (x, y))
    return np.asarray(np.all(a == b, axis=-1).reshape(x.shape))


def open_cast(x: Data, dtype: DType) -> Data | None:
    """Return where a conversion has no defined result: outside of an integer dtype, or NaN."""
    if kinds.letter(dtype) not in "iu" or kinds.letter(x.dtype) != "f":
        return None
    low, high = kinds.limits(dtype)
    with np.errstate(all="ignore"):
        whole = np.trunc(x.astype(kinds.WIDE[x.dtype]))
        outside = ~((whole >= low) & (whole < float(high) + 1 if high > 2**52 else whole <= high))
    return np.asarray(outside) if outside.any() else None
