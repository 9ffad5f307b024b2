"""What a task of a region costs, beside the same calls in ``concurrent.futures`` and a loop.

    python benchmarks/tasks.py [--device numpy clarray] [--tasks N] [--repeats N]
                               [--dask] [--json F]

``chain`` is ``y += x`` on 8 numbers, each after the one before; ``apart`` has 100 arrays that take
turns; ``tiles`` has 400 tiles of one matrix, each with two neighbours that are read. Candidates
take turns in one process, and the shortest time of each counts. A pool of threads keeps no order.
With ``--dask`` it is a region on a cluster of two workers, beside ``client.submit`` of functions
that take and return arrays.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import reports
from promises import Target, show_targets

MOST = {"clarray": 320.0}  # microseconds a task
USUALLY = 100.0
SIDE = 20

Calls = Sequence[tuple[Any, ...]]


def add(*arrays: Any) -> None:
    """Add one array to the last."""
    y = arrays[-1]
    y += arrays[0]


def programs(device: Any, count: int) -> dict[str, list[tuple[Any, ...]]]:
    """Return the arguments of calls: what is read, and at the end what is written."""
    import portarray as pa

    x, y = pa.ones(8, device=device), pa.ones(8, device=device)
    many = [pa.ones(8, device=device) for _ in range(100)]
    whole = pa.ones((4 * SIDE, 4 * SIDE), device=device)
    tiles = [
        [whole[4 * i : 4 * i + 4, 4 * j : 4 * j + 4] for j in range(SIDE)] for i in range(SIDE)
    ]
    places = [divmod(k % SIDE**2, SIDE) for k in range(count)]
    return {
        "chain": [(x, y)] * count,
        "apart": [(x, many[k % 100]) for k in range(count)],
        "tiles": [(tiles[i][j - 1], tiles[i - 1][j], tiles[i][j]) for i, j in places],
    }


def candidates(calls: Calls) -> dict[str, Callable[[], None]]:
    """Return what runs the calls."""
    from portarray.tasks import In, InOut, Region

    def region() -> None:
        with Region() as running:
            for *read, written in calls:
                running.spawn(add, *map(In, read), InOut(written))

    def futures() -> None:
        with ThreadPoolExecutor(1) as pool:
            for one in calls:
                pool.submit(add, *one)

    def loop() -> None:
        for one in calls:
            add(*one)

    return {"region": region, "concurrent.futures": futures, "loop": loop}


def added(*arrays: Any) -> Any:
    """Return the sum of one array and the last."""
    return arrays[-1] + arrays[0]


def on_a_cluster(client: Any, calls: Calls) -> dict[str, Callable[[], None]]:
    """Return what runs the calls on a cluster: ``submit`` keeps the last future of each array."""
    from distributed import wait

    from portarray.tasks import In, InOut, Region

    def region() -> None:
        with Region(engine=client) as running:
            for *read, written in calls:
                running.spawn(add, *map(In, read), InOut(written))

    def submit() -> None:
        last: dict[int, Any] = {}
        for one in calls:
            given = [last.get(id(x), x) for x in one]
            last[id(one[-1])] = client.submit(added, *given, pure=False)
        wait(list(last.values()))

    return {"region on Dask": region, "client.submit": submit}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--device", nargs="+", default=["numpy", "clarray"])
    parser.add_argument("--dask", action="store_true")
    given = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    import portarray as pa
    from portarray._cli.bench.report import environment

    machine = environment(map(pa.device, given.device))
    rows: list[dict[str, Any]] = []
    targets = []
    if given.dask:
        from distributed import Client, LocalCluster

        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
        client = Client(cluster)
    for device in map(pa.device, given.device):
        for row, calls in programs(device, given.tasks).items():
            actions = on_a_cluster(client, calls) if given.dask else candidates(calls)
            best = dict.fromkeys(actions, float("inf"))
            for _ in range(given.repeats):
                for name, action in actions.items():
                    begin = time.perf_counter()
                    action()
                    pa.synchronize(device)
                    best[name] = min(best[name], time.perf_counter() - begin)
            each = {name: 1e6 * seconds / given.tasks for name, seconds in best.items()}
            told = ", ".join(f"{name} {cost:.1f} µs" for name, cost in each.items())
            print(f"{device}, {row}: {told}")
            rows.append({"device": str(device), "row": row, "microseconds": each})
            if given.dask:
                ratio = each["region on Dask"] / each["client.submit"]
                promise = f"a task of {row} on {device} costs at most 1.5 of client.submit"
                targets.append(Target(promise, f"{ratio:.2f}", ratio <= 1.5))
            else:
                most = MOST.get(device.library, USUALLY)
                promise = f"a task of {row} on {device} costs at most {most:.0f} µs"
                targets.append(Target(promise, f"{each['region']:.1f} µs", each["region"] <= most))
            reports.write({**machine, "tasks": given.tasks, "rows": rows}, given.json)
    show_targets(targets)
    if given.dask:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
