"""Regions on a cluster equal sequential calls, even when workers are lost.

``PORTARRAY_TASKS_EXAMPLES`` is how many programs are drawn; ``PORTARRAY_TASKS_KILLS`` is how many
have a worker killed, and ``PORTARRAY_TASKS_TIMES`` a file for how long each of them took.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed", reason="the extra portarray[dask] is not installed")

import cloudpickle
import dask
from distributed import Client, LocalCluster, Scheduler, SpecCluster, Worker, get_worker
from drawn_programs import Step, drawn, in_a_region, run_sequentially, steps
from hypothesis import given, settings
from hypothesis import strategies as st

import portarray as pa
import portarray.kernel_language as kl
from portarray.dask import scope
from portarray.dask.workers import workers_of
from portarray.tasks import In, InOut, Out, Region, engines
from portarray.testing import virtual_devices

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not find it

ROOT = Path(__file__).parents[2]
EXAMPLES = int(os.environ.get("PORTARRAY_TASKS_EXAMPLES", "30"))
KILLS = int(os.environ.get("PORTARRAY_TASKS_KILLS", "2"))
TIMES = os.environ.get("PORTARRAY_TASKS_TIMES")


def ones(*shape: int) -> pa.Array:
    return pa.ones(shape or 3, device="numpy")


def double(x: Any) -> None:
    x *= 2


def add(x: Any, y: Any) -> None:
    y += x


def broken(*_: Any) -> None:
    raise KeyError("no such tile")


# --- order ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def three() -> list[Any]:
    names = [name for name in ("numpy:cpu", "torch:cpu", "clarray") if pa.functional(name)]
    return [pa.device((names * 3)[k]) for k in range(3)]


# Dask's threads use it while programs are drawn.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@settings(max_examples=EXAMPLES)
@given(program=st.lists(steps, min_size=2, max_size=14))
def test_drawn_programs(shared_client: Any, three: list[Any], program: list[Step]) -> None:
    expected, read = run_sequentially(program)
    arrays, values = in_a_region(program, three, engine=shared_client)
    for actual, serial in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(actual, serial, strict=True)
    assert values == read


@pytest.fixture
def mortal() -> Iterator[Any]:
    """A client of workers that may be killed and are restarted."""
    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    patience = {"distributed.deploy.lost-worker-timeout": "1d"}  # they start again
    with dask.config.set(patience), LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


def _alive(client: Any, killed: int) -> list[int]:
    """Return the workers' processes, after the killed one is replaced."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        client.wait_for_workers(2, timeout=120)
        try:
            client.run(import_module, "portarray.dask.calls")
            pids = sorted(client.run(os.getpid).values())
        except OSError:  # the scheduler has not noticed yet
            pids = []
        if len(pids) == 2 and killed not in pids:
            return pids
        time.sleep(0.05)
    pytest.fail(f"process {killed} was killed, and no worker has come in its place in 120 s")


def test_workers_are_killed(mortal: Any) -> None:
    """Arrays on a killed worker are recomputed."""
    device = pa.device("numpy")
    times, killed = [], 0
    draw = random.Random(20)
    for _ in range(KILLS):
        processes = _alive(mortal, killed)
        program = drawn(draw, draw.randint(30, 60))
        expected, read = run_sequentially(program)
        killed = draw.choice(processes)
        timer = threading.Timer(draw.uniform(0, 0.6), _kill, [killed])
        started = time.perf_counter()
        timer.start()
        arrays, values = in_a_region(program, [device] * 3, engine=mortal)
        times.append(time.perf_counter() - started)
        if TIMES:
            Path(TIMES).write_text(json.dumps(times), "utf-8")
        timer.join()
        for actual, serial in zip(arrays, expected, strict=True):
            np.testing.assert_array_equal(actual, serial, strict=True)
        assert values == read
        assert times[-1] < 120


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


# --- errors --------------------------------------------------------------------------------------


