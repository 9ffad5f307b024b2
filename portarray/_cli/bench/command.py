"""``portarray bench``."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path

import click
from rich.console import Console

from portarray._cli.bench import plot as picture
from portarray._cli.bench.measure import SUBJECTS, measured, moves
from portarray._cli.bench.report import Figure, Report
from portarray._cli.bench.table import tables
from portarray._cli.choice import chosen
from portarray._cli.output import Form, forms, show
from portarray._devices import selection
from portarray._devices.device import Device
from portarray._movement.progress import Bar

MOVES = "transfer"


@click.command()
@click.argument("subject", default="kernels", type=click.Choice([*SUBJECTS, MOVES]))
@click.option(
    "--device", "names", multiple=True, help="Measure here, as cuda or torch:cuda:1; repeat it."
)
@click.option("--baseline", help="Ratios are to this device's times.  [default: the first]")
@click.option("--only", default="", metavar="TEXT", help="Only cases with this in the name.")
@click.option(
    "--repeats",
    default=7,
    show_default=True,
    type=click.IntRange(min=1),
    help="Turns of each device.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw growth curves into this file, such as bench.svg; needs matplotlib.",
)
@forms
def bench(
    subject: str,
    names: tuple[str, ...],
    baseline: str | None,
    only: str,
    repeats: int,
    plot: Path | None,
    form: Form,
) -> None:
    """Measure SUBJECT side by side on every device: kernels, ops, model or transfer.

    Devices take turns, each call ends when a number of its result has been read, and the shortest
    time counts. Sizes grow: a call's own cost shows at the small ones, the work at the large ones.
    """
    devices = chosen(names)
    base = _baseline(baseline, devices, subject)
    if plot is not None:
        picture.check(plot)
    if subject == MOVES and only:
        raise click.UsageError("--only picks cases, of which transfer has none: use --device")
    if subject == MOVES and len(devices) < 2:
        raise click.UsageError(f"transfer needs two devices, not {devices[0]} alone")
    with Bar(f"measuring {subject}") as bar:
        if subject == MOVES:
            report = moves(devices, progress=bar.update)
        else:
            report = measured(
                subject, devices, baseline=base, repeats=repeats, only=only, progress=bar.update
            )
    if not report.figures:
        known = ", ".join(dict.fromkeys(case.name for case in SUBJECTS[subject][1]()))
        raise click.UsageError(f"--only {only}: {subject} has {known}")
    about = {"subject": subject, "unit": report.unit, "baseline": report.baseline}
    show(
        form,
        document=report.as_dict(),
        columns=(*about, *(field.name for field in fields(Figure))),
        rows=[{**about, **asdict(figure)} for figure in report.figures],
        text=lambda out: _show(report, out),
    )
    if plot is not None:
        picture.draw(report, plot)


def _baseline(name: str | None, devices: list[Device], subject: str) -> Device:
    """Return the device that ratios are to, which is measured in any case."""
    if name is None:
        return devices[0]
    if subject == MOVES:
        raise click.UsageError("--baseline: ratios of transfer are to one copy in NumPy")
    base = selection.device(name)
    if base not in devices:
        devices.insert(0, base)
    return base


def _show(report: Report, console: Console) -> None:
    for table in tables(report, console.width):
        console.print(table)
