"""``einsum``: sums of products over named axes, made of matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import portarray as pa
from portarray._numpy_functions.table import chapter

serves = chapter("Linear algebra")

Term = tuple[str, Any]
"""Names of an operand's axes, each once, and the operand."""


@serves()
def einsum(*operands: Any, optimize: Any = False, dtype: Any = None, out: Any = None) -> Any:
    names, result, arrays = _parsed(operands)
    if dtype is not None:
        arrays = [x.astype(dtype, copy=False) for x in arrays]
    terms = [_with_each_name_once(name, x) for name, x in zip(names, arrays, strict=True)]
    for one in _order(names, result, arrays, optimize):
        picked = [terms.pop(place) for place in sorted(one, reverse=True)][::-1]
        needed = set(result).union(*(name for name, _ in terms))
        found = picked[0]
        for place, other in enumerate(picked[1:], 2):
            found = _product(found, other, needed.union(*(name for name, _ in picked[place:])))
        terms.append(_summed(found, needed))
    ((names_left, x),) = terms
    made = pa.permute_dims(x, tuple(names_left.index(name) for name in result))
    if out is None:
        return made
    out[...] = made
    return out


@serves()
def einsum_path(*operands: Any, optimize: Any = "greedy") -> Any:
    names, result, arrays = _parsed(operands)
    return np.einsum_path(f"{','.join(names)}->{result}", *map(_shadow, arrays), optimize=optimize)


def _shadow(x: Any) -> Any:
    """Return a NumPy array of a shape that takes no memory."""
    return np.broadcast_to(np.float64(0), x.shape)


def _parsed(operands: tuple[Any, ...]) -> tuple[list[str], str, list[Any]]:
    """Return the names of each operand's axes and of the result's, without an ellipsis."""
    if isinstance(operands[0], str):
        text, arrays = operands[0].replace(" ", ""), list(operands[1:])
    else:
        text, arrays = _as_text(operands)
    left, arrow, right = text.partition("->")
    names = left.split(",")
    if len(names) != len(arrays):
        raise ValueError(
            f"einsum: {text!r} names {len(names)} operands, and there are {len(arrays)}"
        )
    unused = [chr(code) for code in (*range(97, 123), *range(65, 91)) if chr(code) not in text]
    widest = 0
    for place, (name, x) in enumerate(zip(names, arrays, strict=True)):
        if type(x) is not pa.Array:
            raise TypeError(f"einsum takes portarray arrays, not {type(x).__name__}: pa.asarray(x)")
        count = x.ndim - len(name.replace("...", ""))
        if ("..." not in name and count) or count < 0:
            raise ValueError(f"einsum: {name!r} does not name the {x.ndim} axes of operand {place}")
        if "..." in name:
            widest = max(widest, count)
            names[place] = name.replace("...", "".join(unused[:count][::-1]))
    ellipsis = "".join(unused[:widest][::-1])
    if arrow:
        result = right.replace("...", ellipsis)
    else:
        every = "".join(names)
        result = ellipsis + "".join(
            sorted(one for one in set(every) if every.count(one) == 1 and one not in ellipsis)
        )
    if not set(result) <= set("".join(names)) or len(set(result)) != len(result):
        raise ValueError(f"einsum: {right!r} names each axis of the operands at most once")
    return names, result, arrays


def _as_text(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Return the other form of a call, operands and lists of axes in turn, as text."""

    def letters(axes: Sequence[Any]) -> str:
        return "".join(
            "..." if one is Ellipsis else chr(97 + one if one < 26 else 39 + one) for one in axes
        )

    arrays, axes = operands[: len(operands) // 2 * 2 : 2], operands[1::2]
    text = ",".join(map(letters, axes))
    return (text + "->" + letters(operands[-1]) if len(operands) % 2 else text), list(arrays)


def _order(names: list[str], result: str, arrays: list[Any], optimize: Any) -> list[Any]:
    """Return which operands are contracted in each step, as NumPy's path does."""
    if not optimize or len(arrays) < 3:
        return [(0, 1)] * (len(arrays) - 1) or [(0,)]
    path = np.einsum_path(f"{','.join(names)}->{result}", *map(_shadow, arrays), optimize=optimize)[
        0
    ]
    return list(path[1:])


def _with_each_name_once(names: str, x: Any) -> Term:
    """Take diagonals where an operand has an axis' name twice."""
    for name in names:
        while names.count(name) > 1:
            first, second = names.index(name), names.rindex(name)
            x = pa.linalg.diagonal(pa.moveaxis(x, (first, second), (-2, -1)))
            names = names[:first] + names[first + 1 : second] + names[second + 1 :] + name
    return names, x


def _summed(term: Term, needed: set[str]) -> Term:
    """Sum over axes that nothing else needs."""
    names, x = term
    gone = tuple(place for place, name in enumerate(names) if name not in needed)
    if not gone:
        return term
    return "".join(name for name in names if name in needed), pa.sum(x, axis=gone, dtype=x.dtype)


def _product(first: Term, second: Term, needed: set[str]) -> Term:
    """Multiply two operands and sum over the axes of both that nothing else needs."""
    left, x = _summed(first, needed | set(second[0]))
    right, y = _summed(second, needed | set(first[0]))
    lengths: dict[str, int] = {}
    for name, n in (*zip(left, x.shape, strict=True), *zip(right, y.shape, strict=True)):
        lengths[name] = n if lengths.get(name, 1) == 1 else lengths[name]
    both = [name for name in left if name in right]
    kept = [name for name in both if name in needed]
    gone = [name for name in both if name not in needed]
    rows = [name for name in left if name not in right]
    columns = [name for name in right if name not in left]
    names = "".join((*kept, *rows, *columns))
    shape = tuple(lengths[name] for name in names)
    x = _grouped(left, x, lengths, (kept, rows, gone))
    y = _grouped(right, y, lengths, (kept, gone, columns))
    found = pa.matmul(x, y) if gone else x * y
    return names, pa.reshape(found, shape)


def _grouped(names: str, x: Any, lengths: dict[str, int], groups: Sequence[list[str]]) -> Any:
    """Put axes in groups, each of which becomes one axis."""
    order = [name for group in groups for name in group]
    x = pa.permute_dims(x, tuple(names.index(name) for name in order))
    x = pa.broadcast_to(x, tuple(lengths[name] for name in order))
    return pa.reshape(x, tuple(math.prod(lengths[name] for name in group) for group in groups))
