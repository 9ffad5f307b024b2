"""Tiled linear algebra, compared with ``dask.array`` on NumPy chunks and with NumPy.

    python benchmarks/clusters.py [--quick] [--size N] [--tiles N] [--repeats N] [--json F]
                                     [--rows cholesky matmul process mixed]

``cholesky`` and ``matmul`` run on two single-threaded workers, ``process`` in a region and on
Dask's threads in this process, and ``mixed`` on NumPy's and clarray's tiles. BLAS has one thread in
each worker; NumPy, in another process, has one per worker. Candidates alternate, and the shortest
time of each counts. The machine's load before and after is printed.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from typing import Any

import reports
from command_line import parser_of
from promises import Target, show_targets

WORKERS = 2
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

Action = Callable[[], float]


def values(n: int) -> Any:
    """Return a symmetric positive definite matrix."""
    import numpy as np

    x = np.random.default_rng(0).normal(size=(n, n))
    return x @ x.T / n + 2 * np.eye(n)


def numpy_seconds(operation: str, n: int) -> float:
    """Measure NumPy's function once, in a process with separate BLAS threads."""
    import numpy as np

    cache = numpy_seconds.__dict__
    if cache.get("n") != n:
        cache.update(n=n, x=values(n))
    x = cache["x"]
    start = time.perf_counter()
    if operation == "cholesky":
        np.linalg.cholesky(x)
    else:
        x @ x
    return time.perf_counter() - start


@contextmanager
def numpy_itself(n: int) -> Iterator[Callable[[str], Action]]:
    """Yield a function that measures NumPy with one BLAS thread per worker."""
    for name in THREADS:
        os.environ[name] = str(WORKERS)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(numpy_seconds, "matmul", 8).result()
        for name in THREADS:
            os.environ[name] = "1"
        yield lambda operation: lambda: pool.submit(numpy_seconds, operation, n).result()


def best(actions: dict[str, Action], repeats: int) -> dict[str, float]:
    """Return the shortest time of each candidate; candidates alternate."""
    shortest = dict.fromkeys(actions, float("inf"))
    for _ in range(repeats + 1):  # the first is a warm-up, which can only be longer
        for name, action in actions.items():
            shortest[name] = min(shortest[name], action())
    return shortest


class Cluster:
    """Workers of one thread, and matrices on them."""

    def __init__(self) -> None:
        import distributed

        options = {"n_workers": WORKERS, "threads_per_worker": 1, "dashboard_address": None}
        self.cluster = distributed.LocalCluster(**options)
        self.client = distributed.Client(self.cluster)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.cluster.close()

    def timed(self, make: Callable[[], Any]) -> Action:
        """Return what computes a lazy array anew and keeps its blocks on the workers."""
        import distributed

        def action() -> float:
            tasks = self.cluster.scheduler.tasks
            task_count = len(tasks)
            start = time.perf_counter()
            result = make().persist()
            distributed.wait(result)
            seconds = time.perf_counter() - start
            del result
            gc.collect()
            while len(tasks) > task_count:  # else the same keys would be there already
                time.sleep(0.02)
            return seconds

        return action

    def persisted(self, x: Any) -> Any:
        """Return an array whose blocks are on the workers."""
        import distributed

        persisted_array = x.persist()
        distributed.wait(persisted_array)
        return persisted_array


def on_workers(options: argparse.Namespace, rows: dict[str, dict[str, float]]) -> None:
    """Measure on two workers."""
    import dask.array as da

    import portarray.dask as pd

    x = values(options.size)
    with numpy_itself(options.size) as numpy_action, Cluster() as cluster:
        plain = cluster.persisted(da.from_array(x, options.tiles))
        tiles = cluster.persisted(pd.from_array(x, options.tiles, "numpy"))
        if "cholesky" in options.rows:
            actions = {
                "dask.array": cluster.timed(lambda: da.linalg.cholesky(plain, lower=True)),
                "portarray": cluster.timed(lambda: pd.linalg.cholesky(tiles)),
                "NumPy itself": numpy_action("cholesky"),
            }
            show(rows, "cholesky", "on two workers", best(actions, options.repeats))
        if "matmul" in options.rows:
            actions = {
                "dask.array": cluster.timed(lambda: da.matmul(plain, plain)),
                "portarray": cluster.timed(lambda: pd.linalg.matmul(tiles, tiles)),
                "NumPy itself": numpy_action("matmul"),
            }
            show(rows, "matmul", "on two workers", best(actions, options.repeats))


