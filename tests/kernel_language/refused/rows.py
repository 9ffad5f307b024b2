"""Rows of refused kernels: a text, and how it is refused.

A text's bad line ends with ``# here``. A refusal may come when the kernel is made or when it is
called, whichever knows enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MARK = "# here"
HEAD = """\
import cmath
import math
import numpy as np
import portarray as pa
import portarray.kernel_language as kl

WEIGHTS = (0.25, 0.5, 0.25)
TABLE = [1, 2, 3]
VALUES = np.arange(3.0)
TEXT = "text"


def plain(v):
    return v


@pa.kernel
def other(y):
    y[kl.index()] = 1.0


@pa.kernel.function
def helper(v):
    return v * 2


@pa.kernel.function
def nothing(v):
    pass

"""
# What needs the arguments' types is an error at the user's line as well.
LANGUAGE = TYPES = SyntaxError


@dataclass(frozen=True)
class Raw:
    """An argument that is given as it is; NumPy arrays otherwise become portarray's."""

    value: Any


@dataclass(frozen=True)
class Elsewhere:
    """An array on another device than the rest."""

    value: np.ndarray[Any, np.dtype[Any]]


def arguments() -> tuple[Any, ...]:
    """Return what the kernels of BODIES take: (y, x, n, m, a)."""
    y, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    return y, x, np.arange(8, dtype=np.int32), np.ones((8, 4), np.float32), 2.0


@dataclass(frozen=True)
class Refused:
    """A text, and how it is refused."""

    name: str
    text: str  # of the module
    says: str  # a regular expression, whatever the case of letters
    error: type[Exception] | tuple[type[Exception], ...] = LANGUAGE
    make: Callable[[], tuple[Any, ...]] = arguments
    options: dict[str, Any] = field(default_factory=dict)  # of the call
    lacks: str = ""  # refused only by devices without this dtype

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines that are to be named."""
        return tuple(k for k, line in enumerate(self.text.splitlines(), 1) if MARK in line)


def body(name: str, text: str, says: str, **options: Any) -> Refused:
    """Return a refused body of a kernel, which follows ``i = kl.index()``."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    text_of_module = f"{HEAD}\n@pa.kernel\ndef bad(y, x, n, m, a):\n    i = kl.index()\n{lines}"
    if "y[" not in text:
        text_of_module += "    y[i] = x[i]\n"
    return Refused(name, text_of_module, says, **options)


def in_line(name: str, line: str, says: str, **options: Any) -> Refused:
    """Return a refused body of one line."""
    return body(name, f"{line}  {MARK}", says, **options)


def module(name: str, text: str, says: str, **options: Any) -> Refused:
    """Return a refused module."""
    return Refused(name, f"{HEAD}\n{text}", says, **options)
