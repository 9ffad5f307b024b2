"""The reverse of assignments and stores: what they add to the cotangents of their operands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from portarray._kernel_language import tree, types
from portarray._kernel_language.derivatives import partial_derivatives, python_text
from portarray._kernel_language.derivatives.analysis import operands_of
from portarray._kernel_language.derivatives.forward import (
    ForwardSweep,
    adjoint_type,
    cotangent_dtype,
)
from portarray._kernel_language.derivatives.lines import Lines
from portarray._kernel_language.derivatives.partial_derivatives import Partial
from portarray._kernel_language.derivatives.simple_statements import Add, Assign, Store, Unsupported
from portarray._kernel_language.types import Array, Scalar


class ReverseAssignments(ForwardSweep):
    """The forward sweep, and the reverse of statements without a body."""

    def reverse_assign(self, x: Assign) -> Lines:
        if x.name not in self.analysis.cotangents:
            return []
        g = self.cotangent(x.name)
        type_ = self.program.variables[x.name]
        operands = operands_of(x.value)
        out: Lines = []
        if any(map(self.analysis.is_active, operands)):
            result = tree.Variable(x.value.at, type_, x.name)
            for n, (operand, partial) in enumerate(zip(operands, self.partials(x), strict=True)):
                if self.analysis.is_active(operand) and partial.text:
                    out += self.contribution(x, n, partial, operands, result, g)
        if x.name in self.program.temporaries and x.name not in self.program.results:
            return out
        return [*out, f"{g} = {python_text.zero(adjoint_type(type_))}"]

    def restored(self, x: Assign) -> Lines:
        if self.is_needed(x.name) and self.analysis.overwrites(x):
            saved = self.saved(x, x.name, self.program.variables[x.name])
            return [f"{x.name} = {saved}"]
        return []

    def partials(self, x: Assign) -> Sequence[Partial]:
        value = x.value
        if isinstance(value, tree.Operation):
            if value.sign == "**" and isinstance(value.operands[1], tree.Literal):
                return (_power(value.operands[1].value), Partial(""))
            partials = partial_derivatives.OPERATIONS.get(value.sign)
            name = value.sign
        elif isinstance(value, tree.Call):
            partials = partial_derivatives.FUNCTIONS.get(value.row.name)
            name = value.row.name
        else:
            return (Partial("1"),)
        if partials is None:
            raise Unsupported(x.location, f"{name} has no derivative in kernels")
        return partials

    def contribution(
        self,
        x: Assign,
        n: int,
        partial: Partial,
        operands: Sequence[tree.Expr],
        result: tree.Variable,
        g: str,
    ) -> Lines:
        """Return the addition of what a result's cotangent gives that of an operand."""
        work = getattr(x.value, "work", x.value.scalar)
        type_ = adjoint_type(self.program.variables[x.name])
        computed = adjoint_type(work)
        if computed.dtype != type_.dtype:
            g = python_text.cast(g, computed)
        text = partial.text
        if text == "1":
            return self.add(operands[n], g, computed)
        if text == "-1":
            return self.add(operands[n], f"-{g}", computed)
        parts = [
            self.in_type(part, computed) if f"{{{k}}}" in text else ""
            for k, part in enumerate(operands)
        ]
        r = self.in_type(result, computed) if "{r}" in text else ""
        if "{g}" not in text:
            is_simple = text.strip("{}").isalnum() or text.startswith("(")
            product = text if is_simple else f"({text})"
            text = f"{{g}} * {product}"
        value = text.format(*parts, r=r, g=g)
        if partial.steep:
            value = f"({value}) if {g} != 0.0 else {self.strong_zero(text, parts, r, g, computed)}"
        return self.add(operands[n], value, computed)

    def strong_zero(self, text: str, parts: list[str], r: str, g: str, type_: Scalar) -> str:
        """Return the product of a steep derivative with a cotangent that is 0.

        Where this adjoint is differentiated, the product's derivative by the cotangent is the steep
        derivative itself: a finite bound keeps a product with an infinite one 0.
        """
        if self.saves_states:
            return g
        bound = float(np.finfo(types.settled(type_, self.weak).strong_dtype).max)
        factor = text.format(*parts, r=r, g="1.0")
        return f"{g} * max(-{bound!r}, min({factor}, {bound!r}))"

    def in_type(self, x: tree.Expr, type_: Scalar) -> str:
        """Return an operand converted to the type that a derivative is computed in."""
        text = self.need(x, operand=True)
        if x.scalar.weak or x.scalar.dtype == type_.dtype:
            return text
        return python_text.cast(text, type_)

    def add(self, x: tree.Expr, value: str, type_: Scalar) -> Lines:
        """Return the addition of a value to the cotangent of an operand."""
        if isinstance(x, tree.Variable):
            name = self.cotangent(x.name)
            operand_type = adjoint_type(self.program.variables[x.name])
            value = (
                value
                if operand_type.dtype == type_.dtype
                else python_text.cast(value, operand_type)
            )
            if x.name in self.program.temporaries:
                return [f"{name} = {value}"]
            return [f"{name} = {name} + {_bracketed(value)}"]
        assert isinstance(x, tree.Load)
        return self.add_to_element(x.array, x.index, value, type_)

    def add_to_element(
        self, array: Array, index: Sequence[tree.Expr], value: str, type_: Scalar
    ) -> Lines:
        name = self.cotangent_arrays[array.name]
        self.changed.add(array.name)
        dtype = cotangent_dtype(array.dtype)
        if type_.dtype != dtype:
            value = python_text.cast(value, types.strong(dtype))
        element = self.element(name, index)
        if self.analysis.exclusive[array.name]:
            return [f"{element} = {element} + {_bracketed(value)}"]
        places = element[len(name) + 1 : -1]
        where = f"({places})" if len(index) > 1 else places
        return [f"kl.atomic_add({name}, {where}, {value})"]

    def reverse_store(self, x: Store) -> Lines:
        out = [*self.restored_element(x), *self.reverse_value(x)]
        name = self.cotangent_arrays.get(x.array.name)
        if name is None:
            return out
        if x.array.name in self.analysis.consumed:
            self.changed.add(x.array.name)
            zero = python_text.zero(types.strong(cotangent_dtype(x.array.dtype)))
            out.append(f"{self.element(name, x.index)} = {zero}")
        return out

    def restored_element(self, x: Store | Add) -> Lines:
        if self.slice is None or x.array.name not in self.slice.arrays:
            return []
        saved = self.saved(x, x.array.name, types.strong(x.array.dtype))
        return [f"{self.element(x.array.name, x.index)} = {saved}"]

    def reverse_value(self, x: Store | Add) -> Lines:
        """Return the addition of an element's cotangent to that of what is written."""
        name = self.cotangent_arrays.get(x.array.name)
        if name is None or not self.analysis.is_active(x.value):
            return []
        type_ = types.strong(cotangent_dtype(x.array.dtype))
        return self.add(x.value, self.element(name, x.index), type_)


def _power(exponent: float) -> Partial:
    """Return the derivative of a power with a constant exponent."""
    if exponent in (0, 1, 2):
        return Partial(("", "1", "2.0 * {0}")[int(exponent)])
    literal = python_text.literal(exponent, types.of_python(exponent))
    lower = python_text.literal(exponent - 1, types.of_python(exponent - 1))
    return Partial(f"{literal} * {{0}} ** {lower}", steep=exponent < 1 or type(exponent) is float)


def _bracketed(value: str) -> str:
    return f"({value})" if " if " in value or value.startswith("-") else value
