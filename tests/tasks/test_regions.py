"""Regions: errors, devices, moves, threads, pictures and traces."""

from __future__ import annotations

import contextvars
import gc
import json
import threading
import time
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import portarray as pa
from portarray.tasks import In, InOut, Out, Region, Task
from portarray.testing import virtual_devices


def ones(*shape: int) -> pa.Array:
    return pa.ones(shape or 3, device="numpy")


def _of_jax() -> Any:
    return pytest.importorskip("jax").numpy.ones(3)


def double(x: Any) -> None:
    x *= 2


def broken(*_: Any) -> None:
    raise KeyError("no such tile")


def wait_for(event: threading.Event) -> None:
    assert event.wait(20)


# --- errors --------------------------------------------------------------------------------------


def test_errors_reach_only_dependent_tasks() -> None:
    a, b, c, d = (ones() for _ in range(4))
    region = Region()
    with pytest.raises(ExceptionGroup) as caught, region:  # noqa: PT012
        first = region.spawn(broken, InOut(a), name="factor")
        second = region.spawn(np.add, In(a), In(b))  # reads what was not computed
        third = region.spawn(pa.sum, second)
        apart = region.spawn(double, InOut(b))  # comes after, and needs nothing of it
        whole = region.spawn(lambda x: x.__setitem__(..., 5), Out(a))  # overwrites it
        after = region.spawn(pa.sum, In(a))
        also = region.spawn(double, InOut(c))
        part = region.spawn(double, InOut(d[1:]))
    (error,) = caught.value.exceptions
    assert str(caught.value).startswith("1 of 8 tasks failed, 2 were cancelled")
    assert error is first.exception()
    assert "in task 0, factor on numpy:cpu:0, of " in error.__notes__[0]
    assert "test_regions.py:" in error.__notes__[0]
    assert [t.cancelled() for t in (second, third)] == [True, True]
    for task in (second, third):
        with pytest.raises(pa.TaskCancelledError, match="task 0, factor, failed") as cancelled:
            task.result()
        assert cancelled.value.__cause__ is error
    assert not any(t.cancelled() for t in (apart, whole, after, also, part))
    assert (b.tolist(), c.tolist(), d.tolist()) == ([2.0] * 3, [2.0] * 3, [1.0, 2.0, 2.0])
    assert float(after.result()) == 15.0


def test_tasks_spawned_after_a_failure_are_cancelled_too() -> None:
    x, y = ones(), ones()
    with Region() as region:
        failed = region.spawn(broken, InOut(x))
        assert isinstance(failed.exception(20), KeyError)
        reader = region.spawn(np.add, In(x), In(y))
        assert reader.cancelled()
        indirect = region.spawn(pa.sum, reader)
    assert indirect.cancelled()


def test_tasks_after_a_cancelled_one_wait_for_those_before_it() -> None:
    """A write after a task that is not run still waits for readers before that task."""
    x, y = ones(), ones()
    go = threading.Event()

    def slow(x: Any) -> float:
        wait_for(go)
        return float(pa.sum(x))

    with Region(workers=3) as region:
        reader = region.spawn(slow, In(x))
        failed = region.spawn(broken, InOut(y))
        lost = region.spawn(np.add, In(y), InOut(x))
        writer = region.spawn(lambda x: x.__setitem__(..., 7), Out(x))
        assert isinstance(failed.exception(20), KeyError)
        time.sleep(0.02)
        assert not lost.done()
        assert not writer.done()
        go.set()
    assert reader.result() == 3.0
    assert lost.cancelled()
    assert x.tolist() == [7.0] * 3


def test_a_strided_write_does_not_hide_writes_of_other_elements() -> None:
    x = ones(6)
    go = threading.Event()

    def slow(x: Any) -> None:
        wait_for(go)
        x *= 5

    with Region(workers=2) as region:
        region.spawn(slow, InOut(x[1:3]))
        region.spawn(double, InOut(x[::2]))
        total = region.spawn(pa.sum, In(x[1:2]))  # meets the first alone
        time.sleep(0.02)
        assert not total.done()
        go.set()
    assert float(total.result()) == 5.0
    assert x.tolist() == [2.0, 5.0, 10.0, 1.0, 2.0, 1.0]


