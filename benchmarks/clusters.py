"""Linear algebra over tiles, beside ``dask.array`` on NumPy chunks and NumPy itself.

    python benchmarks/clusters.py [--quick] [--size N] [--tiles N] [--repeats N] [--json F]
                                     [--rows cholesky matmul process mixed]

``cholesky`` and ``matmul`` run on two workers of one thread each, ``process`` by a region and by
Dask's threads in this process, ``mixed`` on NumPy's and clarray's tiles. BLAS has one thread in
each worker; NumPy's own, in another process, as many as there are workers. Candidates take turns,
and the shortest time of each counts; the load of the machine before and after is printed.
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
from pathlib import Path
from typing import Any

import reports
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
    """Measure NumPy's own function once. Runs in a process with BLAS threads of its own."""
    import numpy as np

    known = numpy_seconds.__dict__
    if known.get("n") != n:
        known.update(n=n, x=values(n))
    x = known["x"]
    begin = time.perf_counter()
    if operation == "cholesky":
        np.linalg.cholesky(x)
    else:
        x @ x
    return time.perf_counter() - begin


@contextmanager
def numpy_itself(n: int) -> Iterator[Callable[[str], Action]]:
    """Yield what makes measurements of NumPy with a thread of BLAS for each worker."""
    for name in THREADS:
        os.environ[name] = str(WORKERS)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(numpy_seconds, "matmul", 8).result()
        for name in THREADS:
            os.environ[name] = "1"
        yield lambda operation: lambda: pool.submit(numpy_seconds, operation, n).result()


def best(actions: dict[str, Action], repeats: int) -> dict[str, float]:
    """Return the shortest time of each candidate; they take turns."""
    found = dict.fromkeys(actions, float("inf"))
    for _ in range(repeats + 1):  # the first is a warm-up, which can only be longer
        for name, action in actions.items():
            found[name] = min(found[name], action())
    return found


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
            before = len(tasks)
            begin = time.perf_counter()
            result = make().persist()
            distributed.wait(result)
            seconds = time.perf_counter() - begin
            del result
            gc.collect()
            while len(tasks) > before:  # else the same keys would be there already
                time.sleep(0.02)
            return seconds

        return action

    def persisted(self, x: Any) -> Any:
        """Return an array whose blocks are on the workers."""
        import distributed

        kept = x.persist()
        distributed.wait(kept)
        return kept


def on_workers(given: argparse.Namespace, rows: dict[str, dict[str, float]]) -> None:
    """Measure on two workers."""
    import dask.array as da

    import portarray.dask as pd

    x = values(given.size)
    with numpy_itself(given.size) as own, Cluster() as cluster:
        plain = cluster.persisted(da.from_array(x, given.tiles))
        tiles = cluster.persisted(pd.from_array(x, given.tiles, "numpy"))
        if "cholesky" in given.rows:
            actions = {
                "dask.array": cluster.timed(lambda: da.linalg.cholesky(plain, lower=True)),
                "portarray": cluster.timed(lambda: pd.linalg.cholesky(tiles)),
                "NumPy itself": own("cholesky"),
            }
            show(rows, "cholesky", "on two workers", best(actions, given.repeats))
        if "matmul" in given.rows:
            actions = {
                "dask.array": cluster.timed(lambda: da.matmul(plain, plain)),
                "portarray": cluster.timed(lambda: pd.linalg.matmul(tiles, tiles)),
                "NumPy itself": own("matmul"),
            }
            show(rows, "matmul", "on two workers", best(actions, given.repeats))


def timed(make: Callable[[], Any]) -> Action:
    """Return what computes a lazy array in threads of this process."""

    def action() -> float:
        lazy = make()
        begin = time.perf_counter()
        lazy.persist(scheduler="threads", num_workers=WORKERS)
        return time.perf_counter() - begin

    return action


def in_process(given: argparse.Namespace, rows: dict[str, dict[str, float]]) -> None:
    """Measure by a region, and by Dask's threads."""
    import dask.array as da

    import portarray.dask as pd

    x = values(given.size)
    plain = da.from_array(x, given.tiles).persist(scheduler="threads")
    tiles = pd.from_array(x, given.tiles, "numpy").persist(scheduler="threads")
    with numpy_itself(given.size) as own:
        actions = {
            "dask.array": timed(lambda: da.linalg.cholesky(plain, lower=True)),
            "portarray": timed(lambda: pd.linalg.cholesky(tiles, engine="region")),
            "NumPy itself": own("cholesky"),
        }
        show(rows, "process", "Cholesky in one process", best(actions, given.repeats))
        actions = {
            "dask.array": timed(lambda: da.matmul(plain, plain)),
            "portarray": timed(lambda: pd.linalg.matmul(tiles, tiles, engine="region")),
            "NumPy itself": own("matmul"),
        }
        show(rows, "process matmul", "product in one process", best(actions, given.repeats))


def mixed(given: argparse.Namespace, rows: dict[str, dict[str, float]]) -> None:
    """Measure with tiles on NumPy, on clarray, and on both."""
    import portarray.dask as pd

    x = values(given.size)
    actions = {}
    for name, devices in (
        ("numpy", "numpy"),
        ("clarray", "clarray"),
        ("both", ["numpy", "clarray"]),
    ):
        tiles = pd.persist(pd.from_array(x, given.tiles, devices))
        actions[name] = timed(partial(pd.linalg.cholesky, tiles, engine="region"))
    show(rows, "mixed", "Cholesky in one process", best(actions, given.repeats))


def show(rows: dict[str, dict[str, float]], row: str, told: str, seconds: dict[str, float]) -> None:
    """Print a row and keep it."""
    figures = ", ".join(f"{name} {1e3 * t:.0f} ms" for name, t in seconds.items())
    print(f"{row}, {told}: {figures}", flush=True)
    rows[row] = seconds


def targets(rows: dict[str, dict[str, float]]) -> Iterator[Target]:
    """Yield what is promised of ratios."""
    for row, other, most, words in (
        ("cholesky", "dask.array", 0.8, "Cholesky on two workers, of dask.array's time"),
        ("cholesky", "NumPy itself", 1.1, "Cholesky on two workers, of NumPy's on two cores"),
        ("matmul", "dask.array", 0.9, "product on two workers, of dask.array's time"),
        ("process", "dask.array", 0.6, "Cholesky by a region, of dask.array's time"),
    ):
        if row in rows:
            ratio = rows[row]["portarray"] / rows[row][other]
            yield Target(f"{words}: at most {most}", f"{ratio:.2f}", ratio <= most)
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
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="smaller, twice")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--size", type=int)
    parser.add_argument("--tiles", type=int)
    every = ["cholesky", "matmul", "process", "mixed"]
    parser.add_argument("--rows", nargs="+", choices=every, default=every)
    given = parser.parse_args()
    given.size = given.size or (1024 if given.quick else 4096)
    given.tiles = given.tiles or (256 if given.quick else 512)
    given.repeats = given.repeats or (2 if given.quick else 7)
    for name in THREADS:
        os.environ[name] = "1"
    print(f"load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    rows: dict[str, dict[str, float]] = {}
    if {"cholesky", "matmul"} & set(given.rows):
        on_workers(given, rows)
    if "process" in given.rows:
        in_process(given, rows)
    if "mixed" in given.rows:
        mixed(given, rows)
    print(f"load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    machine = {"machine": platform.platform(), "python": platform.python_version()}
    sizes = {"size": given.size, "tiles": given.tiles}
    reports.write({**machine, **sizes, "seconds": rows}, given.json)
    show_targets(list(targets(rows)))


if __name__ == "__main__":
    main()
