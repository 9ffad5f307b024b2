"""Overhead of portarray chunks in Dask, compared with NumPy chunks, and the cost of sending them.

:func:`overhead` computes the same ``dask.array`` expressions on NumPy chunks and on portarray
chunks on ``numpy``. :func:`transfers` sends a chunk of 64 MB between worker processes, compared
with an ndarray of the same size. Candidates alternate in random order; the shortest times count.
Results are ratios. Missed targets are printed and raise no error.

    python benchmarks/cluster_overhead.py [--devices DEVICE ...] [--repeats N] [--json FILE]
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np
from command_line import parser_of
from distributed import Client, LocalCluster, wait
from promises import Target, show_targets

import portarray as pa
import portarray.dask as pd

__all__ = ["overhead", "transfers"]

os.environ.setdefault("JAX_ENABLE_X64", "1")  # read when JAX is imported, by workers too

SIZE, CHUNKS = 4000, 1000
MEGABYTES = 64
TARGET_OVERHEAD = 1.1
TARGETS = {"numpy": 1.1, "torch": 1.1, "clarray": 1.1, "mlx": 1.6, "jax": 1.6, "dpnp": 2.0}


def plus_one(block: Any) -> Any:
    """Return the block plus one."""
    return block + 1.0


EXPRESSIONS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(axis=0),
    "matmul": lambda x: (x @ x).sum(),
    "map_blocks": lambda x: x.map_blocks(plus_one).sum(axis=1),
}


def in_turn(candidates: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, float]:
    """Return the shortest time that each candidate returns."""
    best = dict.fromkeys(candidates, float("inf"))
    order = list(candidates)
    for _ in range(repeats):
        random.shuffle(order)
        for name in order:
            best[name] = min(best[name], candidates[name]())
    return best


def cluster(workers: int) -> LocalCluster:
    """Return a cluster of worker processes with one thread each and no memory limits."""
    options = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    return LocalCluster(n_workers=workers, processes=True, **options)


def overhead(repeats: int = 15) -> dict[str, dict[str, float]]:
    """Return ratios of portarray's time to NumPy's, by scheduler and expression.

    The arrays have 4000 x 4000 float64 elements in chunks of 1000 x 1000.
    """
    values = np.random.default_rng(1).random((SIZE, SIZE))
    ratios = {}
    with dask.config.set(scheduler="threads", num_workers=2):
        ratios["threads"] = _expressions(values, repeats)
    with cluster(2) as two, Client(two):
        ratios["processes"] = _expressions(values, repeats)
    return ratios


def _expressions(values: np.ndarray[Any, Any], repeats: int) -> dict[str, float]:
    ndarrays = da.from_array(values, chunks=CHUNKS).persist()
    ours = pd.persist(pd.from_array(values, chunks=CHUNKS, devices="numpy"))
    dask.compute(ndarrays.sum(), ours.sum())  # wait for both
    ratios = {}
    for name, expression in EXPRESSIONS.items():
        # Building and optimizing the graph is part of the cost.
        candidates = {
            "ndarray": partial(_seconds, expression, ndarrays),
            "portarray": partial(_seconds, expression, ours),
        }
        best = in_turn(candidates, repeats)
        ratios[name] = best["portarray"] / best["ndarray"]
    return ratios


def _seconds(expression: Callable[[Any], Any], x: Any) -> float:
    start = time.perf_counter()
    expression(x).compute()
    return time.perf_counter() - start


# --- transfers -----------------------------------------------------------------------------------


def _create(device: str | None, salt: int) -> Any:
    values = np.random.default_rng(salt).random(MEGABYTES * 1_000_000 // 8)
    return values if device is None else pa.asarray(values, device=device)


def _same(x: Any) -> Any:
    return x


def _received(x: Any) -> int:
    if isinstance(x, pa.Array):
        pa.synchronize(x.device)
    return int(x.nbytes)


def transfers(devices: Iterable[str] | None = None, repeats: int = 15) -> dict[str, float]:
    """Return ratios of the time to send 64 MB on each device to that of an ndarray.

    The time of a task whose argument is on the other worker process.
    """
    if devices is None:
        devices = [
            library for library in TARGETS if library in {device.library for device in pa.devices()}
        ]
    with cluster(2) as two, Client(two) as client:
        first, second = sorted(client.scheduler_info()["workers"])
        chunks = {
            name: client.submit(_create, None if name == "ndarray" else name, 1, workers=[first])
            for name in ("ndarray", *devices)
        }
        wait(list(chunks.values()))

        def send(name: str) -> float:
            # A new key: workers cache what they received for as long as its key is in use.
            again = client.submit(_same, chunks[name], workers=[first], pure=False)
            wait(again)
            start = time.perf_counter()
            client.submit(_received, again, workers=[second], pure=False).result()
            return time.perf_counter() - start

        best = in_turn({name: partial(send, name) for name in chunks}, repeats)
    return {name: best[name] / best["ndarray"] for name in best if name != "ndarray"}


# --- the report ----------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = parser_of(__doc__, "--devices")
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args(arguments)
    ratios = overhead(options.repeats)
    sent = transfers(options.devices, options.repeats)
    judged = [
        Target(
            f"da's {name} on {scheduler}: at most {TARGET_OVERHEAD}",
            f"{ratio:.2f}",
            ratio <= TARGET_OVERHEAD,
        )
        for scheduler, by_expression in ratios.items()
        for name, ratio in by_expression.items()
    ]
    for name, ratio in sent.items():
        limit = TARGETS.get(name.partition(":")[0], 2.0)
        judged.append(Target(f"64 MB of {name}: at most {limit}", f"{ratio:.2f}", ratio <= limit))
    show_targets(judged)
    if options.json:
        options.json.write_text(
            json.dumps({"overhead": ratios, "transfers": sent}, indent=1) + "\n", "utf-8"
        )


if __name__ == "__main__":
    main()
