"""``portarray bench``."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path

import click

from portarray._cli.bench import plot as picture
from portarray._cli.bench.measure import SUBJECTS, measure
from portarray._cli.bench.report import Measurement
from portarray._cli.bench.table import tables
from portarray._cli.output import Form, devices_option, forms, selected_devices, show
from portarray._devices import selection
from portarray._movement.progress import Bar


@click.command()
@click.argument("subject", default="kernels", type=click.Choice(list(SUBJECTS)))
@devices_option
@click.option("--baseline", help="Show ratios to this device's times.  [default: the first]")
@click.option("--only", default="", metavar="TEXT", help="Only cases with this text in the name.")
@click.option(
    "--repeats",
    default=7,
    show_default=True,
    type=click.IntRange(min=1),
    help="Timed turns of each device.",
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
    """Compare devices on SUBJECT: kernels, or ops of the standard.

    Devices take turns. Each call ends when one element of its result has been read, and the
    shortest time counts. Small sizes show the cost of a call, large ones the cost of the work.
    """
    devices = selected_devices(names)
    base = devices[0] if baseline is None else selection.device(baseline)
    if base not in devices:
        devices.insert(0, base)
    if plot is not None:
        picture.check(plot)
    with Bar(f"measuring {subject}") as bar:
        report = measure(subject, devices, base, repeats, only, bar.update)
    if not report.figures:
        cases = ", ".join(dict.fromkeys(case.name for case in SUBJECTS[subject][1]()))
        raise click.UsageError(f"--only: no case of {subject} contains {only!r}; cases: {cases}")
    header = {"subject": subject, "unit": report.unit, "baseline": report.baseline}
    show(
        form,
        document=report.as_dict(),
        columns=(*header, *(field.name for field in fields(Measurement))),
        rows=[{**header, **asdict(figure)} for figure in report.figures],
        text=lambda console: console.print(*tables(report, console.width)),
    )
    if plot is not None:
        picture.draw(report, plot)
