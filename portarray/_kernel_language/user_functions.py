"""Functions that users give to algorithms: as helpers that kernels call, and what they return."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from types import BuiltinFunctionType, CellType, FunctionType
from typing import Any

import numpy as np

from portarray import _codegen
from portarray._array import dispatch
from portarray._devices.device import Device
from portarray._dtypes import promotion
from portarray._kernel_language import source, tree, types
from portarray._kernel_language.captures import Captures, exact
from portarray._kernel_language.definition import Definition, define
from portarray._kernel_language.dialects import DIALECTS
from portarray._kernel_language.frontend import read_kernel
from portarray._kernel_language.intrinsics import Helper
from portarray._kernel_language.launch_cache import put
from portarray._kernel_language.preparing import setting_of
from portarray._kernel_language.scope import Shared
from portarray._kernel_language.types import DType, Scalar, Tuple
from portarray.errors import KernelSyntaxError

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
_types: dict[Any, tuple[Scalar | Tuple, Captures]] = {}


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
        values = [cell.cell_contents for cell in function.__closure__ or ()]
        code = function.__code__
        key: Any = (code, code.co_filename, id(function.__globals__), *map(_identity, values))
        make: Callable[[], FunctionType] = lambda: _fixed(function, values)  # noqa: E731
    elif _is_known(function):
        key = (function, count)
        make = lambda: _calling(function, count)  # noqa: E731
    else:
        raise TypeError(
            f"{caller}: {function!r} is not a function that kernels can call"
            f"\nHint: write it with def or as a lambda, or pass one of operator, math, NumPy or "
            f"portarray"
        )
    helper = _helpers.get(key)
    if helper is None:
        plain = make()
        try:
            source.read(plain, helper=True)
        except TypeError as error:
            raise TypeError(f"{caller}: {error}") from None
        helper = Helper(plain)
        put(_helpers, key, helper, _MOST)
    return helper


@lru_cache(maxsize=_MOST)
def swapped(helper: Helper) -> Helper:
    """Return a function with its two arguments swapped."""
    text = "def swapped(a, b):\n    return function(b, a)\n"
    return Helper(_codegen.define("swapped", text, {"function": helper}))


def result_dtype(
    caller: str,
    helper: Helper,
    arguments: Sequence[Any],
    device: Device,
    dtype: DType | None = None,
) -> DType:
    """Return the dtype of what a function returns; an error where ``dtype`` does not hold it.

    Parameters
    ----------
    given
        Its arguments: the dtypes of arrays, and numbers.
    """
    result = _number_type(caller, helper, arguments, device, dtype)
    name = helper.__name__  # type: ignore[attr-defined]
    if dtype is None:
        return result.dtype or dispatch.default_dtype(device, result.kind)
    if not _holds(dtype, result):
        raise TypeError(
            f"{caller}: {name} returns {result}, which does not fit {dtype}"
            f"\nHint: omit dtype=, or convert in the function, as with kl.{dtype}(...)"
        )
    return dtype


def require_same_dtype(caller: str, helper: Helper, dtype: DType, device: Device) -> None:
    """Raise TypeError unless a function of two numbers of a dtype returns that dtype."""
    result = _number_type(caller, helper, [dtype, dtype], device)
    name = helper.__name__  # type: ignore[attr-defined]
    if result.dtype != dtype if result.dtype is not None else not _holds(dtype, result):
        result_dtype = result.dtype or dispatch.default_dtype(device, result.kind)
        raise TypeError(
            f"{caller}: {name} returns {result} for two numbers of {dtype}, not {dtype}"
            f"\nHint: pass dtype=, such as {result_dtype}, or convert with kl.{dtype}(...)"
        )


def require_boolean(caller: str, helper: Helper, dtype: DType, device: Device) -> None:
    """Raise TypeError unless a function of two numbers returns a bool."""
    result = _number_type(caller, helper, [dtype, dtype], device)
    if result.kind != "b":
        name = helper.__name__  # type: ignore[attr-defined]
        raise TypeError(
            f"{caller}: {name} returns {result}; less must return a bool: whether its first key "
            f"comes before the second"
        )


def _is_known(function: Any) -> bool:
    """Return whether kernels can call a function without a wrapper."""
    module = getattr(function, "__module__", None) or ""
    if isinstance(function, BuiltinFunctionType):
        return module in ("builtins", "math") or function.__name__ in _SIGNS
    if isinstance(function, np.ufunc):
        return True
    return isinstance(function, FunctionType) and module.startswith("portarray._api.")


def _calling(function: Any, count: int) -> FunctionType:
    """Return a kernel-language function that calls a built-in one."""
    names = [f"x{n}" for n in range(count)]
    name = function.__name__
    if getattr(function, "__module__", "") == "_operator" and _SIGNS[name].count("{}") == count:
        value = _SIGNS[name].format(*names)
    else:
        value = f"{name}({', '.join(names)})"
    text = f"def call_of_{name}({', '.join(names)}):\n    return {value}\n"
    caller = _codegen.define(f"call_of_{name}", text, {name: function})
    caller.__name__ = name  # for errors
    return caller


def _fixed(function: FunctionType, values: Sequence[Any]) -> FunctionType:
    """Return a copy of a function with fixed closure values."""
    cells = tuple(map(CellType, values))
    copy = FunctionType(function.__code__, function.__globals__, function.__name__, None, cells)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return copy


def _identity(value: Any) -> Any:
    """Return a key that identifies a constant; the helper keeps objects alive."""
    if isinstance(value, tuple):
        return (tuple, *map(_identity, value))
    if isinstance(value, (bool, int, np.number, np.bool_, str)):
        return type(value), value
    return exact(value) if isinstance(value, (float, complex)) else id(value)


def _check_count(caller: str, function: FunctionType, count: int) -> None:
    signature = inspect.signature(function)
    plain = all(
        parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is parameter.empty
        for parameter in signature.parameters.values()
    )
    if not plain or len(signature.parameters) != count:
        raise TypeError(
            f"{caller}: {function.__name__}{signature} must have {count} plain parameters: it is "
            f"called with {count} numbers"
        )


def _number_type(
    caller: str,
    helper: Helper,
    arguments: Sequence[Any],
    device: Device,
    dtype: DType | None = None,
) -> Scalar:
    """Return the type of the number that a function returns."""
    kinds = tuple(
        [argument if isinstance(argument, np.dtype) else type(argument) for argument in arguments]
    )
    key = (helper, kinds, device)
    result, captures = _types.get(key, (None, None))
    if result is None or captures is None or not captures.are_current():
        result, captures = _read(caller, helper, kinds, device)
        put(_types, key, (result, captures), _MOST)
    if isinstance(result, Tuple):
        name = helper.__name__  # type: ignore[attr-defined]
        raise TypeError(
            f"{caller}: {name} returns a tuple of {len(result.items)}; it must return one number"
        )
    return result


def _read(
    caller: str, helper: Helper, kinds: tuple[Any, ...], device: Device
) -> tuple[Scalar | Tuple, Captures]:
    """Return a function's result type, and the globals that it depends on."""
    launcher = device._backend.launcher(device.native)
    dialect = DIALECTS["opencl" if isinstance(launcher, str) else launcher.dialect]
    probe = _probe(len(kinds))
    node = probe.source.node
    parameters: dict[str, Any] = {
        "out": types.Array("out", types.BOOL, 1),
        "function": types.Constant(helper),
    }
    for n, kind in enumerate(kinds):
        type_ = types.strong(kind) if isinstance(kind, np.dtype) else _weak(kind)
        parameters[f"x{n}"] = tree.Variable(node, type_, f"x{n}")
    shared = Shared()
    try:
        kernel = read_kernel(
            probe.source, parameters, setting_of(device, launcher, dialect, 1), shared
        )
    except KernelSyntaxError as error:
        if error.problems[0].filename.startswith("<portarray"):
            raise TypeError(f"{caller}: {error.problems[0].message}") from None
        raise
    return kernel.variables["value"], Captures(shared.captures.values())


@cache
def _probe(count: int) -> Definition:
    """Return a kernel that calls a function, to infer its types."""
    names = ", ".join([f"x{n}" for n in range(count)])
    text = f"def probe(out, function, {names}):\n    value = function({names})\n    out[0] = True\n"
    return define(_codegen.define("probe", text, {}), ("function",))


def _weak(kind: type) -> Scalar:
    if issubclass(kind, (bool, np.bool_)):
        return types.TRUTH
    if issubclass(kind, (complex, np.complexfloating)):
        return types.WEAK_COMPLEX
    return types.weak_int(31) if issubclass(kind, (int, np.integer)) else types.WEAK_FLOAT


def _holds(dtype: DType, type_: Scalar) -> bool:
    """Return whether a dtype can store results of a type without an explicit conversion."""
    kind = promotion.kind_of(dtype)
    if kind == "b" or type_.kind == "b":
        return kind == type_.kind
    return promotion.KIND_ORDER[kind] >= promotion.KIND_ORDER[type_.kind]
