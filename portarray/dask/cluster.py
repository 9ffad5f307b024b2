"""A cluster of one machine, with a worker for each device."""

from __future__ import annotations

import logging
import multiprocessing
import sys
from typing import Any

import distributed
from dask.system import CPU_COUNT
from distributed.worker_memory import parse_memory_limit

import portarray as pa

__all__ = ["LocalCluster"]

_logger = logging.getLogger("distributed.worker")

_THREADS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "CL_CONFIG_CPU_TBB_NUM_WORKERS", "POCL_MAX_PTHREAD_COUNT"),
)
"""Variables of the environment by which libraries learn how many threads to compute in."""


# Python's own advice, multiprocessing.freeze_support(), is for programs without a script.
_UNGUARDED = (
    "LocalCluster: a worker did not start; workers import the script that creates the cluster\n"
    'Hint: create the cluster under `if __name__ == "__main__":`, unless the worker\'s own error '
    "above has another cause"
)


class LocalCluster(distributed.SpecCluster):  # type: ignore[misc]
    """Workers on this machine, a process for each device.

    A worker's name is the text of its device, which is the default device of its process and
    declared as its resource.

    Parameters
    ----------
    devices : sequence of device-like, device-like, "all" or None
        A worker for each; one that is listed twice has two. ``"all"`` is every device that
        functions here, None the default device.
    memory_limit : int, float, str or None, default: "auto"
        Of host memory, for each worker, as ``distributed.LocalCluster`` takes it. Chunks in host
        memory beyond it are written to disk.
    threads_per_worker : int, optional
        Tasks that a worker runs at once. The workers of CPUs share the machine's cores by default,
        and those of other devices run one.
    host, security, silence_logs, dashboard_address, scheduler_port, scheduler_kwargs
        As for ``distributed.LocalCluster``.
    asynchronous, name
        As for ``distributed.LocalCluster``.
    **worker_kwargs
        Options of ``distributed.Nanny``, for every worker.

    Notes
    -----
    Libraries' own threads (BLAS, OpenMP, OpenCL on CPUs) are set in each worker's environment, such
    that all workers together compute in as many threads as there are cores.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> from distributed import Client
    >>> with pd.LocalCluster("numpy", dashboard_address=":0") as cluster, Client(cluster) as client:
    ...     [worker["name"] for worker in pd.workers_of(client).values()]
    ['numpy:cpu:0']
    """

    def __init__(
        self,
        devices: Any = "all",
        memory_limit: Any = "auto",
        threads_per_worker: int | None = None,
        *,
        host: str = "127.0.0.1",
        security: Any = None,
        silence_logs: int = logging.WARNING,
        dashboard_address: str | None = ":8787",
        scheduler_port: int = 0,
        scheduler_kwargs: dict[str, Any] | None = None,
        asynchronous: bool = False,
        name: str | None = None,
        **worker_kwargs: Any,
    ) -> None:
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise RuntimeError(_UNGUARDED)  # this is a worker, which imports the script
        if isinstance(security, bool):
            security = distributed.Security.temporary() if security else None
        for option in {"n_workers", "processes"} & worker_kwargs.keys():
            raise TypeError(
                f"LocalCluster: {option} is not an option; each entry of devices has a separate "
                f"process\n"
                f"Hint: list a device several times in devices to start several workers for it"
            )
        listed = _listed(devices)
        threads = _threads(listed, threads_per_worker)
        inner = str(max(1, CPU_COUNT // sum(threads)))
        environment = dict.fromkeys(_THREADS, inner) | worker_kwargs.pop("env", {})
        preload = worker_kwargs.pop("preload", ())
        common = {
            "host": host,
            "security": security,
            "silence_logs": silence_logs,
            "memory_limit": parse_memory_limit(memory_limit, 1, len(listed), logger=_logger),
            "env": environment,
            "preload": [*([preload] if isinstance(preload, str) else preload), "portarray.dask"],
            "dashboard": False,
            **worker_kwargs,
        }
        workers: dict[str, Any] = {}
        for device, count in zip(listed, threads, strict=True):
            text = str(device)
            options = {
                **common,
                "nthreads": count,
                "config": {**worker_kwargs.get("config", {}), "portarray.devices": [text]},
            }
            others = sum(worker.startswith(text) for worker in workers)
            workers[f"{text}-{others + 1}" if others else text] = {
                "cls": _Nanny,
                "options": options,
            }
        scheduler = {
            "host": host,
            "security": security,
            "port": scheduler_port,
            "dashboard": dashboard_address is not None,
            "dashboard_address": dashboard_address,
            **(scheduler_kwargs or {}),
        }
        try:
            super().__init__(
                workers=workers,
                scheduler={"cls": distributed.Scheduler, "options": scheduler},
                security=security,
                silence_logs=silence_logs,
                asynchronous=asynchronous,
                name=name,
            )
        except RuntimeError as error:
            if "failed to start" in str(error) and hasattr(sys.modules["__main__"], "__file__"):
                raise RuntimeError(_UNGUARDED) from error
            raise

    def _update_worker_status(self, op: str, message: Any) -> None:
        """Keep the nanny of a killed worker: it restarts the worker, however long that takes.

        Dask closes a nanny whose worker is absent 15 seconds after it, or one before it, was lost.
        """
        if op == "remove":
            nanny = self.workers.get(self.scheduler_info["workers"][message]["name"])
            if nanny is not None and nanny.status == distributed.Status.running:
                distributed.deploy.Cluster._update_worker_status(self, op, message)
                return
        super()._update_worker_status(op, message)


class _Nanny(distributed.Nanny):  # type: ignore[misc]
    """A nanny that sets the environment before its process starts.

    A script that imports NumPy at its top does so in each worker before what is set there.
    """

    def __init__(self, *arguments: Any, env: dict[str, str], **options: Any) -> None:
        super().__init__(*arguments, env=env, **options)
        self.pre_spawn_env.update(env)


def _listed(devices: Any) -> list[pa.Device]:
    if isinstance(devices, str) and devices == "all":
        return list(pa.devices())
    listed = devices if isinstance(devices, (list, tuple)) else [devices]
    if not listed:
        raise ValueError("LocalCluster: devices is empty\nHint: pass at least one device, or 'all'")
    return [pa.empty(0).device if device is None else pa.device(device) for device in listed]


def _threads(devices: list[pa.Device], threads_per_worker: int | None) -> list[int]:
    """Return how many tasks the worker of each device runs at once."""
    if threads_per_worker is not None:
        return [threads_per_worker] * len(devices)
    others = sum(device.kind != "cpu" for device in devices)
    shared = max(1, (CPU_COUNT - others) // max(1, len(devices) - others))
    return [shared if device.kind == "cpu" else 1 for device in devices]
