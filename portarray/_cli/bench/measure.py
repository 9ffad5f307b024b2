"""Measuring cases on devices, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import portarray as pa
from portarray._cli.bench import kernels, model, ops
from portarray._cli.bench.report import Figure, Report
from portarray._cli.bench.timing import turns
from portarray._movement.matrix import matrix

if TYPE_CHECKING:
    from portarray._cli.bench.cases import Case
    from portarray._cli.bench.timing import Action, Times

SUBJECTS = {
    "kernels": (kernels.UNIT, kernels.cases),
    "ops": (ops.UNIT, ops.cases),
    "model": (model.UNIT, model.cases),
}
"""Subjects of :func:`measured`: the unit of sizes, and the cases."""

TURN = 5e-3  # seconds that one turn takes at least
LIMIT = 0.5  # seconds after which a candidate gets no more turns
REST = 0.03  # seconds after which threads of other libraries stop spinning
COPY = "one copy in NumPy"
BYTES = (4_000, 1_000_000, 64_000_000)

Progress = Callable[[int, int], object]


def measured(
    subject: str,
    devices: Sequence[pa.Device],
    *,
    baseline: pa.Device,
    repeats: int,
    only: str = "",
    progress: Progress | None = None,
) -> Report:
    """Measure a subject of :data:`SUBJECTS`, each case on all devices in turns.

    A device that fails is no error: its figures say why.
    """
    unit, every = SUBJECTS[subject]
    cases = [case for case in every() if only in case.name]
    figures: list[Figure] = []
    for number, case in enumerate(cases, 1):
        figures += _side_by_side(case, devices, baseline, repeats)
        if progress is not None:
            progress(number, len(cases))
    return Report(subject, unit, str(baseline), tuple(devices), tuple(figures))


def _side_by_side(
    case: Case, devices: Sequence[pa.Device], baseline: pa.Device, repeats: int
) -> list[Figure]:
    actions: dict[str, Action] = {}
    problems: dict[str, str] = {}
    for device in devices:
        try:
            action = case.make(device)
            action()
        except Exception as error:  # noqa: BLE001  (a device that fails says so in its figure)
            problems[str(device)] = f"{type(error).__name__}: {error}".strip(": ")
        else:
            actions[str(device)] = action
    rest = REST if len(actions) > 1 else 0.0
    times = turns(actions, repeats, TURN, rest=rest, limit=LIMIT)
    base = times.get(str(baseline))
    return [_figure(case, str(device), times, base, problems) for device in devices]


def _figure(
    case: Case, device: str, times: dict[str, Times], base: Times | None, problems: dict[str, str]
) -> Figure:
    if device in problems:
        return Figure(case.name, case.size, device, problem=problems[device])
    found = times[device]
    ratio = None if base is None else found.shortest / base.shortest
    return Figure(case.name, case.size, device, found.shortest, found.spread, ratio)


def moves(devices: Sequence[pa.Device], *, progress: Progress | None = None) -> Report:
    """Measure the moves between devices at growing sizes; ratios are to one copy in NumPy.

    Figures' names are where arrays come from, their devices where they go.
    """
    figures: list[Figure] = []
    routes = len(devices) ** 2

    def count(before: int) -> Progress | None:
        if progress is None:
            return None
        return lambda done, _: progress(before + done, routes * len(BYTES))

    for number, nbytes in enumerate(BYTES):
        found = matrix(devices, nbytes=nbytes, measure=True, progress=count(number * routes))
        copy = None if found.memcpy is None else found.memcpy.fresh
        for cell in found.cells:
            if cell.source is cell.target:
                continue
            ratio = None if copy is None or cell.seconds is None else cell.seconds / copy
            figures.append(
                Figure(
                    f"from {cell.source}",
                    nbytes,
                    str(cell.target),
                    cell.seconds,
                    ratio=ratio,
                    problem=cell.problem,
                )
            )
    return Report("transfer", "bytes", COPY, tuple(devices), tuple(figures))
