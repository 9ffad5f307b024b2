"""Measuring cases on several devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import portarray as pa
from portarray._cli.bench import cases
from portarray._cli.bench.report import Measurement, Report
from portarray._cli.bench.timing import turns

if TYPE_CHECKING:
    from portarray._cli.bench.timing import Action

# The unit of sizes and the cases of each subject.
SUBJECTS = {"kernels": ("tokens", cases.kernels), "ops": ("float32 elements", cases.operations)}

TURN = 5e-3  # minimum seconds of one turn
LIMIT = 0.5  # seconds after which a candidate gets no more turns
PAUSE = 0.03  # seconds until threads of other libraries stop spinning

Progress = Callable[[int, int], object]


def measure(
    subject: str,
    devices: Sequence[pa.Device],
    baseline: pa.Device,
    repeats: int,
    only: str,
    progress: Progress,
) -> Report:
    """Measure a subject on all devices alternately; a failure is stored in its measurement."""
    unit, every_case = SUBJECTS[subject]
    selected = [case for case in every_case() if only in case.name]
    figures: list[Measurement] = []
    for index, case in enumerate(selected, 1):
        figures += _compare(case, devices, baseline, repeats)
        progress(index, len(selected))
    return Report(subject, unit, str(baseline), tuple(devices), tuple(figures))


def _compare(
    case: cases.Case, devices: Sequence[pa.Device], baseline: pa.Device, repeats: int
) -> list[Measurement]:
    actions: dict[str, Action] = {}
    problems: dict[str, str] = {}
    for device in devices:
        try:
            action = case.setup(device, case.size)
            action()
        except Exception as error:  # noqa: BLE001  (reported in the device's measurement)
            problems[str(device)] = f"{type(error).__name__}: {error}".strip(": ")
        else:
            actions[str(device)] = action
    pause = PAUSE if len(actions) > 1 else 0.0
    results = turns(actions, repeats, TURN, pause=pause, limit=LIMIT)
    base = results.get(str(baseline))
    figures = []
    for name in map(str, devices):
        figure = Measurement(case.name, case.size, name, problem=problems.get(name, ""))
        if times := results.get(name):
            figure.seconds, figure.spread = times.shortest, times.spread
            figure.ratio = None if base is None else times.shortest / base.shortest
        figures.append(figure)
    return figures
