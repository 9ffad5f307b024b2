"""Functions that users give to algorithms: as helpers that kernels call, and what they return."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from types import BuiltinFunctionType, CellType, FunctionType
from typing import Any

import numpy as np

from portarray._array import dispatch
from portarray._devices.device import Device
from portarray._dtypes import promotion
from portarray._kernel_language import source, tree, types
from portarray._kernel_language.definition import Definition, define
from portarray._kernel_language.dialects import DIALECTS
from portarray._kernel_language.frontend import read_kernel
from portarray._kernel_language.preparing import current, setting_of
from portarray._kernel_language.remembered import remember
from portarray._kernel_language.scope import Shared
from portarray._kernel_language.types import DType, Scalar, Tuple
from portarray._kernel_language.words import Helper
from portarray.errors import KernelSyntaxError

__all__ = ["combined", "helper_of", "returned", "swapped", "told"]

_MOST = 1024
"""Functions, and types of what they return, that are remembered."""

# Functions of the module ``operator`` by what they stand for.
_SIGNS = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "truediv": "{} / {}",
    "floordiv": "{} // {}", "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}",
    "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}",
    "lt": "{} < {}", "le": "{} <= {}", "gt": "{} > {}", "ge": "{} >= {}", "eq": "{} == {}",
    "ne": "{} != {}", "neg": "-{}", "pos": "+{}", "inv": "~{}", "invert": "~{}",
    "not_": "not {}", "abs": "abs({})",
}  # fmt: skip

_helpers: dict[Any, Helper] = {}
_types: dict[Any, tuple[Scalar | Tuple, list[Any]]] = {}


def helper_of(caller: str, function: Any, count: int) -> Helper:
    """Return a function of so many numbers as one that kernels call.

    Functions with the same text, globals and values of enclosing functions are one helper: a lambda
    in a loop is compiled once.
    """
    if isinstance(function, Helper):
        _check_count(caller, function.function, count)
        return function
    if isinstance(function, FunctionType) and not _is_known(function):
        _check_count(caller, function, count)
        values = [one.cell_contents for one in function.__closure__ or ()]
        code = function.__code__
        key: Any = (code, code.co_filename, id(function.__globals__), *map(_identity, values))
        make: Callable[[], FunctionType] = lambda: _fixed(function, values)  # noqa: E731
    elif _is_known(function):
        key = (function, count)
        make = lambda: _calling(function, count)  # noqa: E731
    else:
        raise TypeError(
            f"{caller} got {function!r}; it takes a function in the kernel language, which is "
            f"written with def or as a lambda, or one of operator, math, NumPy or portarray"
        )
    found = _helpers.get(key)
    if found is None:
        made = make()
        try:
            source.read(made, helper=True)
        except TypeError as error:
            raise TypeError(f"{caller}: {error}") from None
        found = Helper(made)
        remember(_helpers, key, found, _MOST)
    return found


@lru_cache(maxsize=_MOST)
def swapped(helper: Helper) -> Helper:
    """Return a function that takes two arguments the other way round."""
    text = "def swapped(a, b):\n    return function(b, a)\n"
    return Helper(source.generated(text, "swapped", {"function": helper}))


def returned(
    caller: str, helper: Helper, given: Sequence[Any], device: Device, dtype: DType | None = None
) -> DType:
    """Return the dtype of what a function returns; an error where ``dtype`` does not hold it.

    Parameters
    ----------
    given
        Its arguments: the dtypes of arrays, and numbers.
    """
    found = _number(caller, helper, given, device, dtype)
    name = helper.__name__  # type: ignore[attr-defined]
    if dtype is None:
        return found.dtype or dispatch.default_dtype(device, found.kind)
    if not _holds(dtype, found):
        raise TypeError(
            f"{caller}: {name} returns {found}, which {dtype} does not hold; leave dtype= out, or "
            f"convert in the function, as with kl.{dtype}(...)"
        )
    return dtype


def combined(caller: str, helper: Helper, own: DType, device: Device) -> None:
    """Raise an error unless a function combines numbers of a dtype to one of the same dtype."""
    found = _number(caller, helper, [own, own], device)
    name = helper.__name__  # type: ignore[attr-defined]
    if found.dtype != own if found.dtype is not None else not _holds(own, found):
        other = found.dtype or dispatch.default_dtype(device, found.kind)
        raise TypeError(
            f"{caller}: {name} returns {found} for two numbers of {own}; an operator returns the "
            f"dtype that it is given: pass dtype=, such as {other}, or convert with kl.{own}(...)"
        )


def told(caller: str, helper: Helper, dtype: DType, device: Device) -> None:
    """Raise an error unless a function of two numbers returns a truth value."""
    found = _number(caller, helper, [dtype, dtype], device)
    if found.kind != "b":
        name = helper.__name__  # type: ignore[attr-defined]
        raise TypeError(
            f"{caller}: {name} returns {found}; less returns a truth value: whether its first key "
            f"comes before the second"
        )


# --- functions ----------------------------------------------------------------------------------


def _is_known(function: Any) -> bool:
    """Tell whether kernels can call a function by itself."""
    module = getattr(function, "__module__", None) or ""
    if isinstance(function, BuiltinFunctionType):
        return module in ("builtins", "math") or function.__name__ in _SIGNS
    if isinstance(function, np.ufunc):
        return True
    return isinstance(function, FunctionType) and module.startswith("portarray._api.")


def _calling(function: Any, count: int) -> FunctionType:
    """Return a function in the kernel language that calls one that kernels know."""
    names = [f"x{n}" for n in range(count)]
    name = function.__name__
    if getattr(function, "__module__", "") == "_operator" and _SIGNS[name].count("{}") == count:
        value = _SIGNS[name].format(*names)
    else:
        value = f"{name}({', '.join(names)})"
    text = f"def call_of_{name}({', '.join(names)}):\n    return {value}\n"
    made = source.generated(text, f"call_of_{name}", {name: function})
    made.__name__ = name  # as it is told of in errors
    return made


def _fixed(function: FunctionType, values: Sequence[Any]) -> FunctionType:
    """Return a function whose enclosing functions cannot change its constants any more."""
    cells = tuple(map(CellType, values))
    made = FunctionType(function.__code__, function.__globals__, function.__name__, None, cells)
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    return made


def _identity(value: Any) -> Any:
    """Return what tells a constant from others; the helper keeps objects alive."""
    if isinstance(value, tuple):
        return (tuple, *map(_identity, value))
    if isinstance(value, (bool, int, np.number, np.bool_, str)):
        return type(value), value
    return (float, value.hex()) if isinstance(value, float) else id(value)


def _check_count(caller: str, function: FunctionType, count: int) -> None:
    given = inspect.signature(function)
    plain = all(
        one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) and one.default is one.empty
        for one in given.parameters.values()
    )
    if not plain or len(given.parameters) != count:
        raise TypeError(
            f"{caller} calls its function with {count} numbers, and {function.__name__}{given} "
            f"takes others; it has {count} plain parameters"
        )


# --- types --------------------------------------------------------------------------------------


def _number(
    caller: str, helper: Helper, given: Sequence[Any], device: Device, dtype: DType | None = None
) -> Scalar:
    """Return the type of what a function returns, a number."""
    if any(isinstance(one, np.dtype) and one.kind == "c" for one in (*given, dtype)):
        raise TypeError(
            f"{caller}: kernels have no complex numbers yet; pass pa.real(x) and pa.imag(x)"
        )
    kinds = tuple([one if isinstance(one, np.dtype) else type(one) for one in given])
    key = (helper, kinds, device)
    found, constants = _types.get(key, (None, []))
    if found is None or not current(constants):
        found, constants = _read(caller, helper, kinds, device)
        remember(_types, key, (found, constants), _MOST)
    if isinstance(found, Tuple):
        name = helper.__name__  # type: ignore[attr-defined]
        raise TypeError(
            f"{caller}: {name} returns a tuple of {len(found.items)}; it returns one number"
        )
    return found


def _read(
    caller: str, helper: Helper, kinds: tuple[Any, ...], device: Device
) -> tuple[Scalar | Tuple, list[Any]]:
    """Return the type of what a function returns, and the globals that it depends on."""
    launcher = device._backend.launcher(device.native)
    dialect = DIALECTS["opencl" if isinstance(launcher, str) else launcher.dialect]
    own = _probe(len(kinds))
    node = own.source.node
    parameters: dict[str, Any] = {
        "out": types.Array("out", types.BOOL, 1),
        "function": types.Constant(helper),
    }
    for n, kind in enumerate(kinds):
        type_ = types.strong(kind) if isinstance(kind, np.dtype) else _weak(kind)
        parameters[f"x{n}"] = tree.Variable(node, type_, f"x{n}")
    shared = Shared()
    try:
        made = read_kernel(own.source, parameters, setting_of(device, launcher, dialect, 1), shared)
    except KernelSyntaxError as error:
        if error.problems[0].filename.startswith("<portarray"):
            raise TypeError(f"{caller}: {error.problems[0].message}") from None
        raise
    return made.variables["value"], list(shared.constants.values())


@cache
def _probe(count: int) -> Definition:
    """Return a kernel that calls a function, whose types are asked for."""
    names = ", ".join([f"x{n}" for n in range(count)])
    text = f"def probe(out, function, {names}):\n    value = function({names})\n    out[0] = True\n"
    return define(source.generated(text, "probe", {}), ("function",))


def _weak(kind: type) -> Scalar:
    if issubclass(kind, (bool, np.bool_)):
        return types.TRUTH
    return types.weak_int(31) if issubclass(kind, (int, np.integer)) else types.WEAK_FLOAT


def _holds(dtype: DType, found: Scalar) -> bool:
    """Tell whether results of a type are stored as a dtype without a conversion that is written."""
    kind = promotion.kind_of(dtype)
    if kind == "b" or found.kind == "b":
        return kind == found.kind
    return kind == "f" or found.kind in "iu"
