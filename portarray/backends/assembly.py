"""A backend's namespace made whole: native first, then composed, then host.

:func:`find` and :func:`served` are the one place that decides how a function is served; the
crossing, the support table and ``pa.namespace`` all ask them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import Any

import numpy as np

from portarray.backends import host
from portarray.backends.base import Backend
from portarray.backends.types import Served, served_by

__all__ = ["CHAPTERS", "NativeNamespace", "find", "served"]

CHAPTERS = (
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
"""The standard's chapters, as files are named everywhere."""

Function = Callable[..., Any]


def find(backend: Backend, device: Any, name: str) -> tuple[Function, Served]:
    """Return the function that serves a standard name on a native device, and how.

    Parameters
    ----------
    backend : Backend
        The loaded backend.
    device : native device
        Where it will run.
    name : str
        ``"sin"``, ``"linalg.svd"``, ``"fft.rfft"``.

    Raises
    ------
    AttributeError
        If the name is not in the standard.
    """
    own = _own(backend, name)
    if own is not None:
        # Names of dtypes and constants are looked up here as well.
        return (backend.guard_memory(name, own) if callable(own) else own), served_by(own)
    composition = _composition(name)
    if composition is not None:
        return partial(composition, NativeNamespace(backend, device)), "composed"
    return host.function(backend, device, name), "host"


def served(backend: Backend, name: str) -> Served:
    """Return how a backend serves a function of the standard; no device is needed to tell."""
    own = _own(backend, name)
    if own is not None:
        return served_by(own)
    return "host" if _composition(name) is None else "composed"


def _own(backend: Backend, name: str) -> Any:
    """Return what a backend itself has under a name, or None."""
    for functions in (backend.namespace, backend.standard):
        try:
            return attrgetter(name)(functions)
        except AttributeError:
            continue
    return None


def _composition(name: str) -> Function | None:
    """Return the shared composition of a name, or None."""
    *extension, function = name.split(".")
    for chapter in extension or CHAPTERS:
        try:
            module = import_module(f"portarray.backends.composed.{chapter}")
        except ModuleNotFoundError as error:
            # Not every chapter has compositions; a broken import inside one is another matter.
            if error.name != f"portarray.backends.composed.{chapter}":
                raise
            continue
        if function in module.__all__:
            found: Function = getattr(module, function)
            return found
    return None


class NativeNamespace:
    """The standard's namespace on the native arrays of one device.

    Attributes are the library's own functions where they are right, corrected or composed ones
    elsewhere; nothing is wrapped. Returned by :func:`portarray.namespace`.
    """

    def __init__(self, backend: Backend, device: Any, prefix: str = "") -> None:
        self._backend = backend
        self._device = device
        self._prefix = prefix

    @property
    def device(self) -> Any:
        """The native device."""
        return self._device

    @property
    def index_dtype(self) -> Any:
        """The widest signed integer dtype of the device: that of places and of sums."""
        return self._widest("int")

    @property
    def unsigned_dtype(self) -> Any:
        """The widest unsigned integer dtype of the device."""
        return self._widest("uint")

    def _widest(self, kind: str) -> Any:
        available = host.dtypes_on(self._backend, self._device)
        names = (np.dtype(f"{kind}64"), np.dtype(f"{kind}32"))
        return next(available[dtype] for dtype in names if dtype in available)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        full = self._prefix + name
        value = (
            NativeNamespace(self._backend, self._device, f"{name}.")
            if full in ("linalg", "fft")
            else find(self._backend, self._device, full)[0]
        )
        # The next look-up finds it in the instance.
        self.__dict__[name] = value
        return value

    def __repr__(self) -> str:
        part = f".{self._prefix[:-1]}" if self._prefix else ""
        return f"<namespace{part} of {self._backend.info.title} arrays on {self._device}>"