def test_an_error_that_was_read_is_not_raised_again() -> None:
    with Region() as region:
        task = region.spawn(broken)
        with pytest.raises(KeyError):
            task.result(20)
    assert isinstance(task.exception(), KeyError)


def test_an_error_in_the_block_cancels_tasks_that_do_not_run() -> None:
    go, began = threading.Event(), threading.Event()
    x = ones()

    def slow(x: Any) -> None:
        began.set()
        wait_for(go)
        x *= 3

    region = Region()
    with pytest.raises(ZeroDivisionError) as caught, region:  # noqa: PT012
        failing = region.spawn(broken, device="numpy")
        first = region.spawn(slow, InOut(x))
        second = region.spawn(double, InOut(x))
        wait_for(began)
        threading.Timer(0.02, go.set).start()
        1 / 0  # noqa: B018
    assert (first.done(), first.cancelled(), second.cancelled()) == (True, False, True)
    assert failing.done()
    assert x.tolist() == [3.0] * 3
    assert "a task also failed: KeyError" in caught.value.__notes__[0]
    with pytest.raises(pa.TaskCancelledError, match="block raised ZeroDivisionError"):
        second.result()


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: Region(workers=0), ValueError, "workers must be .*, got 0"),
        (lambda: Region([]), ValueError, "devices is empty"),
        (lambda: Region("numpy"), TypeError, "must be a list"),  # type: ignore[arg-type]
        (lambda: Region().spawn(double), RuntimeError, "block of the region is not open"),
        (lambda: InOut(3.0), TypeError, "InOut: expected an array, or a list, .* got float"),
        (lambda: Region(workers=2, engine=3), ValueError, "workers must be 1 with an engine"),
        (lambda: InOut(_of_jax()), TypeError, "native arrays of jax:cpu:0 never change"),
    ],
)
def test_invalid_arguments_are_refused(call: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call()


def test_regions_in_regions() -> None:
    x = ones()

    def inner(x: Any) -> None:
        with Region() as region:
            region.spawn(double, InOut(x[:1]))
            region.spawn(double, InOut(x))

    with Region() as region:
        with pytest.raises(RuntimeError, match="in the block of another region"), Region():
            pass
        region.spawn(inner, InOut(x))  # in a task it is the task's own
        late = region.spawn(double, InOut(x))
        nested = region.spawn(lambda: region.spawn(double, InOut(x)))
        waits = region.spawn(lambda: region.spawn)
        assert isinstance(nested.exception(20), RuntimeError)
        assert waits.exception(20) is None
        with pytest.raises(TypeError, match="is the result of a task"):
            In(late)
        with pytest.raises(TypeError, match="must be callable"):
            region.spawn(3)  # type: ignore[arg-type]
    assert x.tolist() == [8.0, 4.0, 4.0]
    with pytest.raises(RuntimeError, match="used before"), region:
        pass


def test_a_task_does_not_wait_for_its_own_region() -> None:
    x = ones()
    with Region() as region:
        tasks: list[Task] = []
        go = threading.Event()
        waits = region.spawn(lambda: (wait_for(go), tasks[0].result()), device="numpy")
        tasks.append(region.spawn(double, InOut(x)))
        go.set()
        with pytest.raises(RuntimeError, match="pass the task as an argument"):
            waits.result(20)
        with pytest.raises(TimeoutError):
            region.spawn(time.sleep, 0.2).result(1e-3)


# --- devices and moves ---------------------------------------------------------------------------


def test_moves_are_tasks_that_run_once() -> None:
    with virtual_devices("cuda", count=2) as (gpu, second_gpu):
        x, y = pa.ones(4, device=gpu), pa.zeros(4, device=second_gpu)
        devices = []

        def add(x: Any, y: Any) -> None:
            devices.append((x.device, y.device, pa.ones(1).device))
            y += x

        with Region([gpu, second_gpu]) as region:
            region.spawn(add, In(x), InOut(y))  # y is there: x is copied
            region.spawn(add, In(x), InOut(y))  # by the same copy
            region.spawn(double, InOut(x))
            region.spawn(add, x, InOut(y))  # not by that: x was written
            region.spawn(double, InOut(y), device=gpu)  # copied there and back
            region.spawn(lambda y: y.__setitem__(..., 3), Out(y[:1]), device=gpu)  # only back
            with pytest.raises(ValueError, match="overlap, and one of them is written"):
                region.spawn(add, In(y[1:]), InOut(y[:2]), device=gpu)
            with pytest.raises(ValueError, match="a task runs on numpy:cpu:0, but the region has"):
                region.spawn(double, InOut(ones()))
            free = [region.spawn(lambda: None) for _ in range(2)]
        assert devices == [(second_gpu, second_gpu, second_gpu)] * 3
        assert y.to_device("numpy").tolist() == [3.0, 8.0, 8.0, 8.0]
        graph = region.graph()
        assert graph.moves == 5
        assert sum(node.kind == "allocate" for node in graph.nodes) == 1
        assert {task.device for task in free} <= {gpu, second_gpu}
        assert all(node.state == "done" for node in graph.nodes)


def test_every_device_computes_and_moves(device: str) -> None:
    x, y = pa.ones(3, device=device), ones()
    with Region() as region:
        for _ in range(3):
            region.spawn(double, InOut(x))
            region.spawn(lambda x, y: y.__iadd__(x), In(x), InOut(y))
    assert (x.tolist(), y.tolist()) == ([8.0] * 3, [15.0] * 3)


def test_native_arrays() -> None:
    x, y = np.ones(3), np.ones(3)
    with Region() as region:
        region.spawn(np.add, In(x), In(y), InOut(x[:]))
        region.spawn(np.multiply, x, x, InOut(y))
    assert (x.tolist(), y.tolist()) == ([2.0] * 3, [4.0] * 3)


def test_arrays_in_containers_are_read_or_as_they_are_marked() -> None:
    with virtual_devices("cuda", count=2) as (device1, device2):
        x, y, z = pa.ones(3, device=device1), pa.ones(3, device=device2), pa.ones(3, device=device1)

        class Pair(NamedTuple):
            a: Any
            b: Any

        def step(inputs: Any, *, options: Any) -> None:
            assert isinstance(inputs, Pair)
            for written in (*options["out"], inputs.b):
                assert inputs.a.device == written.device
                written += inputs.a

        with Region() as region:
            region.spawn(double, InOut(x))
            region.spawn(
                step, Pair(x, InOut(y)), options={"out": InOut([z]), "more": 3}, device=device1
            )
            task = region.spawn(pa.sum, x)
            region.spawn(lambda results, y: y.__imul__(int(results[0])), [task], InOut(y))
            same = [1, (2, "three"), {}]
            echo = region.spawn(lambda value: value, same)
        assert echo.result() is same
        results = [a.to_device("numpy").tolist() for a in (x, y, z)]
        assert results == [[2.0] * 3, [18.0] * 3, [3.0] * 3]


def test_results_are_values_of_the_moment() -> None:
    """A result that shares memory with an argument is copied before later writes."""
    x = ones(4)
    with Region() as region:
        view = region.spawn(lambda x: {"half": x[:2], "one": 1}, In(x))
        itself = region.spawn(np.add, In(x), In(x), InOut(x))
        apart = region.spawn(lambda x: x + 0, In(x))
        region.spawn(double, InOut(x))
    assert view.result()["half"].tolist() == [1.0] * 2
    assert itself.result().tolist() == apart.result().tolist() == [2.0] * 4
    assert x.tolist() == [4.0] * 4


def test_several_workers_and_devices_at_once() -> None:
    """Three tasks that wait for each other run at once: two on one device, one on another."""
    with virtual_devices("cuda", count=2) as devices:
        barrier = threading.Barrier(3, timeout=20)
        with Region(devices, workers=2) as region:
            region.spawn(time.sleep, 0, device=devices[0]).result(20)  # whose worker is idle then
            for k in (0, 0, 1):
                region.spawn(barrier.wait, device=devices[k])


def test_the_longest_chain_is_first() -> None:
    ran: list[str] = []
    go = threading.Event()
    chain, single = ones(), [ones() for _ in range(3)]
    with Region() as region:
        region.spawn(wait_for, go, device="numpy")
        for k in range(3):
            region.spawn(lambda x, k=k: ran.append(f"single {k}"), InOut(single[k]))
        for k in range(4):
            region.spawn(lambda x, k=k: ran.append(f"chain {k}"), InOut(chain))
        threading.Timer(0.05, go.set).start()
    assert ran[:3] == ["chain 0", "chain 1", "chain 2"]
    assert len(ran) == 7


def test_context_variables_of_the_spawning_code_hold_in_tasks() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)
    with Region() as region:
        token = variable.set(1)
        first = region.spawn(variable.get, device="numpy")
        variable.reset(token)
        second = region.spawn(variable.get, device="numpy")
    assert (first.result(), second.result()) == (1, 0)


