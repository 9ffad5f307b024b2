"""Operands that are not blocks: NumPy's arrays, Dask arrays as arguments, parameters of draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.array", reason="the extra portarray[dask] is not installed")
pytest.importorskip("zarr", reason="one of the expressions stores into it")

import dask
import dask.array as da
import dask_outcomes

import portarray as pa
import portarray.dask as pd
from portarray.testing import virtual_devices


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    """Compute in this process, even after tests with a cluster."""
    with dask.config.set(scheduler="sync"):
        yield


ROW = np.arange(6, dtype=np.float32)
UNIT = ((0, 1), (0, 1))
EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "append": lambda x, s, v, i: da.append(x, ROW[None], axis=0),
    "concatenate": lambda x, s, v, i: da.concatenate([ROW[None], x, ROW[None]]),
    "concatenate to_numpy": lambda x, s, v, i: da.concatenate([x, _on_host(x)], axis=1),
    "block": lambda x, s, v, i: da.block([[x, np.ones((8, 2), np.float32)]]),
    "insert": lambda x, s, v, i: da.insert(x, 1, 0, axis=0).astype(x.dtype),
    "sum of a join": lambda x, s, v, i: da.concatenate([x, ROW[None]]).sum(axis=0),
    "keyword of a function": lambda x, s, v, i: x.map_blocks(_scaled, scale=ROW[:3]),
    "range of a histogram": lambda x, s, v, i: da.histogram(v, 4, range=(v.min(), v.max()))[0],
    "histogram of columns": lambda x, s, v, i: da.histogramdd((v, v * v), (3, 2), UNIT)[0],
    "histogram of rows": lambda x, s, v, i: da.histogramdd(x[:, :2].rechunk((4, 2)), (3, 2), UNIT)[
        0
    ],
    "nanquantile": lambda x, s, v, i: da.nanquantile(x, [0.3, 0.5], axis=1),
    "differences": lambda x, s, v, i: da.diff(x, axis=0, prepend=x[:1], append=ROW[None]),
    "optimized before": lambda x, s, v, i: dask.optimize(x.T @ x)[0].sum(axis=0) * 2,
    "weights of a histogram": lambda x, s, v, i: da.histogram(v, 4, (0, 1), weights=v * 2)[0],
}


def _scaled(block: Any, scale: Any) -> Any:
    return block * scale


def _on_host(x: Any) -> Any:
    return pd.to_numpy(x) if isinstance(x._meta, pa.Array) else x


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_numpy_operands_move_to_the_blocks(name: str, device: str) -> None:
    assert dask_outcomes.outcome(EXPRESSIONS[name], device) == ""


@pytest.mark.one_device
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_numpy_operands_move_to_blocks_on_several_devices(name: str) -> None:
    with virtual_devices("cuda", count=2) as cards:
        assert dask_outcomes.outcome(EXPRESSIONS[name], [str(card) for card in cards]) == ""


@pytest.mark.one_device
def test_delayed_operands_are_not_computed_to_infer_types() -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a graph is computed while another is built")

    x = pd.ones((4, 2), chunks=2, devices="numpy")
    with dask.config.set(scheduler=refuse):
        steps = da.diff(x, axis=0, prepend=x[:1])
        scaled = x.map_blocks(_scaled, dask.delayed(3.0), dtype=x.dtype)
    np.testing.assert_array_equal(pd.collect(steps).native, np.zeros((4, 2)))
    np.testing.assert_array_equal(scaled.compute().native, np.full((4, 2), 3.0))


@pytest.mark.one_device
def test_stored_blocks_that_are_read_again_are_their_targets() -> None:
    x = pd.ones((4, 2), chunks=2, devices="numpy")
    target = np.zeros((4, 2))
    stored = da.store(x, target, return_stored=True)
    assert type(stored._meta) is type(stored.compute()) is np.ndarray
    np.testing.assert_array_equal(stored.compute(), np.ones((4, 2)))
    np.testing.assert_array_equal(target, np.ones((4, 2)))


LOCATIONS = np.array([0.0, 10.0])
DRAWS: dict[str, Callable[[Any], Any]] = {
    "locations": lambda rng: rng.normal(LOCATIONS, 0.01, size=(100, 2), chunks=50),
    "locations of Dask": lambda rng: rng.normal(
        da.from_array(LOCATIONS), 0.01, size=(100, 2), chunks=50
    ),
    "elements": lambda rng: rng.choice(LOCATIONS, size=(100, 2), chunks=50),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_with_array_parameters_are_on_the_device(name: str, device: str) -> None:
    with dask.config.set({"array.backend": "portarray"}), pa.device(device):
        for rng in (da.random.default_rng(0), da.random.RandomState(0)):
            x = DRAWS[name](rng)
            drawn = x.compute()
            assert (type(x._meta), str(drawn.device)) == (pa.Array, device)
            values = drawn.to_device("numpy").native
            columns = values.T if name != "elements" else [values[values < 5], values[values > 5]]
            np.testing.assert_allclose([c.mean() for c in columns], [0, 10], atol=0.01)


CREATED: dict[str, Callable[[], Any]] = {
    "diag": lambda: da.diag(np.arange(3.0)),
    "eye": lambda: da.eye(4, chunks=2),
    "indices": lambda: da.indices((2, 3), chunks=2),
    "linspace": lambda: da.linspace(0, 1, 5, chunks=2),
    "linspace with its step": lambda: da.linspace(0, 1, 5, chunks=2, retstep=True)[0],
    "tri": lambda: da.tri(3, chunks=2),
}


@pytest.mark.parametrize("name", CREATED)
def test_created_arrays_are_on_the_device_of_the_backend(name: str, device: str) -> None:
    expected = CREATED[name]()
    assert type(expected.compute()) is np.ndarray
    with dask.config.set({"array.backend": "portarray"}), pa.device(device):
        created = CREATED[name]().compute()
    assert str(created.device) == device
    np.testing.assert_allclose(created.to_device("numpy").native, expected.compute())
