"""Errors about names that are not here: which one to use instead.

They are plain errors of Python's own classes. ``hasattr`` is asked by many libraries for many
names, so the nearest name is looked for when the message is read.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, NoReturn, TypeVar

from portarray import _elsewhere

__all__ = ["Attribute", "attribute_error", "hide_unknown", "in_module", "unexpected"]


F = TypeVar("F", bound=Any)


class _Text:
    """What an AttributeError says, made when it is read."""

    __slots__ = ("_instead", "_known", "_name", "_owner")

    def __init__(
        self, owner: str, name: str, instead: Mapping[str, str], known: Callable[[], Iterable[str]]
    ) -> None:
        self._owner = owner
        self._name = name
        self._instead = instead
        self._known = known

    def __str__(self) -> str:
        name = self._name
        fix = self._instead.get(name)
        end = nearest(name, self._known()) if fix is None else f"; use {fix}"
        return f"{self._owner} has no attribute {name!r}{end}"

    def __repr__(self) -> str:
        return repr(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message that names the nearest known name, if one is near."""
    import difflib  # most programs do without

    lowered = {one.lower(): one for one in known}
    found = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.7)
    return f"; did you mean {lowered[found[0]]!r}?" if found else ""


def attribute_error(
    owner: str, name: str, instead: Mapping[str, str], known: Callable[[], Iterable[str]]
) -> AttributeError:
    """Return the error for a missing attribute of an owner, such as ``"module 'portarray'"``."""
    # Without an object: Python would add the nearest of its attributes to what stands here.
    return AttributeError(_Text(owner, name, instead, known), name=name, obj=None)


def in_module(module: str) -> Callable[[str], NoReturn]:
    """Return the ``__getattr__`` of a module of the namespace."""
    owner = f"module {module!r}"
    instead = _elsewhere.FUNCTIONS[module.partition(".")[2]]

    def known() -> Iterable[str]:
        return sys.modules[module].__all__  # type: ignore[no-any-return]

    def __getattr__(name: str) -> NoReturn:  # noqa: N807
        raise AttributeError(_Text(owner, name, instead, known), name=name, obj=None)

    return __getattr__


class Attribute:
    """An attribute that arrays of other libraries have: reading it says what to use here.

    A ``__getattr__`` of the class would make every read of an attribute slower, and each call
    reads several.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise attribute_error("'Array' object", self._name, _elsewhere.ATTRIBUTES, tuple)


def hide_unknown(function: F) -> F:
    """Let signatures not show ``**unknown``, the arguments that a function exists to refuse.

    Where a call has no such argument it costs an empty dict, 20 ns, so that functions have it which
    have options and take a microsecond.
    """
    code = function.__code__
    del function.__annotations__["unknown"]
    shown = FunctionType(
        code.replace(co_flags=code.co_flags & ~inspect.CO_VARKEYWORDS),
        function.__globals__,
        function.__name__,
        function.__defaults__,
    )
    shown.__kwdefaults__ = function.__kwdefaults__
    shown.__annotations__ = function.__annotations__
    function.__wrapped__ = shown
    return function


def unexpected(function: Any, unknown: Iterable[str]) -> TypeError:
    """Return the error for arguments that a function does not take."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    known = [name for name in code.co_varnames[code.co_posonlyargcount : count] if name != "self"]
    wrong = next(iter(unknown))
    start = f"{function.__name__}() got an unexpected keyword argument {wrong!r}"
    fix = _elsewhere.KEYWORDS.get(wrong, "")
    if fix in known:
        return TypeError(f"{start}; use {fix}=")
    if fix and not fix.isidentifier():
        return TypeError(f"{start}; use {fix}")
    return TypeError(start + (nearest(wrong, known) or f"; it takes {', '.join(known)}"))
