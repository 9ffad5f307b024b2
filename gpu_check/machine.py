"""The machine's libraries, devices, versions and drivers."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import numpy as np
from part import Writer, arguments

import portarray as pa


def drivers() -> dict[str, str]:
    """Return the driver version of every platform with a functional device."""
    versions: dict[str, str] = {}
    for device in pa.devices():
        version = device._backend.driver(device.platform)
        if version:
            versions[f"{device.library}:{device.platform}"] = version
    return versions


def distributions() -> dict[str, str]:
    """Return the version of every installed distribution."""
    return {
        name: distribution.version
        for distribution in metadata.distributions()
        if (name := distribution.metadata["Name"])
    }


def machine() -> dict[str, Any]:
    """Return everything that is known about the machine."""
    return {
        **pa.summary().as_dict(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "numpy": np.__version__,
        "drivers": drivers(),
        "distributions": distributions(),
    }


if __name__ == "__main__":
    options = arguments(__doc__)
    with Writer(options.out) as write:
        write(machine())
