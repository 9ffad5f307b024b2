"""How a function of a library is called: the one place where portarray and the libraries meet.

Every call goes: unwrap, check, promote, enter the device, call, translate errors, wrap. The
functions here are the path of warm calls, see :mod:`portarray._array.warm`; what a call costs is
measured in ``benchmarks/overhead.py``. All else is in :mod:`portarray._array.cold`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from portarray._array import base, cold, warm
from portarray._array.cold import (
    apply,
    check_countable,
    create,
    floating,
    host_view,
    integral,
    promoted,
    read,
    sequence,
    spread,
    where,
)

if TYPE_CHECKING:
    from portarray._array.array import Array

__all__ = [
    "aligned",
    "apply",
    "binary",
    "check_countable",
    "create",
    "floating",
    "host_view",
    "integral",
    "joined",
    "operator",
    "options",
    "pair",
    "promoted",
    "read",
    "reflected",
    "sequence",
    "several",
    "spread",
    "unary",
    "where",
]

_SOURCE = '''
def unary(name, x):
    """Call a function of one array and nothing else."""
    if type(x) is base.array_type:
        table = x._table
        @warm table.learned[name](x._native) else cold.learn(name, table, x._native)
    return unary(name, cold.from_scalar(x, name))


def binary(name, x1, x2):
    """Call a function of two operands, of which one may be a Python scalar."""
    if type(x1) is base.array_type:
        table = x1._table
        kind = type(x2)
        if kind is base.array_type:
            if table is x2._table:
                @warm table.learned[name](x1._native, x2._native) else cold.learn(name, table, x1._native, x2._native)
        elif kind in table.scalars or (kind is int and table.low <= x2 <= table.high):
            @warm table.learned_with_scalar[name](x1._native, x2) else cold.learn_with_scalar(name, table, x1._native, x2)
    elif type(x2) is base.array_type:
        table = x2._table
        kind = type(x1)
        if kind in table.scalars or (kind is int and table.low <= x1 <= table.high):
            @warm table.learned_with_scalar[name](x1, x2._native) else cold.learn_with_scalar(name, table, x1, x2._native)
    return cold.binary(name, x1, x2)


def operator(name):
    """Return the method behind ``x op other``."""

    def method(self, other, /):
        table = self._table
        kind = type(other)
        if kind is base.array_type:
            if table is other._table:
                @warm table.learned[name](self._native, other._native) else cold.learn(name, table, self._native, other._native)
        elif kind in table.scalars or (kind is int and table.low <= other <= table.high):
            @warm table.learned_with_scalar[name](self._native, other) else cold.learn_with_scalar(name, table, self._native, other)
        elif cold.is_foreign(other):
            return NotImplemented
        return cold.binary(name, self, other)

    return method


def reflected(name):
    """Return the method behind ``other op x``."""

    def method(self, other, /):
        table = self._table
        kind = type(other)
        if kind in table.scalars or (kind is int and table.low <= other <= table.high):
            @warm table.learned_with_scalar[name](other, self._native) else cold.learn_with_scalar(name, table, other, self._native)
        if cold.is_foreign(other):
            return NotImplemented
        return cold.binary(name, other, self)

    return method


def options(name, x, /, *args, **options):
    """Call a function of one array, with options that do not decide the dtype of the result."""
    if type(x) is base.array_type:
        table = x._table
        @warm table.learned_with_options[name](x._native, *args, **options) else cold.learn_with_options(name, table, (x._native, *args), options)
    return cold.apply(name, (x,), *args, **options)


def pair(name, x1, x2, /, **options):
    """Call a function of two arrays that keep their dtypes, with options like those above."""
    if type(x1) is base.array_type and type(x2) is base.array_type:
        table = x1._table
        if x2._table.device is table.device:
            @warm table.learned_with_options[name](x1._native, x2._native, **options) else cold.learn_with_options(name, table, (x1._native, x2._native), options)
    return cold.apply(name, (x1, x2), **options)


def aligned(name, x1, x2, /, **options):
    """Call a function of two arrays that are promoted, with options like those above."""
    if type(x1) is base.array_type and type(x2) is base.array_type:
        table = x1._table
        if x2._table is table:
            @warm table.learned_with_options[name](x1._native, x2._native, **options) else cold.learn_with_options(name, table, (x1._native, x2._native), options)
    return cold.promoted(name, (x1, x2), **options)


def joined(name, arrays, /, **options):
    """Call a function of one list of arrays, which are promoted."""
    first = arrays[0]
    if type(first) is base.array_type:
        table = first._table
        natives = [x._native for x in arrays if type(x) is base.array_type and x._table is table]
        if len(natives) == len(arrays):
            @warm table.learned_with_options[name](natives, **options) else cold.learn_with_options(name, table, (natives,), options)
    return cold.sequence(name, arrays, promote=True, **options)
'''  # noqa: E501

_made = warm.expand(_SOURCE, base=base, cold=cold, failed=cold.failed, finished=cold.finished)
unary: Callable[[str, Any], Array] = _made["unary"]
binary: Callable[[str, Any, Any], Array] = _made["binary"]
operator: Callable[[str], Callable[[Array, Any], Array]] = _made["operator"]
reflected: Callable[[str], Callable[[Array, Any], Array]] = _made["reflected"]
options: Callable[..., Array] = _made["options"]
several: Callable[..., tuple[Array, ...]] = _made["options"]  # of functions with several results
pair: Callable[..., Array] = _made["pair"]
aligned: Callable[..., Array] = _made["aligned"]
joined: Callable[..., Array] = _made["joined"]
