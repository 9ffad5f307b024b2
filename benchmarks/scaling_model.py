"""How tiled Cholesky and matrix products scale to 1,000 devices: their graphs, simulated.

    python benchmarks/scaling_model.py [--devices N ...] [--tile N] [--json F]

Tiles lie block-cyclic on a grid of devices, and a task runs where its tile is. Each device computes
one task at a time, of those that are ready the one with the longest chain behind it. A tile goes to
a device once, from one that has it then. A device receives one tile at a time, the one with the
longest chain first, and sends one at a time. One scheduler handles each task before it can start,
one after the other, as Dask's does. ``scaling.py`` measures what the machine's numbers are, and
holds the simulation to runs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import reports

Tile = tuple[str, int, int]
Call = tuple[str, Tile, tuple[Tile, ...]]  # kind, tile that it writes, tiles that it reads


@dataclass(frozen=True)
class Machine:
    """What devices and the network between them do, and what a task costs beside its work."""

    rates: dict[str, float]  # of each kind of task, in operations a second
    latency: float  # seconds
    bandwidth: float  # bytes a second, each way
    dispatch: float  # seconds of the scheduler for a task
    overhead: float  # seconds of a worker for a task


WORK = {"potrf": 1 / 3, "trsm": 1.0, "gemm": 2.0}
"""Operations of a task on tiles of b x b elements, in b cubed."""


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
    """Return rows and columns of devices, as square as the number allows."""
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
        # What a task reads: earlier tasks, and the tiles that are there at the beginning.
        self.reads: list[list[int]] = []
        self.after: list[list[int]] = [[] for _ in calls]
        self.waits = [0] * len(calls)
        self.holders: dict[int, dict[int, float]] = {}  # who has which version, and since when
        last: dict[Tile, int] = {}
        for number, (_, tile_out, tiles_in) in enumerate(calls):
            read = []
            for one in tiles_in:
                if one not in last:
                    last[one] = -1 - len(self.holders)  # a first version
                    owner = (one[1] % rows) * columns + one[2] % columns
                    self.holders[last[one]] = {owner: 0.0}
                read.append(last[one])
                if last[one] >= 0:
                    self.after[last[one]].append(number)
                    self.waits[number] += 1
            self.reads.append(read)
            last[tile_out] = number
        self.height = [0.0] * len(calls)
        for number in range(len(calls) - 1, -1, -1):
            behind = max((self.height[one] for one in self.after[number]), default=0.0)
            self.height[number] = behind + self.cost[number]
        self.moves = 0
        self.busy = 0.0

    def run(self) -> float:
        """Return the seconds until the last task is done."""
        self.ready: list[list[tuple[float, int]]] = [[] for _ in range(self.devices)]
        self.idle = [True] * self.devices
        self.wanted: list[list[tuple[float, int]]] = [[] for _ in range(self.devices)]
        self.waiting: list[dict[int, list[int]]] = [{} for _ in range(self.devices)]
        self.receives = [False] * self.devices
        self.outward = [0.0] * self.devices
        self.missing = [0] * len(self.cost)
        self.events: list[tuple[float, int, str, int]] = []
        self.scheduler = now = 0.0
        for number, count in enumerate(self.waits):
            if not count:
                self._assign(number, now)
        while self.events:
            now, number, what, device = heappop(self.events)
            if what == "assigned":
                self._fetch(number, now)
            elif what == "arrived":
                self.receives[device] = False
                self.holders[number][device] = now
                for one in self.waiting[device].pop(number):
                    self.missing[one] -= 1
                    if not self.missing[one]:
                        heappush(self.ready[device], (-self.height[one], one))
                self._receive(device, now)
            else:
                self.idle[device] = True
                self.holders[number] = {device: now}
                for other in self.after[number]:
                    self.waits[other] -= 1
                    if not self.waits[other]:
                        self._assign(other, now)
            if self.idle[device] and self.ready[device]:
                self.idle[device] = False
                first = heappop(self.ready[device])[1]
                self.busy += self.cost[first]
                heappush(self.events, (now + self.cost[first], first, "done", device))
        return now

    def _assign(self, number: int, now: float) -> None:
        """Let the scheduler handle a task whose inputs are computed."""
        self.scheduler = max(self.scheduler, now) + self.machine.dispatch
        heappush(self.events, (self.scheduler, number, "assigned", self.owner[number]))

    def _fetch(self, number: int, now: float) -> None:
        """Ask for what a task reads and its device lacks."""
        device = self.owner[number]
        waiting = self.waiting[device]
        for version in dict.fromkeys(self.reads[number]):
            if device in self.holders[version]:
                continue
            self.missing[number] += 1
            if version not in waiting:
                heappush(self.wanted[device], (-self.height[number], version))
            waiting.setdefault(version, []).append(number)
        if not self.missing[number]:
            heappush(self.ready[device], (-self.height[number], number))
        self._receive(device, now)

    def _receive(self, device: int, now: float) -> None:
        """Begin to receive the tile that is waited for most, from whoever is free first."""
        if self.receives[device] or not self.wanted[device]:
            return
        version = heappop(self.wanted[device])[1]
        source = min(self.holders[version], key=self.outward.__getitem__)
        begin = max(now, self.outward[source])
        self.outward[source] = begin + self.move
        self.receives[device] = True
        self.moves += 1
        arrival = begin + self.move + self.machine.latency
        heappush(self.events, (arrival, version, "arrived", device))


def bounds(name: str, n: int, devices: int, tile: int, machine: Machine) -> dict[str, float]:
    """Return what each part alone would take, on paper."""
    size = n * tile
    work = {"cholesky": size**3 / 3, "matmul": 2 * size**3}[name]
    tasks = {"cholesky": n * (n + 1) * (n + 2) // 6, "matmul": n**3}[name]
    unit = {kind: WORK[kind] * tile**3 / rate for kind, rate in machine.rates.items()}
    hop = machine.latency + 8 * tile**2 / machine.bandwidth if devices > 1 else 0.0
    step = {"cholesky": sum(unit.values()) + 2 * hop, "matmul": unit["gemm"]}[name]
    # Words of each device: panels of rows and of columns, for all steps; half of each for Cholesky.
    rows, columns = grid(devices)
    share = {"cholesky": 0.5, "matmul": 1.0}[name]
    words = share * size**2 * (1 / rows + 1 / columns) * (1 - 1 / devices)
    return {
        "work": work / devices / machine.rates["gemm"] + tasks / devices * machine.overhead,
        "moves": 8 * words / machine.bandwidth,
        "chain": n * (step + machine.dispatch + machine.overhead),
        "scheduler": tasks * machine.dispatch,
    }


def row(name: str, n: int, devices: int, tile: int, machine: Machine) -> dict[str, Any]:
    """Return what a run would take, simulated and on paper."""
    simulation = Simulation(list(PROGRAMS[name](n)), devices, tile, machine)
    seconds = simulation.run()
    return {
        "program": name,
        "tiles": n,
        "tile": tile,
        "devices": devices,
        "seconds": seconds,
        "tasks": len(simulation.cost),
        "moves": simulation.moves,
        "busy": simulation.busy / devices / seconds,
        "paper": bounds(name, n, devices, tile, machine),
    }


GPU = Machine(
    rates={"potrf": 2e12, "trsm": 15e12, "gemm": 30e12},
    latency=1e-3,
    bandwidth=10e9,
    dispatch=2e-4,
    overhead=3e-4,
)
"""A card with 30 TFLOP/s in float64 and a link of 10 GB/s each way; the rest as measured."""


def main() -> None:
    """Simulate, print and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--devices", type=int, nargs="+", default=[1, 4, 16, 64, 256, 1024])
    parser.add_argument("--tile", type=int, nargs="+", default=[2048, 4096, 8192])
    parser.add_argument("--tiles", type=int, default=96, help="rows and columns of tiles, at most")
    parser.add_argument("--dispatch", type=float, nargs="+", default=[GPU.dispatch, 0.0])
    parser.add_argument("--size", type=int, default=196608)
    parser.add_argument("--program", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    for name in given.program:
        for tile in given.tile:
            n = min(given.tiles, given.size // tile)
            for dispatch in given.dispatch:
                machine = Machine(**{**asdict(GPU), "dispatch": dispatch})
                for devices in given.devices:
                    rows.append({**row(name, n, devices, tile, machine), "dispatch": dispatch})
                    found = rows[-1]
                    paper = ", ".join(f"{k} {v:.3g}" for k, v in found["paper"].items())
                    print(
                        f"{name} {n}x{n} tiles of {tile}, {dispatch * 1e6:.0f} µs a task, "
                        f"{devices} devices: {found['seconds']:.3g} s, busy {found['busy']:.2f} "
                        f"({paper})",
                        flush=True,
                    )
                    reports.write({"rows": rows}, given.json)


if __name__ == "__main__":
    main()
