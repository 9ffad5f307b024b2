"""Kernel definitions: a function, and which parameters are static."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from portarray._kernel_language import source
from portarray._kernel_language.source import Source


@dataclass(frozen=True, slots=True)
class Definition:
    """A kernel function before compilation, with its parameters in order.

    With `differentiable` it is checked that the kernel has an adjoint. `batches` are axes that come
    before those of the function, the first one last: the arrays that have each.
    """

    source: Source
    name: str
    signature: inspect.Signature
    names: list[str]
    is_static: list[bool]
    differentiable: bool = False
    batches: tuple[frozenset[str], ...] = ()

    def bound(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return all arguments in the order of the parameters."""
        try:
            return self.signature.bind(*args, **named).args
        except TypeError as error:
            raise TypeError(
                f"{self.name}{self.signature}: {error}"
                f"\nHint: besides its parameters, a kernel takes only ndrange= and group="
            ) from None


def define(
    function: FunctionType, static: Sequence[str], *, differentiable: bool = False
) -> Definition:
    """Return the definition of a kernel; raise TypeError for an unsupported signature."""
    text = source.read(function)
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            raise TypeError(
                f"{function.__name__}: unsupported parameter {parameter}; kernels have plain ones"
            )
        if parameter.default is not inspect.Parameter.empty:
            raise TypeError(f"{function.__name__}: kernel parameters cannot have default values")
    names = list(signature.parameters)
    static_names = static if isinstance(static, (tuple, list)) else (static,)
    if isinstance(static, str) or not all(isinstance(parameter, str) for parameter in static_names):
        raise TypeError(f"pa.kernel: static={static!r} is not a sequence of parameter names")
    unknown = [name for name in static if name not in names]
    if unknown:
        raise TypeError(
            f"pa.kernel: static={unknown[0]!r} is not a parameter of {function.__name__}"
        )
    is_static = [parameter in static for parameter in names]
    return Definition(text, function.__name__, signature, names, is_static, differentiable)
