"""Engines that run a region on something else than threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from portarray.tasks.scheduling import Engine

__all__ = ["new_engine", "register_engine"]

_FACTORIES: dict[str, Callable[[threading.Lock, Any], Engine]] = {}


def register_engine(package: str, factory: Callable[[threading.Lock, Any], Engine]) -> None:
    """Let ``Region(engine=x)`` use a factory for objects of classes from a package."""
    _FACTORIES[package] = factory


def new_engine(lock: threading.Lock, target: Any) -> Engine:
    """Return the engine for an object, by the packages of its class and base classes.

    The entry point group ``portarray.engines`` names, for each package, the module that registers
    its engine when it is imported.
    """
    packages = [base.__module__.partition(".")[0] for base in type(target).__mro__]
    if _FACTORIES.keys().isdisjoint(packages):
        from importlib.metadata import entry_points  # slow to import, and rarely needed

        for entry_point in entry_points(group="portarray.engines"):
            if entry_point.name in packages:
                entry_point.load()
    for package in packages:
        if package in _FACTORIES:
            return _FACTORIES[package](lock, target)
    raise TypeError(
        f"Region: no engine is registered for {target!r}\n"
        f"Hint: `import portarray.dask` and pass a distributed.Client, or pass None to use threads "
        f"of this process"
    )
