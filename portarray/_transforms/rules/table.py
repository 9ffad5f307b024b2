"""The table of gradients, and what rules are made of.

A rule is a function of a recorded call and the cotangents of its results: it returns the cotangent
of each positional operand, None where there is none. Most are made of one function for each
operand, ``part(g, y, *operands, **options)``: ``g`` is the cotangent of the result ``y``. Rules are
written with portarray's own functions, so that they are recorded themselves where derivatives nest.

Cotangents of complex numbers are those of PyTorch: the derivative of a real function L of
``z = a + bj`` is ``dL/da + 1j * dL/db``, which points where L grows fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from portarray._array import call
from portarray._array.array import Array
from portarray._transforms.standard import pa

__all__ = ["RULES", "Part", "Rule", "as_operand", "of_operands", "summed_to"]

Part = Callable[..., Any]
Rule = Callable[..., Sequence[Any]]
"""``rule(cotangents, results, wanted, *operands, **options)``; ``wanted`` tells, for each operand,
whether its cotangent is of use."""

RULES: dict[str, Rule] = {}


def of_operands(*parts: Part | None) -> Rule:
    """Return a rule made of one function for each operand; None where it has no gradient."""

    def rule(
        cotangents: Sequence[Any],
        results: Sequence[Any],
        wanted: Sequence[bool],
        *operands: Any,
        **options: Any,
    ) -> Sequence[Any]:
        g, y = cotangents[0], results[0]
        found: list[Any] = []
        for x, needed, part in zip(operands, wanted, parts, strict=False):
            if not needed or part is None:
                found.append(None)
                continue
            cotangent = part(g, y, *operands, **options)
            if cotangent._native.shape != x._native.shape:
                cotangent = summed_to(cotangent, x.shape)
            found.append(cotangent)
        return found

    return rule


def define(rules: Mapping[str, Part | tuple[Part | None, ...]]) -> None:
    """Add rules: the part of the one operand, or those of several."""
    for name, parts in rules.items():
        RULES[name] = of_operands(*(parts if isinstance(parts, tuple) else (parts,)))


def summed_to(x: Array, shape: tuple[int, ...]) -> Array:
    """Return the sum over the axes that broadcasting added or stretched."""
    own = x.shape
    if own == shape:
        return x
    more = len(own) - len(shape)
    if own[more:] == shape:
        axis = 0 if more == 1 else tuple(range(more))
        return call.options("sum", x, axis=axis, keepdims=False)
    axes = tuple(
        n for n, size in enumerate(own) if n < more or (shape[n - more] == 1 and size != 1)
    )
    return pa.reshape(pa.sum(x, axis=axes), shape) if axes else x


def conj(x: Any) -> Any:
    """Return the conjugate of complex numbers, and real ones as they are."""
    if type(x) is Array:
        return pa.conj(x) if x._table.kind == "c" else x
    return x.conjugate() if isinstance(x, complex) else x


def as_operand(g: Any, x: Any) -> Any:
    """Return a cotangent in the dtype of its operand, which may be real where the result is not."""
    if g.dtype == x.dtype:
        return g
    if pa.isdtype(g.dtype, "complex floating") and not pa.isdtype(x.dtype, "complex floating"):
        g = pa.real(g)
    return pa.astype(g, x.dtype, copy=False)
