"""Dask arrays with portarray chunks, which stay on their devices.

Needs the extra ``portarray[dask]``.
"""

import importlib as _importlib
import sys as _sys
import typing as _typing

from portarray.dask import guarding as _guarding
from portarray.dask import linalg, random
from portarray.dask import registration as _registration
from portarray.dask import scopes as _scopes
from portarray.dask import serialization as _serialization
from portarray.dask.creation import arange, empty, eye, from_array, full, linspace, ones, zeros
from portarray.dask.places import (
    Block,
    Placement,
    collect,
    persist,
    placement,
    to_device,
    to_numpy,
)
from portarray.dask.scopes import Scope, ScopeError, scope

if _typing.TYPE_CHECKING:
    from portarray.dask.cluster import LocalCluster
    from portarray.dask.workers import DevicesPlugin, resource, workers_of

_HOMES = {
    "cluster": ("LocalCluster",),
    "workers": ("DevicesPlugin", "resource", "workers_of"),
}
"""Modules that need ``distributed``, imported when one of their names is asked for."""

__all__ = [
    "Block",
    "DevicesPlugin",
    "LocalCluster",
    "Placement",
    "Scope",
    "ScopeError",
    "arange",
    "collect",
    "empty",
    "eye",
    "from_array",
    "full",
    "linalg",
    "linspace",
    "ones",
    "persist",
    "placement",
    "random",
    "resource",
    "scope",
    "to_device",
    "to_numpy",
    "workers_of",
    "zeros",
]


def _tell_scheduler() -> None:
    """Have the scheduler of the current client know scopes, if there is a client."""
    distributed = _sys.modules.get("distributed")
    if distributed is None:
        return
    try:
        client = distributed.default_client()
    except ValueError:
        return
    _importlib.import_module("portarray.dask.scheduling").register(client)


_scopes.LISTENERS.append(_tell_scheduler)
_registration.begin()
_serialization.begin()
_guarding.begin()

if not _typing.TYPE_CHECKING:  # a type checker would take every name to be there

    def __getattr__(name):
        """Import a name's module when it is asked for."""
        for module, names in _HOMES.items():
            if name in names:
                found = _importlib.import_module(f"portarray.dask.{module}")
                return globals().setdefault(name, getattr(found, name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


async def dask_setup(server: _typing.Any) -> None:
    """Set a worker up: what ``dask worker --preload portarray.dask`` calls.

    Parameters
    ----------
    server : distributed.Worker or other server
        Declares the devices of this machine, if it is a worker.
    """
    await _importlib.import_module("portarray.dask.workers").begin(server)
