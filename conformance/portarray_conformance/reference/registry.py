"""The functions of the namespace, and the propagation of undefined values through them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from portarray_conformance.reference import arguments, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.context import Context
from portarray_conformance.reference.kinds import BOOL

Marks = Literal["moves", "reduces", "all", "custom"]
"""How a function propagates masks of undefined elements: ``"moves"`` applies it to the masks,
``"reduces"`` reduces them, ``"all"`` marks every result, ``"custom"`` leaves it to the function."""

F = TypeVar("F", bound=Callable[..., Any])


class Entry(NamedTuple):
    """A function whose first argument is the context, and how it propagates masks."""

    function: Callable[..., Any]
    marks: Marks


FUNCTIONS: dict[str, Entry] = {}


def function(marks: Marks, name: str = "") -> Callable[[F], F]:
    """Register a function of the namespace under its own name, or as one of an extension."""

    def register(implementation: F) -> F:
        FUNCTIONS[name or implementation.__name__.removesuffix("_")] = Entry(implementation, marks)
        return implementation

    return register


_FLAGS = frozenset(("descending", "endpoint", "full_matrices", "include_initial", "invert")) | {
    *("keepdims", "stable", "upper")
}


def bind(ctx: Context, entry: Entry) -> Callable[..., Any]:
    """Return a function of the namespace for one reference."""
    implementation, marks = entry

    @functools.wraps(implementation)
    def call(*args: Any, **options: Any) -> Any:
        with np.errstate(all="ignore"):
            try:
                for name in _FLAGS.intersection(options):
                    options[name] = arguments.flag(options[name], name)
                out = implementation(ctx, *args, **options)
            except (TypeError, ValueError, IndexError, OverflowError) as error:
                raise kinds.with_alternatives(
                    error, *_other_mistakes(ctx, implementation, args, options, error)
                ) from None
        if ctx.marked and marks != "custom":
            _propagate_marks(ctx, entry, args, options, out)
        return out

    signature = inspect.signature(implementation)
    call.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=list(signature.parameters.values())[1:]
    )
    return call


def _propagate_marks(ctx: Context, entry: Entry, args: Any, options: Any, out: Any) -> None:
    arrays = [x for x in _flat((*args, *options.values())) if type(x) is Array]
    if all(x.undefined is None for x in arrays):
        return
    outs = list(out) if isinstance(out, tuple) else [out]
    if entry.marks == "moves":
        moved = entry.function(
            ctx,
            *[_mark(ctx, x) for x in args],
            **{key: _mark(ctx, x) for key, x in options.items()},
        )
        marks = [x._data for x in (moved if isinstance(moved, tuple) else [moved])]
    elif entry.marks == "reduces":
        (x,) = arrays
        axis, keepdims = options.get("axis"), bool(options.get("keepdims"))
        axis = tuple(axis) if isinstance(axis, list) else axis
        marks = [np.any(x.undefined, axis=axis, keepdims=keepdims)]
    else:
        marks = [np.asarray(True)] * len(outs)
    for x, mark in zip(outs, marks, strict=True):
        if type(x) is Array and np.any(mark):
            there = np.broadcast_to(mark, x.shape)
            x.undefined = np.array(there) if x.undefined is None else x.undefined | there


def _other_mistakes(
    ctx: Context, implementation: Callable[..., Any], args: Any, options: Any, error: Exception
) -> tuple[type[Exception], ...]:
    """Return the classes of other mistakes in a call; portarray may report any of them."""
    arrays = [x for x in _flat(args) if type(x) is Array]
    try:
        if not isinstance(error, TypeError):
            ctx.dtype_of("", arrays)
            # Kinds that some functions refuse.
            refused = any(kinds.letter(x.dtype) in "bc" or x.itemsize == 2 for x in arrays)
            return (TypeError,) if refused else ()
        if arrays:
            remaining = {key: x for key, x in options.items() if key != "dtype"}
            operands = [_as_floats(ctx, x) for x in args]
            # Replace operands that are not arrays with one that is.
            for position, x in enumerate(operands[:2] if len(operands) > 1 else ()):
                if type(x) is not Array:
                    operands[position] = next(
                        operand for operand in _flat(operands) if type(operand) is Array
                    )
            implementation(ctx, *operands, **remaining)
    except (TypeError, ValueError, IndexError) as second:
        return () if type(second) is type(error) else (type(second),)
    except (OverflowError, kinds.Undefined):
        pass
    return ()


def _as_floats(ctx: Context, x: Any) -> Any:
    if type(x) is Array:
        return Array(np.zeros(x.shape, ctx.default_of("f")), ctx)
    return [_as_floats(ctx, item) for item in x] if isinstance(x, (list, tuple)) else x


def _flat(values: Any) -> Any:
    for x in values:
        if isinstance(x, (list, tuple)):
            yield from _flat(x)
        else:
            yield x


def _mark(ctx: Context, x: Any) -> Any:
    if type(x) is Array:
        return Array(np.zeros(x.shape, BOOL) if x.undefined is None else x.undefined, ctx)
    if isinstance(x, (list, tuple)):
        return type(x)(_mark(ctx, item) for item in x)
    return x
