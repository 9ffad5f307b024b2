"""Devices of the workers of a cluster, declared as resources and shown in the dashboard.

The resource's name is the device's text, such as ``torch:cuda:0``, and a worker has as many units
of it as threads, so that a device never limits how many of a worker's tasks run at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask
from distributed import Worker, WorkerPlugin

import portarray as pa
from portarray.dask import scheduling, spilling
from portarray.dask.scoped_tasks import devices_of

if TYPE_CHECKING:
    from portarray.typing import DeviceLike

__all__ = ["DevicesPlugin", "declared", "resource", "start", "workers_of"]


def resource(device: DeviceLike) -> dict[str, float]:
    """Return the resources that make a task run on a worker with a device.

    Parameters
    ----------
    device : device-like
        The device.

    Returns
    -------
    dict of str to float
        For ``resources=`` of Dask: one unit of the device.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> pd.resource("numpy")  # for client.submit(function, resources=...)
    {'numpy:cpu:0': 1.0}
    """
    return {str(pa.device(device)): 1.0}


def workers_of(client: Any) -> dict[str, dict[str, Any]]:
    """Return the workers of a cluster and the devices that they declare.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster.

    Returns
    -------
    dict
        For each worker's address its ``"name"`` and ``"devices"``, a list of texts.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> from distributed import Client, LocalCluster
    >>> from portarray.testing import virtual_devices
    >>> options = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    >>> with virtual_devices("cuda", count=2) as gpus:
    ...     with LocalCluster(**options) as cluster, Client(cluster) as client:
    ...         _ = client.register_plugin(pd.DevicesPlugin(gpus))
    ...         [worker["devices"] for worker in pd.workers_of(client).values()]
    [['virtual:cuda:0', 'virtual:cuda:1']]
    """
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return {
        address: {"name": worker["name"], "devices": devices_of(worker["resources"])}
        for address, worker in workers.items()
    }


def declared(worker: Any) -> list[str]:
    """Return the texts of the devices that a worker declares."""
    return devices_of(worker.state.total_resources)


class DevicesPlugin(WorkerPlugin):  # type: ignore[misc]
    """Declares devices of a worker as resources, and shows their memory in the dashboard.

    Parameters
    ----------
    devices : sequence of device-like, "all" or None
        Devices of the worker. None uses ``portarray.devices`` of Dask's configuration, by default
        all devices that work where the worker runs. A worker with one device makes it the default
        device of its process.

    Notes
    -----
    ``dask worker --preload portarray.dask`` and :class:`LocalCluster` add it; on a cluster that
    runs without, ``client.register_plugin(portarray.dask.DevicesPlugin())`` does.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> from distributed import Client, LocalCluster
    >>> from portarray.testing import virtual_devices
    >>> options = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    >>> with virtual_devices("cuda", count=2) as gpus:
    ...     with LocalCluster(**options) as cluster, Client(cluster) as client:
    ...         _ = client.register_plugin(pd.DevicesPlugin(gpus))
    ...         x = pd.persist(pd.ones(4, chunks=2, devices=gpus))
    ...         [block.device for block in pd.placement(x).verify()]
    ['virtual:cuda:0', 'virtual:cuda:1']
    """

    name = "portarray-devices"

    def __init__(self, devices: Any = None) -> None:
        self.devices = devices

    async def setup(self, worker: Any) -> None:
        """Declare the devices."""
        names = _device_names(self.devices)
        units = dict.fromkeys(names, float(worker.state.nthreads))
        if worker.status.name == "running":
            await worker.set_resources(**units)
        else:  # the worker sends its resources when it registers
            worker.state.total_resources.update(units)
            worker.state.available_resources.update(units)
        if len(names) == 1:
            pa.set_default_device(names[0])
        worker.metrics["portarray"] = _figures
        spilling.start(worker)
        await scheduling.register_by(worker)


def _device_names(devices: Any) -> list[str]:
    if devices is None:
        devices = dask.config.get("portarray.devices", "all")
    if isinstance(devices, str) and devices == "all":
        return [str(device) for device in pa.devices()]
    listed = devices if isinstance(devices, (list, tuple)) else [devices]
    return [str(pa.device(device)) for device in listed]


def _figures(worker: Any) -> str:
    """Return the column of the dashboard's table of workers."""
    return ", ".join(f"{text} {_figure(text)}" for text in declared(worker))


def _figure(text: str) -> str:
    figures = pa.memory(text)
    gib = 2**30
    if figures.used is not None and figures.total:
        return f"{figures.used / gib:.2f} of {figures.total / gib:.1f} GiB"
    return "" if figures.free is None else f"{figures.free / gib:.1f} GiB free"


async def start(server: Any) -> None:
    """Set a server of distributed up that preloads this package."""
    if isinstance(server, Worker):
        await server.plugin_add(plugin=DevicesPlugin(), name=DevicesPlugin.name)
