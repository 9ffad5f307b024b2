"""The core kernels beside each library's own functions and beside PyTorch's, on every device.

Each row of the table (kernel_rows.py) is measured in one process, in turns, on every device:

- *portarray*: ``pa.kernels.softmax(x)``, as users call it; the version that serves it is named;
- *generic*: the same call with ``pa.config(tuned_kernels=False)``, where another version serves it;
- *by hand*: the library's own function on its own arrays (kernels_by_hand.py), twice, under two
  names: what lies between the two is noise;
- *PyTorch*: its eager function on the CPU, and on the GPU where one is measured.

Each result is waited for. Every candidate has the same number of threads, which sleep while others
have their turn. Figures are ratios of the shortest times, below 1 is faster; only ratios of one run
compare. Promises are judged at the rows of a model's sizes in float32, and nothing fails.

    python benchmarks/kernels.py [--device D ...] [--kernel K ...] [--row TEXT ...] [--repeats N]
        [--dtype float32 ...] [--growth] [--list] [--json FILE] [--table FILE]

``--row`` keeps the rows in whose name this begins a word, ``--growth`` measures growing sizes
instead, and ``--list`` names the rows and measures nothing. ``--read FILE ...`` takes the figures
of earlier runs, to print them or to write them as one table: ``--table kernels.md``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kernel_report
from reports import write

__all__ = ["main", "prepare"]

THREADS = 2

# Threads that wait by spinning take the processor from the candidate whose turn is next.
WAITING = {
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
    "KMP_BLOCKTIME": "0",
    "OPENBLAS_THREAD_TIMEOUT": "18",  # spins for 2**18 cycles instead of 2**26
}


def prepare(threads: int, *, waiting: bool = True) -> None:
    """Give every library the same number of threads; before they are imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ["DPCPP_CPU_NUM_CUS"] = str(threads)
    if waiting:
        os.environ.update(WAITING)
    if hasattr(os, "sched_setaffinity"):
        # JAX has no setting: it starts as many threads as there are processors to run on.
        here = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, here[:threads])


def main() -> None:
    """Measure, print, and write JSON where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--device",
        nargs="+",
        action="extend",
        metavar="DEVICE",
        help="measure on these, as portarray.device takes them. By default every functional device",
    )
    parser.add_argument("--kernel", nargs="+", action="extend", help="only these kernels")
    parser.add_argument("--row", nargs="+", action="extend", help="only rows with this in the name")
    parser.add_argument("--dtype", nargs="+", action="extend", help="only rows of these dtypes")
    parser.add_argument("--repeats", type=int, default=20, help="turns of each candidate")
    parser.add_argument("--threads", type=int, default=THREADS, help="threads of every candidate")
    parser.add_argument("--growth", action="store_true", help="measure at growing sizes")
    parser.add_argument("--list", action="store_true", help="print the rows' names")
    parser.add_argument("--json", type=Path, help="also write the figures, row by row")
    parser.add_argument(
        "--table", type=Path, help="also write a table for a page: multiples of PyTorch's time"
    )
    parser.add_argument("--read", type=Path, nargs="+", help="take the figures of these files")
    options = parser.parse_args()
    for name in ("repeats", "threads"):
        value = getattr(options, name)
        if value < 1:
            parser.error(f"--{name} {value}: at least 1 is needed")
    if options.read is not None:
        try:
            report = kernel_report.merged(options.read)
        except (OSError, ValueError) as error:
            parser.error(f"--read: {error}")
        kernel_report.show_all(report)
        finish(report, options)
        return
    prepare(options.threads)

    # Not before: the libraries read the environment when they are imported.
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
    """Write the files that are asked for."""
    write(report, options.json)
    if options.table is not None:
        options.table.write_text(kernel_report.markdown(report), "utf-8")


if __name__ == "__main__":
    main()
