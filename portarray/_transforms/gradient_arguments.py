"""What functions that take derivatives ask of their arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from portarray._array.array import Array
from portarray._array.operands import refused
from portarray._transforms import trees

__all__ = [
    "check_cotangent",
    "check_directions",
    "check_function",
    "described",
    "is_floating",
    "name_of",
    "numbers_of",
    "pair",
    "parameters",
]

Function = Callable[..., Any]


def name_of(function: Function) -> str:
    """Return a function's name."""
    try:
        return function.__name__
    except AttributeError:
        return repr(function)


def pair(what: str, name: str, output: Any) -> tuple[Any, Any]:
    """Return the output of a function with ``has_aux``; raise if it is no pair."""
    if isinstance(output, tuple) and len(output) == 2:
        return output
    raise TypeError(
        f"{what} with has_aux=True needs a function that returns a pair, its value and anything "
        f"else; {name} returned {described(output)}"
    )


def described(x: Any) -> str:
    """Return what something is, for errors."""
    if type(x) is Array:
        return f"an array of shape {x.shape} and dtype {x.dtype}"
    return f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")


def _parameter(function: Function, n: int) -> str:
    try:
        return list(inspect.signature(function).parameters)[n]
    except (TypeError, ValueError, IndexError):  # no signature, or *args
        return f"argument {n}"


def parameters(what: str, function: Function, n: int, tree: Any) -> list[Array]:
    """Return the arrays of a followed argument.

    Raise if it holds something else than arrays of floating-point dtypes.
    """
    leaves = trees.leaves(tree, others=True)
    for x in leaves:
        if x.__class__ is not Array or x._table.kind not in "fc":
            break
    else:
        if leaves:
            return leaves
        raise TypeError(f"{what}: {_parameter(function, n)} holds no arrays")
    for path, x in trees.arrays(tree):
        if is_floating(x):
            continue
        where = f"{_parameter(function, n)}{path}"
        fix = (
            f"derivatives need a floating-point dtype: pa.astype({where}, pa.float32)"
            if type(x) is Array
            else "derivatives are taken with respect to arrays: make one with pa.asarray, or pass "
            "it as another argument"
        )
        raise TypeError(f"{what} of {name_of(function)}: {where} is {described(x)}; {fix}")
    raise AssertionError("one of them is no array to follow")


def check_cotangent(what: str, y: Array, g: Any, of: str = "output") -> None:
    """Raise if a cotangent is not like what it belongs to."""
    if type(g) is not Array:
        raise refused(g, what, scalars=False)
    if g.shape != y.shape or g.dtype != y.dtype:
        raise ValueError(
            f"{what} has shape {g.shape} and dtype {g.dtype}; the {of} has shape {y.shape} and "
            f"dtype {y.dtype}, and they must be equal"
        )


def check_directions(what: str, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Return both as tuples; raise if the second are no trees like the first."""
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(
                f"{what} takes {name} as a tuple with one entry for each argument, (x,), and got "
                f"{described(given)}"
            )
    ours, theirs = ([*trees.arrays(tuple(tree))] for tree in (primals, tangents))
    if [path for path, _ in ours] != [path for path, _ in theirs]:
        raise ValueError(
            f"{what}: there are {len(ours)} arrays in primals and {len(theirs)} in tangents; "
            f"tangents are trees like primals"
        )
    for (path, x), (_, v) in zip(ours, theirs, strict=True):
        if type(x) is Array:  # others are refused as arguments
            check_cotangent(f"{what}: tangents{path}", x, v, "argument")
    return tuple(primals), tuple(tangents)


def numbers_of(what: str, argnums: Any, args: Sequence[Any]) -> tuple[int, ...]:
    """Return the places of the followed arguments, counted from 0."""
    if argnums.__class__ is int and 0 <= argnums < len(args):
        return (argnums,)
    if not isinstance(argnums, (int, Sequence)) or not all(
        isinstance(n, int) for n in (() if isinstance(argnums, int) else argnums)
    ):
        raise TypeError(f"{what}: argnums is an int or a sequence of them, not {argnums!r}")
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise ValueError(
                f"{what}: argnums={argnums!r}, but there are {len(args)} positional arguments; "
                f"they are counted from 0"
            )
    found = tuple(n % len(args) for n in numbers)
    if not found or len(set(found)) < len(found):
        raise ValueError(f"{what}: argnums={argnums!r} names no argument, or one of them twice")
    return found


def is_floating(x: Any) -> bool:
    """Tell whether something is an array of which derivatives can be taken."""
    return type(x) is Array and x._table.kind in "fc"


def check_function(what: str, function: Any) -> None:
    """Raise if something is no function."""
    if not callable(function):
        raise TypeError(f"{what} takes a function, not {described(function)}")
