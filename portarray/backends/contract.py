"""Checks that a class implements the contract of :class:`portarray.backends.base.Backend`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from portarray.backends.base import Backend

__all__ = ["check"]

_HOOKS = {
    name for name in (*Backend.__dict__, *Backend.__annotations__) if not name.startswith("_")
}
_METHODS = {
    name: value
    for name, value in Backend.__dict__.items()
    if name in _HOOKS and inspect.isfunction(value)
}


def check(kind: object, where: str) -> type[Backend]:
    """Return a backend's class if it implements the contract.

    Parameters
    ----------
    kind : object
        ``BACKEND`` of the backend's module.
    where : str
        Name of that module, for messages.

    Raises
    ------
    ImportError
        If it is not a subclass of Backend, lacks required hooks, has public names that are not
        hooks, or hooks with an incompatible signature.
    """
    if not (isinstance(kind, type) and issubclass(kind, Backend)):
        raise ImportError(
            f"{where} must have BACKEND = a subclass of portarray.backends.base.Backend, "
            f"not {kind!r}"
        )
    title = f"{where}.{kind.__qualname__}"
    faults = [
        fault
        for part in kind.__mro__[: kind.__mro__.index(Backend)]
        for name, value in part.__dict__.items()
        if not name.startswith("_") and (fault := _fault(name, value))
    ]
    if faults:
        raise ImportError(f"{title} breaks the contract of backends: {'; '.join(faults)}")
    missing = sorted(kind.__abstractmethods__)
    if not hasattr(kind, "array_type"):
        missing.insert(0, "array_type")
    if missing:
        raise ImportError(f"{title} lacks {', '.join(missing)}, which every backend must have")
    return kind


def _fault(name: str, value: Any) -> str:
    """Return what is wrong with a public name of a backend's class, or an empty string."""
    if name not in _HOOKS:
        import difflib  # only errors need it

        nearest = difflib.get_close_matches(name, _HOOKS, 1)
        meant = f"; did you mean {nearest[0]}?" if nearest else ""
        return f"{name} is not a hook{meant} (start private names with _: _{name})"
    contract = _METHODS.get(name)
    bound = isinstance(value, FunctionType)
    if contract is None:
        return f"{name} must be an attribute, not a method" if bound else ""
    function = value if bound else getattr(value, "__func__", value)
    if not callable(function):
        return f"{name} must be a method, not {value!r}"
    skipped = int(not isinstance(value, staticmethod))  # self
    if _shape(function, skipped) == _shape(contract, 1):  # nearly always
        return ""
    actual, required = _signature(function, skipped), _signature(contract, 1)
    return "" if _fits(actual, required) else f"{name}{actual} must be {name}{required}"


def _shape(function: Any, skipped: int) -> object:
    """Return a quick summary of a function's signature; None if only ``inspect`` can tell."""
    if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        return None
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    return (
        code.co_varnames[skipped:count],
        code.co_argcount - skipped,
        code.co_posonlyargcount,
        code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS),
        len(function.__defaults__ or ()),
        set(function.__kwdefaults__ or ()),
    )


def _signature(function: Callable[..., Any], skipped: int) -> inspect.Signature:
    """Return a function's parameters and their defaults."""
    parts = list(inspect.signature(function).parameters.values())[skipped:]
    return inspect.Signature([part.replace(annotation=part.empty) for part in parts])


def _fits(actual: inspect.Signature, required: inspect.Signature) -> bool:
    """Return whether a hook accepts every call that the contract allows."""
    every = required.parameters
    ordered = [name for name, part in every.items() if part.kind is part.POSITIONAL_OR_KEYWORD]
    named = {name: name for name in every if name not in ordered}
    needed = {name for name, part in every.items() if part.default is part.empty}
    try:
        bound = actual.bind(*ordered, **named)
        actual.bind(**{name: name for name in every})
        actual.bind(
            *(name for name in ordered if name in needed),
            **{name: name for name in named if name in needed},
        )
    except TypeError:
        return False
    order = [name for name in bound.arguments if name in every]
    return order[: len(ordered)] == ordered[: len(order)]