def test_errors_reach_only_dependent_tasks(client: Any) -> None:
    a, b, c, d = (ones() for _ in range(4))
    region = Region(engine=client)
    with pytest.raises(ExceptionGroup) as caught, region:  # noqa: PT012
        region.spawn(double, InOut(a))
        first = region.spawn(broken, InOut(a), name="factor")
        second = region.spawn(np.add, In(a), In(b))  # reads what was not computed
        third = region.spawn(pa.sum, second)
        region.spawn(double, InOut(b))
        lost = region.spawn(double, InOut(a[:1]))
        region.spawn(broken, InOut(d))
        region.spawn(lambda x: x.__setitem__(..., 5), Out(d))  # overwrites it
        after = region.spawn(pa.sum, In(d))
        region.spawn(double, InOut(c[1:]))
    error, second_error = caught.value.exceptions
    assert str(caught.value).startswith("2 of 10 tasks failed, 3 were cancelled")
    assert str(error) == str(second_error) == "'no such tile'"
    assert str(error) == str(first.exception())
    assert "in task 1, factor on numpy:cpu:0, of " in error.__notes__[-1]
    assert [t.cancelled() for t in (second, third, lost)] == [True] * 3
    with pytest.raises(pa.TaskCancelledError, match="task 1, factor, failed") as cancelled:
        third.result()
    assert isinstance(cancelled.value.__cause__, KeyError)
    assert float(after.result()) == 15.0
    # Arrays are as the last task left them that did not fail.
    assert (a.tolist(), b.tolist()) == ([2.0] * 3, [2.0] * 3)
    assert (c.tolist(), d.tolist()) == ([1.0, 2.0, 2.0], [5.0] * 3)


def test_an_error_in_the_block_cancels_unfinished_tasks(client: Any) -> None:
    x = ones()
    region = Region(engine=client)
    with pytest.raises(ZeroDivisionError) as caught, region:  # noqa: PT012
        first = region.spawn(double, InOut(x))
        failed = region.spawn(broken)
        second = region.spawn(_slow, InOut(x), 5.0)
        assert first.result(60) is None
        assert isinstance(failed._region, Region)
        while not failed.done():
            time.sleep(0.01)
        1 / 0  # noqa: B018
    assert (first.cancelled(), second.cancelled()) == (False, True)
    assert x.tolist() == [2.0] * 3
    assert "a task also failed: KeyError" in caught.value.__notes__[0]


def _slow(x: Any, seconds: float) -> None:
    time.sleep(seconds)
    x *= 3


def test_the_cluster_ends() -> None:
    x = ones()
    with LocalCluster(processes=False, n_workers=1, dashboard_address=":0") as cluster:
        client = Client(cluster)
        region = Region(engine=client)
        with pytest.raises(ExceptionGroup) as caught, region:  # noqa: PT012
            region.spawn(double, InOut(x)).result()
            late = region.spawn(_slow, InOut(x), 0.2)
            region._engine.start()
            client.close()
        assert "cancelled" in str(caught.value.exceptions[0])
        assert "in task 1, _slow" in caught.value.exceptions[0].__notes__[-1]
        assert late.done()


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (
            lambda r: r.spawn(double, threading.Lock()),
            TypeError,
            "argument of double must be picklable",
        ),
        (lambda r: r.spawn(threading.Lock().acquire), TypeError, "the function must be picklable"),
    ],
)
def test_arguments_that_cannot_be_sent_are_refused(
    client: Any, call: Any, error: type[Exception], match: str
) -> None:
    with Region(engine=client) as region, pytest.raises(error, match=match):
        call(region)


def test_entry_points_name_modules_that_register_an_engine() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for package, module in project["entry-points"]["portarray.engines"].items():
        import_module(module)
        assert package in engines._FACTORIES


def test_invalid_engines_and_tasks_are_refused(client: Any) -> None:
    with pytest.raises(TypeError, match="no engine is registered for 'dask'"):
        Region(engine="dask")
    with Region() as second:
        task = second.spawn(pa.sum, ones())
    with (
        Region(engine=client) as region,
        pytest.raises(TypeError, match="a task of another region"),
    ):
        region.spawn(pa.sqrt, task)


# --- arrays and results --------------------------------------------------------------------------


