"""The core kernels compared with each library's own functions and PyTorch's, on every device.

Each row (kernel_rows.py) is measured in one process, alternately, on every device:

- *portarray*: ``pa.kernels.softmax(x)``, as users call it;
- *generic*: the same call with ``pa.config(tuned_kernels=False)``, where a tuned version exists;
- *by hand*: the library's own function on native arrays (kernels_by_hand.py), measured twice; the
  difference is noise;
- *PyTorch*: the eager function on the CPU, and on the GPU if one is measured.

Every result is waited for. All candidates have the same number of threads, which sleep between
turns. Results are ratios of the shortest times; below 1 is faster. Compare ratios of the same run
only. Targets are checked at a model's sizes in float32; missed ones raise no error.

    python benchmarks/kernels.py [--device D ...] [--kernel K ...] [--row TEXT ...] [--repeats N]
        [--dtype float32 ...] [--growth] [--list] [--json FILE] [--table FILE]

``--row`` selects rows with a word that begins with the text, ``--growth`` measures growing sizes,
and ``--list`` only prints the rows' names. ``--read FILE ...`` prints the results of earlier runs
or writes them as a table: ``--table kernels.md``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kernel_report
from command_line import SLEEPING, parser_of, require_positive, set_threads
from reports import write

__all__ = ["main", "prepare"]

THREADS = 2

WAITING = {**SLEEPING, "OPENBLAS_THREAD_TIMEOUT": "18"}  # spins 2**18 cycles instead of 2**26


def prepare(threads: int, *, waiting: bool = True) -> None:
    """Give every library the same number of threads; call it before importing them."""
    set_threads(threads)
    if waiting:
        os.environ.update(WAITING)
    if hasattr(os, "sched_setaffinity"):
        # JAX has no setting: it starts one thread for each available core.
        here = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, here[:threads])


def main() -> None:
    """Measure, print and write JSON."""
    parser = parser_of(__doc__, "--device")
    parser.add_argument("--kernel", nargs="+", action="extend", help="only these kernels")
    parser.add_argument("--row", nargs="+", action="extend", help="only rows with this in the name")
    parser.add_argument("--dtype", nargs="+", action="extend", help="only rows of these dtypes")
    parser.add_argument("--repeats", type=int, default=20, help="turns of each candidate")
    parser.add_argument("--threads", type=int, default=THREADS, help="threads of every candidate")
    parser.add_argument("--growth", action="store_true", help="measure at growing sizes")
    parser.add_argument("--list", action="store_true", help="print the rows' names")
    parser.add_argument(
        "--table", type=Path, help="also write a table for a page: multiples of PyTorch's time"
    )
    parser.add_argument("--read", type=Path, nargs="+", help="take the figures of these files")
    options = parser.parse_args()
    require_positive(parser, options, "repeats", "threads")
    if options.read is not None:
        try:
            report = kernel_report.merged(options.read)
        except (OSError, ValueError) as error:
            parser.error(f"--read: {error}")
        kernel_report.show_all(report)
        finish(report, options)
        return
    prepare(options.threads)

    # Imported late: libraries read the environment when they are imported.
    import kernel_table

    import portarray as pa

    try:
        rows = kernel_table.selected(options.kernel, options.row, options.dtype, options.growth)
        devices = [pa.device(text) for text in options.device or map(str, pa.devices())]
    except (pa.errors.PortarrayError, ValueError) as error:
        parser.error(str(error))
    if options.list:
        print(*(row.name for row in rows), sep="\n")
        return
    report = kernel_table.measured(
        rows,
        devices,
        options.repeats,
        options.threads,
        growing=options.growth,
        keep=lambda report: write(report, options.json),
    )
    finish(report, options)


def finish(report: Mapping[str, Any], options: argparse.Namespace) -> None:
    """Write the JSON and the table."""
    write(report, options.json)
    if options.table is not None:
        options.table.write_text(kernel_report.markdown(report), "utf-8")


if __name__ == "__main__":
    main()