def timed(make: Callable[[], Any]) -> Action:
    """Return what computes a lazy array in threads of this process."""

    def action() -> float:
        lazy = make()
        start = time.perf_counter()
        lazy.persist(scheduler="threads", num_workers=WORKERS)
        return time.perf_counter() - start

    return action


def in_process(options: argparse.Namespace, rows: dict[str, dict[str, float]]) -> None:
    """Measure by a region, and by Dask's threads."""
    import dask.array as da

    import portarray.dask as pd

    x = values(options.size)
    plain = da.from_array(x, options.tiles).persist(scheduler="threads")
    tiles = pd.from_array(x, options.tiles, "numpy").persist(scheduler="threads")
    with numpy_itself(options.size) as numpy_action:
        actions = {
            "dask.array": timed(lambda: da.linalg.cholesky(plain, lower=True)),
            "portarray": timed(lambda: pd.linalg.cholesky(tiles, engine="region")),
            "NumPy itself": numpy_action("cholesky"),
        }
        show(rows, "process", "Cholesky in one process", best(actions, options.repeats))
        actions = {
            "dask.array": timed(lambda: da.matmul(plain, plain)),
            "portarray": timed(lambda: pd.linalg.matmul(tiles, tiles, engine="region")),
            "NumPy itself": numpy_action("matmul"),
        }
        show(rows, "process matmul", "product in one process", best(actions, options.repeats))


def mixed(options: argparse.Namespace, rows: dict[str, dict[str, float]]) -> None:
    """Measure with tiles on NumPy, on clarray, and on both."""
    import portarray.dask as pd

    x = values(options.size)
    actions = {}
    for name, devices in (
        ("numpy", "numpy"),
        ("clarray", "clarray"),
        ("both", ["numpy", "clarray"]),
    ):
        tiles = pd.persist(pd.from_array(x, options.tiles, devices))
        actions[name] = timed(partial(pd.linalg.cholesky, tiles, engine="region"))
    show(rows, "mixed", "Cholesky in one process", best(actions, options.repeats))


def show(
    rows: dict[str, dict[str, float]], row: str, title: str, seconds: dict[str, float]
) -> None:
    """Print a row and keep it."""
    figures = ", ".join(f"{name} {1e3 * t:.0f} ms" for name, t in seconds.items())
    print(f"{row}, {title}: {figures}", flush=True)
    rows[row] = seconds


def targets(rows: dict[str, dict[str, float]]) -> Iterator[Target]:
    """Yield what is promised of ratios."""
    for row, peer, most, label in (
        ("cholesky", "dask.array", 0.8, "Cholesky on two workers, of dask.array's time"),
        ("cholesky", "NumPy itself", 1.1, "Cholesky on two workers, of NumPy's on two cores"),
        ("matmul", "dask.array", 0.9, "product on two workers, of dask.array's time"),
        ("process", "dask.array", 0.6, "Cholesky by a region, of dask.array's time"),
    ):
        if row in rows:
            ratio = rows[row]["portarray"] / rows[row][peer]
            yield Target(f"{label}: at most {most}", f"{ratio:.2f}", ratio <= most)
    if "mixed" in rows:
        row_ = rows["mixed"]
        ratio = row_["both"] / min(row_["numpy"], row_["clarray"])
        yield Target(
            "Cholesky on NumPy's and clarray's tiles, of the better one's alone: at most 1",
            f"{ratio:.2f}",
            ratio <= 1,
        )


def main() -> None:
    """Measure, print and write."""
    parser = parser_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller, twice")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--size", type=int)
    parser.add_argument("--tiles", type=int)
    every = ["cholesky", "matmul", "process", "mixed"]
    parser.add_argument("--rows", nargs="+", choices=every, default=every)
    options = parser.parse_args()
    options.size = options.size or (1024 if options.quick else 4096)
    options.tiles = options.tiles or (256 if options.quick else 512)
    options.repeats = options.repeats or (2 if options.quick else 7)
    for name in THREADS:
        os.environ[name] = "1"
    print(f"load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    rows: dict[str, dict[str, float]] = {}
    if {"cholesky", "matmul"} & set(options.rows):
        on_workers(options, rows)
    if "process" in options.rows:
        in_process(options, rows)
    if "mixed" in options.rows:
        mixed(options, rows)
    print(f"load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    machine = {"machine": platform.platform(), "python": platform.python_version()}
    sizes = {"size": options.size, "tiles": options.tiles}
    reports.write({**machine, **sizes, "seconds": rows}, options.json)
    show_targets(list(targets(rows)))


if __name__ == "__main__":
    main()
