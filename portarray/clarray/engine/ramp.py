"""Kernels of ``arange`` and ``linspace``."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.programs import Kernel
from portarray.clarray.dtypes import cl_type
from portarray.clarray.engine.copy_kernels import pieces
from portarray.clarray.kernels import kernel_source
from portarray.clarray.strided import Array

DType = np.dtype[Any]
_MASK = 0xFFFF_FFFF_FFFF_FFFF


def count(out: Array, start: float, step: float) -> None:
    """Write ``start + i * step`` into a C-contiguous 1-d array of an integer or real dtype.

    Integers are exact. Real numbers are computed in the device's widest real type and rounded.
    """
    if not out.size:
        return
    exact = np.dtype(np.uint64) if out.dtype.kind in "iu" else _real(out.device)
    values: tuple[float, float] = (start, step)
    if out.dtype.kind in "iu":
        values = (int(start) & _MASK, int(step) & _MASK)
    _launch(out, "count", (exact, exact), values)


def between(out: Array, start: float, stop: float, gaps: int) -> None:
    """Write numbers from ``start`` in ``gaps`` equal steps to ``stop`` into a 1-d array."""
    if not out.size:
        return
    real = _real(out.device)
    distance, scale = stop - start, 1.0
    if abs(distance) > float(np.finfo(real).max):
        distance, scale = stop / 2 - start / 2, 2.0
    dtypes = (np.int64, np.int64, real, real, real, real)
    _launch(out, "between", dtypes, (out.strides[0], gaps, start, stop, distance, scale))


def _launch(out: Array, name: str, dtypes: tuple[Any, ...], values: tuple[Any, ...]) -> None:
    """Launch a kernel over the elements of an array, with further by-value arguments."""
    kernel = _kernel(out.device, out.dtype, name, dtypes)
    size = out.size
    run, _, group = pieces(out.device, out.dtype.itemsize, size)
    items = (-(-size // run), 1, 1)
    kernel.launch(items, group, (out.storage,), out.offset, size, run, *values)


def _real(device: Device) -> DType:
    wide: DType = np.dtype(np.float64)
    return wide if wide in device.dtypes else np.dtype(np.float32)


@cache
def _kernel(device: Device, dtype: DType, name: str, dtypes: tuple[Any, ...]) -> Kernel:
    c_type = cl_type(dtype)
    if dtype.kind in "iu":
        lines = ["#define INTEGRAL"]
    else:
        lines = [f"#define R {cl_type(_real(device)).compute}", f"#define PUT {c_type.store}"]
    text = "\n".join([*lines, f"#define S {c_type.storage}", kernel_source("ramp")])
    return device.kernel(text, name, 1, (*[np.int64] * 3, *dtypes))
