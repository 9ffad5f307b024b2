"""Which objects a compiled function compares, and how: the user's, Python's and libraries'."""

from __future__ import annotations

import functools
import itertools
import random
import sys
import threading
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

from portarray._array.array import Array
from portarray._transforms.compiling.mentions import is_library
from portarray._transforms.compiling.signatures import BY_TEXT, is_value

Function = Callable[..., Any]


FUNCTIONS: tuple[type, ...] = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.ClassMethodDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.MethodWrapperType,
)  # fmt: skip


_ITERABLES: tuple[Iterable[Any], ...] = (
    [], (), {}, {}.values(), {}.items(), set(), "", range(0),
)  # fmt: skip


UNREADABLE: tuple[type, ...] = (
    types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, random.Random,
    itertools.count, itertools.cycle, itertools.chain,
    itertools.islice, itertools.repeat, enumerate, zip, map, filter,
    *(type(iter(x)) for x in _ITERABLES), *weakref.ProxyTypes,
)  # fmt: skip


UNREADABLE_MODULES = ("numpy.random", "queue", "_queue")


CONTAINERS = (dict, OrderedDict, defaultdict, list, tuple, deque)


VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


_PLAIN_VALUES: dict[type, Function] = {
    int: int.__pos__, float: float.__pos__, complex: complex.__pos__, str: str.__str__,
    bytes: lambda x: b"".join((x,)),
}  # fmt: skip
"""The values of objects whose classes extend these."""


WRAPPERS = {
    property: "fget", classmethod: "__func__", staticmethod: "__func__",
    functools.cached_property: "func", functools.partialmethod: "func",
}  # fmt: skip


def module_of(function: Any) -> str | None:
    """Return the module of a function, of a method's class or of an object's class."""
    if isinstance(function, functools.partial):
        return module_of(function.func)
    name = getattr(function, "__module__", None)
    return name if isinstance(name, str) else None


def is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def value_reader(cls: type) -> Function | None:
    """Return what reads the value of objects of a class that extends one of values."""
    for base in cls.__mro__:
        if base in _PLAIN_VALUES:
            return _PLAIN_VALUES[base]
        if base.__module__ in BY_TEXT:
            return base.__repr__
    return None


def is_buffer(x: Any) -> bool:
    """Return whether an object of Python's own has its elements in memory, such as array.array."""
    return isinstance(x, memoryview) or type(x).__module__ == "array"


def is_library_class(cls: type) -> bool:
    module = sys.modules.get(cls.__module__)
    return cls.__module__ == "builtins" or module is None or is_library_module(module)


def is_library_module(module: types.ModuleType) -> bool:
    file = module.__dict__.get("__file__")  # not one that its __getattr__ returns
    if file is None:  # __main__, Python's own written in C, or one made while the program runs
        return module.__name__.partition(".")[0] in _OF_PYTHON
    return module.__name__ != "__main__" and is_library(file)


_OF_PYTHON = sys.stdlib_module_names - {"__main__"}


_READABLE = ("_weakrefset", "argparse", "collections", "types", "weakref")
"""Modules of Python whose objects have attributes of the user's."""


def is_opaque(cls: type) -> bool:
    """Return whether an object of a class is compared by identity: Python's own, such as locks."""
    package = cls.__module__.partition(".")[0]
    if cls is threading.local:
        return False
    return package in sys.stdlib_module_names and package not in _READABLE


def is_users(x: Any) -> bool:
    """Return whether a variable of a library's function may be the user's, not a cache of it."""
    if type(x) is Array or is_value(x) or isinstance(x, (tuple, types.FunctionType)):
        return True
    return callable(x) or not is_library_class(type(x))


def is_data(x: Any, depth: int = 8) -> bool:
    """Return whether a container holds nothing but immutable values."""
    if type(x) is bytearray:
        return True
    if depth == 0 or type(x) not in (list, tuple, dict, set, frozenset):
        return False
    if type(x) is dict and not all(map(_is_plain, x)):
        return False
    children = x.values() if type(x) is dict else x
    return all(_is_plain(child) or is_data(child, depth - 1) for child in children)


def _is_plain(x: Any) -> bool:
    """Return whether a value has neither attributes nor methods of the user's, as those of Enum."""
    return is_value(x) and is_library_class(type(x))
