"""Functions of native arrays and Python scalars that promote and convert them first.

What portarray's own calls do in ``_array``, :func:`portarray.namespace` has from here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._dispatch import argument_rules, categories
from portarray._dtypes import promotion
from portarray._dtypes.accepted import OPERANDS
from portarray._dtypes.promotion import kind_of

if TYPE_CHECKING:
    from portarray._dispatch.native_functions import NativeFunctions

__all__ = ["promoting"]

DType = np.dtype[Any]
Function = Callable[..., Any]

_JOINS = ("concat", "stack")


def promoting(functions: NativeFunctions, name: str) -> Function:
    """Return a function of native arrays and Python scalars that aligns them first."""
    function = _promoting(functions, name)
    check = argument_rules.WRAPPERS.get(name)
    return function if check is None else check(functions, name, function)


def _promoting(functions: NativeFunctions, name: str) -> Function:
    rule, operands = categories.accepted(name), OPERANDS.get(name)
    if rule is None and operands is None and not categories.has_rows(functions.backend, name):
        return functions.resolve(name)[0]  # type: ignore[no-any-return]
    by_dtypes: dict[Any, Function] = {}
    setting = functions.backend.configuration
    changes = setting() is not None  # dtypes depend on settings
    if operands == slice(0, 2) and not changes:

        def of_two(x1: Any, x2: Any, /, **options: Any) -> Any:
            key = getattr(x1, "dtype", x1.__class__), getattr(x2, "dtype", x2.__class__)
            try:
                try:
                    function = by_dtypes[key]
                except KeyError:
                    function = by_dtypes[key] = _aligning(functions, name, operands, x1, x2)
                return function(x1, x2, **options) if options else function(x1, x2)
            except Exception as error:
                _refuse_others(functions, error, name, x1, x2)
                raise

        return of_two

    if operands is not None:

        def of_several(*args: Any, **options: Any) -> Any:
            key = tuple([getattr(x, "dtype", x.__class__) for x in args])
            if changes:
                key = (*key, setting())
            try:
                try:
                    function = by_dtypes[key]
                except KeyError:
                    function = by_dtypes[key] = _aligning(functions, name, operands, *args)
                return function(*args, **options)
            except Exception as error:
                _refuse_others(functions, error, name, *args)
                raise

        return _joining(functions, name, of_several) if name in _JOINS else of_several

    def of_one(x: Any, /, *args: Any, **options: Any) -> Any:
        try:
            key = (x.dtype, setting()) if changes else x.dtype
            try:
                function = by_dtypes[key]
            except KeyError:
                function = by_dtypes[key] = functions.resolve(name, functions.numpy_dtype(x.dtype))[
                    0
                ]
            return function(x, *args, **options)
        except Exception as error:
            _refuse_others(functions, error, name, x)
            raise

    return of_one


def _refuse_others(functions: NativeFunctions, error: Exception, name: str, *operands: Any) -> None:
    """Explain an invalid operand after a failed call."""
    for x in operands:
        if not functions.backend.owns(x) and (
            hasattr(x, "dtype") or not isinstance(x, (bool, int, float, complex, type(None)))
        ):
            kind = type(x)
            raise TypeError(
                f"{name}: expected {functions.backend.info.title} arrays, got "
                f"{kind.__module__}.{kind.__qualname__}\n"
                f"Hint: make one with xp.asarray(x), where xp is this namespace"
            ) from error
    if not any(map(functions.backend.owns, operands)):
        raise TypeError(
            f"{name}: expected at least one array, got "
            f"{', '.join(type(x).__name__ for x in operands)}\n"
            f"Hint: make one with xp.asarray(x), where xp is this namespace"
        ) from error


def _common(functions: NativeFunctions, *operands: Any) -> DType:
    """Return the dtype that native arrays and Python scalars promote to."""
    dtypes = [functions.numpy_dtype(x.dtype) for x in operands if hasattr(x, "dtype")]
    if not dtypes:
        kinds = ", ".join(type(x).__name__ for x in operands)
        raise TypeError(f"expected at least one array, got {kinds}")
    dtype = promotion.promote(*dtypes)
    for x in operands:
        if not hasattr(x, "dtype"):
            dtype = promotion.scalar_dtype(x, dtype, functions.default)
    return dtype


def _aligning(functions: NativeFunctions, name: str, where: slice, *args: Any) -> Function:
    """Return a function that converts operands of these dtypes first."""
    operands = args[where]
    dtype = _common(functions, *operands)
    function = functions.resolve(name, dtype)[0]
    if name in _JOINS:
        function = partial(_of_list, function)
    native = functions.native_dtype(dtype)
    converters: list[Function | None] = [None for _ in args]
    for position in range(*where.indices(len(args))):
        x = args[position]
        if not hasattr(x, "dtype"):
            converters[position] = _scalar_converter(functions, name, dtype)
        elif x.dtype != native:
            converters[position] = functions.cast(functions.numpy_dtype(x.dtype), dtype)
    if not any(converters):
        return function  # type: ignore[no-any-return]

    def aligned(*values: Any, **options: Any) -> Any:
        pairs = zip(converters, values, strict=True)
        return function(*[x if as_ is None else as_(x) for as_, x in pairs], **options)

    return aligned


def _scalar_converter(functions: NativeFunctions, name: str, dtype: DType) -> Function | None:
    """Return a function that converts a Python scalar to an operand; None if none is needed."""
    if not functions.backend.accepts_scalars:
        operand = functions.operand(dtype)
        return lambda x: operand(promotion.checked(x, dtype))
    # Out-of-range integers are compared by value.
    if kind_of(dtype) not in "iu" or name in promotion.COMPARISONS:
        return None
    return lambda x: promotion.checked(x, dtype)


def _joining(functions: NativeFunctions, name: str, aligned: Function) -> Function:
    """Return a function of one list of arrays, made of one that takes them one by one."""

    def joining(arrays: Any, /, **options: Any) -> Any:
        arrays = list(arrays)
        if not arrays:  # the library says what it makes of none
            return functions.resolve(name, np.dtype(bool))[0](arrays, **options)
        return aligned(*arrays, **options)

    return joining


def _of_list(function: Function, /, *arrays: Any, **options: Any) -> Any:
    return function(list(arrays), **options)
