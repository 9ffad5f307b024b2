"""The table of NumPy's functions, and the dispatch of calls.

A function in the table has NumPy's name and parameters, without those that have no effect here
(``subok``) or that the dispatch handles (``out``). Every other function of NumPy raises a TypeError
with a hint.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from portarray import _name_hints
from portarray._array import conversion
from portarray._name_hints import nearest_hint
from portarray._namespace import pa
from portarray.errors import PortarrayError

__all__ = [
    "SERVED",
    "Served",
    "answer",
    "category",
    "function_named",
    "name_of",
    "refusal",
    "store",
]

F = TypeVar("F", bound=Any)  # functions, of which mypy does not know the code

_NO_VALUE: Any = getattr(np, "_NoValue", None)


class Served(NamedTuple):
    """An implementation of one of NumPy's functions."""

    name: str
    category: str
    function: Callable[..., Any]
    order: tuple[str, ...]
    """NumPy's positional parameters in order."""
    taken: frozenset[str]
    """The parameters of the implementation."""
    gathers: bool
    """Whether it takes any number of positional arguments."""
    any_option: bool
    """Whether it takes any keyword argument."""
    like: bool
    """Whether it creates an array on the device of ``like=``."""


SERVED: dict[str, Served] = {}
"""By name without ``numpy.``: ``"mean"``, ``"linalg.norm"``."""

_BY_FUNCTION: dict[Any, Served] = {}


def category(title: str, prefix: str = "") -> Callable[..., Callable[[F], F]]:
    """Return a decorator that adds functions of a category to the table.

    It takes the names of the function, and as ``order`` NumPy's parameters if they differ from
    those of the decorated function.
    """

    def serves(*names: str, order: str = "", like: bool = False) -> Callable[[F], F]:
        def enter(function: F) -> F:
            # Of its code: inspect.signature takes ten times as long, for 260 functions.
            code = function.__code__
            gathers = bool(code.co_flags & inspect.CO_VARARGS)
            any_option = bool(code.co_flags & inspect.CO_VARKEYWORDS)
            count = code.co_argcount + code.co_kwonlyargcount + gathers + any_option
            parameter_names = tuple(
                name
                for name in code.co_varnames[code.co_posonlyargcount : code.co_argcount]
                if name != "like"
            )
            taken = frozenset(code.co_varnames[:count]) - {"like"}
            for name in names or (function.__name__.rstrip("_"),):
                full = prefix + name
                row = Served(
                    full,
                    title,
                    function,
                    tuple(order.split()) or parameter_names,
                    taken,
                    gathers,
                    any_option,
                    like,
                )
                SERVED[full] = row
                numpy_function = function_named(full)
                if numpy_function is not None:  # this version of NumPy has it
                    _BY_FUNCTION[numpy_function] = row
            return function

        return enter

    return serves


def function_named(name: str) -> Any:
    """Return NumPy's function of a name, None if this version of NumPy does not have it."""
    function: Any = np
    for part in name.split("."):
        function = getattr(function, part, None)
    return function


def name_of(function: Any) -> str:
    """Return the public name of NumPy's function, without ``numpy.``."""
    row = _BY_FUNCTION.get(function)
    if row is not None:
        return row.name
    home = function.__module__.removeprefix("numpy").removeprefix(".").removesuffix("._impl")
    hidden = not home or home.startswith(("_", "lib._"))
    return function.__name__ if hidden else f"{home}.{function.__name__}"


def answer(
    function: Any, types: Iterable[type], args: tuple[Any, ...], kwargs: dict[str, Any], like: Any
) -> Any:
    """Implement ``__array_function__``: compute on the device, or raise an error with a hint.

    Parameters
    ----------
    function : callable
        NumPy's function.
    types : iterable of type
        The types of all arguments that have ``__array_function__``.
    args, kwargs
        The arguments of the call.
    like : Array
        The array whose method was called; ``like=`` of functions that create arrays.
    """
    for cls in types:
        if cls is not pa.Array and cls is not np.ndarray and not issubclass(cls, np.ndarray):
            return NotImplemented  # such as a Dask array of our chunks
    row = _BY_FUNCTION.get(function)
    if row is None:
        raise refusal(name_of(function))
    arguments, out = _arguments(row, args, kwargs)
    if row.like:
        arguments["like"] = like
    elif row.name not in _AS_THEY_ARE:
        arguments = {key: _array_like(key, x, like, row.name) for key, x in arguments.items()}
    try:
        result = (
            row.function(*(_plain(x) for x in args), **arguments)
            if row.gathers
            else (row.function(**arguments))
        )
    except (TypeError, ValueError) as error:
        if not isinstance(error, PortarrayError):
            error.add_note(f"in numpy.{row.name} of portarray arrays")
        raise
    return result if out is None else store(result, out, row.name)


