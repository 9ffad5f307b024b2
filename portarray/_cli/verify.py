"""``portarray verify``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from portarray._cli import user_kernels
from portarray._cli.output import Form, devices_option, forms, selected_devices, show
from portarray._movement.progress import Bar
from portarray._verification.comparison import DTYPES, VerificationRow
from portarray._verification.kernels import Verification
from portarray._verification.kernels import verify as verify_kernels

COLUMNS = (
    "device",
    *("kernel", "dtype", "cases", "outside", "worst", "problem", "versions"),
    *("seed", "number", "input"),
)


@click.command()
@devices_option
@click.option("--kernel", "-k", "kernels", multiple=True, help="Only this kernel; may be repeated.")
@click.option(
    "--kernels",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Verify the user kernels in this Python file instead; see below.",
)
@click.option(
    "--tolerance", type=float, help="Allowed error, as a multiple of its bound.  [default: 1]"
)
@click.option(
    "--examples",
    "-n",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Calls of each kernel in each dtype.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the random calls.",
)
@click.option("--generic", is_flag=True, help="Verify only the generic versions.")
@forms
@click.pass_context
def verify(
    context: click.Context,
    names: tuple[str, ...],
    kernels: tuple[str, ...],
    file: Path | None,
    tolerance: float | None,
    examples: int,
    seed: int,
    generic: bool,
    form: Form,
) -> None:
    """Compare every kernel on every device with a float64 reference.

    Errors are in units of their bounds. Calls whose error is above 1, or above the tolerance, are
    listed, and the exit status is 1.

    With --kernels FILE, the kernels of that file (functions with @pa.kernel) are compared with the
    interpreter. Differences are in units of the last place; up to 16, or --tolerance, are allowed.
    The file defines kernel_examples(), which returns the calls. It is called once for each device,
    inside `with device:`

    \b
        def kernel_examples():
            x = pa.linspace(0, 1, 100)
            return [
                functools.partial(saxpy, pa.ones(100), 2.0, x),
                functools.partial(smooth, pa.zeros(100), x, ndrange=(98,), group=(14,)),
            ]
    """  # noqa: D301  (click leaves paragraphs after \b as they are)
    devices = selected_devices(names)
    if file is not None:
        if not user_kernels.verify_file(file, devices, tolerance, form):
            context.exit(1)
        return
    results: list[Verification] = []
    for device in devices:
        with Bar(f"verifying {device}") as bar:
            try:
                result = verify_kernels(
                    device,
                    kernels or None,
                    tolerance,
                    examples=examples,
                    seed=seed,
                    version="generic" if generic else "table",
                    progress=bar.update,
                )
            except ValueError as error:
                raise click.UsageError(str(error)) from None
        results.append(result)
    document = [result.as_dict() for result in results]
    show(
        form,
        document=document,
        columns=COLUMNS,
        rows=[{**row, "device": result["device"]} for result in document for row in result["rows"]],
        text=lambda console: _show(results, console),
    )
    if not all(result.ok for result in results):
        context.exit(1)


def _show(results: Sequence[Verification], console: Console) -> None:
    """Print the tables of devices."""
    for result in results:
        _show_device(result, console)


def _show_device(result: Verification, console: Console) -> None:
    """Print a device's table: a row for each kernel, a column for each dtype."""
    rows = {(row.kernel, row.dtype): row for row in result.rows}
    dtypes = [dtype for dtype in DTYPES if any(row.dtype == dtype for row in result.rows)]
    title = f"{result.device} ({escape(result.device.name)})"
    table = Table("kernel", title=title, title_justify="left")
    for dtype in dtypes:
        table.add_column(dtype, justify="right", no_wrap=True)
    table.add_column("versions", overflow="fold")
    for kernel in dict.fromkeys(row.kernel for row in result.rows):
        kernel_rows = [rows[kernel, dtype] for dtype in dtypes]
        table.add_row(kernel, *map(_cell, kernel_rows), escape(_versions(kernel_rows)))
    console.print(table)
    for row in result.failures:
        console.print(f"[red]{escape(str(row.case))}")
        console.print(f"  {escape(row.problem)}")
    failures = sum(row.outside for row in result.rows)
    tolerance = f" times {result.tolerance:g}" if result.tolerance != 1 else ""
    console.print(
        f"{result.cases} cases in {result.seconds:.1f} s, {failures} out of bounds{tolerance}"
    )


def _cell(row: VerificationRow) -> str:
    if row.outside:
        return f"[red]{row.worst:.3g} ({row.outside} of {row.cases})"
    return f"[green]{row.worst:.3f}"


def _versions(rows: list[VerificationRow]) -> str:
    """Return which versions ran, with their numbers of calls."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(row.versions)
    return ", ".join(f"{name} ({count})" for name, count in counts.items())
