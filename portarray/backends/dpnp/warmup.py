"""Warm-up of dpnp's extensions, which would deadlock in threads.

Each extension of dpnp and dpctl looks up dpctl's types in its first call (``static dpctl_capi`` of
https://github.com/IntelPython/dpctl/blob/master/dpctl/apis/include/dpctl4pybind11.hpp). That runs
Python code, which may release the GIL. A second thread that calls the same extension then waits for
the lookup while it holds the GIL: a deadlock. So every extension is called once here, before the
device is used.
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
"""The signature in a pybind11 docstring, the first one for overloads."""

_TYPED = re.compile(r": (dpctl\.Sycl\w+|[\w:]*usm_ndarray)(, |$)")
"""A parameter whose type is looked up."""

_lock = threading.Lock()


def warm_up() -> None:
    """Make every imported extension look up its types, in one thread at a time."""
    with _lock:
        for module in extensions():
            target = typed(module)
            if target is not None:
                function, required = target
                # Fails with a TypeError, after the lookup.
                with contextlib.suppress(TypeError):
                    function(*[None] * required)


def extensions() -> Iterator[ModuleType]:
    """Return the compiled modules of dpctl and dpnp that are imported."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if name.startswith(("dpctl.", "dpnp.")) and file.endswith(tuple(EXTENSION_SUFFIXES)):
            yield module


def typed(module: ModuleType) -> tuple[Any, int] | None:
    """Return a function that triggers the lookup, and its argument count; None for Cython."""
    for function in module.__dict__.values():
        match = _SIGNATURE.search(str(function.__doc__)) if callable(function) else None
        if match is None:
            continue
        parameters = match[1]
        while "[" in parameters:  # type parameters and defaults
            parameters = re.sub(r"\[[^\[\]]*\]", "", parameters)
        if _TYPED.search(parameters):
            return function, sum("=" not in parameter for parameter in parameters.split(", "))
    return None
