"""Functions that can be proven to do nothing but compute a result of what they are given."""

from __future__ import annotations

import builtins
import dis
import inspect
import itertools
import math
import types
from enum import Enum
from typing import Any

from portarray._array.array import Array
from portarray._transforms.compiling.signatures import is_value

__all__ = ["code_parts", "is_pure", "is_transformed"]

_EFFECTS = (
    *("DELETE_ATTR", "DELETE_GLOBAL", "DELETE_SUBSCR", "IMPORT", "INPLACE", "LOAD_BUILD_CLASS"),
    *("LOAD_LOCALS", "LOAD_NAME", "LOAD_SUPER_ATTR", "STORE_ATTR", "STORE_GLOBAL", "STORE_NAME"),
    *("STORE_SLICE", "STORE_SUBSCR"),
)
"""Beginnings of the names of instructions that may change or run something else."""

_RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

_BUILTINS = (
    *(abs, all, any, bool, complex, dict, divmod, enumerate, float, int, isinstance, len, list),
    *(max, min, pow, range, reversed, round, slice, sum, tuple, zip),
)

_ATTRIBUTES = frozenset(
    (
        *("T", "all", "any", "argmax", "argmin", "astype", "clip", "conj", "copy", "cumprod"),
        *("cumsum", "device", "dot", "dtype", "flatten", "get", "imag", "items", "keys", "mT"),
        *("max", "mean", "min", "ndim", "prod", "ravel", "real", "reshape", "round", "shape"),
        *("size", "squeeze", "std", "sum", "swapaxes", "transpose", "values", "var"),
    )
)
"""Attributes of arrays and containers that change nothing."""

_MODULES = ("portarray._api.", "portarray.kernels.", "portarray.special", "portarray.linalg")
_TRANSFORMS = ("portarray._transforms.gradients", "portarray._transforms.vmap")
_OF_ARRAYS = frozenset(dir(Array)) - _ATTRIBUTES


def is_pure(function: Any) -> bool:
    """Return whether a function of arrays has no effect but its result.

    It calls only functions of portarray, of ``math``, a few of Python's and others that are pure,
    and refers to nothing but arrays, values and containers of them.
    """
    walk = _Walk()
    return walk.visit(function) and walk.has_known_attributes()


def is_transformed(x: types.FunctionType) -> bool:
    """Return whether a function is the result of ``pa.grad`` or ``pa.vmap``, or the like."""
    return x.__globals__.get("__name__") in _TRANSFORMS and "__wrapped__" in x.__dict__


class _Walk:
    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}
        self._modules: list[types.ModuleType] = []
        self._attributes: set[str] = set()

    def visit(self, x: Any) -> bool:
        """Return whether a value is known to be harmless, whatever is done with it."""
        kind = type(x)
        if kind is Array or id(x) in self._seen or (is_value(x) and not isinstance(x, Enum)):
            return True
        self._seen[id(x)] = x
        if kind in (list, tuple):
            return all(map(self.visit, x))
        if kind is dict:
            return all(map(self.visit, x)) and all(map(self.visit, x.values()))
        if kind is types.ModuleType:
            self._modules.append(x)
            return True
        if kind is types.BuiltinFunctionType and x.__module__ == "math":
            return True
        if kind is not types.FunctionType:
            return any(x is known for known in _BUILTINS)
        if is_transformed(x):
            return self.visit(x.__wrapped__)
        module = x.__globals__.get("__name__", "")
        if module.startswith("portarray."):
            return module in _TRANSFORMS or f"{module}.".startswith(_MODULES)
        return self._visit_code(x)

    def _visit_code(self, x: types.FunctionType) -> bool:
        names = set[str]()
        outside = frozenset(x.__code__.co_freevars)
        for code in code_parts(x.__code__):
            if code.co_flags & _RESUMED and code.co_name != "<genexpr>":
                return False
            for instruction in dis.get_instructions(code):
                kind, argument = instruction.opname, instruction.argval
                if kind.startswith(_EFFECTS) or instruction.argrepr.endswith("="):
                    if kind != "COMPARE_OP":
                        return False
                elif kind in ("STORE_DEREF", "DELETE_DEREF") and argument in outside:
                    return False
                elif kind == "LOAD_GLOBAL":
                    names.add(argument)
                elif kind in ("LOAD_ATTR", "LOAD_METHOD"):
                    self._attributes.add(argument)
        held = [cell.cell_contents for cell in x.__closure__ or ()]
        held += [*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
        for name in names:
            held.append(x.__globals__[name] if name in x.__globals__ else vars(builtins)[name])
        return all(map(self.visit, held))

    def has_known_attributes(self) -> bool:
        """Return whether each attribute is one of arrays or modules that changes nothing."""
        checked = set[tuple[str, str]]()
        while pending := [
            (module, name)
            for module in self._modules
            for name in sorted(self._attributes)
            if (module.__name__, name) not in checked
        ]:
            for module, name in pending:
                checked.add((module.__name__, name))
                if name in vars(module) and not self._visit_member(module, vars(module)[name]):
                    return False
        return all(
            name not in _OF_ARRAYS
            and (name in _ATTRIBUTES or any(name in vars(module) for module in self._modules))
            for name in self._attributes
        )

    def _visit_member(self, module: types.ModuleType, x: Any) -> bool:
        is_own = module.__name__.partition(".")[0] == "portarray"
        if type(x) is types.ModuleType:
            return is_own and x.__name__.startswith("portarray.") and self.visit(x)
        return self.visit(x) if is_own or module is math else is_value(x)


def code_parts(code: types.CodeType) -> list[types.CodeType]:
    """Return the code of a function and of those that it defines."""
    inner = [code_parts(x) for x in code.co_consts if isinstance(x, types.CodeType)]
    return [code, *itertools.chain.from_iterable(inner)]
