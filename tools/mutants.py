"""Plant faults in copies of the tree and report which ones the tests detect: ``nox -s mutants``.

Files in ``tests/mutants`` define areas (tests, or another command) and mutants: a text of a file,
its replacement, and what would be wrong for a user. Each mutant is planted in a copy of the tree,
where the tests of its area must fail within ``LIMIT`` seconds. Without it they must pass. A mutant
that survives has a reason in the list, and must survive.

``python tools/mutants.py [ID or AREA or FILE ...] [--processes N] [--json FILE]``
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parents[1]
LISTS = ROOT / "tests" / "mutants"
LIMIT = 90.0
"""Seconds that the tests of an area may take."""
LATE = 6.0
"""A mutant's time limit, as a multiple of the clean run; at least 30 s."""
WELL_BELOW = LIMIT / 2
"""A mutant that times out counts as caught if the clean run is shorter than this."""
NO_TESTS = 5
"""pytest's exit status if it ran no tests."""

Outcome = Literal["caught", "timed out", "survived"]


@dataclass(frozen=True)
class Area:
    """The tests or command that must detect the faults of an area."""

    name: str
    tests: tuple[str, ...]
    only: str = ""  # an expression for pytest's -k
    devices: str = ""  # of tests with the argument ``device``; empty for all
    command: tuple[str, ...] = ()  # instead of pytest
    conformance: str = ""  # instead of both: a device on which the suite runs

    def arguments(self, functions: Iterable[str] = ()) -> list[str]:
        """Return the command line."""
        if self.conformance:
            names = ",".join(sorted(set(functions)))
            chosen = ["--device", self.conformance, "--functions", names]
            return [sys.executable, "-m", "portarray", "conformance", "run", *chosen]
        if self.command:
            return [sys.executable, *self.command]
        options = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=line"]
        chosen = ["-k", self.only] if self.only else []
        return [sys.executable, "-m", "pytest", *options, *chosen, *self.tests]


@dataclass(frozen=True)
class Mutant:
    """One fault: a changed text of a file, and what would be wrong for a user."""

    id: str
    list: str
    area: str
    file: str
    old: str
    new: str
    why: str
    functions: tuple[str, ...] = ()  # that the conformance suite checks
    survives: str = ""  # the reason why no test detects it

    @property
    def names(self) -> tuple[str, str, str]:
        """The names that select this mutant on the command line."""
        return self.id, self.area, self.list

    def problem(self, root: Path = ROOT) -> str:
        """Return what is wrong with this entry, or an empty string."""
        path = root / self.file
        if not path.is_file():
            return f"{self.id}: {self.file} does not exist"
        count = path.read_text("utf-8").count(self.old)
        if count != 1:
            return f"{self.id}: {self.old!r} occurs {count} times in {self.file}, not once"
        if self.old == self.new:
            return f"{self.id}: old and new are equal"
        return "" if self.why else f"{self.id}: 'why' is missing"


def read(folder: Path = LISTS) -> tuple[dict[str, Area], list[Mutant]]:
    """Return the areas and the mutants of all lists."""
    areas: dict[str, Area] = {}
    mutants: list[Mutant] = []
    for path in sorted(folder.glob("*.toml")):
        table = tomllib.loads(path.read_text("utf-8"))
        for name, row in table.get("areas", {}).items():
            if name in areas:
                raise ValueError(f"{path.name}: area {name} is also in another list")
            tests, command = (tuple(row.pop(key, ())) for key in ("tests", "command"))
            areas[name] = Area(name, tests, command=command, **row)
        for row in table.get("mutants", ()):
            functions = tuple(row.pop("functions", ()))
            mutants.append(Mutant(list=path.stem, functions=functions, **row))
    ids = [mutant.id for mutant in mutants]
    if twice := {mutant for mutant in ids if ids.count(mutant) > 1}:
        raise ValueError(f"duplicate ids: {', '.join(sorted(twice))}")
    if lost := {mutant.area for mutant in mutants} - set(areas):
        raise ValueError(f"undefined areas: {', '.join(sorted(lost))}")
    return areas, mutants


