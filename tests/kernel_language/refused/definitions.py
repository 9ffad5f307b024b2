"""Objects that ``pa.kernel`` refuses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Definition:
    """An object that ``pa.kernel`` refuses, and how."""

    name: str
    make: Callable[[], Any]
    says: str
    error: type[Exception] | tuple[type[Exception], ...] = TypeError
    options: dict[str, Any] = field(default_factory=dict)  # of pa.kernel


def good(y: Any, x: Any) -> None:
    """Do nothing; what it is named with is refused."""


class NoFunction:
    """A callable object that is not a function."""

    def __call__(self, y: Any) -> None:
        """Do nothing."""

    def method(self, y: Any) -> None:
        """Do nothing."""


def _of_text() -> Any:
    names: dict[str, Any] = {}
    exec("def typed_in(y):\n    y[0] = 1.0\n", names)
    return names["typed_in"]


DEFINITIONS = [
    Definition("number", lambda: 3, "function"),
    Definition("none-twice", lambda: "saxpy", "function"),
    Definition("class", lambda: NoFunction, "class|function"),
    Definition("object", NoFunction, "function"),
    Definition("method", lambda: NoFunction().method, "method|function"),
    Definition("builtin", lambda: len, "function|source"),
    Definition("partial", lambda: functools.partial(good, 1), "partial|function"),
    Definition("lambda", lambda: lambda y: None, "lambda", (TypeError, SyntaxError)),
    Definition("no-source", _of_text, "source|text", (TypeError, OSError, SyntaxError, ValueError)),
    Definition(
        "unknown-static", lambda: good, "'?z'?", (TypeError, ValueError), {"static": ("z",)}
    ),
    Definition("static-of-number", lambda: good, "static", TypeError, {"static": 3}),
    Definition("static-of-numbers", lambda: good, "static", TypeError, {"static": (1,)}),
    Definition("unknown-option", lambda: good, "device|unexpected", TypeError, {"device": "numpy"}),
]