def _arguments(
    row: Served, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    """Return the arguments of a call by name, and its ``out``."""
    arguments = dict(kwargs)
    if not row.gathers:
        if len(args) > len(row.order):
            raise TypeError(
                f"numpy.{row.name}: takes {len(row.order)} positional arguments, not {len(args)}"
            )
        arguments.update(zip(row.order, args, strict=False))
    is_passed_on = row.any_option or "out" in row.taken
    out = None if is_passed_on else arguments.pop("out", None)
    arguments = {name: _plain(x) for name, x in arguments.items() if x is not _NO_VALUE}
    unknown = () if row.any_option else [name for name in arguments if name not in row.taken]
    for name in unknown:
        value = arguments.pop(name)
        if not any(type(value) is type(neutral) and value == neutral for neutral in _neutral(name)):
            fix = _name_hints.KEYWORDS.get(name, "")
            raise TypeError(
                f"numpy.{row.name}: {name}={value!r} is not supported for portarray arrays"
                + (f"\nHint: use {fix}" if fix else nearest_hint(name, row.taken))
            )
    return arguments, out


NEUTRAL: dict[str, tuple[Any, ...]] = {
    "subok": (True, False),
    "order": ("C", "F", "K", "A"),  # the library chooses the memory layout
    "casting": ("same_kind", "unsafe"),
    "overwrite_input": (True, False),
    "optimize": (True, False, "greedy", "optimal"),
    "hermitian": (True, False),
    "copy": (True,),
    "kind": ("quicksort", "mergesort", "heapsort", "stable", "table", "sort", "introselect"),
}


def _neutral(name: str) -> tuple[Any, ...]:
    """Return the values of a parameter that have no effect here."""
    return (None, False, *NEUTRAL.get(name, ()))


ARRAYS = frozenset(
    {
        *("a", "a1", "a2", "a_max", "a_min", "append", "ar", "ar1", "ar2", "arr", "array", "ary"),
        *("aweights", "b", "condition", "dx", "element", "f", "fill_value", "fp", "fweights", "m"),
        *("mask", "max", "mean", "min", "p", "prepend", "src", "start", "stop", "test_elements"),
        *("to_begin", "to_end", "v", "val", "vals", "values", "weights", "where", "x", "x1", "x2"),
        *("xp", "y", "z"),
    }
)
"""Names of parameters that are arrays, of which one may be a list or a NumPy array."""
SEQUENCES = frozenset({"arrays", "choicelist", "condlist", "keys", "tup"})
"""Names of parameters that are sequences of such arrays."""
_AS_THEY_ARE = frozenset({"block", "may_share_memory", "shares_memory"})
"""Functions of nested lists, or of the memory of NumPy arrays."""


def _array_like(key: str, x: Any, like: Any, name: str) -> Any:
    """Return an argument with lists and NumPy arrays beside an array put on its device."""
    if key in ARRAYS:
        return conversion.beside(x, like, f"numpy.{name}")
    if key in SEQUENCES and isinstance(x, (list, tuple)):
        return [conversion.beside(part, like, f"numpy.{name}") for part in x]
    return x


def _plain(x: Any) -> Any:
    """Return an argument, a 0-d NumPy array as a scalar."""
    return x[()] if type(x) is np.ndarray and not x.shape else x


def refusal(name: str) -> TypeError:
    """Return the error for an unsupported function of NumPy."""
    module, _, last = name.rpartition(".")
    fix = _name_hints.FUNCTIONS.get(module, {}).get(last, "")
    first = f"use {fix}, or " if fix else ""
    return TypeError(
        f"numpy.{name}: does not accept portarray arrays\n"
        f"Hint: {first}compute on the host with x.to_device('numpy').native"
    )


def store(result: Any, out: Any, name: str) -> Any:
    """Write results into ``out=``, one array or a tuple, and return it.

    NumPy arrays are written where the results' memory is host memory, as ``a[...] = x`` is.
    """
    targets = out if isinstance(out, tuple) else (out,)
    values = result if isinstance(result, tuple) else (result,)
    for target, value in zip(targets, values, strict=True):
        if target is None:
            continue
        if not isinstance(target, (pa.Array, np.ndarray)):
            raise TypeError(
                f"numpy.{name}: out= is {type(target).__name__}, but the result is on "
                f"{value.device}\nHint: pass a portarray array on that device"
            )
        if target.shape != value.shape:
            raise ValueError(
                f"numpy.{name}: out= has shape {target.shape}, but the result has {value.shape}"
            )
        if not np.can_cast(value.dtype, target.dtype, "same_kind"):
            raise TypeError(
                f"numpy.{name}: the result of dtype {value.dtype} cannot be cast to that of out=, "
                f"{target.dtype}"
            )
        target[...] = value if type(target) is pa.Array else np.asarray(value)
    return out[0] if isinstance(out, tuple) and not isinstance(result, tuple) else out
