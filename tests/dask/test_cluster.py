"""A worker for each device: its resources, and blocks after the loss of workers."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

pytest.importorskip("distributed", reason="the extra portarray[dask] is not installed")

from distributed import Client, wait

import portarray as pa
import portarray.dask as pd
from portarray.testing import virtual_devices

pytestmark = pytest.mark.one_device  # each worker has a device of its own


def _inside() -> tuple[str, str | None]:
    return str(pa.ones(1).device), os.environ.get("OPENBLAS_NUM_THREADS")


def test_a_worker_for_each_device(cluster: Any) -> None:
    workers = pd.workers_of(cluster)
    names = sorted(worker["name"] for worker in workers.values())
    assert names[:2] == ["numpy:cpu:0", "numpy:cpu:0-2"]
    inside = cluster.run(_inside)
    threads = max(1, (os.cpu_count() or 1) // sum(cluster.nthreads().values()))
    for address, worker in workers.items():
        assert worker["name"].startswith(worker["devices"][0])
        assert inside[address] == (worker["devices"][0], str(threads))
    info = cluster.scheduler_info(n_workers=-1)["workers"]
    for address, worker in info.items():
        assert worker["resources"] == {workers[address]["devices"][0]: worker["nthreads"]}
        assert worker["memory_limit"] == 2**31
        assert workers[address]["devices"][0] in worker["metrics"]["portarray"]
    if importlib.util.find_spec("bokeh"):
        assert "portarray" in cluster.run_on_scheduler(_columns)
    with pytest.raises(TypeError, match="each entry of devices has a separate process"):
        pd.LocalCluster(["numpy"], n_workers=2)


def _columns(dask_scheduler: Any) -> list[str]:
    from distributed.dashboard.components.scheduler import WorkerTable

    return list(WorkerTable(dask_scheduler).extra_names)


def _work(_: int) -> str:
    from distributed import get_worker

    name = str(get_worker().name)
    time.sleep(0.8 if name.endswith("-2") else 0.04)
    return name


def test_a_slow_worker_gets_fewer_tasks(cluster: Any) -> None:
    """The scheduler gives a worker that is twenty times slower fewer tasks."""
    with pd.scope(worker=["numpy:cpu:0", "numpy:cpu:0-2"]):
        cluster.gather(cluster.map(_work, range(6), pure=False))
        many = Counter(cluster.gather(cluster.map(_work, range(40), pure=False)))
        alone = [cluster.submit(_work, 0, pure=False).result() for _ in range(4)]
        pair = Counter(cluster.gather(cluster.map(_work, range(2), pure=False)))
    assert many["numpy:cpu:0"] >= 30
    assert set(alone) == {"numpy:cpu:0"}
    assert set(pair) == {"numpy:cpu:0"}
    tail = Counter(cluster.gather(cluster.map(_work, range(60), pure=False)))  # queued, anywhere
    assert tail["numpy:cpu:0-2"] <= 6


def _slowly(block: Any) -> Any:
    time.sleep(0.2)
    return block + 1


def test_a_killed_worker_loses_nothing(cluster: Any) -> None:
    """The nanny restarts a worker, and its blocks are recomputed on the same device."""
    devices = sorted({info["devices"][0] for info in pd.workers_of(cluster).values()})
    x = pd.persist(pd.from_array(np.arange(16.0), 1, devices))
    wait(x)
    y = pd.persist(x.map_blocks(_slowly))
    time.sleep(0.3)
    victims = [
        address
        for address, info in pd.workers_of(cluster).items()
        if info["devices"] == devices[-1:] and not info["name"].endswith("-2")
    ]
    # By default, Dask gives a worker up that is absent after 15 seconds; it may start more slowly.
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "0.1s"}):
        for pid in cluster.run(os.getpid, workers=victims).values():
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
    assert pd.collect(y).tolist() == (np.arange(16.0) + 1).tolist()
    for array in (x, y):
        assert {row.device for row in pd.placement(array).verify()} == set(devices)


CARD = "virtual:cuda:0"
CHUNK = 1 << 16
PRELOAD = f"""
from portarray.testing import virtual_devices
virtual_devices("cuda", memory={6 * CHUNK}).__enter__()
"""


def test_blocks_outlive_their_workers_and_their_devices_memory() -> None:
    """A device with memory for six chunks holds sixteen, and a retired worker moves its blocks."""
    limit = {
        # The device is so small that chunks must come one at a time.
        "distributed.worker.transfer.message-bytes-limit": CHUNK,
        "distributed.worker.memory.target": 0.01,  # of the limit of host memory: 10 MiB
    }
    options: dict[str, Any] = {"dashboard_address": ":0", "memory_limit": "1GiB", "config": limit}
    with (
        virtual_devices("cuda", memory=1 << 30),
        pd.LocalCluster([CARD, CARD], preload=PRELOAD, **options) as small_cluster,
        Client(small_cluster) as client,
    ):
        first, second = pd.workers_of(client)
        with pd.scope(worker=first):
            x = pd.persist(pd.ones(CHUNK * 2, dtype="float64", chunks=CHUNK // 8, devices=CARD))
            wait(x)
        spilled = client.run(_spilled, workers=[first])[first]
        assert spilled >= 16 - 6
        assert sum(client.nbytes().values()) == 16 * (CHUNK + 64)
        y = (x * 2 + 1).sum()
        assert float(pd.collect(y)) == 3 * CHUNK * 2
        assert {row.device for row in pd.placement(x).verify()} == {CARD}
        large = pd.ones(CHUNK, dtype="float64", chunks=-1, devices=CARD)
        with pytest.raises(pa.OutOfMemoryError, match="out of memory") as caught:
            large.compute()
        assert "smaller chunks" in "".join(caught.value.__notes__)
        client.retire_workers([first])
        assert list(pd.workers_of(client)) == [second]
        assert {row.worker for row in pd.placement(x).verify()} == {second}
        assert float(pd.collect(x.sum())) == CHUNK * 2
        host = pd.persist(pd.ones(1 << 22, dtype="float64", chunks=1 << 18, devices="numpy"))
        wait(host)
        assert client.run(_spilled)[second] >= 16 - 6 + 10  # of 16 chunks of 2 MiB, 5 stay
        assert float(pd.collect(host.sum())) == 1 << 22
        with pd.scope(worker=first), dask.config.set({"portarray.return-timeout": "1s"}):
            lost = pd.ones(3, devices=CARD)
            with pytest.raises(pd.ScopeError, match="no worker meets"):  # it did not come back
                lost.compute()


def _spilled(dask_worker: Any) -> int:
    return len(dask_worker.data.disk)


def test_a_script_without_a_main_guard_gets_a_hint(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import portarray.dask as pd\npd.LocalCluster('numpy', dashboard_address=None)\n"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    last = run.stderr.strip().splitlines()[-2:]
    assert last[0].startswith("RuntimeError: LocalCluster: a worker did not start")
    assert last[1].startswith('Hint: create the cluster under `if __name__ == "__main__":`')
