"""What a kernel is before it is compiled: a function, and which parameters are static."""

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
    """A function that is to be compiled, with its parameters in order."""

    source: Source
    name: str
    signature: inspect.Signature
    names: list[str]
    is_static: list[bool]
    fixed: bool  # whether the names around it keep their values, so that no call looks at them

    def bound(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return all arguments in the order of the parameters."""
        try:
            return self.signature.bind(*args, **named).args
        except TypeError as error:
            raise TypeError(
                f"{self.name}{self.signature}: {error}; besides its parameters a kernel takes "
                f"ndrange= and group="
            ) from None


def define(function: FunctionType, static: Sequence[str], *, fixed: bool = False) -> Definition:
    """Return the definition of a kernel; an error for what cannot be one."""
    text = source.read(function)
    signature = inspect.signature(function)
    for one in signature.parameters.values():
        if one.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            raise TypeError(f"{function.__name__}: kernels take plain parameters, not {one}")
        if one.default is not inspect.Parameter.empty:
            raise TypeError(f"{function.__name__}: parameters of kernels have no defaults")
    names = list(signature.parameters)
    given = static if isinstance(static, (tuple, list)) else (static,)
    if isinstance(static, str) or not all(isinstance(one, str) for one in given):
        raise TypeError(f"static is {static!r}; it is a sequence of names of parameters")
    unknown = [name for name in static if name not in names]
    if unknown:
        raise TypeError(f"static={unknown[0]!r} is no parameter of {function.__name__}")
    is_static = [one in static for one in names]
    return Definition(text, function.__name__, signature, names, is_static, fixed)
