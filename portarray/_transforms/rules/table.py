"""The table of VJP rules, and helpers for writing rules.

A rule takes the cotangents of the results of a call and returns the cotangents of its positional
operands, None for zero. Most rules consist of one function per operand,
``part(g, y, *operands, **options)``, where ``g`` is the cotangent of the result ``y``. Rules call
portarray's own functions, so that nested derivatives record them.

A cotangent of exactly zero is a *strong zero*: it contributes zero even where the local derivative
is infinite or NaN, as in a branch that ``where`` does not take. So rules multiply and divide
cotangents by :func:`scaled` and :func:`divided`; :func:`times` and :func:`over` make parts of local
derivatives.

Cotangents of complex numbers follow PyTorch: the derivative of a real function L of ``z = a + bj``
is ``dL/da + 1j * dL/db``, the direction in which L grows fastest.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from portarray._array import call
from portarray._array.array import Array
from portarray._namespace import pa

__all__ = [
    "RULES",
    "Part",
    "Rule",
    "along",
    "as_operand",
    "define",
    "divided",
    "in_single",
    "of_operands",
    "over",
    "scaled",
    "summed_to",
    "times",
]

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


def scaled(g: Any, factor: Any) -> Any:
    """Return a cotangent times a factor, zero where the cotangent is."""
    if factor.__class__ is not Array:
        if factor and cmath.isfinite(factor):
            return g * factor
        factor = pa.full_like(g, factor)
    return call.binary("strong_multiply", g, factor)


def divided(g: Any, divisor: Any) -> Any:
    """Return a cotangent divided by a divisor, zero where the cotangent is."""
    if divisor.__class__ is not Array:
        if divisor != 0 and cmath.isfinite(divisor):
            return g / divisor
        divisor = pa.full_like(g, divisor)
    return call.binary("strong_divide", g, divisor)


def times(derivative: Callable[..., Any]) -> Part:
    """Return the part of an operand, given the local derivative by ``(y, *operands)``."""

    def part(g: Any, y: Any, *operands: Any, **options: Any) -> Any:
        return along(g, derivative(y, *operands, **options))

    return part


def along(g: Any, factor: Any) -> Any:
    """Return a cotangent times the conjugate of a local derivative."""
    if factor.__class__ is Array and factor._dispatch.kind != "c":
        return call.binary("strong_multiply", g, factor)
    return scaled(g, conj(factor))


def over(inverse: Callable[..., Any]) -> Part:
    """Return the part of an operand, given the inverse of the local derivative."""

    def part(g: Any, y: Any, *operands: Any, **options: Any) -> Any:
        return divided(g, conj(inverse(y, *operands, **options)))

    return part


def in_single(part: Part) -> Part:
    """Return a part that is computed in float32 for 16-bit operands.

    Counts and sums of thousands of elements exceed the precision and the range of 16 bits.
    """

    def computed(*arrays: Any, **options: Any) -> Any:
        g, y, *operands = arrays
        dtype = next(x._dispatch.dtype for x in operands if x.__class__ is Array)
        if dtype.itemsize > 2:
            return part(g, y, *operands, **options)
        wide = [pa.astype(x, pa.float32) if x.__class__ is Array else x for x in arrays]
        return pa.astype(part(*wide, **options), dtype)

    return computed


def summed_to(x: Array, shape: tuple[int, ...]) -> Array:
    """Sum over the axes that broadcasting added or stretched."""
    if x.shape == shape:
        return x
    x_shape = x.shape
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
    if g._dispatch is x._dispatch or g.dtype == x.dtype:
        return g
    if pa.isdtype(g.dtype, "complex floating") and not pa.isdtype(x.dtype, "complex floating"):
        g = pa.real(g)
    return pa.astype(g, x.dtype, copy=False)


# In a second derivative g may be a tangent: a derivative of zero times an infinite one is zero.
RULES["strong_multiply"] = RULES["strong_product"] = of_operands(
    lambda g, y, a, b: _strong_product(g, conj(b)), lambda g, y, a, b: _strong_product(g, conj(a))
)
RULES["strong_divide"] = of_operands(
    over(lambda y, a, b: b), lambda g, y, a, b: -_strong_product(g, conj(divided(y, b)))
)


def _strong_product(a: Any, b: Any) -> Any:
    """Return a product of two cotangents: strong zeros of either are zero."""
    return call.binary("strong_product", a, b)
