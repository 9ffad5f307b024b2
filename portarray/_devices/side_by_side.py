"""The summary of this machine with each library in a process of its own, for ``portarray devices``.

Most of its time is spent on importing libraries, which a process does one after another. Where a
GPU may be, all are probed in one process: libraries reserve its memory.

Run as a program it prints the status of one library::

    python -m portarray._devices.side_by_side torch
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from portarray._devices import discovery, hardware, selection, summary
from portarray.backends import registry
from portarray.backends.types import PLATFORMS

__all__ = ["document"]

_ON_CPUS = ("cpu", "opencl", "oneapi")
"""Platforms whose devices may be CPUs, and whose GPUs libraries do not reserve."""


def document() -> dict[str, Any]:
    """Return :meth:`portarray._devices.summary.Summary.as_dict` of this machine."""
    libraries = selection.supported_backends()
    infos = registry.backend_infos()
    imported = [library for library in libraries if infos[library].module in sys.modules]
    others = [x for x in libraries if x not in imported and discovery.is_installed(infos[x])]
    if len(others) < 2 or not sys.executable or _has_gpu() or _has_preference():
        return summary.summary().as_dict()
    processes = {library: _started(library) for library in others}
    # Libraries that are not installed, and those of this process, such as NumPy.
    rows = {x: _row(x) for x in libraries if x not in processes}
    for library, process in processes.items():
        said = process.communicate()[0].splitlines()
        try:
            rows[library] = json.loads(said[-1]) if process.returncode == 0 else _row(library)
        except (IndexError, ValueError):
            rows[library] = _row(library)
    # As in `summary`.
    ordered = sorted((rows[x] for x in libraries), key=lambda row: (row["orders"] or [[99]])[0])
    devices = [
        (order, device["device"])
        for row in ordered
        for order, device in zip(row["orders"], row["status"]["devices"], strict=True)
    ]
    statuses = [row["status"] for row in ordered]
    return summary.document(statuses, min(devices)[1], registry.plugin_errors())


def _has_gpu() -> bool:
    """Return whether there may be a GPU whose memory libraries reserve."""
    return not all(
        hardware.reason_missing(platform) for platform in PLATFORMS if platform not in _ON_CPUS
    )


def _has_preference() -> bool:
    """Return whether a preference is set, or its file has a problem."""
    preference, _, problem = selection.judge_preference()
    return preference is not None or bool(problem)


def _started(library: str) -> subprocess.Popen[str]:
    # The child must find the same modules as this process.
    path = os.pathsep.join(folder for folder in sys.path if folder)
    return subprocess.Popen(
        [sys.executable, "-m", __name__, library],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
        # NumPy's threads would spin beside the imports of others.
        env={"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path},
    )


def _row(library: str) -> dict[str, Any]:
    """Return the status of a library with the sort keys of its devices."""
    status = discovery.status(library)
    return {
        "status": summary.as_dict(status),
        "orders": [list(discovery.order(x)) for x in status.devices],
    }


if __name__ == "__main__":
    sys.stdout.write(f"\n{json.dumps(_row(sys.argv[1]))}\n")
