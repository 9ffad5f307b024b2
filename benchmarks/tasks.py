"""The cost of a task in a region, compared with ``concurrent.futures`` and a loop.

    python benchmarks/tasks.py [--device numpy clarray] [--tasks N] [--repeats N]
                               [--dask] [--json F]

``chain`` is ``y += x`` on 8 elements, each call after the previous one; ``apart`` alternates
between 100 arrays; ``tiles`` has 400 tiles of one matrix, each with two neighbours that are read.
Candidates alternate in one process; the shortest time of each counts. Thread pools keep no order.
``--dask`` compares a region on a cluster of two workers with ``client.submit``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import reports
from command_line import parser_of, set_threads
from promises import Target, show_targets

LIMITS = {"clarray": 320.0}  # microseconds per task
DEFAULT_LIMIT = 100.0
SIDE = 20

Calls = Sequence[tuple[Any, ...]]


def add(*arrays: Any) -> None:
    """Add one array to the last."""
    y = arrays[-1]
    y += arrays[0]


def programs(device: Any, count: int) -> dict[str, list[tuple[Any, ...]]]:
    """Return the arguments of calls; the last one is written."""
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
    """Return functions that run the calls."""
    from portarray.tasks import In, InOut, Region

    def region() -> None:
        with Region() as running:
            for *read, written in calls:
                running.spawn(add, *map(In, read), InOut(written))

    def futures() -> None:
        with ThreadPoolExecutor(1) as pool:
            for arrays in calls:
                pool.submit(add, *arrays)

    def loop() -> None:
        for arrays in calls:
            add(*arrays)

    return {"region": region, "concurrent.futures": futures, "loop": loop}


def added(*arrays: Any) -> Any:
    """Return the sum of one array and the last."""
    return arrays[-1] + arrays[0]


def on_a_cluster(client: Any, calls: Calls) -> dict[str, Callable[[], None]]:
    """Return functions that run the calls on a cluster."""
    from distributed import wait

    from portarray.tasks import In, InOut, Region

    def region() -> None:
        with Region(engine=client) as running:
            for *read, written in calls:
                running.spawn(add, *map(In, read), InOut(written))

    def submit() -> None:
        last: dict[int, Any] = {}
        for arrays in calls:
            arguments = [last.get(id(x), x) for x in arrays]
            last[id(arrays[-1])] = client.submit(added, *arguments, pure=False)
        wait(list(last.values()))

    return {"region on Dask": region, "client.submit": submit}


def main() -> None:
    """Measure, print and write."""
    parser = parser_of(__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--device", nargs="+", default=["numpy", "clarray"])
    parser.add_argument("--dask", action="store_true")
    options = parser.parse_args()
    set_threads(1)
    import portarray as pa
    from portarray._cli.bench.report import environment

    machine = environment(map(pa.device, options.device))
    rows: list[dict[str, Any]] = []
    targets = []
    if options.dask:
        from distributed import Client, LocalCluster

        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
        client = Client(cluster)
    for device in map(pa.device, options.device):
        for row, calls in programs(device, options.tasks).items():
            actions = on_a_cluster(client, calls) if options.dask else candidates(calls)
            best = dict.fromkeys(actions, float("inf"))
            for _ in range(options.repeats):
                for name, action in actions.items():
                    start = time.perf_counter()
                    action()
                    pa.synchronize(device)
                    best[name] = min(best[name], time.perf_counter() - start)
            per_task = {name: 1e6 * seconds / options.tasks for name, seconds in best.items()}
            costs = ", ".join(f"{name} {cost:.1f} µs" for name, cost in per_task.items())
            print(f"{device}, {row}: {costs}")
            rows.append({"device": str(device), "row": row, "microseconds": per_task})
            if options.dask:
                ratio = per_task["region on Dask"] / per_task["client.submit"]
                promise = f"a task of {row} on {device} costs at most 1.5 of client.submit"
                targets.append(Target(promise, f"{ratio:.2f}", ratio <= 1.5))
            else:
                most = LIMITS.get(device.library, DEFAULT_LIMIT)
                promise = f"a task of {row} on {device} costs at most {most:.0f} µs"
                targets.append(
                    Target(promise, f"{per_task['region']:.1f} µs", per_task["region"] <= most)
                )
            reports.write({**machine, "tasks": options.tasks, "rows": rows}, options.json)
    show_targets(targets)
    if options.dask:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
