"""Every kernel of the cases, on every device that runs programs.

NumPy, PyTorch, JAX and MLX run the same programs on CPUs, through the same runtime: all but NumPy
run a part of the cases, and all of them with ``PORTARRAY_ALL_KERNELS=1``.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from cases.case import all_cases

import portarray as pa

CASES = all_cases()
SOME = 8
"""Of so many cases one is run on devices that share the programs of NumPy's."""
SHARING = ("torch:cpu", "jax:cpu", "mlx:cpu", "dpnp")


def has_dtype(device: str, dtype: np.dtype[Any]) -> bool:
    try:
        pa.ones(1, dtype=dtype, device=device)
    except TypeError:
        return False
    return True


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize("index", range(len(CASES)), ids=[case.name for case in CASES])
def test_case(index: int, device: str) -> None:
    case = CASES[index]
    target = pa.device(device)
    launcher = target._backend.launcher(target.native)
    if isinstance(launcher, str):
        pytest.skip(launcher)
    if device.startswith(SHARING) and index % SOME and "PORTARRAY_ALL_KERNELS" not in os.environ:
        pytest.skip("a part of the cases is run where programs are those of another device")
    for dtype in case.dtypes():
        if not has_dtype(device, dtype):
            pytest.skip(f"{device} has no {dtype}")
    if case.atomics64 and not launcher.atomics64:
        pytest.skip(f"{device} has no 64-bit atomic functions")
    compiled = pa.kernel(case.kernel, static=case.static)
    arguments = case.placed(lambda array: pa.asarray(array, device=device, copy=True))
    want = None
    if pa.__array_namespace_info__().default_dtypes(device=target)["real floating"] != np.float64:
        # Python's floats are of float32 here, which the expectations do not know.
        want = as_numpy(compiled.interpret(*arguments, ndrange=case.ndrange, group=case.group))
    case.check(as_numpy(compiled(*arguments, ndrange=case.ndrange, group=case.group)), want=want)


def as_numpy(out: Any) -> tuple[Any, ...]:
    return tuple(np.asarray(x) for x in (out if isinstance(out, tuple) else (out,)))
