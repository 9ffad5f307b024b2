"""Every kernel of the cases, on every device that runs programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases.case import Case, View, all_cases

import portarray as pa


def on_device(value: Any, device: Any) -> Any:
    if isinstance(value, View):
        return value.of(pa.asarray(value.base, device=device))
    return pa.asarray(value, device=device, copy=True) if isinstance(value, np.ndarray) else value


def has_dtype(device: str, dtype: np.dtype[Any]) -> bool:
    try:
        pa.ones(1, dtype=dtype, device=device)
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_case(case: Case, device: str) -> None:
    place = pa.device(device)
    launcher = place._backend.launcher(place.native)
    if isinstance(launcher, str):
        pytest.skip(launcher)
    for dtype in case.dtypes():
        if not has_dtype(device, dtype):
            pytest.skip(f"{device} has no {dtype}")
    if case.atomics64 and not launcher.atomics64:
        pytest.skip(f"{device} has no 64-bit atomic functions")
    compiled = pa.kernel(case.kernel, static=case.static)
    arguments = [on_device(value, device) for value in case.arguments()]
    out = compiled(*arguments, ndrange=case.ndrange, group=case.group)
    got = out if isinstance(out, tuple) else (out,)
    case.check(tuple(np.asarray(x) for x in got))
