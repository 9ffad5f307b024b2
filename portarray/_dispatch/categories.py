"""Lookup of a function in a backend's modules, its library's namespace and the compositions.

Needs no device: :mod:`portarray._dispatch.native_functions` builds the functions of a device from
what is found here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from types import ModuleType
from typing import Any

import numpy as np

from portarray import _namespace
from portarray._dtypes import promotion
from portarray._dtypes.accepted import ACCEPTED, Accepts
from portarray._dtypes.promotion import kind_of
from portarray.backends.base import Backend
from portarray.backends.types import Served, served_by

__all__ = [
    "CATEGORIES",
    "EXTENSIONS",
    "accepted",
    "category_module",
    "composition",
    "has_rows",
    "own_function",
    "row",
    "served",
]

CATEGORIES = (
    "creation",
    "data_type",
    "arithmetic",
    "comparison",
    "exponential",
    "trigonometric",
    "rounding",
    "bitwise",
    "logical",
    "complex",
    "indexing",
    "linear_algebra",
    "manipulation",
    "searching",
    "sets",
    "sorting",
    "statistical",
    "utility",
    "linalg",
    "fft",
)
"""The standard's categories, which are the names of category files."""

EXTENSIONS = ("linalg", "fft", "special")
"""The standard's extensions, and ``special``, whose files are imported on first use."""

_MAIN = tuple(category for category in CATEGORIES if category not in EXTENSIONS)

DType = np.dtype[Any]
Function = Callable[..., Any]


@cache
def category_module(package: str, category: str) -> ModuleType | None:
    """Return a package's module of a category, or None; under "" one that has several categories.

    That is the package itself, or a single file of a backend that corrects little.
    """
    if not package:
        return None
    if not category:
        return import_module(package)
    name = f"{package}.{category}"
    has_categories = hasattr(category_module(package, ""), "__path__")
    return import_module(name) if has_categories and find_spec(name) else None


def _in_categories(package: str, name: str, table: str = "") -> Any:
    """Return what a package's category files have for a standard name, or None.

    With ``table`` (such as ``"BY_DTYPE"``) it is looked up in the tables of that name.
    """
    *extension, base_name = name.split(".")
    for category in extension or _categories_of(name):
        module = category_module(package, category)
        if module is not None:
            value = (
                getattr(module, table, {}).get(base_name)
                if table
                else getattr(module, base_name, None)
            )
            if value is not None:
                return value
    return None


def _categories_of(name: str) -> tuple[str, ...]:
    """Return the categories whose files may have a name: one, if it is a public function.

    So the first call of a function imports few files.
    """
    module: str = getattr(vars(_namespace.pa).get(name), "__module__", None) or ""
    category = module.removeprefix("portarray._api.").partition(".")[0]
    return ("", category) if category in _MAIN else ("", *_MAIN)


def row(backend: Backend, table: str, name: str, dtype: DType) -> Function | None:
    """Return a function from a table of a backend's category files, by dtype, or None.

    Keys of a row are kind letters (``"iuf"``) or dtype names (``"uint16 uint32"``), separated by
    blanks; a name takes precedence over a kind.
    """
    rows: Mapping[str, Function] | None = _in_categories(backend.category_package, name, table)
    by_kind = None
    for key, function in (rows or {}).items():
        for word in key.split():
            if word == dtype.name:
                return function
            if kind_of(dtype) in word and promotion.KIND_ORDER.keys() >= set(word):
                by_kind = function
    return by_kind


def _spellings(name: str) -> tuple[str, ...]:
    """Return the names of a function: linalg repeats some of the main namespace."""
    return (name, name.removeprefix("linalg.")) if name.startswith("linalg.") else (name,)


def own_function(backend: Backend, name: str, dtype: DType | None) -> Any:
    """Return a backend's own function of a name, or None."""
    if name in _DTYPE_RULES:  # portarray's for every library
        return None
    for spelling in _spellings(name):
        function = None if dtype is None else row(backend, "BY_DTYPE", spelling, dtype)
        if function is None:
            function = _in_categories(backend.category_package, spelling)
        if function is not None:
            return function
    for spelling in _spellings(name):
        with suppress(AttributeError):
            return attrgetter(spelling)(backend.standard)
    return None


_DTYPE_RULES = frozenset(("can_cast", "finfo", "iinfo", "isdtype", "result_type"))


def composition(name: str) -> Function | None:
    """Return the shared composition of a name, or None."""
    candidates = (
        _in_categories("portarray.backends.composed", spelling) for spelling in _spellings(name)
    )
    return next((function for function in candidates if function is not None), None)


def has_rows(backend: Backend, name: str) -> bool:
    """Return whether a backend's own function of a name depends on the dtype."""
    return _in_categories(backend.category_package, name, "BY_DTYPE") is not None


@cache
def accepted(name: str) -> Accepts | None:
    """Return the kinds of dtype that a function takes; None where it takes them all.

    The row is in accepted.py, or beside the shared composition of the name.
    """
    row = ACCEPTED.get(name)
    return row or _in_categories("portarray.backends.composed", name, "ACCEPTED")


def served(backend: Backend, name: str, *, on_device: bool = True) -> Served:
    """Return how a backend serves a function of the standard; needs no device.

    ``on_device`` is False where the backend's own function does not serve the device in question.
    """
    rows = _in_categories(backend.category_package, name, "BY_DTYPE")
    function = next(iter(rows.values())) if rows else own_function(backend, name, None)
    if function is not None and on_device:
        return served_by(function)
    return "host" if composition(name) is None else "composed"
