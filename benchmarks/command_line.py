"""Command-line options and settings that the benchmarks share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["SLEEPING", "devices_of", "parser_of", "require_positive", "set_threads"]

# Threads that wait by spinning take the processor from the next candidate.
SLEEPING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}


def parser_of(doc: str | None, device_option: str = "") -> argparse.ArgumentParser:
    """Return a parser with a module's first line, ``--json`` and an option for devices."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the results as JSON")
    if device_option:
        text = "devices, as portarray.device accepts them; by default every functional one"
        settings: Any = {"nargs": "+", "action": "extend", "metavar": "DEVICE", "help": text}
        parser.add_argument(device_option, **settings)
    return parser


def require_positive(
    parser: argparse.ArgumentParser, options: argparse.Namespace, *names: str
) -> None:
    """Exit with an error if one of the options is below 1."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value < 1:
            parser.error(f"--{name}: must be at least 1, got {value}")


def devices_of(
    parser: argparse.ArgumentParser, names: Iterable[str] | None, option: str = "--device"
) -> list[Any]:
    """Return the named devices without repetition, or every functional device."""
    import portarray as pa  # lazy: libraries read their settings when they are imported

    try:
        return list(dict.fromkeys(pa.device(name) for name in names or map(str, pa.devices())))
    except pa.errors.PortarrayError as error:
        parser.error(f"{option}: {error}")


def set_threads(count: int, *names: str) -> None:
    """Set the number of threads of BLAS, OpenMP and SYCL; call it before importing libraries."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", *names):
        os.environ[name] = str(count)
    os.environ["DPCPP_CPU_NUM_CUS"] = str(count)
