"""Check that a cluster has one version of portarray.

When a client first uses an array, it registers a worker plugin. Each worker compares versions
when it unpickles the plugin. A new worker with another version does not start; if such a worker
already runs, the computation raises an error.
"""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from typing import Any
from weakref import WeakSet

import portarray as pa

__all__ = ["check", "check_default"]

_HINT = "\nHint: install one version of portarray in the whole cluster"
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
        Checked once. The check does not wait for an asynchronous client; the cluster logs errors.

    Raises
    ------
    RuntimeError
        Names both versions and the process that has the other one.
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
        # Otherwise the plugin would reject workers that match the rest of the cluster.
        with suppress(KeyError, ValueError):  # not registered if it was rejected
            client.unregister_worker_plugin(plugin.name)
        text = str(error)  # of a worker it quotes the error that the worker met
        reason = re.search(r"the client has portarray \S+, and .+? has [\w.+!-]+", text)
        raise RuntimeError(
            f"compute: the cluster {client.scheduler.address} cannot be used: "
            f"{reason[0] if reason else text}" + (_HINT if reason else "")
        ) from error


def _plugin(version: str) -> Any:
    """Return the plugin; on a worker, raise if its version differs."""
    from distributed import Worker, WorkerPlugin  # installed with any client

    class SameVersion(WorkerPlugin):  # type: ignore[misc]
        """Empty plugin; unpickling it compares versions."""

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
            f"the client has portarray {version}, and {where} has {pa.__version__}{_HINT}"
        )
