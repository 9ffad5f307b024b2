"""The cost of a Dask task on portarray and NumPy chunks, and the simulation compared with runs.

    python benchmarks/scaling.py tasks [--tiles N ...] [--repeats N] [--json F]
    python benchmarks/scaling.py graphs [--tiles N ...] [--repeats N] [--json F]
    python benchmarks/scaling.py check [--workers N ...] [--tiles N] [--tile N] [--json F]

``tasks`` computes ``(x + 1).T.sum(axis=0)`` on tiles of 8 x 8 elements, where the work is
negligible. It measures processor time, which other load hardly affects, separately for the client
with the scheduler and for the workers.

``graphs`` builds and optimizes the graph of the same expression over 8 virtual devices and with
NumPy chunks, and reports ratios of processor time and of function calls.

``check`` runs a tiled Cholesky factorization on workers and simulates the same graph, with rates
and the overhead of a task measured before. ``--kind waits`` uses tasks that sleep, as the host does
while a GPU works; there may be more workers than cores.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import reports
import scaling_model
from command_line import parser_of
from scaling_model import Machine

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

CHUNKS = ("numpy chunks", "portarray chunks")


def expression(kind: str, tiles: int) -> Any:
    """Return a lazy Dask array with about that many tiles."""
    import dask.array as da

    import portarray.dask as pd

    side = math.isqrt(tiles)
    shape = (8 * side, 8 * (tiles // side))
    ones = da.ones(shape, chunks=8) if kind == CHUNKS[0] else pd.ones(shape, chunks=8)
    return (ones + 1).T.sum(axis=0)


def tasks(counts: list[int], repeats: int, file: Path | None) -> None:
    """Measure the cost of a task in each process."""
    from distributed import Client, LocalCluster

    import portarray as pa

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    rows = []
    with pa.device("numpy"), LocalCluster(**options) as cluster, Client(cluster) as client:

        def workers() -> float:
            return float(sum(client.run(time.process_time).values()))

        for kind in CHUNKS:
            expression(kind, 4).compute()  # workers import their modules
        for count in counts:
            best: dict[str, dict[str, float]] = {kind: {} for kind in CHUNKS}
            for _ in range(max(1, repeats if count < 5000 else 1)):
                for kind in CHUNKS:
                    parts = one_run(kind, count, client, workers)
                    for part, seconds in parts.items():
                        best[kind][part] = min(best[kind].get(part, math.inf), seconds)
            for kind in CHUNKS:
                task_count = best[kind].pop("tasks")
                per_task = {part: 1e6 * s / task_count for part, s in best[kind].items()}
                costs = ", ".join(f"{part} {cost:.0f}" for part, cost in per_task.items())
                print(
                    f"{count} tiles, {kind}: {task_count:.0f} tasks, µs a task: {costs}", flush=True
                )
                rows.append(
                    {"tiles": count, "chunks": kind, "tasks": task_count, "microseconds": per_task}
                )
            reports.write({"rows": rows, "load": os.getloadavg()[0]}, file)


def one_run(kind: str, count: int, client: Any, workers: Callable[[], float]) -> dict[str, float]:
    """Return the processor seconds of each part of one computation."""
    import dask
    from dask._task_spec import Alias

    start = time.process_time()
    x = expression(kind, count)
    built = time.process_time()
    (y,) = dask.optimize(x)
    optimized = time.process_time()
    graph = dict(y.dask)
    task_count = sum(not isinstance(node, Alias) for node in graph.values())
    held = time.process_time()
    y.compute(scheduler="sync", optimize_graph=False)
    alone = time.process_time()
    worker_start, mine, clock = workers(), time.process_time(), time.perf_counter()
    client.compute(y, optimize_graph=False).result()
    passed, mine = time.perf_counter() - clock, time.process_time() - mine
    return {
        "tasks": float(task_count),
        "build": built - start,
        "optimize": optimized - built,
        "in one thread": alone - held,
        "client and scheduler": mine,
        "workers": workers() - worker_start,
        "clock": passed,
    }


def graphs(counts: list[int], repeats: int, file: Path | None) -> None:
    """Measure the cost of graphs over several devices, relative to NumPy chunks."""
    import dask.array as da

    import portarray.dask as pd
    from portarray.testing import virtual_devices

    rows = []
    with virtual_devices("cuda", count=8) as devices:
        for count in counts:
            side = math.isqrt(count)
            shape = (8 * side, 8 * (count // side))
            builds = {
                CHUNKS[0]: partial(da.ones, shape, chunks=8),
                CHUNKS[1]: partial(pd.ones, shape, chunks=8, devices=devices),
            }
            row: dict[str, Any] = {"tiles": count}
            for kind, build in builds.items():
                built(build)
                profile = cProfile.Profile()
                profile.runcall(built, build)
                row[f"{kind}, calls"] = sum(entry.callcount for entry in profile.getstats())
            for _ in range(repeats):
                for kind, build in builds.items():
                    name, seconds = f"{kind}, seconds", built(build)
                    row[name] = min(row.get(name, math.inf), seconds)
            for unit in ("calls", "seconds"):
                ratio = row[f"{CHUNKS[1]}, {unit}"] / row[f"{CHUNKS[0]}, {unit}"]
                row[f"ratio of {unit}"] = round(ratio, 2)
            print(row, flush=True)
            rows.append(row)
    reports.write({"rows": rows, "load": os.getloadavg()[0]}, file)


def built(build: Callable[[], Any]) -> float:
    """Return the processor seconds of making and optimizing a graph."""
    gc.collect()
    start = time.process_time()
    x = (build() + 1).T.sum(axis=0)
    x.__dask_optimize__(x.dask, x.__dask_keys__())
    return time.process_time() - start


# --- the simulation compared with runs ------------------------------------------------------------


def potrf(a: Any, wait: float) -> Any:
    """Return a Cholesky factor of a tile."""
    import portarray as pa

    return _done(wait, a) if wait else pa.linalg.cholesky(a)


def trsm(l: Any, b: Any, wait: float) -> Any:  # noqa: E741
    """Return b @ inv(l).T."""
    import portarray as pa

    return _done(wait, b) if wait else pa.linalg.solve(l, b.mT).mT


def gemm(x: Any, y: Any, c: Any, wait: float) -> Any:
    """Return c - x @ y.T."""
    return _done(wait, c) if wait else c - x @ y.mT


def _done(wait: float, tile: Any) -> Any:
    time.sleep(wait)
    return tile + 0.0


FUNCTIONS: dict[str, Any] = {"potrf": potrf, "trsm": trsm, "gemm": gemm}


def matrix(i: int, j: int, tile: int, n: int) -> Any:
    """Return a tile of a matrix that has a Cholesky factor."""
    import numpy as np

    import portarray as pa

    values = np.random.default_rng((i, j)).normal(size=(tile, tile))
    return pa.asarray((values + values.T) / 2 + (2.0 * n * tile * np.eye(tile) if i == j else 0))


def run(client: Any, n: int, tile: int, waits: dict[str, float]) -> float:
    """Return the seconds of a factorization whose tasks run on the owner of their tile."""
    from distributed import wait

    addresses = sorted(client.nthreads())
    _, columns = scaling_model.grid(len(addresses))
    rows = len(addresses) // columns

    def owner(i: int, j: int) -> str:
        return str(addresses[(i % rows) * columns + j % columns])

    tiles = {
        ("a", i, j): client.submit(matrix, i, j, tile, n, workers=[owner(i, j)], pure=False)
        for i in range(n)
        for j in range(i + 1)
    }
    wait(list(tiles.values()))
    start = time.perf_counter()
    for kind, out, read in scaling_model.cholesky(n):
        parts = [tiles[key] for key in read]
        workers = [owner(*out[1:])]
        call = FUNCTIONS[kind]
        tiles[out] = client.submit(call, *parts, waits[kind], workers=workers, pure=False)
    wait(list(tiles.values()))
    return time.perf_counter() - start


def rates(tile: int) -> dict[str, float]:
    """Return the operations per second of each kind of task, in this thread."""
    import portarray as pa

    with pa.device("numpy"):
        a, b = matrix(0, 0, tile, 1), matrix(1, 0, tile, 1)
        parts = {"potrf": (a,), "trsm": (potrf(a, 0), b), "gemm": (b, b, a)}
        by_kind = {}
        for kind, args in parts.items():
            seconds = []
            for _ in range(5):
                start = time.thread_time()
                FUNCTIONS[kind](*args, 0)
                seconds.append(time.thread_time() - start)
            by_kind[kind] = scaling_model.WORK[kind] * tile**3 / min(seconds)
    return by_kind


def link(client: Any, tile: int) -> tuple[float, float]:
    """Return the latency and bandwidth between the first two workers."""
    sender, receiver = sorted(client.nthreads())[:2]
    times = []
    for size in (8, tile):
        best = math.inf
        for _ in range(5):
            x = client.submit(matrix, 0, 0, size, 1, workers=[sender], pure=False)
            x.result()
            alone = client.submit(time.perf_counter, workers=[receiver], pure=False)
            alone.result()
            start = time.perf_counter()
            client.submit(len, x, workers=[receiver], pure=False).result()
            best = min(best, time.perf_counter() - start)
        times.append(best)
    start = time.perf_counter()
    for _ in range(5):
        client.submit(len, [0], workers=[receiver], pure=False).result()
    base = (time.perf_counter() - start) / 5
    return max(times[0] - base, 1e-4), 8 * tile**2 / max(times[1] - times[0], 1e-6)


def check(arguments: argparse.Namespace) -> None:
    """Run and simulate."""
    from distributed import Client, LocalCluster

    n, tile = arguments.tiles, arguments.tile
    speeds = rates(tile)
    rows = []
    options = {"threads_per_worker": 1, "dashboard_address": ":0"}
    computed = {kind: scaling_model.WORK[kind] * tile**3 / value for kind, value in speeds.items()}
    waits = {
        kind: arguments.wait * max(0.2, value / computed["gemm"])
        for kind, value in computed.items()
    }
    as_waits = {kind: scaling_model.WORK[kind] * tile**3 / s for kind, s in waits.items()}
    overhead: dict[str, float] = {}
    for workers in arguments.workers:
        with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
            client.wait_for_workers(workers)
            latency, bandwidth = link(client, tile) if workers > 1 else (1e-3, 1e9)
            for name, pause, rate in (
                ("computes", dict.fromkeys(waits, 0.0), speeds),
                ("waits", waits, as_waits),
            ):
                if name not in arguments.kind:
                    continue
                run(client, 2, tile, pause)
                seconds = min(run(client, n, tile, pause) for _ in range(arguments.repeats))
                machine = Machine(rate, latency, bandwidth, arguments.dispatch, 0.0)
                if workers == 1:  # the overhead of a task under the current load
                    simulated = scaling_model.row("cholesky", n, 1, tile, machine)
                    overhead[name] = max(0.0, (seconds - simulated["seconds"]) / simulated["tasks"])
                machine = replace(machine, overhead=overhead.get(name, arguments.overhead))
                simulated = scaling_model.row("cholesky", n, workers, tile, machine)
                predicted = simulated["seconds"]
                print(
                    f"{workers} workers, {name}: {seconds:.3f} s, simulated {predicted:.3f} s, "
                    f"ratio {seconds / predicted:.2f} (latency {latency * 1e3:.2f} ms, "
                    f"{bandwidth / 1e9:.2f} GB/s, overhead "
                    f"{machine.overhead * 1e3:.1f} ms, load {os.getloadavg()[0]:.1f})",
                    flush=True,
                )
                rows.append({**simulated, "measured": seconds, "kind": name, "rates": rate})
            reports.write({"rows": rows}, arguments.json)


def main() -> None:
    """Read the command line and measure."""
    parser = parser_of(__doc__)
    parser.add_argument("what", choices=("tasks", "graphs", "check"))
    parser.add_argument("--tiles", type=int, nargs="+")
    parser.add_argument("--tile", type=int, default=512)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--dispatch", type=float, default=2e-4)
    parser.add_argument("--overhead", type=float, default=3e-4)
    parser.add_argument("--wait", type=float, default=0.05, help="seconds of the longest task")
    parser.add_argument("--kind", nargs="+", default=["computes", "waits"])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.what == "tasks":
        tasks(options.tiles or [10, 100, 1000, 10000], options.repeats, options.json)
    elif options.what == "graphs":
        graphs(options.tiles or [1000, 10000], options.repeats, options.json)
    else:
        options.tiles = (options.tiles or [8])[0]
        check(options)


if __name__ == "__main__":
    main()
