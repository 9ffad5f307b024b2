"""Dask arrays with portarray chunks, which stay on their devices.

Needs the extra ``portarray[dask]``.
"""

import importlib as _importlib
import sys as _sys
import typing as _typing

from portarray.dask import backend as _backend
from portarray.dask import guarding as _guarding
from portarray.dask import linalg
from portarray.dask import registration as _registration
from portarray.dask import scopes as _scopes
from portarray.dask import serialization as _serialization
from portarray.dask.block_placement import (
    Block,
    Placement,
    collect,
    persist,
    placement,
    to_device,
    to_numpy,
)
from portarray.dask.creation import arange, empty, eye, from_array, full, linspace, ones, zeros
from portarray.dask.explaining import MovePlan, explain
from portarray.dask.scopes import Scope, ScopeError, scope
from portarray.tasks import engines as _engines

if _typing.TYPE_CHECKING:
    from portarray.dask import random
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
    "MovePlan",
    "Placement",
    "Scope",
    "ScopeError",
    "arange",
    "collect",
    "empty",
    "explain",
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


def _register_scopes() -> None:
    """Register scopes with the scheduler of the current client, if there is one."""
    distributed = _sys.modules.get("distributed")
    if distributed is None:
        return
    try:
        client = distributed.default_client()
    except ValueError:
        return
    _importlib.import_module("portarray.dask.scheduling").register(client)


def _new_engine(lock: _typing.Any, client: _typing.Any) -> _typing.Any:
    return _importlib.import_module("portarray.dask.regions").Cluster(lock, client)


_scopes.LISTENERS.append(_register_scopes)
_registration.register_types()
_serialization.register_pickling()
_guarding.install_hooks()
_backend.install_functions()
_engines.register_engine("distributed", _new_engine)

if not _typing.TYPE_CHECKING:  # a type checker would take every name to be there

    def __getattr__(name):
        """Import a name's module when it is asked for."""
        if name == "random":  # defines kernels
            return _importlib.import_module("portarray.dask.random")
        for module, names in _HOMES.items():
            if name in names:
                imported = _importlib.import_module(f"portarray.dask.{module}")
                return globals().setdefault(name, getattr(imported, name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


async def dask_setup(server: _typing.Any) -> None:
    """Set a worker up: what ``dask worker --preload portarray.dask`` calls.

    Parameters
    ----------
    server : distributed.Worker or other server
        Declares the devices of this machine, if it is a worker.
    """
    await _importlib.import_module("portarray.dask.workers").start(server)