@dataclass(frozen=True)
class Run:
    """The result of an area's tests."""

    status: int
    seconds: float
    text: str
    timed_out: bool = False

    def found_by(self) -> str:
        """Return the first failure on one line."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        failed = [line for line in lines if line.startswith(("FAILED", "ERROR", "UNEXPECTED"))]
        return (failed or lines[-1:] or [""])[0][:200]


class Copy:
    """A copy of the tree with at most one planted fault."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tree = folder, folder / "tree"
        self._original = ""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        for name in filter(None, listed.stdout.split("\0")):
            if (ROOT / name).is_file():
                target = self.tree / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, target)

    def run(self, area: Area, functions: Iterable[str] = (), limit: float = LIMIT) -> Run:
        """Run an area's tests with separate settings and temporary files."""
        folder = self.folder / "own"
        for name in ("tmp", "config", "state"):
            shutil.rmtree(folder / name, ignore_errors=True)
            (folder / name).mkdir(parents=True)
        paths = [self.tree / part for part in ("", "conformance")]
        variables = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "PORTARRAY_CONFIG_DIR": str(folder / "config"),
            "PORTARRAY_STATE_DIR": str(folder / "state"),
            "PORTARRAY_TEST_DEVICES": area.devices,
            "TMPDIR": str(folder / "tmp"),
            "MYPY_CACHE_DIR": str(self.folder / "mypy"),
            "JAX_ENABLE_X64": "1",  # as in all tests
            # Shared by all runs: JAX's cache keys include the compiled program.
            "JAX_COMPILATION_CACHE_DIR": str(Path(tempfile.gettempdir()) / "portarray-jax-mutants"),
        }
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
        start = time.monotonic()
        child = subprocess.Popen(
            area.arguments(functions),
            cwd=self.tree,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            text, _ = child.communicate(timeout=limit)
            timed_out = False
        except subprocess.TimeoutExpired:
            timed_out = True
            os.killpg(child.pid, signal.SIGKILL)
            text, _ = child.communicate()
        return Run(child.returncode, time.monotonic() - start, text, timed_out)

    def plant(self, mutant: Mutant) -> None:
        """Plant a fault."""
        self._original = (self.tree / mutant.file).read_text("utf-8")
        self._write(mutant.file, self._original.replace(mutant.old, mutant.new))

    def restore(self, mutant: Mutant) -> None:
        """Remove the fault."""
        self._write(mutant.file, self._original)

    def _write(self, name: str, text: str) -> None:
        path = self.tree / name
        path.write_text(text, "utf-8")
        # Compiled files are known by time and size of their source, which may be the same.
        for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            stale.unlink()


@dataclass(frozen=True)
class Verdict:
    """What became of one mutant."""

    mutant: Mutant
    outcome: Outcome
    seconds: float
    found_by: str

    @property
    def wrong(self) -> bool:
        """Whether the list says otherwise."""
        return (self.outcome == "survived") != bool(self.mutant.survives)

    def line(self) -> str:
        """Say it on one line."""
        mark = "!" if self.wrong else " "
        tests = "" if self.outcome == "survived" else self.found_by
        return f"{self.outcome:<10}{self.seconds:5.1f} s {mark} {self.mutant.id}  {tests}"


class Judge:
    """Runs the clean areas, then the mutants, in as many copies as there are processes."""

    def __init__(
        self, areas: dict[str, Area], mutants: Sequence[Mutant], folder: Path, processes: int
    ) -> None:
        self._areas = areas
        self._functions: dict[str, set[str]] = {}
        for mutant in mutants:
            self._functions.setdefault(mutant.area, set()).update(mutant.functions)
        self._pool = ThreadPoolExecutor(processes)
        self._free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for index in range(processes):
            self._free.put(Copy(folder / str(index)))
        self._clean: dict[str, Run] = {}

    def clean(self, names: Iterable[str]) -> list[str]:
        """Run areas without a fault; return what does not pass."""
        wrong = []
        for name, run in zip(names, self._pool.map(self._run_clean, names), strict=True):
            self._clean[name] = run
            print(f"clean     {run.seconds:5.1f} s  {name}", flush=True)
            if run.status != 0:
                said = f"took more than {LIMIT:g} s" if run.timed_out else f"status {run.status}"
                wrong.append(f"{name} without a fault: {said}\n{run.text[-3000:]}")
        return wrong

    def judge(self, mutants: Iterable[Mutant]) -> Iterator[Verdict]:
        """Yield what becomes of each mutant."""
        return self._pool.map(self._run_mutant, mutants)

    def _run_clean(self, name: str) -> Run:
        copy = self._free.get()
        try:
            return copy.run(self._areas[name], self._functions[name])
        finally:
            self._free.put(copy)

    def _run_mutant(self, mutant: Mutant) -> Verdict:
        copy = self._free.get()
        try:
            copy.plant(mutant)
            limit = min(LIMIT, max(30.0, LATE * self._clean[mutant.area].seconds))
            run = copy.run(self._areas[mutant.area], mutant.functions, limit)
            copy.restore(mutant)
        finally:
            self._free.put(copy)
        outcome: Outcome = "caught"
        if run.timed_out:
            # A run that is slow without a fault says nothing when it is late.
            in_time = self._clean[mutant.area].seconds < WELL_BELOW
            outcome = "timed out" if in_time else "survived"
        elif run.status in (0, NO_TESTS):
            outcome = "survived"
        return Verdict(mutant, outcome, run.seconds, run.found_by())


def chosen(mutants: Sequence[Mutant], names: Sequence[str]) -> list[Mutant]:
    """Return the mutants with these ids, areas or lists; all where none is named."""
    known_names = {name for mutant in mutants for name in mutant.names}
    if unknown := set(names) - known_names:
        sys.exit(f"No mutant, area or list is called {', '.join(sorted(unknown))}")
    return [mutant for mutant in mutants if not names or set(names) & set(mutant.names)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 where a mutant did not do what its row says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="ids, areas or lists; all by default")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--json", type=Path, help="write the verdicts to this file")
    options = parser.parse_args(arguments)
    areas, mutants = read()
    mutants = chosen(mutants, options.names)
    if problems := [text for mutant in mutants if (text := mutant.problem())]:
        sys.exit("\n".join(problems))
    with tempfile.TemporaryDirectory(prefix="portarray-mutants-") as folder:
        Path(folder).chmod(0o755)  # tests become another user for a while
        judge = Judge(areas, mutants, Path(folder), options.processes)
        if wrong := judge.clean(sorted({mutant.area for mutant in mutants})):
            sys.exit("\n\n".join(wrong))
        verdicts = []
        for verdict in judge.judge(mutants):
            verdicts.append(verdict)
            print(verdict.line(), flush=True)
    if options.json:
        rows = [vars(v) | {"mutant": v.mutant.id, "list": v.mutant.list} for v in verdicts]
        options.json.write_text(json.dumps(rows, indent=1), "utf-8")
    return report(verdicts)


def report(verdicts: Sequence[Verdict]) -> int:
    """Print the table and what is not as the list says; return the exit status."""
    print(f"\n{'list':<20}{'caught':>8}{'survived':>10}{'time':>9}")
    for name in dict.fromkeys(v.mutant.list for v in verdicts):
        rows = [v for v in verdicts if v.mutant.list == name]
        _row(name, rows)
    _row("all", verdicts)
    for v in verdicts:
        if v.outcome == "survived":
            reason = v.mutant.survives or "*no test finds it*"
            print(f"\nsurvives: {v.mutant.id} ({v.mutant.file})\n  {v.mutant.why}\n  {reason}")
        elif v.wrong:
            print(f"\n{v.mutant.id} is listed as surviving, but is caught: remove 'survives'")
    return int(any(v.wrong for v in verdicts))


def _row(name: str, rows: Sequence[Verdict]) -> None:
    survived = sum(v.outcome == "survived" for v in rows)
    seconds = sum(v.seconds for v in rows)
    print(f"{name:<20}{len(rows) - survived:>8}{survived:>10}{seconds:>7.0f} s")


if __name__ == "__main__":
    sys.exit(main())
