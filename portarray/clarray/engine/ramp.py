"""Evenly spaced numbers, written into arrays."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portarray.clarray.array import Array
from portarray.clarray.dtypes import cl_type
from portarray.clarray.runtime.device import Device
from portarray.clarray.runtime.programs import source_of

__all__ = ["between", "count"]

DType = np.dtype[Any]
_MASK = 0xFFFF_FFFF_FFFF_FFFF


def count(out: Array, start: float, step: float) -> None:
    """Write ``start + i * step`` into a C-contiguous 1-d array of an integer or real dtype.

    Integers are exact. Real numbers are computed in the widest real type of the device, one
    product and one sum, and rounded to the dtype.
    """
    if not out.size:
        return
    device = out.device
    if out.dtype.kind in "iu":
        kernel = device.kernel(_source(out.dtype, device), "count", 1, (np.int64, *[np.uint64] * 2))
        values: tuple[Any, Any] = (int(start) & _MASK, int(step) & _MASK)
    else:
        real = _real(device)
        kernel = device.kernel(_source(out.dtype, device), "count", 1, (np.int64, real, real))
        values = (float(start), float(step))
    kernel.launch((out.size,), None, (out.storage,), out.offset, *values)


def between(out: Array, start: float, stop: float, gaps: int) -> None:
    """Write numbers from ``start`` in ``gaps`` equal steps towards ``stop`` into a 1-d array.

    Parameters
    ----------
    out : Array
        Of a real dtype, and any stride. It may have fewer elements than there are steps, or one
        more, which is then exactly ``stop``.
    start, stop : float
        The ends.
    gaps : int
        How many steps there are from the one to the other.
    """
    if not out.size:
        return
    device = out.device
    real = _real(device)
    distance, scale = stop - start, 1.0
    if not np.isfinite(real.type(distance)):
        distance, scale = stop / 2 - start / 2, 2.0
    kernel = device.kernel(_source(out.dtype, device), "between", 1, (*[np.int64] * 3, *[real] * 4))
    kernel.launch(
        (out.size,),
        None,
        (out.storage,),
        out.offset,
        out.strides[0],
        gaps,
        start,
        stop,
        distance,
        scale,
    )


def _real(device: Device) -> DType:
    wide: DType = np.dtype(np.float64)
    return wide if wide in device.dtypes else np.dtype(np.float32)


@cache
def _source(dtype: DType, device: Device) -> str:
    own = cl_type(dtype)
    if dtype.kind in "iu":
        lines = ["#define INTEGRAL"]
    else:
        lines = [f"#define R {cl_type(_real(device)).compute}", f"#define PUT {own.store}"]
    return "\n".join([*lines, f"#define S {own.storage}", source_of("ramp")])
