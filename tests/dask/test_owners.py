"""Tasks whose blocks are on several devices: results, owners, moves and refusals."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.array", reason="the extra portarray[dask] is not installed")
pytest.importorskip("zarr", reason="one of the expressions stores into it")

import dask
import dask.array as da
import dask_outcomes
from dask._task_spec import Task, _execute_subgraph, convert_legacy_graph
from dask.core import flatten
from dask.utils import ensure_dict
from dask_expressions import EXPRESSIONS
from hypothesis import given, settings
from hypothesis import strategies as st

import portarray as pa
import portarray.dask as pd
from portarray.dask import fusing, owners
from portarray.dask.layers import Layers
from portarray.dask.scoped_tasks import scoped
from portarray.testing import virtual_devices

pytestmark = pytest.mark.one_device

X = np.random.default_rng(3).normal(size=(12, 12))


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    """Compute in this process, even after tests with a cluster."""
    with dask.config.set(scheduler="sync"):
        yield


@pytest.fixture
def cards() -> Iterator[list[str]]:
    with virtual_devices("cuda", count=2) as devices:
        yield [str(device) for device in devices]


@pytest.mark.parametrize("mix", dask_outcomes.MIXES)
def test_every_expression_over_several_devices_equals_numpy(mix: str) -> None:
    """Blocks are where ``explain`` said, and ``compute`` brings them together."""
    names = list(EXPRESSIONS)
    if mix == "four CUDA devices" and not os.environ.get("PORTARRAY_TEST_FULL"):
        names = names[::5]
    with dask_outcomes.mixed(mix) as devices:
        if len(devices) < 2:
            pytest.skip("needs a second library")
        assert dask_outcomes.refused(devices, names) == {}


def _moved(monkeypatch: pytest.MonkeyPatch, compute: Callable[[], Any]) -> list[int]:
    """Return the bytes of the values that a computation moves."""
    sizes: list[int] = []

    def nbytes(value: Any) -> int:
        if isinstance(value, pa.Array):
            return int(value.nbytes)
        if isinstance(value, dict):
            return sum(map(nbytes, value.values()))
        return sum(map(nbytes, value)) if isinstance(value, (list, tuple)) else 0

    move = owners.move_value
    names: list[str] = []  # devices of the values that are moved now

    def counted(value: Any, device: str) -> Any:
        if not names:
            sizes.append(nbytes(value))
        names.append(device)
        try:
            return move(value, device)
        finally:
            names.pop()

    with monkeypatch.context() as patch:
        patch.setattr(owners, "move_value", counted)
        compute()
    return sizes


Row = Callable[[Any], Any]
STEPS: dict[str, tuple[Row, Row]] = {
    "exp": (da.exp, np.exp),
    "transpose": (lambda x: x.T, lambda x: x.T),
    "add the transpose": (lambda x: x + x.T, lambda x: x + x.T),
    "matmul": (lambda x: x @ x.T / 12, lambda x: x @ x.T / 12),
    "centre": (lambda x: x - x.mean(axis=0), lambda x: x - x.mean(axis=0)),
    "normalize": (lambda x: x / (1 + abs(x).max()), lambda x: x / (1 + abs(x).max())),
    "standard deviation": (lambda x: x + x.std(axis=1), lambda x: x + x.std(axis=1)),
    "flip": (lambda x: da.flip(x, 0), lambda x: np.flip(x, 0)),
    "roll": (lambda x: da.roll(x, 5, axis=1), lambda x: np.roll(x, 5, axis=1)),
    "rechunk": (lambda x: x.rechunk((5, 12)), lambda x: x),
    "rechunk again": (lambda x: x.rechunk((4, 3)), lambda x: x),
    "indices": (lambda x: x[[3, 11, 0, *range(1, 10)]], lambda x: x[[3, 11, 0, *range(1, 10)]]),
    "join": (
        lambda x: da.concatenate([x[:7], x[2:7]]),
        lambda x: np.concatenate([x[:7], x[2:7]]),
    ),
    "where": (lambda x: da.where(x > 0, x, x.T), lambda x: np.where(x > 0, x, x.T)),
    "cumsum": (lambda x: x.cumsum(axis=0) / 12, lambda x: x.cumsum(axis=0) / 12),
    "overlap": (
        lambda x: x.map_overlap(lambda block: block * 2, depth=1, boundary="reflect"),
        lambda x: x * 2,
    ),
}


@st.composite
def _programs(draw: st.DrawFn) -> tuple[int, list[int], list[str]]:
    chunk = draw(st.sampled_from([3, 4, 5, 6]))
    places = draw(st.lists(st.integers(0, 1), min_size=16, max_size=16))
    return chunk, places, draw(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4))


def _built(program: tuple[int, list[int], list[str]], devices: list[str]) -> tuple[Any, Any]:
    chunk, places, names = program
    x: Any = pd.from_array(X, chunk, lambda at: devices[places[4 * at[0] + at[1]]])
    expected: Any = X
    for name in names:
        x, expected = STEPS[name][0](x), STEPS[name][1](expected)
    return x, expected


@settings(max_examples=25)
@given(_programs())
def test_drawn_programs_over_drawn_devices(program: tuple[int, list[int], list[str]]) -> None:
    with virtual_devices("cuda", count=2) as devices:
        x, expected = _built(program, list(map(str, devices)))
        result = x.compute()
        rows = pd.placement(x).verify()
        assert str(result.device) == rows[0].device
        values = result.to_device("numpy").native
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=25)
@given(_programs())
def test_tasks_of_two_devices_are_never_fused(program: tuple[int, list[int], list[str]]) -> None:
    with virtual_devices("cuda", count=2) as devices:
        x, _ = _built(program, list(map(str, devices)))
        y = pd.to_device(x, str(devices[0]))
        keys = list(flatten(y.__dask_keys__()))
        plan = fusing.planned(y.dask, keys)
        graph, _ = fusing.optimize(y.dask, keys)
    for node in graph.values():
        if isinstance(node, Task) and node.func is _execute_subgraph:
            inside = {plan.devices[key] for key in node.args[0] if key in plan.devices}
            assert len(inside) <= 1


@pytest.mark.parametrize("where", ["here", "cards"])
def test_fused_tasks_need_no_aliases(where: str, cards: list[str]) -> None:
    x = pd.from_array(X, 3, cards if where == "cards" else None)
    steps = ((x + 1).T[1:] * 2).map_blocks(lambda block: block - 1)
    graph = dict(fusing.optimize(steps.dask, list(flatten(steps.__dask_keys__())))[0])
    assert len(graph) == sum(type(node) is Task for node in graph.values()) == 16
    # What is asked for is not fused with what needs it; `dask.compute` adds tasks that gather it.
    for compute in (dask.compute, dask.persist):
        both = compute(x[1:], x[1:] * 2)
        for result, expected in zip(both, (X[1:], X[1:] * 2), strict=True):
            (values,) = dask.compute(result)
            np.testing.assert_array_equal(values.to_device("numpy").native, expected)


@pytest.mark.parametrize(
    "step",
    sorted(STEPS.keys() - {"cumsum", "indices"}),  # of shapes that Dask does not tell
)
def test_as_many_bytes_move_as_explained(
    step: str, cards: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = STEPS[step][0](pd.from_array(X, 4, cards))
    plan = pd.explain(x)
    sizes = _moved(monkeypatch, lambda: dask.compute(list(x.to_delayed().flat)))
    assert (plan.bytes_moved, len(plan.moves)) == (sum(sizes), len(sizes))
    first, *remaining = [block.target for block in pd.placement(x)]
    sizes = _moved(monkeypatch, x.compute)
    assert len(sizes) - len(plan.moves) == sum(device != first for device in remaining)
    assert sum(sizes) == plan.bytes_moved + plan.bytes_gathered


def test_reductions_combine_on_each_device_first(cards: list[str]) -> None:
    x = pd.from_array(X, 3, cards)  # 16 blocks, 8 on each
    total = x.sum(split_every=99)
    assert [move.nbytes for move in pd.explain(total).moves] == [8]
    graph, _ = fusing.optimize(total.dask, list(flatten(total.__dask_keys__())))
    assert len(dict(graph)) == 16 + 1 + 1  # the last task moves what the other device combined
    assert [move.nbytes for move in pd.explain(x.mean(split_every=99)).moves] == [16]
    first = pd.from_array(np.zeros(8), 2, cards)
    assert int(first.argmax(split_every=99).compute()) == 0  # the first of equal values


def test_the_largest_operand_stays(cards: list[str]) -> None:
    first, second = cards
    x = pd.from_array(X, 12, devices=[second, first])
    row = pd.from_array(X[0], 12, devices=[first, second])
    assert pd.explain(x - row).blocks == {(0, 0): second}
    assert pd.explain(row - x).bytes_moved == X[0].nbytes
    y = pd.from_array(X, (6, 12), devices=[first, second])
    assert pd.explain(y + y[::-1]).blocks == {(0, 0): first, (1, 0): second}  # the first operand
    with pd.scope(device=second):
        z = y + y[::-1]
    assert set(pd.explain(z).blocks.values()) == {second}


def test_a_copy_is_shared(cards: list[str]) -> None:
    x = pd.from_array(X, (6, 12), devices=cards)
    plan = pd.explain(x @ x.T)  # each block is also needed on the other device, once
    assert plan.bytes_moved == X.nbytes
    assert sorted(move.source for move in plan.moves) == cards
    assert "1 value, 576 bytes" in str(plan)
    assert list(plan.moves) == sorted(plan.moves)  # whatever the order of Python's sets


def test_products_that_are_added_are_on_one_device(cards: list[str]) -> None:
    x = pd.from_array(X, 3, cards)  # columns of blocks alternate between the devices
    # The left operand moves to the other device once; a diagonal product does not tell where.
    assert pd.explain(x @ x).bytes_moved <= 1.25 * X.nbytes
    assert pd.explain(x.T @ x.T).bytes_moved <= 1.25 * X.nbytes
    np.testing.assert_allclose(pd.collect(x @ x, "numpy").native, X @ X)


def test_devices_do_not_depend_on_the_order_of_a_graph(cards: list[str]) -> None:
    places = np.random.default_rng(8).integers(2, size=(4, 4))
    x = pd.from_array(X, 3, lambda at: cards[places[at]])
    y = (x * 2) @ (x + 1)
    tasks = list(convert_legacy_graph(ensure_dict(y.dask)).items())
    orders = [dict(tasks), dict(tasks[::-1])]
    devices = [owners.assign(graph, {}, Layers(y.dask)).devices for graph in orders]
    assert devices[0] == devices[1]


def test_arrays_made_on_different_devices_are_refused(cards: list[str]) -> None:
    x = pd.from_array(X, 6, devices=cards)
    y = pd.from_array(X, 6, devices=cards[::-1])
    z = pd.to_device(x, cards[0])
    np.testing.assert_array_equal(pd.collect(x + y, "numpy").native, X + X)
    joined = pd.collect(da.concatenate([x, y]), "numpy").native
    np.testing.assert_array_equal(joined, np.concatenate([X, X]))
    w = pd.to_device(x, cards[1])
    for mixed in (x + z, w @ z, z + y):
        with pytest.raises(pa.DeviceMismatchError):
            mixed.compute()
    constant = pa.asarray(2.0, device=cards[0])
    np.testing.assert_array_equal(pd.collect(x * constant, "numpy").native, X * 2)
    np.testing.assert_array_equal(pd.collect(x * np.ones(12), "numpy").native, X)


@settings(max_examples=15)
@given(
    st.lists(st.integers(-24, 23), min_size=1, max_size=5, unique_by=lambda i: i % 24),
    st.integers(1, 9),
    st.booleans(),
)
def test_assignments_by_dask_indices(positions: list[int], chunk: int, is_scalar: bool) -> None:
    """Dask gives each block the indices of all, with its length for elements of other blocks."""
    expected, index = np.arange(24.0), np.asarray(positions)
    values: Any = -1.0 if is_scalar else np.linspace(5, 6, len(positions))
    with virtual_devices("cuda", count=2) as devices:
        x = pd.from_array(expected, chunk, devices)
        x[pd.from_array(index, 2, devices)] = (
            values if is_scalar else pd.from_array(values, 3, devices)
        )
        assert [row.device for row in pd.placement(x)] == [*pd.explain(x).blocks.values()]
        result = x.compute().to_device("numpy").native
    expected[index] = values
    np.testing.assert_array_equal(result, expected)


def test_layers_without_a_collection_are_computed_on_their_devices(cards: list[str]) -> None:
    xarray = pytest.importorskip("xarray")
    x = xarray.DataArray(pd.from_array(X, 4, cards), dims=("row", "column"))
    y = xarray.map_blocks(lambda block: 2 * block, x, template=x)  # a layer of datasets first
    rows = pd.placement(y.data)
    assert [row.device for row in rows] == [row.device for row in pd.placement(x.data)]
    np.testing.assert_array_equal(pd.collect(y.data, "numpy").native, 2 * X)


def test_block_moves(cards: list[str]) -> None:
    x = pd.from_array(X, 6, devices=cards)
    with pa.config(block_moves="error"):
        created = x.sum()
        with pytest.raises(pa.DeviceMismatchError):
            x.T.dot(x).compute()
        np.testing.assert_array_equal(pd.collect(x + 1, "numpy").native, X + 1)
    with pytest.raises(pa.DeviceMismatchError):
        created.compute()
    with (
        pa.config(block_moves="warn"),
        pytest.warns(pa.PortarrayWarning, match=r"1 values move between devices, 8 bytes"),
    ):
        total = x.sum().compute()
    np.testing.assert_allclose(float(total), X.sum())
    with pytest.raises(ValueError, match="block_moves must be one of error, warn, allow"):
        pa.config(block_moves="never")  # type: ignore[arg-type]


def _worker(block: Any) -> Any:
    from distributed import get_worker

    is_torch = str(get_worker().name).startswith("torch")
    assert block.device.library == ("torch" if is_torch else "numpy"), block.device
    return block + 0


def test_on_a_cluster_each_task_runs_where_its_blocks_are(cluster: Any) -> None:
    if not pa.functional("torch"):
        pytest.skip("needs PyTorch, for a second device")
    with dask.config.set(scheduler=None):
        x = pd.from_array(X, 6, devices=["numpy", "torch"])
        persisted = (x + 1).persist()
        y = pd.to_device(x, "torch").map_blocks(_worker, dtype=x.dtype, meta=x._meta)
        cases = {
            "sum": (x.sum(), X.sum()),
            "mean": (x.mean(axis=0), X.mean(axis=0)),
            "matmul": ((x @ x.T).map_blocks(_worker, dtype=x.dtype, meta=x._meta), X @ X.T),
            "slice": (x[3:10], X[3:10]),
            "rechunk": (x.rechunk((5, 12)), X),
            "persisted": (persisted.T @ persisted, (X + 1).T @ (X + 1)),
            "persisted sum": (persisted.sum(), (X + 1).sum()),
            # The product is of PyTorch's blocks, and only its result is moved.
            "collected": (
                pd.to_device((y @ y.T).map_blocks(_worker, dtype=x.dtype, meta=y._meta), "numpy"),
                X @ X.T,
            ),
        }
        for name, (array, expected) in cases.items():
            result = array.compute().to_device("numpy").native
            np.testing.assert_allclose(result, expected, err_msg=name)
            for row in pd.placement(array):
                workers = pd.workers_of(cluster)
                assert row.device in workers[row.worker]["devices"], (name, row)


@pytest.fixture
def workers_without_devices() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(processes=False, **options) as cluster,
        distributed.Client(cluster) as client,
        dask.config.set(scheduler=None),
    ):
        yield client


def test_on_workers_that_declare_no_devices(workers_without_devices: Any, cards: list[str]) -> None:
    x = pd.from_array(X, 4, cards)
    persisted = (x + 1).persist()  # only the worker knows where its blocks are
    expected = (X + 1).sum(axis=1)
    result = persisted.sum(axis=1).compute()
    assert str(result.device) == cards[0]
    np.testing.assert_allclose(result.to_device("numpy").native, expected)
    with dask.config.set({"array.rechunk.method": "p2p"}):  # Dask's choice for many blocks
        rechunked = x.rechunk((12, 3)).T @ x.rechunk((3, 12)).rechunk((12, 6))
    np.testing.assert_allclose(rechunked.compute().to_device("numpy").native, X.T @ X)
    barrier = pytest.importorskip("distributed.shuffle._core").P2PBarrierTask
    node = barrier("rechunk", sum, (1, 2), spec=None)
    assert scoped(node, pd.scope(platform="cpu")) is node  # `distributed` reads its attributes
