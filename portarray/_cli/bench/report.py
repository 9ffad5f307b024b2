"""What was measured, ready to be printed, drawn, and written as JSON."""

from __future__ import annotations

import datetime as dt
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import portarray as pa


@dataclass(frozen=True, slots=True)
class Figure:
    """One case on one device."""

    name: str
    size: int  # in the report's unit
    device: str
    seconds: float | None = None  # the shortest time
    # (median - shortest) / shortest; None where only one time is known
    spread: float | None = None
    ratio: float | None = None  # to the baseline's time
    problem: str = ""  # why there is no time


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of one subject."""

    subject: str  # ``"kernels"``, ``"ops"``, ``"model"`` or ``"transfer"``
    unit: str  # what sizes count
    baseline: str  # a device, or one copy in NumPy
    devices: tuple[pa.Device, ...]  # in the order of columns
    figures: tuple[Figure, ...]  # by case, then by device

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, texts and numbers, fit for JSON."""
        return {
            "subject": self.subject,
            "unit": self.unit,
            "baseline": self.baseline,
            **surroundings(self.devices),
            "figures": [asdict(figure) for figure in self.figures],
        }


def surroundings(devices: Iterable[pa.Device], **more: object) -> dict[str, Any]:
    """Return what figures depend on: the day, the machine, devices, versions.

    ``more`` goes to what is said of the machine.
    """
    return {
        "machine": {
            "date": dt.datetime.now(dt.UTC).date().isoformat(),
            "python": platform.python_version(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "numpy": np.__version__,
            "portarray": pa.__version__,
            **more,
        },
        "devices": {
            str(device): {"name": device.name, "version": device._backend.version()}
            for device in devices
        },
    }