def test_arrays_of_every_device(client: Any, device: str) -> None:
    x, y = pa.ones((2, 3), device=device), ones(2, 3)
    with Region(engine=client) as region:
        for _ in range(2):
            region.spawn(double, InOut(x))
            region.spawn(add, In(x), InOut(y))
        where = region.spawn(lambda x: (str(x.device), str(pa.ones(1).device)), x)
        total = region.spawn(pa.sum, x)
        root = region.spawn(pa.sqrt, total)
    name = str(pa.device(device))
    assert where.result() == (name, name)
    assert str(root.result().device) == name
    assert (x.tolist(), y.tolist()) == ([[4.0] * 3] * 2, [[7.0] * 3] * 2)
    assert abs(float(root.result()) - 24**0.5) < 1e-6


def test_containers_native_arrays_and_futures(client: Any) -> None:
    x, y, z = np.ones(3), ones(), pa.ones((), dtype="float32", device="numpy")
    empty = pa.ones((0, 3), device="numpy")
    with Region(engine=client) as region:
        future = client.submit(np.arange, 3.0, pure=False)
        region.spawn(_add_all, InOut(x), [y, {"z": (z, In(empty))}])
        region.spawn(_double_all, InOut([y, (z, empty)]))
        described = region.spawn(lambda x, y: (type(x).__module__, y + identity(y)), x, future)
        both = region.spawn(_two, InOut(y), Out(x[:1]))
        mine = region.spawn(np.add, In(x), In(x), InOut(x[:]))  # returns what it writes
        region.spawn(double, InOut(x))
        third = region.spawn(lambda a, b: [a, b], both, mine)
    assert described.result()[0] == "numpy"
    assert described.result()[1].tolist() == [0.0, 2.0, 4.0]
    assert x.tolist() == [28.0, 12.0, 12.0]
    assert (y.tolist(), float(z)) == ([4.0] * 3, 2.0)
    assert mine.result().tolist() == [14.0, 6.0, 6.0]
    assert third.result()[0] == "both"
    assert third.result()[1].tolist() == [14.0, 6.0, 6.0]


def identity(y: Any) -> Any:
    return y


def _add_all(x: Any, arrays: Any) -> None:
    y, more = arrays
    z, empty = more["z"]
    assert empty.shape == (0, 3)
    x += np.asarray(y) + float(z)


def _double_all(arrays: Any) -> None:
    for array in (arrays[0], *arrays[1]):
        array *= 2


def _two(y: Any, x: Any) -> str:
    y *= 2
    x[...] = 7
    return "both"


def test_views_of_other_orders_and_dtypes(client: Any) -> None:
    x = np.arange(12.0).reshape(3, 4)
    expected = x.copy()
    with Region(engine=client) as region:
        region.spawn(double, InOut(x.T))
        expected *= 2
        region.spawn(add, In(x[:, 1:]), InOut(x[:, :-1][::-1]))
        expected[:, :-1][::-1] += expected[:, 1:].copy()
        region.spawn(double, InOut(x[::-1, ::-2]))
        expected[::-1, ::-2] *= 2
        region.spawn(_second_bytes, InOut(x.view(np.uint8)[1:]))
        expected.view(np.uint8)[1:, 1::8] = 0
    assert x.tolist() == expected.tolist()


def _second_bytes(x: Any) -> None:
    x[:, 1::8] = 0


def test_arrays_that_overlap_on_a_device_with_memory_of_its_own(client: Any) -> None:
    with virtual_devices("cuda") as (device,):
        x = pa.ones(4, device=device)
        with (
            Region(engine=client) as region,
            pytest.raises(ValueError, match="overlap, and one of them is written"),
        ):
            region.spawn(add, In(x[1:]), InOut(x[:-1]))


def test_kernels_are_tasks(client: Any) -> None:
    @pa.kernel
    def scale(x, factor):  # type: ignore[no-untyped-def]
        i = kl.index()
        x[i] = x[i] * factor

    x = ones(8)
    with Region(engine=client) as region:
        region.spawn(scale, InOut(x), 3.0)
        region.spawn(double, InOut(x[4:]))
    assert x.tolist() == [3.0] * 4 + [6.0] * 4


