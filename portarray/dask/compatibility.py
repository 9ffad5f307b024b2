"""One version of portarray in a cluster: workers of another one are refused.

The first time that a client computes a graph that Dask has not optimized before, it registers a
plugin of workers. Where that is unpickled, on each worker that is there and each that joins later,
versions are compared: a worker of another version does not start, and with one that runs already
the computation is refused.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any
from weakref import WeakSet

import portarray as pa

__all__ = ["check", "check_default"]

_checked: WeakSet[Any] = WeakSet()


def check_default() -> None:
    """Check the cluster of the client that computes by default, where there is one."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return
    try:
        client = distributed.default_client()
    except ValueError:  # no client: threads or processes of this machine compute
        return
    check(client)


def check(client: Any) -> None:
    """Refuse a cluster whose scheduler or workers have another version of portarray.

    Parameters
    ----------
    client : distributed.Client
        Asked once. One that is asynchronous is not waited for: the cluster's logs have the error.

    Raises
    ------
    RuntimeError
        Which names both versions, and where the other one is.
    """
    if client in _checked:
        return
    plugin = _plugin(pa.__version__)
    if client.asynchronous:
        client.loop.add_callback(client.register_plugin, plugin)
    else:
        _ask(client, plugin)
    _checked.add(client)


def _ask(client: Any, plugin: Any) -> None:
    try:
        client.run_on_scheduler(_compare, pa.__version__, "the scheduler")
        client.register_plugin(plugin)
    except Exception as error:
        # Or else it would refuse workers that are as all others of the cluster.
        with suppress(KeyError, ValueError):  # where it was refused, it is not registered
            client.unregister_worker_plugin(plugin.name)
        raise RuntimeError(f"{client.scheduler.address} is not for portarray: {error}") from error


def _plugin(version: str) -> Any:
    """Return the plugin; on a worker, where it is unpickled, refuse another version."""
    from distributed import Worker, WorkerPlugin  # the extra; whoever has a client has it

    class SameVersion(WorkerPlugin):  # type: ignore[misc]
        """Holds nothing: that it could be unpickled is all."""

        name = f"portarray {version}"
        idempotent = True

        def __reduce__(self) -> tuple[Any, ...]:
            return _plugin, (version,)

    here = {worker.address for worker in Worker._instances if worker.status.name == "running"}
    _compare(version, f"worker {', '.join(sorted(here)) or 'that joins'}")
    return SameVersion()


def _compare(version: str, where: str) -> None:
    if version != pa.__version__:
        raise RuntimeError(
            f"the client has portarray {version}, and {where} has {pa.__version__}: tasks and "
            f"chunks of two versions do not mix; install one in the whole cluster"
        )
