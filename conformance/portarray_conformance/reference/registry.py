"""The table of the namespace's functions, and how marks of undefined values pass through them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np

from portarray_conformance.reference import arguments, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.kinds import BOOL

if TYPE_CHECKING:
    from portarray_conformance.reference.rules import Rules

Marks = Literal["moves", "reduces", "all", "own"]
"""How a function passes marks on: it moves elements, so that called on the marks it moves them;
it reduces axes; any mark marks every result; or it sees to it itself."""

F = TypeVar("F", bound=Callable[..., Any])


class Entry(NamedTuple):
    """A function whose first argument is the rules, and how it passes marks on."""

    function: Callable[..., Any]
    marks: Marks


FUNCTIONS: dict[str, Entry] = {}


def function(marks: Marks, name: str = "") -> Callable[[F], F]:
    """Register a function of the namespace under its own name, or as one of an extension."""

    def register(made: F) -> F:
        FUNCTIONS[name or made.__name__.removesuffix("_")] = Entry(made, marks)
        return made

    return register


_FLAGS = frozenset(("descending", "endpoint", "full_matrices", "include_initial", "invert")) | {
    *("keepdims", "stable", "upper")
}


def bound(rules: Rules, entry: Entry) -> Callable[..., Any]:
    """Return a function of the namespace for one reference."""
    made, marks = entry

    @functools.wraps(made)
    def call(*args: Any, **options: Any) -> Any:
        with np.errstate(all="ignore"):
            try:
                for name in _FLAGS.intersection(options):
                    options[name] = arguments.flag(options[name], name)
                out = made(rules, *args, **options)
            except (TypeError, ValueError, IndexError, OverflowError) as error:
                raise kinds.also(error, *_others(rules, made, args, options, error)) from None
        if rules.marked and marks != "own":
            _pass_on(rules, entry, args, options, out)
        return out

    signature = inspect.signature(made)
    call.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=list(signature.parameters.values())[1:]
    )
    return call


def _pass_on(rules: Rules, entry: Entry, args: Any, options: Any, out: Any) -> None:
    given = [x for x in _flat((*args, *options.values())) if type(x) is Array]
    if all(x.unsure is None for x in given):
        return
    outs = list(out) if isinstance(out, tuple) else [out]
    if entry.marks == "moves":
        moved = entry.function(
            rules,
            *[_mark(rules, x) for x in args],
            **{key: _mark(rules, x) for key, x in options.items()},
        )
        marks = [x._data for x in (moved if isinstance(moved, tuple) else [moved])]
    elif entry.marks == "reduces":
        (x,) = given
        axis, keepdims = options.get("axis"), bool(options.get("keepdims"))
        axis = tuple(axis) if isinstance(axis, list) else axis
        marks = [np.any(x.unsure, axis=axis, keepdims=keepdims)]
    else:
        marks = [np.asarray(True)] * len(outs)
    for x, mark in zip(outs, marks, strict=True):
        if type(x) is Array and np.any(mark):
            there = np.broadcast_to(mark, x.shape)
            x.unsure = np.array(there) if x.unsure is None else x.unsure | there


def _others(
    rules: Rules, made: Callable[..., Any], args: Any, options: Any, error: Exception
) -> tuple[type[Exception], ...]:
    """Return the classes of other mistakes in a call: which one is named is not promised."""
    arrays = [x for x in _flat(args) if type(x) is Array]
    try:
        if not isinstance(error, TypeError):
            rules.dtype_of("", arrays)
            # Kinds that some functions refuse.
            refused = any(kinds.letter(x.dtype) in "bc" or x.itemsize == 2 for x in arrays)
            return (TypeError,) if refused else ()
        if arrays:
            rest = {key: x for key, x in options.items() if key != "dtype"}
            given = [_as_floats(rules, x) for x in args]
            # What is no array, as one of those that are.
            for place, x in enumerate(given[:2] if len(given) > 1 else ()):
                if type(x) is not Array:
                    given[place] = next(one for one in _flat(given) if type(one) is Array)
            made(rules, *given, **rest)
    except (TypeError, ValueError, IndexError) as other:
        return () if type(other) is type(error) else (type(other),)
    except (OverflowError, kinds.Unsure):
        pass
    return ()


def _as_floats(rules: Rules, x: Any) -> Any:
    if type(x) is Array:
        return Array(np.zeros(x.shape, rules.default_of("f")), rules)
    return [_as_floats(rules, one) for one in x] if isinstance(x, (list, tuple)) else x


def _flat(values: Any) -> Any:
    for x in values:
        if isinstance(x, (list, tuple)):
            yield from _flat(x)
        else:
            yield x


def _mark(rules: Rules, x: Any) -> Any:
    if type(x) is Array:
        return Array(np.zeros(x.shape, BOOL) if x.unsure is None else x.unsure, rules)
    if isinstance(x, (list, tuple)):
        return type(x)(_mark(rules, one) for one in x)
    return x
