"""The table of VJP rules, and helpers for writing rules.

A rule takes the cotangents of the results of a call and returns the cotangents of its positional
operands, None for zero. Most rules consist of one function per operand,
``part(g, y, *operands, **options)``, where ``g`` is the cotangent of the result ``y``. Rules call
portarray's own functions, so that nested derivatives record them.

Cotangents of complex numbers follow PyTorch: the derivative of a real function L of ``z = a + bj``
is ``dL/da + 1j * dL/db``, the direction in which L grows fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from portarray._array import call
from portarray._array.array import Array
from portarray._namespace import pa

__all__ = ["RULES", "Part", "Rule", "as_operand", "of_operands", "summed_to"]

Part = Callable[..., Any]
Rule = Callable[..., Sequence[Any]]
"""``rule(cotangents, results, needs_grad, *operands, **options)``; ``needs_grad`` contains for each
operand whether its cotangent is needed."""

RULES: dict[str, Rule] = {}


def of_operands(*parts: Part | None) -> Rule:
    """Return a rule made of one function per operand, None for operands without a gradient."""

    def rule(
        cotangents: Sequence[Any],
        results: Sequence[Any],
        needs_grad: Sequence[bool],
        *operands: Any,
        **options: Any,
    ) -> Sequence[Any]:
        g, y = cotangents[0], results[0]
        operand_cotangents: list[Any] = []
        for x, needed, part in zip(operands, needs_grad, parts, strict=False):
            if not needed or part is None:
                operand_cotangents.append(None)
                continue
            cotangent = part(g, y, *operands, **options)
            if cotangent._native.shape != x._native.shape:
                cotangent = summed_to(cotangent, x.shape)
            operand_cotangents.append(cotangent)
        return operand_cotangents

    return rule


def define(rules: Mapping[str, Part | tuple[Part | None, ...]]) -> None:
    """Add rules, each given as the part of its operand or a tuple of parts."""
    for name, parts in rules.items():
        RULES[name] = of_operands(*(parts if isinstance(parts, tuple) else (parts,)))


def summed_to(x: Array, shape: tuple[int, ...]) -> Array:
    """Sum over the axes that broadcasting added or stretched."""
    x_shape = x.shape
    if x_shape == shape:
        return x
    more = len(x_shape) - len(shape)
    if x_shape[more:] == shape:
        axis = 0 if more == 1 else tuple(range(more))
        return call.options("sum", x, axis=axis, keepdims=False)
    axes = tuple(
        n for n, size in enumerate(x_shape) if n < more or (shape[n - more] == 1 and size != 1)
    )
    return pa.reshape(pa.sum(x, axis=axes), shape) if axes else x


def conj(x: Any) -> Any:
    """Return the complex conjugate; real values are returned unchanged."""
    if type(x) is Array:
        return pa.conj(x) if x._dispatch.kind == "c" else x
    return x.conjugate() if isinstance(x, complex) else x


def as_operand(g: Any, x: Any) -> Any:
    """Return a cotangent in the dtype of its operand, which may be real for complex results."""
    if g.dtype == x.dtype:
        return g
    if pa.isdtype(g.dtype, "complex floating") and not pa.isdtype(x.dtype, "complex floating"):
        g = pa.real(g)
    return pa.astype(g, x.dtype, copy=False)
