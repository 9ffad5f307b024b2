"""Scopes: the workers and devices of tasks, and scopes without a worker."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.array", reason="the extra portarray[dask] is not installed")

import dask
import dask.array as da
from dask._task_spec import Task
from hypothesis import given
from hypothesis import strategies as st

import portarray as pa
import portarray.dask as pd
from portarray.dask.scoped_tasks import Scoped

pytestmark = pytest.mark.one_device  # the devices are those of the cluster

scope = pd.scope
NUMPY, TORCH, SECOND = "numpy:cpu:0", "torch:cpu:0", "numpy:cpu:0-2"

MET: dict[str, tuple[Callable[[], pd.Scope], set[str]]] = {
    "library": (lambda: scope(library="torch"), {TORCH}),
    "platform": (lambda: scope(platform="cpu"), {NUMPY, TORCH, SECOND}),
    "device": (lambda: scope(device="numpy:cpu:0"), {NUMPY, SECOND}),
    "a part of a device": (lambda: scope(device="cpu:0"), {NUMPY, TORCH, SECOND}),
    "a device": (lambda: scope(device=pa.device("numpy")), {NUMPY, SECOND}),
    "devices": (lambda: scope(device={"torch", "cuda:0"}), {TORCH}),
    "libraries": (lambda: scope(library={"torch", "cupy"}), {TORCH}),
    "worker": (lambda: scope(worker=SECOND), {SECOND}),
    "workers": (lambda: scope(worker=[SECOND, TORCH]), {SECOND, TORCH}),
    "worker and device": (lambda: scope(worker=[SECOND, TORCH], library="numpy"), {SECOND}),
    "host": (lambda: scope(worker="127.0.0.1", index=0), {NUMPY, TORCH, SECOND}),
    "union": (lambda: scope(worker=SECOND) | scope(library="torch"), {SECOND, TORCH}),
    "both": (lambda: (scope(index=0) | scope(index=1)) & scope(device="torch"), {TORCH}),
    "one is nowhere": (lambda: scope(platform="cuda") | scope(worker=NUMPY), {NUMPY}),
}


@pytest.fixture
def names(cluster: Any) -> dict[str, str]:
    """Names of the workers by address."""
    if not pa.functional("torch"):
        pytest.skip("needs PyTorch, for a second device")
    return {address: worker["name"] for address, worker in pd.workers_of(cluster).items()}


def _inside(*_: Any) -> str:
    return str(pa.ones(1).device)


def _worker(*_: Any) -> str:
    from distributed import get_worker

    return str(get_worker().name)


def _broadcast_block(block: Any) -> Any:
    return block + pa.ones(block.shape, dtype=block.dtype)


@pytest.mark.parametrize("case", MET)
def test_everything_created_in_a_scope_runs_in_it(
    case: str, cluster: Any, names: dict[str, str]
) -> None:
    make, expected = MET[case]
    with make():
        x = pd.ones((6, 6), chunks=2)
        y = da.ones((6, 6), chunks=2).map_blocks(pa.asarray, meta=x._meta)
        z = pd.to_device(da.arange(36, chunks=6).reshape(6, 6).rechunk(2), None)
        delayed = dask.delayed(_worker)()
        futures = cluster.map(_worker, range(6), pure=False)
        inside = cluster.submit(_inside, pure=False)
    for array in (x, y, z):
        rows = pd.placement(array)  # not persisted: through Delayed
        assert {names[row.worker] for row in rows} <= expected, case
        assert all(names[row.worker].startswith(row.device) for row in rows)
        rows = pd.placement(pd.persist(array))
        assert {names[row.worker] for row in rows} <= expected, case
    assert delayed.compute() in expected
    assert set(cluster.gather(futures)) <= expected
    libraries = {name.partition(":")[0] for name in expected}
    assert inside.result().partition(":")[0] in libraries
    if len(libraries) == 1:  # made outside: goes where its operands are
        assert float((x + y).sum().compute()) == 72


def test_scopes_in_scopes(cluster: Any, names: dict[str, str]) -> None:
    with scope(library="torch") | scope(worker=SECOND), scope(device="numpy"):
        x = pd.ones(8, chunks=1)
        with (
            pytest.raises(pd.ScopeError, match="no device or worker meets both"),
            scope(library="cupy"),
        ):
            raise AssertionError
    y = x.map_blocks(_broadcast_block)
    assert {names[row.worker] for row in pd.placement(pd.persist(x))} == {SECOND}
    assert {row.device for row in pd.placement(pd.persist(y))} == {NUMPY}
    assert dask.get_annotations() == {}
    with (
        scope(library="torch"),
        pytest.raises(pd.ScopeError, match="no device or worker meets both"),
    ):
        pd.ones(3, devices="numpy")
    with pytest.raises(ValueError, match="no limit was passed"):
        scope()


def test_blocks_are_on_workers_that_have_their_device(cluster: Any, names: dict[str, str]) -> None:
    x = pd.persist(pd.ones((8, 8), chunks=2, devices=["numpy", "torch"]))
    y = pd.persist(pd.to_device(x, "torch"))
    z = pd.persist(y.map_blocks(_double) @ y)  # follows its operands, although they are persisted
    for array in (x, y, z):
        for row in pd.placement(array).verify():
            assert names[row.worker].startswith(row.device)
    assert {row.device for row in pd.placement(z)} == {TORCH}
    np.testing.assert_array_equal(pd.collect(z).native, np.full((8, 8), 16.0))


def _double(block: Any) -> Any:
    return block * 2


def test_a_scope_that_nobody_meets_lists_the_workers(cluster: Any) -> None:
    has = r"no worker meets scope\(platform='cuda', index=3\).*numpy:cpu:0-2 \(tcp.*\) has numpy"
    with scope(platform="cuda", index=3):
        x = pd.ones((6, 6), chunks=2)
        delayed = dask.delayed(_inside)()
        future = cluster.submit(_inside, pure=False)
    with scope(worker=SECOND):
        both = cluster.submit(_inside, workers=[NUMPY], pure=False)
    with pytest.raises(pd.ScopeError, match=r"no worker of workers=\['tcp.* meets scope\(worker"):
        both.result(timeout=30)
    computed: list[Callable[[], Any]] = [
        x.compute,
        (x + 1).sum().compute,
        lambda: pd.persist(x).compute(),
        delayed.compute,
        lambda: future.result(timeout=30),
    ]
    for compute in computed:
        with pytest.raises(pd.ScopeError, match=has):
            compute()


def _drawn_scopes() -> st.SearchStrategy[pd.Scope]:
    def some(*values: Any) -> st.SearchStrategy[Any]:
        return st.none() | st.sets(st.sampled_from(values), min_size=1)

    fields = st.fixed_dictionaries(
        {
            "platform": some("cpu", "cuda"),
            "library": some("torch", "numpy", "cupy"),
            "index": some(0, 1),
            "worker": some("a", "b"),
        }
    ).filter(lambda drawn: any(drawn.values()))
    scopes = fields.map(lambda drawn: scope(**drawn))
    return st.lists(scopes, min_size=1, max_size=3).map(lambda several: reduce(or_, several))


WORKERS = {
    "a": ["numpy:cpu:0", "torch:cuda:0", "torch:cuda:1"],
    "b": ["torch:cpu:0", "cupy:cuda:1"],
}


def _met(within: pd.Scope) -> set[tuple[str, str]]:
    return {(w, d) for w, has in WORKERS.items() for d in within.devices([w], has) or ()}


@given(_drawn_scopes(), _drawn_scopes())
def test_unions_and_intersections_of_drawn_scopes(a: pd.Scope, b: pd.Scope) -> None:
    assert _met(a | b) == _met(a) | _met(b)
    try:
        both = a & b
    except pd.ScopeError:
        assert not _met(a) & _met(b)
    else:
        assert _met(both) == _met(a) & _met(b)
    assert eval(repr(a), {"scope": scope}) == a


def test_scopes_in_this_process() -> None:
    with scope(device="numpy"):
        x = pd.ones((4, 4), chunks=2).map_blocks(_broadcast_block)
    assert {row.device for row in pd.placement(x)} == {NUMPY} or not _local()
    with dask.config.set(scheduler="threads"):
        assert str(x.compute().device) == NUMPY
        with scope(device="numpy"):
            moved = pd.to_device(da.ones(4, chunks=2), None)
            with scope(worker="node1"):
                nowhere = moved + 1
        assert str(moved.compute().device) == NUMPY
        with pytest.raises(pd.ScopeError, match="names workers, but threads"):
            nowhere.compute()
        with scope(platform="tpu"):
            nowhere = pd.ones(3)
        with pytest.raises(pd.ScopeError, match=r"no device .* meets .*; there are .*numpy:cpu:0"):
            nowhere.compute()


def _local() -> bool:
    return dask.base.get_scheduler() is None


def test_tasks_are_fused_within_one_scope() -> None:
    """Tasks are fused within a scope, never across scopes; other annotations stay."""
    a, b = scope(device="numpy"), scope(platform="cpu")
    with a:
        x = pd.ones((4, 4), chunks=2)
        x = (x + 1).map_blocks(_double)
    with b:
        y = (x * 3).map_blocks(_double)
    with dask.annotate(resources={"tokens": 1}, retries=2):
        z = pd.to_device(y, "numpy").map_blocks(_double)[:, ::-1]
    graph = z.__dask_optimize__(z.dask, z.__dask_keys__())
    tasks = [
        (layer.annotations or {}, node)
        for layer in graph.layers.values()
        for node in layer.values()
        if isinstance(node, Task)
    ]
    assert len(tasks) == 12  # three for each block
    assert all(type(node) is Scoped and "portarray" not in note for note, node in tasks)
    tasks_by_scope = {repr(node.func): (note, node.func) for note, node in tasks}
    assert set(tasks_by_scope) == {
        repr(a),
        repr(b),
        "scope(platform='cpu', library='numpy', index=0)",
    }
    placed = next(note for note, within in tasks_by_scope.values() if within.placed)
    assert placed == {"resources": {"tokens": 1}, "retries": 2}
    with dask.config.set(scheduler="sync"):
        np.testing.assert_array_equal(pd.collect(z).native, np.full((4, 4), 48.0))


def test_placed_blocks_need_no_more_tasks() -> None:
    """Devices of blocks cost no more tasks than none."""
    counts = []
    for devices in (None, "numpy", ["numpy", "numpy:cpu:0"]):
        x = pd.from_array(np.ones((4, 4)), 2, devices) + 1
        graph = x.__dask_optimize__(x.dask, x.__dask_keys__())
        counts.append(len(dict(graph)))
    assert counts[1] == counts[2] == 4 <= counts[0]  # Dask's own has aliases of fused tasks
