"""Drawn kernels: each device computes what the interpreter does.

``PORTARRAY_DRAWN_KERNELS=5000`` draws so many for the first device, and a tenth for each other.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from drawn_kernels import Program, programs
from hypothesis import HealthCheck, Phase, given, settings
from kernel_helpers import loaded

import portarray as pa
from portarray._array import dispatch

COUNT = int(os.environ.get("PORTARRAY_DRAWN_KERNELS", "40"))


def check(program: Program, device: Any, folder: Path) -> None:
    kernel = loaded(program.text, folder)
    arguments = [
        pa.asarray(x, device=device) if hasattr(x, "dtype") else x for x in program.arguments
    ]
    try:
        kernel.verify(*arguments, group=program.group, tolerance=0 if program.exact else 64)
    except Exception as error:
        error.add_note(program.text)
        raise


def dtypes_of(device: Any) -> tuple[str, ...]:
    return tuple(sorted(dtype.name for dtype in dispatch.dtypes_of(device)))


@pytest.mark.parametrize("groups", [False, True], ids=["alone", "groups"])
def test_drawn_kernels(device: str, groups: bool, tmp_path: Path) -> None:
    target = pa.device(device)
    reason = target._backend.launcher(target.native)
    if isinstance(reason, str):
        pytest.skip(reason)
    run(target, COUNT if device.startswith("numpy") else max(COUNT // 10, 2), groups, tmp_path)


def run(target: pa.Device, count: int, groups: bool, folder: Path) -> None:
    """Draw so many kernels for a device, with barriers or without, and check each."""
    default = dispatch.default_dtype(target, "f").name

    @settings(
        max_examples=count,
        # Shrinking compiles programs for minutes.
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @given(program=programs(dtypes_of(target), default, groups=groups))
    def drawn(program: Program) -> None:
        check(program, target, folder)

    drawn()
