"""Two clusters for tests, and the path of this folder's modules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import portarray as pa

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tasks"))  # drawn programs


# A cluster is started once for a module, and is Dask's scheduler only within the tests that ask for
# it: the rest would run on its workers as well, which have neither the memory nor the devices for
# that. It ends with the module: its threads make objects, which tests of other folders count.


@pytest.fixture(scope="module")
def shared_client() -> Iterator[Any]:
    """A client of two worker processes, shared by tests that stop none of them."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(shared_client: Any) -> Iterator[Any]:
    with shared_client.as_current():
        yield shared_client


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[Any]:
    """A client of a cluster with a worker for each device: NumPy's has two, and PyTorch's one."""
    distributed = pytest.importorskip("distributed")
    pd = pytest.importorskip("portarray.dask")
    devices = ["numpy", "torch" if pa.functional("torch") else "numpy", "numpy"]
    options = {"dashboard_address": ":0", "memory_limit": "2GiB"}
    with (
        pd.LocalCluster(devices, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def cluster(shared_cluster: Any) -> Iterator[Any]:
    with shared_cluster.as_current():
        yield shared_cluster
