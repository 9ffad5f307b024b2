"""Dtypes and layouts of arrays exchanged with other libraries."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from portarray._opencl.device import Device

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
    ml_dtypes.bfloat16,
]
LAYOUTS = {
    "C": lambda v: v,
    "transposed": lambda v: v.T,
    "steps": lambda v: v[::2, 1::3],
    "backward": lambda v: v[::-1, ::-2],
    "row": lambda v: v[1],
    "0-d": lambda v: v[2, 3],
    "one long": lambda v: v[1:2, 2:3],
    "empty": lambda v: v[:0],
}
# Every layout in one dtype, every dtype in one layout.
CASES = [
    *(pytest.param(np.float32, layout, id=layout) for layout in LAYOUTS),
    *(pytest.param(dtype, "steps", id=np.dtype(dtype).name) for dtype in DTYPES),
]


def drawn(dtype: Any) -> np.ndarray[Any, Any]:
    return (np.arange(4 * 6).reshape(4, 6) % 7).astype(dtype)


def on_host(device: Device) -> Device:
    if not device.host_memory:
        pytest.skip("the device has memory of its own")
    return device


def has(device: Device, dtype: Any) -> np.dtype[Any]:
    result = np.dtype(dtype)
    if result not in device.dtypes:
        pytest.skip(f"the device has no {result}")
    return result


def read_only(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    values.flags.writeable = False
    return values
