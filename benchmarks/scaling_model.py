"""A simulation of tiled Cholesky and matrix products on up to 1,000 devices.

    python benchmarks/scaling_model.py [--devices N ...] [--tile N] [--json F]
    python benchmarks/scaling_model.py --moves 16 100    # bytes that Dask arrays move

Tiles are distributed block-cyclically over a grid of devices; a task runs on the owner of its tile.
Each device computes one task at a time, the ready one with the longest remaining chain. A tile is
sent to a device once, from any device that has it. A device receives one tile at a time, the one
with the longest chain first, and sends one at a time. One scheduler handles all tasks sequentially,
as Dask's does. ``scaling.py`` measures the machine's parameters and compares the simulation with
runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from heapq import heappop, heappush
from typing import Any

import reports
from command_line import parser_of

Tile = tuple[str, int, int]
Call = tuple[str, Tile, tuple[Tile, ...]]  # kind, tile that it writes, tiles that it reads


@dataclass(frozen=True)
class Machine:
    """The speed of devices and network, and the overhead of a task."""

    rates: dict[str, float]  # of each kind of task, in operations per second
    latency: float  # seconds
    bandwidth: float  # bytes per second in each direction
    dispatch: float  # seconds of the scheduler for a task
    overhead: float  # seconds of a worker for a task


WORK = {"potrf": 1 / 3, "trsm": 1.0, "gemm": 2.0}
"""Operations of a task on b x b tiles, divided by b cubed."""


def cholesky(n: int) -> Iterator[Call]:
    """Yield the calls of a factorization of n x n tiles."""
    for k in range(n):
        yield "potrf", ("a", k, k), (("a", k, k),)
        for i in range(k + 1, n):
            yield "trsm", ("a", i, k), (("a", k, k), ("a", i, k))
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                yield "gemm", ("a", i, j), (("a", i, k), ("a", j, k), ("a", i, j))


def matmul(n: int) -> Iterator[Call]:
    """Yield the calls of a product of matrices of n x n tiles."""
    for k in range(n):
        for i in range(n):
            for j in range(n):
                yield "gemm", ("c", i, j), (("a", i, k), ("b", k, j), ("c", i, j))


PROGRAMS = {"cholesky": cholesky, "matmul": matmul}


def grid(devices: int) -> tuple[int, int]:
    """Return the rows and columns of the most square grid of devices."""
    rows = next(r for r in range(math.isqrt(devices), 0, -1) if devices % r == 0)
    return rows, devices // rows


class Simulation:
    """One run of a graph on a machine."""

    def __init__(self, calls: Sequence[Call], devices: int, tile: int, machine: Machine) -> None:
        self.machine, self.devices = machine, devices
        self.move = 8 * tile * tile / machine.bandwidth
        work = {kind: WORK[kind] * tile**3 / rate for kind, rate in machine.rates.items()}
        rows, columns = grid(devices)
        self.cost = [work[kind] + machine.overhead for kind, _, _ in calls]
        self.owner = [(i % rows) * columns + j % columns for _, (_, i, j), _ in calls]
        # A task reads the results of earlier tasks (>= 0) and initial tiles (< 0).
        self.reads: list[list[int]] = []
        self.after: list[list[int]] = [[] for _ in calls]
        self.waits = [0] * len(calls)
        self.holders: dict[int, dict[int, float]] = {}  # version to device and time of arrival
        last: dict[Tile, int] = {}
        for index, (_, tile_out, tiles_in) in enumerate(calls):
            read = []
            for tile_in in tiles_in:
                if tile_in not in last:
                    last[tile_in] = -1 - len(self.holders)  # a first version
                    owner = (tile_in[1] % rows) * columns + tile_in[2] % columns
                    self.holders[last[tile_in]] = {owner: 0.0}
                read.append(last[tile_in])
                if last[tile_in] >= 0:
                    self.after[last[tile_in]].append(index)
                    self.waits[index] += 1
            self.reads.append(read)
            last[tile_out] = index
        self.height = [0.0] * len(calls)
        for index in range(len(calls) - 1, -1, -1):
            behind = max((self.height[tile_in] for tile_in in self.after[index]), default=0.0)
            self.height[index] = behind + self.cost[index]
        self.transfers = 0
        self.busy = 0.0

    def run(self) -> float:
        """Return the seconds until the last task ends."""
        self.ready: list[list[tuple[float, int]]] = [[] for _ in range(self.devices)]
        self.idle = [True] * self.devices
        self.requests: list[list[tuple[float, int]]] = [[] for _ in range(self.devices)]
        self.waiting: list[dict[int, list[int]]] = [{} for _ in range(self.devices)]
        self.receives = [False] * self.devices
        self.outward = [0.0] * self.devices
        self.missing = [0] * len(self.cost)
        self.events: list[tuple[float, int, str, int]] = []
        self.scheduler = now = 0.0
        for index, count in enumerate(self.waits):
            if not count:
                self._assign(index, now)
        while self.events:
            now, index, event, device = heappop(self.events)
            if event == "assigned":
                self._fetch(index, now)
            elif event == "arrived":
                self.receives[device] = False
                self.holders[index][device] = now
                for task in self.waiting[device].pop(index):
                    self.missing[task] -= 1
                    if not self.missing[task]:
                        heappush(self.ready[device], (-self.height[task], task))
                self._receive(device, now)
            else:
                self.idle[device] = True
                self.holders[index] = {device: now}
                for follower in self.after[index]:
                    self.waits[follower] -= 1
                    if not self.waits[follower]:
                        self._assign(follower, now)
            if self.idle[device] and self.ready[device]:
                self.idle[device] = False
                first = heappop(self.ready[device])[1]
                self.busy += self.cost[first]
                heappush(self.events, (now + self.cost[first], first, "done", device))
        return now

    def _assign(self, index: int, now: float) -> None:
        """Schedule a task whose inputs are computed."""
        self.scheduler = max(self.scheduler, now) + self.machine.dispatch
        heappush(self.events, (self.scheduler, index, "assigned", self.owner[index]))

    def _fetch(self, index: int, now: float) -> None:
        """Request the inputs that a task's device lacks."""
        device = self.owner[index]
        waiting = self.waiting[device]
        for version in dict.fromkeys(self.reads[index]):
            if device in self.holders[version]:
                continue
            self.missing[index] += 1
            if version not in waiting:
                heappush(self.requests[device], (-self.height[index], version))
            waiting.setdefault(version, []).append(index)
        if not self.missing[index]:
            heappush(self.ready[device], (-self.height[index], index))
        self._receive(device, now)

    def _receive(self, device: int, now: float) -> None:
        """Receive the most urgent tile from the first free sender."""
        if self.receives[device] or not self.requests[device]:
            return
        version = heappop(self.requests[device])[1]
        source = min(self.holders[version], key=self.outward.__getitem__)
        start = max(now, self.outward[source])
        self.outward[source] = start + self.move
        self.receives[device] = True
        self.transfers += 1
        arrival = start + self.move + self.machine.latency
        heappush(self.events, (arrival, version, "arrived", device))


