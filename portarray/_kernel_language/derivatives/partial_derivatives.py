"""Derivatives of the kernel language's operators and functions.

By name, one text for each operand: the derivative of the result ``{r}`` with respect to it, of the
operands ``{0}``, ``{1}`` and ``{2}``; empty where it is 0. It is multiplied by the cotangent
``{g}`` unless the text contains it. A *steep* derivative may be infinite: it counts as 0 where the
cotangent is 0, as in a branch whose value is not used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple


class Partial(NamedTuple):
    """The derivative with respect to one operand."""

    text: str
    steep: bool = False


_ZERO = Partial("")
_SHARE = "(1.0 if {0} {sign} {1} else 0.5 if {0} == {1} else 0.0)"


def _shared(sign: str) -> tuple[Partial, Partial]:
    """Return the derivatives of an extreme; equal operands share it."""
    opposite = ">" if sign == "<" else "<"
    return tuple([Partial(_SHARE.replace("{sign}", s)) for s in (sign, opposite)])  # type: ignore[return-value]


OPERATIONS: Mapping[str, tuple[Partial, ...]] = {
    "+": (Partial("1"), Partial("1")),
    "-": (Partial("1"), Partial("-1")),
    "*": (Partial("{1}"), Partial("{0}")),
    "/": (Partial("{g} / {1}", True), Partial("-({g} / {1}) * {r}", True)),
    "%": (Partial("1"), Partial("-np.floor({0} / {1})", True)),
    "//": (_ZERO, _ZERO),
    "**": (
        Partial("{1} * {0} ** ({1} - 1) if {1} != 0 else 0.0", True),
        Partial("{r} * math.log({0}) if {0} > 0 else 0.0", True),
    ),
    "-x": (Partial("-1"),),
    "+x": (Partial("1"),),
}
"""Derivatives of operators."""

_LN2, _LN10 = math.log(2.0), math.log(10.0)
FUNCTIONS: Mapping[str, tuple[Partial, ...]] = {
    "sqrt": (Partial("{g} * 0.5 / {r}", True),),
    "exp": (Partial("{r}"),),
    "exp2": (Partial(f"{{r}} * {_LN2!r}"),),
    "expm1": (Partial("{r} + 1.0"),),
    "log": (Partial("{g} / {0}", True),),
    "log2": (Partial(f"{1 / _LN2!r} / {{0}}", True),),
    "log10": (Partial(f"{1 / _LN10!r} / {{0}}", True),),
    "log1p": (Partial("1.0 / (1.0 + {0})", True),),
    # Of other arguments than the function's: where sine and cosine of one number are computed in a
    # loop, Intel's OpenCL compiler 2026.1 crashes.
    "sin": (Partial("math.cos(abs({0}))"),),
    "cos": (Partial("math.sin(-{0})"),),
    "tan": (Partial("1.0 + {r} * {r}", True),),
    "sinh": (Partial("math.cosh({0})"),),
    "cosh": (Partial("math.sinh({0})"),),
    "tanh": (Partial("1.0 - {r} * {r}"),),
    "asin": (Partial("1.0 / math.sqrt(1.0 - {0} * {0})", True),),
    "acos": (Partial("-1.0 / math.sqrt(1.0 - {0} * {0})", True),),
    "atan": (Partial("1.0 / (1.0 + {0} * {0})"),),
    "asinh": (Partial("1.0 / math.hypot({0}, 1.0)"),),
    "acosh": (Partial("1.0 / (math.sqrt({0} - 1.0) * math.sqrt({0} + 1.0))", True),),
    "atanh": (Partial("1.0 / ((1.0 - {0}) * (1.0 + {0}))", True),),
    **dict.fromkeys(("floor", "ceil", "trunc", "rint", "sign"), (_ZERO,)),
    "cbrt": (Partial("1.0 / (3.0 * {r} * {r})", True),),
    "erf": (Partial(f"{2 / math.sqrt(math.pi)!r} * math.exp(-{{0}} * {{0}})"),),
    "erfc": (Partial(f"{-2 / math.sqrt(math.pi)!r} * math.exp(-{{0}} * {{0}})"),),
    "abs": (Partial("np.sign({0})"),),
    "square": (Partial("2.0 * {0}"),),
    "reciprocal": (Partial("-{r} * {r}", True),),
    "degrees": (Partial(repr(math.degrees(1.0))),),
    "radians": (Partial(repr(math.radians(1.0))),),
    "floor_divide": (_ZERO, _ZERO),
    "power": OPERATIONS["**"],
    "min": _shared("<"),
    "minimum": _shared("<"),
    "max": _shared(">"),
    "maximum": _shared(">"),
    "hypot": (
        Partial("{0} / {r} if {r} != 0 else 0.0", True),
        Partial("{1} / {r} if {r} != 0 else 0.0", True),
    ),
    # The square of the length may overflow or vanish.
    "atan2": (
        Partial("{1} / math.hypot({0}, {1}) / math.hypot({0}, {1})", True),
        Partial("-{0} / math.hypot({0}, {1}) / math.hypot({0}, {1})", True),
    ),
    "fmod": (Partial("1"), Partial("-np.trunc({0} / {1})", True)),
    "copysign": (Partial("math.copysign(1.0, {0}) * math.copysign(1.0, {1})"), _ZERO),
    "fma": (Partial("{1}"), Partial("{0}"), Partial("1")),
    "logaddexp": (Partial("math.exp({0} - {r})"), Partial("math.exp({1} - {r})")),
}
"""Derivatives of functions of the table; others have none."""
