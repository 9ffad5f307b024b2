"""Runs programs from several threads at once and compares them with their serial results."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence

from portarray_conformance.programs.allowed import Allowed
from portarray_conformance.programs.judge import judge
from portarray_conformance.programs.program import Step
from portarray_conformance.programs.suite import Finding, Programs
from portarray_conformance.run import Result
from portarray_conformance.target import Target

# Programs whose serial runs are kept at once.
BATCH = 64


def run_threads(
    target: Target,
    count: int,
    seed: int,
    threads: int,
    *,
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Run drawn programs serially, then from several threads at once, and compare.

    Every thread runs all programs of a batch, each beginning with another, so that the same and
    different functions run at the same time. What differs from the serial run bit for bit is
    judged by the reference: sums may be added in another order.

    Parameters
    ----------
    target : Target
    count, seed : int
        How many programs are drawn, and what draws them.
    threads : int
    on_result : callable, optional
        Called once for each program.

    Returns
    -------
    list of Result
        One for each distinct difference, and one for each function without any.
    """
    label = target.label
    passed = Result("programs", "programs", "threads", label, "", "passed", 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with target.scope():
            suite = Programs.on(target)
        for first in range(0, count, BATCH):
            numbers = range(first, min(count, first + BATCH))
            with target.scope():
                batch = [suite.draw(seed, number).statements for number in numbers]
                serial = [suite.machine.trace(statements) for statements in batch]
            traces = _at_once(suite, batch, threads)
            with target.scope():
                for place, number in enumerate(numbers):
                    runs = [trace[place] for trace in traces]
                    result = _judged(suite, f"{seed}:{number}", batch[place], serial[place], runs)
                    if on_result is not None:
                        on_result(result or passed)
    results = [one.result(label) for one in suite.findings.values()]
    return results or [Result("programs", "programs", "threads", label, "", "passed", 0.0, count)]


def _at_once(
    suite: Programs, batch: Sequence[tuple[str, ...]], threads: int
) -> list[dict[int, list[Step] | BaseException]]:
    """Return what each thread's run of each program left behind."""
    traces: list[dict[int, list[Step] | BaseException]] = [{} for _ in range(threads)]
    start = threading.Barrier(threads)

    def work(thread: int) -> None:
        start.wait()
        with suite.target.scope():
            for step in range(len(batch)):
                place = (step + thread * len(batch) // threads // 2) % len(batch)
                try:
                    traces[thread][place] = suite.machine.trace(batch[place])
                except Exception as error:  # noqa: BLE001 - found by the comparison
                    traces[thread][place] = error

    workers = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return traces


def _judged(
    suite: Programs,
    name: str,
    statements: tuple[str, ...],
    serial: list[Step],
    runs: Sequence[list[Step] | BaseException],
) -> Result | None:
    """Return a result where a thread's run is wrong and the serial one is not."""
    alone = None
    for run in runs:
        if isinstance(run, BaseException):
            raise run
        if _same(run, serial):
            continue
        alone = alone or judge(statements, serial, suite.references, Allowed(flushes=suite.flushes))
        difference = judge(statements, run, suite.references, Allowed(flushes=suite.flushes))
        if difference is None or (alone is not None and alone.key == difference.key):
            continue
        key = (difference.function, f"threads: {difference.kind}")
        finding = suite.findings.get(key)
        new = finding is None
        if finding is None:
            finding = suite.findings[key] = Finding(*key, statements=statements)
            finding.difference = difference
        finding.count += 1
        if len(finding.programs) < 5 and name not in finding.programs:
            finding.programs.append(name)
        return finding.result(suite.target.label) if new else None
    return None


def _same(one: Sequence[Step], other: Sequence[Step]) -> bool:
    """Say whether two runs of a program are the same bit for bit."""
    for a, b in zip(one, other, strict=True):
        if (a.error and a.error.name) != (b.error and b.error.name):
            return False
        if a.after.keys() != b.after.keys():
            return False
        if not all(snap.same(b.after[name]) for name, snap in a.after.items()):
            return False
    return True
