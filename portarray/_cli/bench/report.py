"""The results of a benchmark, to be printed, drawn or written as JSON."""

from __future__ import annotations

import datetime as dt
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import portarray as pa


@dataclass(slots=True)
class Measurement:
    """One case on one device."""

    name: str
    size: int  # in the report's unit
    device: str
    seconds: float | None = None  # the shortest time
    spread: float | None = None  # (median - shortest) / shortest
    ratio: float | None = None  # relative to the baseline's time
    problem: str = ""  # why there is no time


@dataclass(frozen=True, slots=True)
class Report:
    """The measurements of one subject."""

    subject: str  # "kernels" or "ops"
    unit: str  # of sizes
    baseline: str  # a device
    devices: tuple[pa.Device, ...]  # in the order of columns
    figures: tuple[Measurement, ...]  # by case, then by device

    def as_dict(self) -> dict[str, Any]:
        """Return the report as dictionaries and lists for JSON."""
        return {
            "subject": self.subject,
            "unit": self.unit,
            "baseline": self.baseline,
            **environment(self.devices),
            "figures": [asdict(figure) for figure in self.figures],
        }


def environment(devices: Iterable[pa.Device], **machine: object) -> dict[str, Any]:
    """Return the date, machine, versions and devices; ``machine`` adds entries to the machine."""
    return {
        "machine": {
            "date": dt.datetime.now(dt.UTC).date().isoformat(),
            "python": platform.python_version(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "numpy": np.__version__,
            "portarray": pa.__version__,
            **machine,
        },
        "devices": {
            str(device): {"name": device.name, "version": device._backend.version()}
            for device in devices
        },
    }