def test_kernels_are_tasks() -> None:
    import portarray.kernel_language as kl

    @pa.kernel
    def scale(x, factor):  # type: ignore[no-untyped-def]
        i = kl.index()
        x[i] = x[i] * factor

    x = ones(8)
    with Region() as region:
        region.spawn(scale, InOut(x), 3.0)
        region.spawn(double, InOut(x[4:]))
    assert x.tolist() == [3.0] * 4 + [6.0] * 4


def test_memory_is_let_go() -> None:
    x = ones(1000)
    gone = weakref.ref(x)
    with Region() as region:
        region.spawn(pa.sum, In(x)).result(20)
        del x
        gc.collect()
        for _ in range(300):
            region.spawn(double, InOut(ones()))
        region.spawn(double, InOut(ones())).result(20)
        gc.collect()
        assert gone() is None


# --- pictures ------------------------------------------------------------------------------------


def test_graphs_and_traces(tmp_path: Path) -> None:
    x, y = ones(), ones()
    with Region() as region:
        region.spawn(double, InOut(x), name='the "first"')
        region.spawn(np.add, In(x), In(y))
        region.spawn(double, InOut(x))
        region.spawn(lambda x: None, Out(x))
    graph = region.graph()
    assert [(e.first, e.second, e.why) for e in graph.edges] == [
        (0, 1, "read after write"),
        (0, 2, "read after write"),
        (1, 2, "write after read"),
        (2, 3, "write after write"),
    ]
    assert 'n0["the #quot;first#quot;<br>numpy:cpu:0"]' in graph.mermaid()
    assert "n1 -.-> n2" in graph.mermaid()
    assert 'n0 [shape=box, label="the \\"first\\"\\nnumpy:cpu:0"];' in graph.dot()
    region.trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    whole = {e["args"]["task"]: e for e in events if e["ph"] == "X"}
    assert sorted(whole) == [0, 1, 2, 3]
    assert all(e["dur"] >= 0 and "test_regions.py" in e["args"]["spawned"] for e in whole.values())
    flows = [(e["id"], e["ts"]) for e in events if e["ph"] in "sf"]
    assert len(flows) == 8
    starts, ends = dict(flows[::2]), dict(flows[1::2])
    assert all(starts[key] <= ends[key] for key in starts)
    assert [e["args"]["name"] for e in events if e["ph"] == "M"] == ["numpy:cpu:0 0"]
