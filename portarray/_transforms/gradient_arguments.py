"""Argument checks of the functions that take derivatives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from portarray._array.array import Array
from portarray._array.operands import refused
from portarray._trees import array_trees

__all__ = [
    "check_cotangent",
    "check_directions",
    "check_function",
    "described",
    "is_floating",
    "name_of",
    "normalize_argnums",
    "pair",
    "parameter",
    "parameters",
]

Function = Callable[..., Any]


def name_of(function: Function) -> str:
    try:
        return function.__name__
    except AttributeError:
        return repr(function)


def pair(caller: str, name: str, output: Any) -> tuple[Any, Any]:
    """Return the output of a function with ``has_aux``; raise if it is not a pair."""
    if isinstance(output, tuple) and len(output) == 2:
        return output
    raise TypeError(
        f"{caller}: with has_aux=True the function must return a pair (value, aux); {name} "
        f"returned {described(output)}"
    )


def described(x: Any) -> str:
    """Describe a value in an error message."""
    if type(x) is Array:
        return f"an array of shape {x.shape} and dtype {x.dtype}"
    return f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")


def parameter(function: Function, n: int) -> str:
    """Return the name of a positional parameter."""
    try:
        return list(inspect.signature(function).parameters)[n]
    except (TypeError, ValueError, IndexError):  # no signature, or *args
        return f"argument {n}"


def parameters(caller: str, function: Function, n: int, tree: Any) -> list[Array]:
    """Return the arrays of a differentiated argument; raise unless all are floating-point.

    Other leaves, such as numbers and functions, are constants; arrays of other libraries raise.
    """
    leaves = array_trees.leaves(tree, others=True)
    arrays: list[Array] = [x for x in leaves if x.__class__ is Array]
    for x in leaves:
        if x._dispatch.kind not in "fc" if x.__class__ is Array else _is_array(x):
            break
    else:
        if arrays:
            return arrays
    for path, x in array_trees.arrays(tree):
        if is_floating(x) or (arrays and not _is_array(x)):
            continue
        where = f"{parameter(function, n)}{path}"
        fix = (
            f"convert it to a floating-point dtype: pa.astype({where}, pa.float32)"
            if type(x) is Array
            else "make an array of it with pa.asarray, or leave it out of argnums"
        )
        raise TypeError(
            f"{caller}: {where} of {name_of(function)} is {described(x)}, and derivatives need "
            f"floating-point arrays\nHint: {fix}"
        )
    raise TypeError(f"{caller}: {parameter(function, n)} contains no arrays")


def _is_array(x: Any) -> bool:
    """Return whether a leaf is an array of any library; NumPy's scalars are numbers."""
    return type(x) is Array or (hasattr(x, "shape") and not isinstance(x, np.generic))


def check_cotangent(subject: str, y: Array, g: Any, of: str = "output") -> None:
    """Raise unless a cotangent has the shape and dtype of its array."""
    if type(g) is not Array:
        raise refused(g, subject, scalars=False)
    if g.shape != y.shape or g.dtype != y.dtype:
        raise ValueError(
            f"{subject} has shape {g.shape} and dtype {g.dtype}, but the {of} has shape {y.shape} "
            f"and dtype {y.dtype}"
        )


def check_directions(caller: str, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Return primals and tangents as tuples; raise unless their structures are equal."""
    for name, argument in (("primals", primals), ("tangents", tangents)):
        if not isinstance(argument, (tuple, list)):
            raise TypeError(
                f"{caller}: {name} is {described(argument)}, not a tuple with one entry for each "
                f"argument\nHint: write (x,) for one argument"
            )
    ours, theirs = (
        [(path, x) for path, x in array_trees.arrays(tuple(tree)) if _is_array(x)]
        for tree in (primals, tangents)
    )
    if [path for path, _ in ours] != [path for path, _ in theirs]:
        raise ValueError(
            f"{caller}: primals and tangents have different structures, with {len(ours)} and "
            f"{len(theirs)} arrays"
        )
    for (path, x), (_, v) in zip(ours, theirs, strict=True):
        if type(x) is Array:  # other arrays raise later, as arguments
            check_cotangent(f"{caller}: tangents{path}", x, v, "argument")
    return tuple(primals), tuple(tangents)


def normalize_argnums(caller: str, argnums: Any, args: Sequence[Any]) -> tuple[int, ...]:
    """Return ``argnums`` as a tuple of indices from 0."""
    if argnums.__class__ is int and 0 <= argnums < len(args):
        return (argnums,)
    if not isinstance(argnums, (int, Sequence)) or not all(
        isinstance(n, int) for n in (() if isinstance(argnums, int) else argnums)
    ):
        raise TypeError(f"{caller}: argnums={argnums!r} is not an int or a sequence of ints")
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise ValueError(
                f"{caller}: argnums={argnums!r} is out of range for {len(args)} positional "
                f"arguments, counted from 0"
            )
    normalized = tuple(n % len(args) for n in numbers)
    if not normalized or len(set(normalized)) < len(normalized):
        raise ValueError(f"{caller}: argnums={argnums!r} is empty or names an argument twice")
    return normalized


def is_floating(x: Any) -> bool:
    """Return whether a value is an array with a floating-point dtype."""
    return type(x) is Array and x._dispatch.kind in "fc"


def check_function(caller: str, function: Any) -> None:
    if not callable(function):
        raise TypeError(f"{caller}: {described(function)} is not a function")
