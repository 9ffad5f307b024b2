"""The path of warm calls. Made by tools/expand_warm.py, which says how: change that file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from portarray._array import base, cold, indexing
from portarray._array.indexing import is_basic
from portarray._array.operands import from_scalar

if TYPE_CHECKING:
    from portarray._array.array import Array


def unary(name: str, x: Any) -> Array:
    """Call a function of one array and nothing else."""
    if type(x) is base.array_type:
        table = x._table
        try:
            function, result, known = table.learned[name]
        except KeyError:
            return cold.learn(name, table, x._native)
        try:
            native = function(x._native)
        except Exception as error:  # noqa: BLE001  (translated and raised again)
            return cold.failed(error, name, table, x._native)
        if type(native) is known:
            out = base.new_uninitialized()
            out._native = native
            out._table = result
            return out
        return cold.finished(native, result)
    return unary(name, from_scalar(x, name))


def binary(name: str, x1: Any, x2: Any) -> Array:
    """Call a function of two operands, of which one may be a Python scalar."""
    if type(x1) is base.array_type:
        table = x1._table
        kind = type(x2)
        if kind is base.array_type:
            if table is x2._table:
                try:
                    function, result, known = table.learned[name]
                except KeyError:
                    return cold.learn(name, table, x1._native, x2._native)
                try:
                    native = function(x1._native, x2._native)
                except Exception as error:  # noqa: BLE001  (translated and raised again)
                    return cold.failed(error, name, table, x1._native, x2._native)
                if type(native) is known:
                    out = base.new_uninitialized()
                    out._native = native
                    out._table = result
                    return out
                return cold.finished(native, result)
        elif kind in table.scalars or (kind is int and table.low <= x2 <= table.high):
            try:
                function, result, known = table.learned_with_scalar[name]
            except KeyError:
                return cold.learn_with_scalar(name, table, x1._native, x2)
            try:
                native = function(x1._native, x2)
            except Exception as error:  # noqa: BLE001  (translated and raised again)
                return cold.failed(error, name, table, x1._native, x2)
            if type(native) is known:
                out = base.new_uninitialized()
                out._native = native
                out._table = result
                return out
            return cold.finished(native, result)
    elif type(x2) is base.array_type:
        table = x2._table
        kind = type(x1)
        if kind in table.scalars or (kind is int and table.low <= x1 <= table.high):
            try:
                function, result, known = table.learned_with_scalar[name]
            except KeyError:
                return cold.learn_with_scalar(name, table, x1, x2._native)
            try:
                native = function(x1, x2._native)
            except Exception as error:  # noqa: BLE001  (translated and raised again)
                return cold.failed(error, name, table, x1, x2._native)
            if type(native) is known:
                out = base.new_uninitialized()
                out._native = native
                out._table = result
                return out
            return cold.finished(native, result)
    return cold.binary(name, x1, x2)


def operator(name: str) -> Callable[[Array, Any], Array]:
    """Return the method behind ``x op other``."""

    def method(self: Array, other: Any, /) -> Any:
        table = self._table
        kind = type(other)
        if kind is base.array_type:
            if table is other._table:
                try:
                    function, result, known = table.learned[name]
                except KeyError:
                    return cold.learn(name, table, self._native, other._native)
                try:
                    native = function(self._native, other._native)
                except Exception as error:  # noqa: BLE001  (translated and raised again)
                    return cold.failed(error, name, table, self._native, other._native)
                if type(native) is known:
                    out = base.new_uninitialized()
                    out._native = native
                    out._table = result
                    return out
                return cold.finished(native, result)
        elif kind in table.scalars or (kind is int and table.low <= other <= table.high):
            try:
                function, result, known = table.learned_with_scalar[name]
            except KeyError:
                return cold.learn_with_scalar(name, table, self._native, other)
            try:
                native = function(self._native, other)
            except Exception as error:  # noqa: BLE001  (translated and raised again)
                return cold.failed(error, name, table, self._native, other)
            if type(native) is known:
                out = base.new_uninitialized()
                out._native = native
                out._table = result
                return out
            return cold.finished(native, result)
        elif cold.is_foreign(other, name):
            return NotImplemented
        return cold.binary(name, self, other)

    return method


def reflected(name: str) -> Callable[[Array, Any], Array]:
    """Return the method behind ``other op x``."""

    def method(self: Array, other: Any, /) -> Any:
        table = self._table
        kind = type(other)
        if kind in table.scalars or (kind is int and table.low <= other <= table.high):
            try:
                function, result, known = table.learned_with_scalar[name]
            except KeyError:
                return cold.learn_with_scalar(name, table, other, self._native)
            try:
                native = function(other, self._native)
            except Exception as error:  # noqa: BLE001  (translated and raised again)
                return cold.failed(error, name, table, other, self._native)
            if type(native) is known:
                out = base.new_uninitialized()
                out._native = native
                out._table = result
                return out
            return cold.finished(native, result)
        if cold.is_foreign(other, name):
            return NotImplemented
        return cold.binary(name, other, self)

    return method


def options(name: str, x: Any, /, *args: Any, **options: Any) -> Array:
    """Call a function of one array, with options that do not decide the dtype of the result."""
    if type(x) is base.array_type:
        table = x._table
        try:
            function, result, known = table.learned_with_options[name]
        except KeyError:
            return cold.learn_with_options(name, table, (x._native, *args), options)
        try:
            native = function(x._native, *args, **options)
        except Exception as error:  # noqa: BLE001  (translated and raised again)
            return cold.failed(error, name, table, x._native, *args, **options)
        if type(native) is known:
            out = base.new_uninitialized()
            out._native = native
            out._table = result
            return out
        return cold.finished(native, result)
    return cold.apply(name, (x,), *args, **options)


def pair(name: str, x1: Any, x2: Any, /, **options: Any) -> Array:
    """Call a function of two arrays that keep their dtypes, with options like those above."""
    if type(x1) is base.array_type and type(x2) is base.array_type:
        table = x1._table
        if x2._table.device is table.device:
            try:
                function, result, known = table.learned_with_options[name]
            except KeyError:
                return cold.learn_with_options(name, table, (x1._native, x2._native), options)
            try:
                native = function(x1._native, x2._native, **options)
            except Exception as error:  # noqa: BLE001  (translated and raised again)
                return cold.failed(error, name, table, x1._native, x2._native, **options)
            if type(native) is known:
                out = base.new_uninitialized()
                out._native = native
                out._table = result
                return out
            return cold.finished(native, result)
    return cold.apply(name, (x1, x2), **options)


def aligned(name: str, x1: Any, x2: Any, /, **options: Any) -> Array:
    """Call a function of two arrays that are promoted, with options like those above."""
    if type(x1) is base.array_type and type(x2) is base.array_type:
        table = x1._table
        if x2._table is table:
            try:
                function, result, known = table.learned_with_options[name]
            except KeyError:
                return cold.learn_with_options(name, table, (x1._native, x2._native), options)
            try:
                native = function(x1._native, x2._native, **options)
            except Exception as error:  # noqa: BLE001  (translated and raised again)
                return cold.failed(error, name, table, x1._native, x2._native, **options)
            if type(native) is known:
                out = base.new_uninitialized()
                out._native = native
                out._table = result
                return out
            return cold.finished(native, result)
    return cold.promoted(name, (x1, x2), **options)


def joined(name: str, arrays: Sequence[Any], /, **options: Any) -> Array:
    """Call a function of one list of arrays, which are promoted."""
    first = arrays[0]
    if type(first) is base.array_type:
        table = first._table
        natives = [x._native for x in arrays if type(x) is base.array_type and x._table is table]
        if len(natives) == len(arrays):
            try:
                function, result, known = table.learned_with_options[name]
            except KeyError:
                return cold.learn_with_options(name, table, (natives,), options)
            try:
                native = function(natives, **options)
            except Exception as error:  # noqa: BLE001  (translated and raised again)
                return cold.failed(error, name, table, natives, **options)
            if type(native) is known:
                out = base.new_uninitialized()
                out._native = native
                out._table = result
                return out
            return cold.finished(native, result)
    return cold.sequence(name, arrays, **options)


def getitem(x: Array, key: Any) -> Array:
    """Return ``x[key]``."""
    kind = type(key)
    if (
        kind is int
        or kind is slice
        or (kind is tuple and is_basic(map(type, key)) and key.count(...) < 2)
    ):
        table = x._table
        try:
            function, result, known = table.learned["getitem"]
        except KeyError:
            return indexing.learn_getitem(x, key)
        try:
            native = function(x._native, key)
        except Exception as error:  # noqa: BLE001  (translated and raised again)
            return indexing.failed(error, "getitem", table, x._native, key)
        if type(native) is known:
            out = base.new_uninitialized()
            out._native = native
            out._table = result
            return out
        return cold.finished(native, result)
    return indexing.getitem(x, key)
