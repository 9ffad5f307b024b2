"""``einsum`` as a sequence of matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from portarray._namespace import pa
from portarray._numpy_functions.common import as_arrays
from portarray._numpy_functions.table import category

serves = category("Linear algebra")

Term = tuple[str, Any]
"""The names of an operand's axes, each once, and the operand."""


@serves()
def einsum(*operands: Any, optimize: Any = False, dtype: Any = None, out: Any = None) -> Any:
    names, result, arrays = _parsed(operands)
    if dtype is not None:
        arrays = [x.astype(dtype, copy=False) for x in arrays]
    terms = [_with_each_name_once(name, x) for name, x in zip(names, arrays, strict=True)]
    for positions in _order(names, result, arrays, optimize):
        chosen = [terms.pop(position) for position in sorted(positions, reverse=True)][::-1]
        needed = set(result).union(*(name for name, _ in terms))
        contracted = chosen[0]
        for position, term in enumerate(chosen[1:], 2):
            contracted = _product(
                contracted, term, needed.union(*(name for name, _ in chosen[position:]))
            )
        terms.append(_summed(contracted, needed))
    ((names_left, x),) = terms
    result_array = pa.permute_dims(x, tuple(names_left.index(name) for name in result))
    if out is None:
        return result_array
    out[...] = result_array
    return out


@serves()
def einsum_path(*operands: Any, optimize: Any = "greedy") -> Any:
    names, result, arrays = _parsed(operands)
    return np.einsum_path(f"{','.join(names)}->{result}", *map(_shadow, arrays), optimize=optimize)


def _shadow(x: Any) -> Any:
    """Return a NumPy array with the shape of x that needs no memory."""
    return np.broadcast_to(np.float64(0), x.shape)


def _with_arrays(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return operands with lists and NumPy arrays beside an array put on its device."""
    if isinstance(operands[0], str):
        return (operands[0], *as_arrays(*operands[1:], name="einsum"))
    # Arrays and lists of their axes alternate; another list of axes may follow.
    which = slice(0, len(operands) // 2 * 2, 2)
    mixed = list(operands)
    mixed[which] = as_arrays(*operands[which], name="einsum")
    return tuple(mixed)


def _parsed(operands: tuple[Any, ...]) -> tuple[list[str], str, list[Any]]:
    """Return the names of each operand's axes and of the result's, with ellipses expanded."""
    from opt_einsum.parser import parse_einsum_input

    try:
        inputs, result, arrays = parse_einsum_input(_with_arrays(operands))
    except ValueError as error:
        raise ValueError(f"einsum: {error}") from error
    names = inputs.split(",")
    for position, (name, x) in enumerate(zip(names, arrays, strict=True)):
        if x.ndim != len(name):
            raise ValueError(
                f"einsum: {name!r} does not match the {x.ndim} axes of operand {position}"
            )
    return names, result, list(arrays)


def _order(names: list[str], result: str, arrays: list[Any], optimize: Any) -> list[Any]:
    """Return the operands contracted in each step."""
    if not optimize or len(arrays) < 3:
        return [(0, 1)] * (len(arrays) - 1) or [(0,)]
    path = np.einsum_path(f"{','.join(names)}->{result}", *map(_shadow, arrays), optimize=optimize)
    return list(path[0][1:])


def _with_each_name_once(names: str, x: Any) -> Term:
    """Take diagonals for repeated names of an operand's axes."""
    for name in names:
        while names.count(name) > 1:
            first, second = names.index(name), names.rindex(name)
            x = pa.linalg.diagonal(pa.moveaxis(x, (first, second), (-2, -1)))
            names = names[:first] + names[first + 1 : second] + names[second + 1 :] + name
    return names, x


def _summed(term: Term, needed: set[str]) -> Term:
    """Sum over axes that no other operand needs."""
    names, x = term
    gone = tuple(position for position, name in enumerate(names) if name not in needed)
    if not gone:
        return term
    return "".join(name for name in names if name in needed), pa.sum(x, axis=gone, dtype=x.dtype)


def _product(first: Term, second: Term, needed: set[str]) -> Term:
    """Multiply two operands and sum over common axes that no other operand needs."""
    x_names, x = _summed(first, needed | set(second[0]))
    y_names, y = _summed(second, needed | set(first[0]))
    lengths: dict[str, int] = {}
    for name, n in (*zip(x_names, x.shape, strict=True), *zip(y_names, y.shape, strict=True)):
        lengths[name] = n if lengths.get(name, 1) == 1 else lengths[name]
    both = [name for name in x_names if name in y_names]
    batch = [name for name in both if name in needed]
    summed = [name for name in both if name not in needed]
    rows = [name for name in x_names if name not in y_names]
    columns = [name for name in y_names if name not in x_names]
    names = "".join((*batch, *rows, *columns))
    shape = tuple(lengths[name] for name in names)
    x = _grouped(x_names, x, lengths, (batch, rows, summed))
    y = _grouped(y_names, y, lengths, (batch, summed, columns))
    product = pa.matmul(x, y) if summed else x * y
    return names, pa.reshape(product, shape)


def _grouped(names: str, x: Any, lengths: dict[str, int], groups: Sequence[list[str]]) -> Any:
    """Merge each group of axes into one axis."""
    order = [name for group in groups for name in group]
    x = pa.permute_dims(x, tuple(names.index(name) for name in order))
    x = pa.broadcast_to(x, tuple(lengths[name] for name in order))
    return pa.reshape(x, tuple(math.prod(lengths[name] for name in group) for group in groups))
