"""What portarray chunks cost Dask beside NumPy chunks, and what it costs to send them.

:func:`overhead` computes the same expressions of ``dask.array`` on NumPy chunks and on portarray
chunks on ``numpy``; :func:`transfers` sends a chunk of 64 MB from one worker process to another,
beside an ndarray of the same bytes. Candidates take turns in one process, in an order that is
shuffled anew each time, and the shortest time of each counts. Figures are ratios. The targets are
judged and printed, and nothing fails: this is a measurement, not a test.

    python benchmarks/cluster_overhead.py [--devices DEVICE ...] [--repeats N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
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
    """Return what ``map_blocks`` measures."""
    return block + 1.0


EXPRESSIONS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(axis=0),
    "matmul": lambda x: (x @ x).sum(),
    "map_blocks": lambda x: x.map_blocks(plus_one).sum(axis=1),
}


def in_turn(candidates: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, float]:
    """Return the shortest of the times that each candidate returns."""
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
    """Return the time on portarray chunks over that on NumPy chunks: scheduler, expression.

    Arrays are 4000 x 4000 of float64 in chunks of 1000 x 1000, on the threaded scheduler and on
    two worker processes.
    """
    values = np.random.default_rng(1).random((SIZE, SIZE))
    found = {}
    with dask.config.set(scheduler="threads", num_workers=2):
        found["threads"] = _expressions(values, repeats)
    with cluster(2) as two, Client(two):
        found["processes"] = _expressions(values, repeats)
    return found


def _expressions(values: np.ndarray[Any, Any], repeats: int) -> dict[str, float]:
    ndarrays = da.from_array(values, chunks=CHUNKS).persist()
    ours = pd.persist(pd.from_array(values, chunks=CHUNKS, devices="numpy"))
    dask.compute(ndarrays.sum(), ours.sum())  # wait for both
    found = {}
    for name, expression in EXPRESSIONS.items():
        # Made anew each time: building and optimizing the graph is a part of the cost.
        candidates = {
            "ndarray": partial(_seconds, expression, ndarrays),
            "portarray": partial(_seconds, expression, ours),
        }
        best = in_turn(candidates, repeats)
        found[name] = best["portarray"] / best["ndarray"]
    return found


def _seconds(expression: Callable[[Any], Any], x: Any) -> float:
    start = time.perf_counter()
    expression(x).compute()
    return time.perf_counter() - start


# --- transfers -----------------------------------------------------------------------------------


def _made(device: str | None, salt: int) -> Any:
    values = np.random.default_rng(salt).random(MEGABYTES * 1_000_000 // 8)
    return values if device is None else pa.asarray(values, device=device)


def _same(x: Any) -> Any:
    return x


def _received(x: Any) -> int:
    if isinstance(x, pa.Array):
        pa.synchronize(x.device)
    return int(x.nbytes)


def transfers(devices: Iterable[str] | None = None, repeats: int = 15) -> dict[str, float]:
    """Return the time to send 64 MB on each device over that of an ndarray.

    From the submission of a task on one worker process, whose argument is on another, until its
    result is there.
    """
    if devices is None:
        devices = [one for one in TARGETS if one in {each.library for each in pa.devices()}]
    with cluster(2) as two, Client(two) as client:
        first, second = sorted(client.scheduler_info()["workers"])
        kept = {
            name: client.submit(_made, None if name == "ndarray" else name, 1, workers=[first])
            for name in ("ndarray", *devices)
        }
        wait(list(kept.values()))

        def send(name: str) -> float:
            # Under a new key: the other worker keeps what it was sent as long as the key is wanted.
            again = client.submit(_same, kept[name], workers=[first], pure=False)
            wait(again)
            start = time.perf_counter()
            client.submit(_received, again, workers=[second], pure=False).result()
            return time.perf_counter() - start

        best = in_turn({name: partial(send, name) for name in kept}, repeats)
    return {name: best[name] / best["ndarray"] for name in best if name != "ndarray"}


# --- the report ----------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--devices", nargs="+")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    ratios = overhead(options.repeats)
    sent = transfers(options.devices, options.repeats)
    judged = [
        Target(
            f"da's {name} on {scheduler}: at most {TARGET_OVERHEAD}",
            f"{ratio:.2f}",
            ratio <= TARGET_OVERHEAD,
        )
        for scheduler, found in ratios.items()
        for name, ratio in found.items()
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
