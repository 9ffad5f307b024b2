"""The table of NumPy's functions, and how a call is answered from it.

A served function has the name and the parameters that NumPy gives them, but for those that no array
here can need (``subok``) or that are treated for all alike (``out``). Every other function of NumPy
is a TypeError that names what to write.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np

import portarray as pa
from portarray import _elsewhere
from portarray._absent import nearest
from portarray.errors import PortarrayError

__all__ = ["SERVED", "Served", "answer", "chapter", "function_named", "name_of", "refusal", "store"]

F = TypeVar("F", bound=Callable[..., Any])

_NO_VALUE: Any = getattr(np, "_NoValue", None)


class Served(NamedTuple):
    """One of NumPy's functions and what answers it."""

    name: str
    chapter: str
    function: Callable[..., Any]
    order: tuple[str, ...]
    """NumPy's parameters in their order, where they can be given by position."""
    taken: frozenset[str]
    """The parameters that the function here takes."""
    gathers: bool
    """Whether it takes any number of positional arguments."""
    any_option: bool
    """Whether it takes any keyword argument."""
    like: bool
    """Whether it makes an array beside the one that is given by ``like=``."""


SERVED: dict[str, Served] = {}
"""By name, as NumPy's users write it behind ``numpy.``: ``"mean"``, ``"linalg.norm"``."""

_BY_FUNCTION: dict[Any, Served] = {}


def chapter(title: str, prefix: str = "") -> Callable[..., Callable[[F], F]]:
    """Return the decorator that enters functions of a chapter into the table.

    It takes more names of the function, and as ``order`` NumPy's parameters where they are others
    than those of the decorated function.
    """

    def serves(*names: str, order: str = "", like: bool = False) -> Callable[[F], F]:
        def enter(function: F) -> F:
            parameters = inspect.signature(function).parameters
            own = tuple(
                name
                for name, one in parameters.items()
                if one.kind is one.POSITIONAL_OR_KEYWORD and name != "like"
            )
            any_option = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
            gathers = any(one.kind is one.VAR_POSITIONAL for one in parameters.values())
            taken = frozenset(name for name in parameters if name != "like")
            for name in names or (function.__name__.rstrip("_"),):
                full = prefix + name
                row = Served(
                    full,
                    title,
                    function,
                    tuple(order.split()) or own,
                    taken,
                    gathers,
                    any_option,
                    like,
                )
                SERVED[full] = row
                found = function_named(full)
                if found is not None:  # this version of NumPy has it
                    _BY_FUNCTION[found] = row
            return function

        return enter

    return serves


def function_named(name: str) -> Any:
    """Return NumPy's function of a name, None if this version of NumPy has none."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def name_of(function: Any) -> str:
    """Return the name that NumPy's users write behind ``numpy.``."""
    row = _BY_FUNCTION.get(function)
    if row is not None:
        return row.name
    home = function.__module__.removeprefix("numpy").removeprefix(".").removesuffix("._impl")
    hidden = not home or home.startswith(("_", "lib._"))
    return function.__name__ if hidden else f"{home}.{function.__name__}"


def answer(
    function: Any, types: Iterable[type], args: tuple[Any, ...], kwargs: dict[str, Any], like: Any
) -> Any:
    """Answer ``__array_function__``: compute on the device, or raise what names the way.

    Parameters
    ----------
    function : callable
        NumPy's function.
    types : iterable of type
        Of all arguments that have ``__array_function__``.
    args, kwargs
        Of the call.
    like : Array
        The array that was asked, which ``like=`` named if the function makes an array.
    """
    for cls in types:
        if cls is not pa.Array and cls is not np.ndarray and not issubclass(cls, np.ndarray):
            return NotImplemented  # such as a Dask array of chunks that are ours
    row = _BY_FUNCTION.get(function)
    if row is None:
        raise refusal(name_of(function))
    given, out = _arguments(row, args, kwargs)
    if row.like:
        given["like"] = like
    try:
        result = (
            row.function(*(_plain(x) for x in args), **given)
            if row.gathers
            else (row.function(**given))
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
    given = dict(kwargs)
    if not row.gathers:
        if len(args) > len(row.order):
            raise TypeError(f"numpy.{row.name} takes {len(row.order)} arguments, not {len(args)}")
        given.update(zip(row.order, args, strict=False))
    out = None if "out" in row.taken else given.pop("out", None)
    given = {name: _plain(x) for name, x in given.items() if x is not _NO_VALUE}
    unknown = () if row.any_option else [name for name in given if name not in row.taken]
    for name in unknown:
        value = given.pop(name)
        if not any(type(value) is type(one) and value == one for one in _neutral(name)):
            fix = _elsewhere.KEYWORDS.get(name, "")
            raise TypeError(
                f"numpy.{row.name} of portarray arrays takes no {name}={value!r}"
                + (f"; use {fix}" if fix else nearest(name, row.taken))
            )
    return given, out


NEUTRAL: dict[str, tuple[Any, ...]] = {
    "subok": (True, False),
    "order": ("C", "F", "K", "A"),  # of memory, which is the library's matter
    "casting": ("same_kind", "unsafe"),
    "overwrite_input": (True, False),
    "optimize": (True, False, "greedy", "optimal"),
    "hermitian": (True, False),
    "copy": (True,),
    "kind": ("quicksort", "mergesort", "heapsort", "stable", "table", "sort", "introselect"),
}


def _neutral(name: str) -> tuple[Any, ...]:
    """Return values of a parameter that change nothing here."""
    return (None, False, *NEUTRAL.get(name, ()))


def _plain(x: Any) -> Any:
    """Return an argument; a 0-d NumPy array is the scalar that it holds."""
    return x[()] if type(x) is np.ndarray and not x.shape else x


def refusal(name: str) -> TypeError:
    """Return the error for a function of NumPy that is not served."""
    module, _, last = name.rpartition(".")
    fix = _elsewhere.FUNCTIONS.get(module, {}).get(last, "")
    why = f"write {fix}, or " if fix else ""
    return TypeError(
        f"numpy.{name} does not take portarray arrays: {why}compute on the host, where the arrays "
        f"are moved by x.to_device('numpy').native"
    )


def store(result: Any, out: Any, name: str) -> Any:
    """Put results into ``out=``, one array or as many as there are results, and return it."""
    targets = out if isinstance(out, tuple) else (out,)
    values = result if isinstance(result, tuple) else (result,)
    for target, value in zip(targets, values, strict=True):
        if target is None:
            continue
        if type(target) is not pa.Array:
            raise TypeError(
                f"numpy.{name}: out= is {type(target).__name__}, and the result is on "
                f"{value.device}; pass a portarray array of that device"
            )
        if target.shape != value.shape:
            raise ValueError(
                f"numpy.{name}: out= has shape {target.shape}, and the result {value.shape}"
            )
        if not np.can_cast(value.dtype, target.dtype, "same_kind"):
            raise TypeError(
                f"numpy.{name}: out= has dtype {target.dtype}, which does not take the result's "
                f"{value.dtype}"
            )
        target[...] = value
    return out[0] if isinstance(out, tuple) and not isinstance(result, tuple) else out
