"""Faults in a cluster of real processes raise errors with their cause, or lose nothing."""

from __future__ import annotations

import os
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import pytest

pytest.importorskip("dask.array", reason="the extra portarray[dask] is not installed")
pytest.importorskip("distributed", reason="the extra portarray[dask] is not installed")

import distributed

import portarray as pa
import portarray.dask as pd
from portarray.dask import compatibility
from portarray.tasks import In, Region

pytestmark = pytest.mark.one_device

ROOT = Path(__file__).parents[2]
GPU = "virtual:cuda:0"
OLDER_VERSION = "import portarray; portarray.__version__ = '0.0.9'"


@contextmanager
def program(module: str, *options: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command of Dask, and stop it at the end."""
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", f"distributed.cli.dask_{module}", *options]
    done = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": paths, **environment}, stderr=subprocess.DEVNULL
    )
    try:
        yield done
    finally:
        done.kill()
        done.wait(90)


def worker(address: str, *options: str, **environment: str) -> Any:
    """Run a worker."""
    always = ("--no-nanny", "--nthreads", "1", "--no-dashboard")
    return program("worker", address, *always, *options, **environment)


@pytest.fixture(scope="module")
def mixed() -> Iterator[tuple[Any, dict[str, str]]]:
    """A client, and the addresses of two workers, of which the first alone has a GPU."""
    options = {"n_workers": 0, "dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster) as client,
        worker(cluster.scheduler_address, "--name", "gpu", PORTARRAY_VIRTUAL="cuda:2"),
        worker(cluster.scheduler_address, "--name", "cpu", PORTARRAY_VIRTUAL=""),
    ):
        client.wait_for_workers(2, timeout=90)
        workers = client.scheduler_info()["workers"]
        yield client, {info["name"]: address for address, info in workers.items()}


def on_gpu(block: pa.Array) -> pa.Array:
    """Return a block on a device that this process lacks."""
    return block.to_device(GPU)


def fails(block: pa.Array) -> pa.Array:
    """Raise an error like a library whose device was lost."""
    raise RuntimeError(f"CUDA error 719 on {block.device}")


def test_errors_of_lost_and_missing_devices_name_the_worker(mixed: Any) -> None:
    client, workers = mixed
    ones = pd.ones((4, 2), chunks=2, devices="numpy")
    there = client.persist(ones.map_blocks(on_gpu, meta=ones._meta), workers=[workers["gpu"]])
    lost = client.compute(there.map_blocks(fails, meta=ones._meta), workers=[workers["gpu"]])
    with pytest.raises(RuntimeError, match="CUDA error 719") as caught:
        lost.result(timeout=90)
    assert caught.value.__notes__ == [
        f"in Dask's fails (fails), on worker {workers['gpu']}, with chunks on {GPU}"
    ]
    with pytest.raises(ExceptionGroup) as group, Region(engine=client) as region:
        region.spawn(fails, In(pa.ones(2, device="numpy")))
    notes = "; ".join(group.value.exceptions[0].__notes__)
    assert re.search(r"on worker tcp://.*, with chunks on numpy:cpu:0", notes), notes
    lacking = [
        ones.map_blocks(on_gpu, meta=ones._meta),  # made there
        there + 1,  # sent there
    ]
    for array in lacking:
        with pytest.raises(pa.UnknownDeviceError, match=GPU) as caught:
            client.compute(array, workers=[workers["cpu"]]).result(timeout=90)
        (note,) = caught.value.__notes__
        assert f"on worker {workers['cpu']}" in note
        assert "there are numpy:cpu:0" in note
        assert "virtual" not in note
    # What says where it is wanted is not refused.
    moved = client.compute(pd.to_device(there, "numpy"), workers=[workers["cpu"]])
    assert moved.result(timeout=90).tolist() == [[1, 1]] * 4


def test_another_version_is_refused_at_the_door(mixed: Any) -> None:
    client, _ = mixed
    address = client.scheduler.address
    x = pd.ones(4, chunks=2, devices="numpy") + 1
    assert client in compatibility._checked  # since its first computation
    with worker(address, "--preload", OLDER_VERSION) as late:
        assert late.wait(90) == 1
    assert len(client.scheduler_info()["workers"]) == 2
    # The next client finds a worker of another version that was there before it.
    client.unregister_worker_plugin(f"portarray {pa.__version__}")
    old = worker(address, "--name", "old", "--preload", OLDER_VERSION)
    with old, distributed.Client(address) as second:
        until = time.monotonic() + 90
        while "old" not in {info["name"] for info in second.scheduler_info()["workers"].values()}:
            assert time.monotonic() < until
            time.sleep(0.1)
        message = (
            rf"^compute: the cluster {address} cannot be used: the client has portarray "
            rf"{pa.__version__}, and worker tcp://\S+ has 0\.0\.9\nHint: install one version of "
            r"portarray in the whole cluster$"
        )
        with pytest.raises(RuntimeError, match=message):
            x.compute()
    with distributed.Client(address) as third:
        third.wait_for_workers(2)
        assert x.compute().tolist() == [2, 2, 2, 2]


def _no_more_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


def _spilled(dask_worker: Any) -> int:
    return len(dask_worker.data.disk)


@pytest.mark.parametrize("full", [False, True])
def test_a_full_disk_loses_no_chunk(full: bool, tmp_path: Path) -> None:
    """Chunks stay in memory while the disk is full, and Dask logs it."""
    memory = {"target": 0.01, "spill": False, "pause": False, "terminate": False}
    with (
        dask.config.set({f"distributed.worker.memory.{k}": value for k, value in memory.items()}),
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="1GB",
            local_directory=str(tmp_path),
            dashboard_address=":0",
            silence_logs=60,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        if full:
            client.run(_no_more_files)
        x = pd.persist(pd.full((8, 500_000), 3.0, chunks=(1, -1), devices="numpy"))  # 4 MB each
        distributed.wait(x)
        (count,) = client.run(_spilled).values()
        assert bool(count) is not full
        assert float(x.sum().compute()) == 12e6
        pd.placement(x).verify()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_a_restarted_scheduler_is_reported_and_computes() -> None:
    port = _free_port()
    address = f"tcp://127.0.0.1:{port}"
    arguments = ("--host", "127.0.0.1", "--port", str(port), "--dashboard-address", ":0")
    x = pd.ones((4, 4), chunks=2, devices="numpy")
    with (
        program("scheduler", *arguments) as scheduler,
        worker(address),
        distributed.Client(address, timeout=90) as client,
    ):
        persisted = client.persist(x + 1)
        assert persisted.sum().compute().tolist() == 32
        scheduler.kill()
        scheduler.wait(90)
        with program("scheduler", *arguments), worker(address):
            while client.status != "running":
                time.sleep(0.1)
            client.wait_for_workers(1, timeout=90)
            with pytest.raises(distributed.CancelledError, match="lost dependencies"):
                persisted.sum().compute()
            assert (x + 2).sum().compute().tolist() == 48
