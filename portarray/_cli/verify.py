"""``portarray verify``."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from portarray._cli import user_kernels
from portarray._cli.choice import chosen
from portarray._cli.output import Form, forms, show
from portarray._movement.progress import Bar
from portarray._verification.comparison import DTYPES, VerificationRow
from portarray.kernels.verify import Verification
from portarray.kernels.verify import verify as verified

VERIFIED = (
    *("kernel", "dtype", "cases", "outside", "worst", "problem", "versions"),
    *("seed", "number", "input"),
)


@click.command()
@click.option(
    "--device",
    "-d",
    "names",
    multiple=True,
    help="A device text; may be repeated. Default: every functional device.",
)
@click.option("--kernel", "-k", "kernels", multiple=True, help="Only this kernel; may be repeated.")
@click.option(
    "--kernels",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Verify the user kernels of this Python file instead; see below.",
)
@click.option(
    "--tolerance", type=float, help="How many times its bound an error may be.  [default: 1]"
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
    help="What the calls are drawn from.",
)
@click.option("--generic", is_flag=True, help="Verify the generic versions alone.")
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
    """Compare every kernel with a reference in float64, on every device.

    Figures are errors in units of their bounds: what is above 1, or above the tolerance, is out of
    bounds and listed with the call that made it. The exit status is 1 if anything is.

    With --kernels FILE the kernels of that file (functions with @pa.kernel) are compared with the
    interpreter, and figures are differences in units of the last place; up to 16 are allowed, or
    what --tolerance says. The file has a function kernel_examples() that returns their calls; it is
    called once for each device, which is then the default one:

    \b
        def kernel_examples():
            x = pa.linspace(0, 1, 100)
            return [
                functools.partial(saxpy, pa.ones(100), 2.0, x),
                functools.partial(smooth, pa.zeros(100), x, ndrange=(98,), group=(14,)),
            ]
    """  # noqa: D301  (click leaves paragraphs after \b as they are)
    devices = chosen(names)
    if file is not None:
        if not user_kernels.verify_file(file, devices, tolerance, form):
            context.exit(1)
        return
    found: list[Verification] = []
    for device in devices:
        with Bar(f"verifying {device}") as bar:
            try:
                one = verified(
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
        found.append(one)
    document = [one.as_dict() for one in found]
    show(
        form,
        document=document,
        columns=("device", *VERIFIED),
        rows=[{**row, "device": one["device"]} for one in document for row in one["rows"]],
        text=lambda out: _show(found, out),
    )
    if not all(one.ok for one in found):
        context.exit(1)


def _show(found: list[Verification], console: Console) -> None:
    for one in found:
        _show_one(one, console)


def _show_one(found: Verification, console: Console) -> None:
    """Print a device's table: a row for each kernel, a column for each dtype."""
    rows = {(row.kernel, row.dtype): row for row in found.rows}
    columns = [dtype for dtype in DTYPES if any(row.dtype == dtype for row in found.rows)]
    table = Table(title=f"{found.device} ({escape(found.device.name)})", title_justify="left")
    table.add_column("kernel")
    for dtype in columns:
        table.add_column(dtype, justify="right", no_wrap=True)
    table.add_column("versions", overflow="fold")
    for kernel in dict.fromkeys(row.kernel for row in found.rows):
        of_kernel = [rows[kernel, dtype] for dtype in columns]
        table.add_row(kernel, *map(_cell, of_kernel), escape(_versions(of_kernel)))
    console.print(table)
    for row in found.failures:
        console.print(f"[red]{escape(str(row.case))}")
        console.print(f"  {escape(row.problem)}")
    outside = sum(row.outside for row in found.rows)
    console.print(
        f"{found.cases} cases in {found.seconds:.1f} s, {outside} out of bounds"
        + (f" times {found.tolerance:g}" if found.tolerance != 1 else "")
    )


def _cell(row: VerificationRow) -> str:
    """Return the worst error of a kernel in a dtype, and how many were out of bounds."""
    if row.outside:
        return f"[red]{row.worst:.3g} ({row.outside} of {row.cases})"
    return f"[green]{row.worst:.3f}"


def _versions(rows: list[VerificationRow]) -> str:
    """Return how many calls of a kernel each version served."""
    counts: dict[str, int] = {}
    for row in rows:
        for name, number in row.versions.items():
            counts[name] = counts.get(name, 0) + number
    return ", ".join(f"{name} ({number})" for name, number in counts.items())