def bounds(name: str, n: int, devices: int, tile: int, machine: Machine) -> dict[str, float]:
    """Return the theoretical time of each resource alone."""
    size = n * tile
    work = {"cholesky": size**3 / 3, "matmul": 2 * size**3}[name]
    tasks = {"cholesky": n * (n + 1) * (n + 2) // 6, "matmul": n**3}[name]
    unit = {kind: WORK[kind] * tile**3 / rate for kind, rate in machine.rates.items()}
    hop = machine.latency + 8 * tile**2 / machine.bandwidth if devices > 1 else 0.0
    step = {"cholesky": sum(unit.values()) + 2 * hop, "matmul": unit["gemm"]}[name]
    # Elements received by each device: row and column panels of all steps; half for Cholesky.
    rows, columns = grid(devices)
    share = {"cholesky": 0.5, "matmul": 1.0}[name]
    elements = share * size**2 * (1 / rows + 1 / columns) * (1 - 1 / devices)
    return {
        "work": work / devices / machine.rates["gemm"] + tasks / devices * machine.overhead,
        "moves": 8 * elements / machine.bandwidth,
        "chain": n * (step + machine.dispatch + machine.overhead),
        "scheduler": tasks * machine.dispatch,
    }


def row(name: str, n: int, devices: int, tile: int, machine: Machine) -> dict[str, Any]:
    """Return the simulated and theoretical times of a run."""
    simulation = Simulation(list(PROGRAMS[name](n)), devices, tile, machine)
    seconds = simulation.run()
    return {
        "program": name,
        "tiles": n,
        "tile": tile,
        "devices": devices,
        "seconds": seconds,
        "tasks": len(simulation.cost),
        "moves": simulation.transfers,
        "busy": simulation.busy / devices / seconds,
        "paper": bounds(name, n, devices, tile, machine),
    }


# --- moves of Dask arrays over several devices ----------------------------------------------------

Expression = Callable[[Any], Any]
MOVES: dict[str, tuple[Expression, Callable[[int, int], float]]] = {
    "x + x.T": (lambda x: x + x.T, lambda n, p: n * n * (1 - 1 / p)),
    "x.rechunk, rows": (
        lambda x: x.rechunk((x.chunks[0][0], -1)),
        lambda n, p: n * n * (1 - 1 / p),
    ),
    "x.rechunk, columns": (lambda x: x.rechunk((-1, x.chunks[1][0])), lambda n, p: 0),
    "x - x.mean(axis=0)": (lambda x: x - x.mean(axis=0), lambda n, p: 0),
    "x[:-1] - x[1:]": (lambda x: x[:-1] - x[1:], lambda n, p: 0),
    "x.T @ x": (lambda x: x.T @ x, lambda n, p: n * n * (p - 1)),
    "x @ x": (lambda x: x @ x, lambda n, p: n * n * (p - 1)),
}
"""Expressions, and how many of n x n blocks move if columns of blocks take turns on p devices."""

LARGEST_PRODUCT = 16
"""Rows of blocks up to which products are counted: they have the cube of it in tasks."""


def moved(name: str, n: int, devices: int) -> tuple[float, float]:
    """Return how many blocks an expression moves, by the formula and by the real graph."""
    import portarray.dask as pd
    from portarray.testing import virtual_devices

    expression, formula = MOVES[name]
    with virtual_devices("cuda", count=devices) as cards:
        x = pd.ones((8 * n, 8 * n), chunks=8, devices=list(map(str, cards)))
        counted = pd.explain(expression(x)).bytes_moved / (8 * 8 * x.dtype.itemsize)
    return formula(n, devices), counted


def print_moves(sizes: Sequence[int], devices: Sequence[int]) -> None:
    """Print the blocks that each expression moves, by formula and counted."""
    for name in MOVES:
        for n in sizes:
            for p in devices:
                if n % p == 0 and ("@" not in name or n <= LARGEST_PRODUCT):
                    by_formula, counted = moved(name, n, p)
                    print(
                        f"{name}, {n}x{n} blocks, {p} devices: "
                        f"{by_formula:g} blocks, counted {counted:g}",
                        flush=True,
                    )


GPU = Machine(
    rates={"potrf": 2e12, "trsm": 15e12, "gemm": 30e12},
    latency=1e-3,
    bandwidth=10e9,
    dispatch=2e-4,
    overhead=3e-4,
)
"""A card with 30 TFLOP/s in float64 and a link of 10 GB/s; other values are measured."""


def main() -> None:
    """Simulate, print and write."""
    parser = parser_of(__doc__)
    parser.add_argument("--devices", type=int, nargs="+", default=[1, 4, 16, 64, 256, 1024])
    parser.add_argument("--tile", type=int, nargs="+", default=[2048, 4096, 8192])
    parser.add_argument("--tiles", type=int, default=96, help="rows and columns of tiles, at most")
    parser.add_argument("--dispatch", type=float, nargs="+", default=[GPU.dispatch, 0.0])
    parser.add_argument("--size", type=int, default=196608)
    parser.add_argument("--program", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--moves", type=int, nargs="+", help="rows of blocks of Dask arrays")
    options = parser.parse_args()
    if options.moves:
        print_moves(options.moves, [2, 4, 8])
        return
    rows = []
    for name in options.program:
        for tile in options.tile:
            n = min(options.tiles, options.size // tile)
            for dispatch in options.dispatch:
                machine = Machine(**{**asdict(GPU), "dispatch": dispatch})
                for devices in options.devices:
                    rows.append({**row(name, n, devices, tile, machine), "dispatch": dispatch})
                    latest = rows[-1]
                    paper = ", ".join(f"{k} {v:.3g}" for k, v in latest["paper"].items())
                    print(
                        f"{name} {n}x{n} tiles of {tile}, {dispatch * 1e6:.0f} µs a task, "
                        f"{devices} devices: {latest['seconds']:.3g} s, busy {latest['busy']:.2f} "
                        f"({paper})",
                        flush=True,
                    )
                    reports.write({"rows": rows}, options.json)


if __name__ == "__main__":
    main()
