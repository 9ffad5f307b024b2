"""Cached calls: the function, result table and result class for repeated calls."""

from __future__ import annotations

from typing import Any

from portarray._array.device_scope import scoped
from portarray._array.dispatch import CachedCall, DispatchTable, Function, dtypes_of, functions_of

__all__ = ["basic_getitem", "basic_setitem", "cache_entry", "inplace"]


def cache_entry(
    table: DispatchTable, name: str, result: DispatchTable, *, scalar: bool
) -> CachedCall:
    """Return the cache entry of a function of arrays, or of an array and a scalar.

    Prefers the library's own function (``DIRECT``, ``WITH_PYTHON_SCALAR``) if the backend has one.
    """
    functions = functions_of(table.device)
    native_function = (functions.with_scalar if scalar else functions.plain)(name, table.dtype)
    if native_function is None:
        function = table.functions[name]
        if scalar and not table.device._backend.accepts_scalars:
            function = _making_arrays(function, table)
        return function, result, table.known_type
    return _wrap_direct(native_function, table, name), result, table.array_type


def _making_arrays(function: Function, table: DispatchTable) -> Function:
    """Wrap a function of two arrays so that either may be a Python scalar."""
    is_array = table.device._backend.owns

    def of_arrays(x1: Any, x2: Any) -> Any:
        if is_array(x1):
            return function(x1, table.operand(x2))
        return function(table.operand(x1), x2)

    return of_arrays


def basic_getitem(table: DispatchTable) -> Function | None:
    """Return the library's own ``x[key]`` for keys without arrays, or None."""
    native_function = functions_of(table.device).plain("getitem", table.dtype)
    return None if native_function is None else _wrap_direct(native_function, table, "getitem")


def basic_setitem(table: DispatchTable) -> Function | None:
    """Return the library's own ``x[key] = value`` for keys without arrays, or None."""
    native_function = functions_of(table.device).plain("setitem", table.dtype)
    return None if native_function is None else _wrap_direct(native_function, table, "setitem")


def inplace(table: DispatchTable, name: str) -> Function | None:
    """Return the function that computes ``x1 op= x2`` in place, or None, and cache it."""
    try:
        return table.inplace_functions[name]
    except KeyError:
        native_function = functions_of(table.device).inplace(name, table.dtype)
    function = None if native_function is None else _wrap_direct(native_function, table, name)
    table.inplace_functions[name] = function
    return function


def _wrap_direct(function: Function, table: DispatchTable, name: str) -> Function:
    """Wrap a library's own function: make the device current, check the user's settings."""
    device = table.device
    function = scoped(function, device)
    return (
        function
        if device._backend.has_fixed_dtype(table.native)
        else _while_set(function, table, name)
    )


def _while_set(function: Function, table: DispatchTable, name: str) -> Function:
    """Use a library's own function only while the user's settings are the current ones."""
    ask = table.device._backend.configuration
    setting = ask()
    if table.dtype not in dtypes_of(table.device):
        return table.functions[name]

    def while_set(*args: Any) -> Any:
        return function(*args) if ask() == setting else table.functions[name](*args)

    return while_set
