"""The first use of dpnp's extensions, one after the other.

Each extension of dpnp and dpctl looks up dpctl's types when a function of it is called first, as
``static dpctl_capi api{}`` in
https://github.com/IntelPython/dpctl/blob/master/dpctl/apis/include/dpctl4pybind11.hpp. That runs
Python, so that another thread may go on meanwhile; if that one calls the same extension, it waits
for the lookup and keeps the interpreter's lock, which the first one needs to finish: the process
stands still for ever. So every extension is called once here, before threads come to the device.
"""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType
from typing import Any

_SIGNATURE = re.compile(r"^(?:1\. )?\w+\((?!\*)(.*)\) ->", re.MULTILINE)
"""What pybind11 writes of a function, or of the first of those with its name."""

_TYPED = re.compile(r": (dpctl\.Sycl\w+|[\w:]*usm_ndarray)(, |$)")
"""A parameter that must be of a type which is looked up."""


_settling = threading.Lock()


def settle() -> None:
    """Let every extension that is imported look up what it needs, in one thread at a time."""
    with _settling:
        for module in extensions():
            found = typed(module)
            if found is not None:
                function, required = found
                # The types are looked up to find that None is wrong.
                with contextlib.suppress(TypeError):
                    function(*[None] * required)


def extensions() -> Iterator[ModuleType]:
    """Return the compiled modules of dpctl and dpnp that are imported."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if name.startswith(("dpctl.", "dpnp.")) and file.endswith(tuple(EXTENSION_SUFFIXES)):
            yield module


def typed(module: ModuleType) -> tuple[Any, int] | None:
    """Return a function that looks up types, and how many arguments it must have.

    None for modules without one: those of Cython.
    """
    for function in module.__dict__.values():
        found = _SIGNATURE.search(str(function.__doc__)) if callable(function) else None
        if found is None:
            continue
        parameters = found[1]
        while "[" in parameters:  # of types, and as defaults
            parameters = re.sub(r"\[[^\[\]]*\]", "", parameters)
        if _TYPED.search(parameters):
            return function, sum("=" not in one for one in parameters.split(", "))
    return None
