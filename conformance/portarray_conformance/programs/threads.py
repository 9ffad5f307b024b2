"""Runs programs from several threads at once and compares them with their serial results."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence

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
    different functions run at the same time. Runs that differ from the serial run bit for bit are
    judged by the reference: sums may be added in another order.

    Return a result for each distinct difference; ``on_result`` is called once for each program.
    """
    label = target.label
    passed = Result("programs", "programs", "threads", label, "", "passed", 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with target.scope():
            suite = Programs.on(target)
        for first in range(0, count, BATCH):
            indices = range(first, min(count, first + BATCH))
            with target.scope():
                batch = [suite.draw(seed, index).statements for index in indices]
                serial = [suite.machine.trace(statements) for statements in batch]
            traces = _run_in_threads(suite, batch, threads)
            with target.scope():
                for position, index in enumerate(indices):
                    runs = [trace[position] for trace in traces]
                    result = _judged(
                        suite, f"{seed}:{index}", batch[position], serial[position], runs
                    )
                    if on_result is not None:
                        on_result(result or passed)
    results = [finding.result(label) for finding in suite.findings.values()]
    return results or [Result("programs", "programs", "threads", label, "", "passed", 0.0, count)]


def _run_in_threads(
    suite: Programs, batch: Sequence[tuple[str, ...]], threads: int
) -> list[dict[int, list[Step] | BaseException]]:
    """Return the steps of each program in each thread, or the exception."""
    traces: list[dict[int, list[Step] | BaseException]] = [{} for _ in range(threads)]
    start = threading.Barrier(threads)

    def work(thread: int) -> None:
        start.wait()
        with suite.target.scope():
            for step in range(len(batch)):
                index = (step + thread * len(batch) // threads // 2) % len(batch)
                try:
                    traces[thread][index] = suite.machine.trace(batch[index])
                except Exception as error:  # noqa: BLE001 - found by the comparison
                    traces[thread][index] = error

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
    """Return a result if a thread's run is wrong and the serial run is not."""
    alone = None
    for run in runs:
        if isinstance(run, BaseException):
            raise run
        if _same(run, serial):
            continue
        alone = alone or suite.judge(statements, serial)
        difference = suite.judge(statements, run)
        if difference is None or (alone is not None and alone.key == difference.key):
            continue
        key = (difference.function, f"threads: {difference.kind}")
        new = key not in suite.findings
        if new:
            suite.findings[key] = Finding(*key, statements, difference)
        return suite.count(key, name, new=new)
    return None


def _same(first: Sequence[Step], second: Sequence[Step]) -> bool:
    """Return whether two runs of a program are the same bit for bit."""
    for a, b in zip(first, second, strict=True):
        if (a.error and a.error.name) != (b.error and b.error.name):
            return False
        if a.after.keys() != b.after.keys():
            return False
        if not all(snap.same(b.after[name]) for name, snap in a.after.items()):
            return False
    return True
