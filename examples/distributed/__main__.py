"""``python -m examples.distributed heat --devices numpy,torch --picture heat.png``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import portarray as pa
from examples.distributed.outcome import Outcome, default_devices

PROGRAMS = {
    "heat": "a heat equation over strips with ghost cells",
    "cholesky": "a Cholesky solve of a matrix larger than the workers' memory",
    "images": "a map over images",
    "kmeans": "k-means over chunks",
    "training": "gradients of a network on each device, added by a tree",
}
PACKAGES = {
    "dask": ".[dask]",
    "distributed": ".[dask]",
    "matplotlib": ".[examples]",
    "scipy": "scipy",
    "sklearn": ".[examples]",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a program; return 1 if its answer is not the other library's."""
    lines = [f"{name}: {text}" for name, text in PROGRAMS.items()]
    parser = argparse.ArgumentParser("python -m examples.distributed", description="; ".join(lines))
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--devices", help="such as numpy,torch; by default those of two libraries")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a test")
    parser.add_argument("--picture", type=Path, help="draw blocks and tasks: out.png")
    options = parser.parse_args(arguments)
    names = options.devices.split(",") if options.devices else default_devices()
    devices = [str(pa.device(name)) for name in names]
    began = time.perf_counter()
    try:
        outcome = import_module(f"examples.distributed.{options.program}").run(
            devices, options.quick
        )
        print(f"{options.program} on {', '.join(devices)}, {time.perf_counter() - began:.1f} s")
        if options.picture is not None:
            import_module("examples.distributed.pictures").draw(outcome, options.picture)
            print(f"picture: {options.picture}")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in PACKAGES:
            raise
        sys.exit(f'This needs {package}: pip install "{PACKAGES[package]}"')
    return _verdict(outcome)


def _verdict(outcome: Outcome) -> int:
    for note in outcome.notes:
        print(f"  {note}")
    right = outcome.difference <= outcome.allowed
    print(
        f"  {'✓' if right else '✗'} largest difference from {outcome.reference}: "
        f"{outcome.difference:.2g}, allowed {outcome.allowed:.0e}"
    )
    return 0 if right else 1


if __name__ == "__main__":  # workers of a cluster import this module, too
    sys.exit(main())
