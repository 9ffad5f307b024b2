"""Dask arrays with portarray chunks: results, devices and refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.array", reason="the extra portarray[dask] is not installed")
pytest.importorskip("distributed", reason="the extra portarray[dask] is not installed")
pytest.importorskip("zarr", reason="one of the expressions stores into it")

import dask
import dask.array as da
import dask_outcomes
from dask.sizeof import sizeof
from dask_expressions import EXPRESSIONS

import portarray as pa
import portarray.dask as pd
from portarray.dask import faults


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    """Compute in threads of this process, even after tests with a cluster."""
    with dask.config.set(scheduler="threads"):
        yield


ROOT = Path(__file__).parents[2]
X = np.arange(48, dtype=np.float32).reshape(8, 6)


def test_expressions_stay_or_are_refused_by_name(device: str) -> None:
    """Expressions equal NumPy's with every block on the device, or raise a listed error."""
    if not dask_outcomes.PAGE.is_file():
        pytest.skip("the documentation's source is not beside the tests")
    documented = json.loads(dask_outcomes.PAGE.read_text("utf-8"))
    assert documented["tried"] == len(EXPRESSIONS)
    library = pa.device(device).library
    expected = {
        name: devices[library]
        for name, devices in documented["refused"].items()
        if library in devices
    }
    outcomes = dask_outcomes.refused(device)
    # Which of an expression's tasks is refused first depends on the order they run in.
    assert outcomes.keys() == expected.keys()
    assert len(outcomes) <= 8
    # A TypeError is that of a block whose type is not what the meta says.
    assert set(outcomes.values()) <= {"HostAccessError", "TypeError"}
    assert not any(row == "*" for row in outcomes.values())


def test_every_public_name_is_on_its_page() -> None:
    page = ROOT / "docs" / "api" / "dask.md"
    if not page.is_file():
        pytest.skip("the documentation's source is not beside the tests")
    listed = [line.strip() for line in page.read_text("utf-8").splitlines() if line[:3] == "   "]
    names = [*pd.__all__, *pd.random.__all__]
    assert sorted(x for x in listed if not x.startswith(":")) == sorted(names)


CREATED = {
    "ones": ((7, 5), {}),
    "zeros": ((7, 5), {}),
    "full": ((7, 5), {"fill_value": 3.0}),
    "arange": (11, {}),
    "linspace": (0.0, {"stop": 1.0, "num": 9}),
    "eye": (6, {}),
}


@pytest.mark.parametrize("name", CREATED)
def test_created_blocks_are_on_their_devices(name: str, device: str) -> None:
    first, options = CREATED[name]
    created = getattr(pd, name)(first, dtype="float32", chunks=3, devices=device, **options)
    expected = getattr(da, name)(first, dtype="float32", chunks=3, **options)
    assert created.chunks == expected.chunks
    assert created.dtype == expected.dtype
    np.testing.assert_array_equal(pd.collect(created, "numpy").native, expected.compute())
    assert {row.device for row in pd.placement(created).verify()} == {device}


@pytest.mark.one_device
def test_devices_of_blocks(fake: str) -> None:
    two = ["numpy", "fake:cuda:0"]
    x = pd.from_array(X, (4, 3), devices=two)
    names = [row.device for row in pd.placement(x).verify()]
    assert names == ["numpy:cpu:0", "fake:cuda:0"] * 2
    y = pd.to_device(x, lambda position: f"fake:cuda:{position[0]}")
    y = pd.persist(y)
    assert [row.device[-1] for row in pd.placement(y).verify()] == list("0011")
    np.testing.assert_array_equal(pd.collect(y + y, "numpy").native, X + X)
    assert len({row.device for row in pd.placement(pd.ones(99, chunks=1, devices="all"))}) == len(
        pa.devices()
    )
    with pytest.raises(ValueError, match="devices is empty"):
        pd.ones(3, devices=[])
    y.__dict__["_portarray_devices"] = {(0, 0): "numpy:cpu:0"}
    with pytest.raises(ValueError, match=r"1 of 4 blocks .* \(0, 0\) is on fake:cuda:0"):
        pd.placement(y).verify()


def test_implicit_reads_of_chunks_are_reported_by_name(device: str) -> None:
    x = pd.from_array(X, 4, device)
    lying = x.map_blocks(np.asarray, meta=x._meta)
    where = pa.device(device)
    if where._backend.on_host(where.native):
        with pytest.raises(pa.HostAccessError, match=r"numpy.asarray in Dask's .*asarray"):
            lying.compute()
    meant = x.map_blocks(lambda block: block.to_device("numpy").native, meta=x._meta)
    with pytest.raises(TypeError, match="a block is a ndarray"):
        meant.compute()
    assert type(pd.to_numpy(x).compute()) is np.ndarray
    assert type(np.asarray(da.from_array(X, 4) + 1)) is np.ndarray  # Dask's own are left alone
    np.asarray(x.compute().to_device("numpy"))


def test_size_is_that_of_the_values(device: str) -> None:
    x = pa.asarray(X, device=device)
    assert sizeof(x + x) == X.nbytes + 64


WORKERS = """
import sys, dask.sizeof
assert "portarray" not in sys.modules and "dask.array" not in sys.modules

def loaded():
    return "portarray.dask" in sys.modules

if __name__ == "__main__":
    import numpy as np, dask.array as da, portarray as pa, portarray.dask as pd
    from distributed import Client, LocalCluster
    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            x = pd.persist(pd.from_array(np.ones((64, 64)), 16, sys.argv[1:]))
            table = pd.placement(x).verify()
            assert len({row.worker for row in table}) == 2, table
            assert float(pd.collect(pd.to_device(x, "numpy") @ np.eye(64)).sum()) == 4096
            kept = client.submit(pa.ones, 10**6, device="numpy", pure=False)
            kept.result()
            assert max(client.nbytes().values()) >= 8 * 10**6
            print(sorted(client.run(loaded).values()))
"""


@pytest.mark.one_device
def test_workers_need_no_set_up(tmp_path: Path) -> None:
    """The entry points of pyproject.toml register portarray with Dask's workers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = []
    for group in ("dask.sizeof", "dask.array.backends"):
        lines += [f"[{group}]", *map(" = ".join, project["entry-points"][group].items())]
    info = tmp_path / "portarray_dask_test-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: portarray-dask-test\nVersion: 1\n")
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    program = tmp_path / "program.py"
    program.write_text(WORKERS)
    libraries = sorted(
        {device.library for device in pa.devices()} & {"numpy", "torch", "mlx", "clarray"}
    )
    paths = [str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, str(program), *libraries],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("[True, True]")


@dataclass
class Scaled:
    """A function that is not hashable."""

    factor: int

    def __call__(self, block: Any) -> Any:
        return block * self.factor


def test_functions_need_not_be_hashable_where_arrays_are_misplaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    misplaced = pa.ones(1, device="numpy")
    monkeypatch.setitem(faults.MISPLACED, id(misplaced), (weakref.ref(misplaced), "cuda"))
    x = pd.ones(4, chunks=2, devices="numpy").map_blocks(Scaled(2), dtype=float, meta=np.empty(0))
    assert x.compute().tolist() == [2, 2, 2, 2]