def test_versions_that_nobody_needs_are_let_go(client: Any) -> None:
    x, y = ones(1000), ones(1000)
    with Region(engine=client) as region:
        for _ in range(10):
            region.spawn(double, InOut(x))
        total = region.spawn(lambda x, y: x.sum(), In(x), InOut(y))
        total.result(60)
        until = time.monotonic() + 20
        while True:
            mine = _held(client, region)
            if len(mine) <= 2 or time.monotonic() > until:
                break
            time.sleep(0.02)
        assert [key.partition("-")[0] for key in mine] == ["_lambda_", "double"]
    assert x[0] == 1024.0
    while _held(client, region):
        assert time.monotonic() < until + 20
        time.sleep(0.02)


def _held(client: Any, region: Any) -> list[str]:
    keys = {key for keys in client.has_what().values() for key in keys}
    return sorted(key for key in keys if region._engine._name in key)


# --- where and in which order --------------------------------------------------------------------


def test_the_longest_chain_is_first(client: Any) -> None:
    chain, singles = ones(), [ones() for _ in range(12)]
    with Region(engine=client) as region:
        for single in singles:
            region.spawn(_slow, InOut(single), 0.01, name="single")
        for _ in range(8):
            region.spawn(_slow, InOut(chain), 0.01, name="chain")
    region._engine.record_times(region._nodes)
    ends: dict[str, list[int]] = {}
    for node in region._nodes:
        ends.setdefault(node.name, []).append(node.end)
    assert sorted(ends["single"])[-4] > sorted(ends["chain"])[0]
    heights = [node.height for node in region._nodes]
    assert heights == [0] * 12 + list(range(7, -1, -1))


def test_tasks_go_to_workers_that_declare_their_device() -> None:
    if not pa.functional("torch"):
        pytest.skip("one device alone")
    names = ["numpy:cpu:0", "torch:cpu:0"]
    workers = {
        name: {"cls": Worker, "options": {"resources": {name: 1}, "nthreads": 1}} for name in names
    }
    scheduler = {"cls": Scheduler, "options": {"dashboard_address": ":0"}}
    with SpecCluster(workers=workers, scheduler=scheduler) as cluster, Client(cluster) as client:
        addresses = {info["devices"][0]: where for where, info in workers_of(client).items()}
        x, y = (pa.ones(2, device=name) for name in names)
        with Region(engine=client) as region:
            for _ in range(3):
                region.spawn(double, InOut(x))
                region.spawn(add, In(x), InOut(y))
            with pytest.raises(ValueError, match="the workers declare numpy:cpu:0, torch:cpu:0"):
                region.spawn(double, device="clarray" if pa.functional("clarray") else "jax")
        assert (x.tolist(), y.tolist()) == ([8.0] * 2, [15.0] * 2)
        region._engine.record_times(region._nodes)
        for node in region._nodes:
            assert node.worker.startswith(addresses[str(node.device)])


def test_tasks_keep_the_scope_they_are_spawned_in(client: Any) -> None:
    addresses = sorted(client.has_what())
    tasks = []
    with Region(engine=client) as region:
        for address in addresses * 3:
            with scope(worker=address):
                tasks.append(region.spawn(_where))
        with scope(worker=addresses[0]):
            free = region.spawn(_where)
            assert free.result() == addresses[0]
    assert [task.result() for task in tasks] == addresses * 3


def _where() -> str:
    return str(get_worker().address)


def test_graphs_and_traces(client: Any, tmp_path: Path) -> None:
    x, y = ones(), ones()
    with Region(engine=client) as region:
        region.spawn(double, InOut(x), name='the "first"')
        region.spawn(np.add, In(x), In(y))
        region.spawn(double, InOut(x))
        region.spawn(lambda x: None, Out(y))
    graph = region.graph()
    assert [(e.first, e.second, e.why) for e in graph.edges] == [
        (0, 1, "read after write"),
        (0, 2, "read after write"),
    ]
    assert [node.state for node in graph.nodes] == ["done"] * 4
    region.trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    whole = {e["args"]["task"]: e for e in events if e["ph"] == "X"}
    assert sorted(whole) == [0, 1, 2, 3]
    assert all(e["dur"] >= 0 for e in whole.values())
    rows = [e["args"]["name"] for e in events if e["ph"] == "M"]
    assert all(name.startswith("tcp://") for name in rows)
    assert len([e for e in events if e["ph"] in "sf"]) == 4
