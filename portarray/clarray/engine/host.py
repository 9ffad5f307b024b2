"""Functions computed on the host by NumPy: sorting, sets, LAPACK, FFT.

On devices whose memory is host memory they work on views of the arrays; on others on copies, and
results are copied back. The public functions built on this are marked with :func:`served`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from portarray._opencl.device import Device
from portarray.clarray.engine.copy import assign
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.strided import Array, empty

Function = TypeVar("Function", bound=Callable[..., Any])
NumpyArray = np.ndarray[Any, Any]


def served(function: Function) -> Function:
    """Mark a public function as computed by the host: ``__portarray_served__`` is ``"host"``."""
    function.__dict__["__portarray_served__"] = "host"
    return function


def view(x: Array) -> NumpyArray:
    """Wait, and return an array's elements as a read-only view of host memory, else as a copy."""
    values = to_numpy(x)
    values.flags.writeable = False
    return values


def full(values: NumpyArray) -> NumpyArray:
    """Return an array in a dtype that NumPy's libraries compute in: float32 for 16 bits."""
    return values.astype(np.float32) if values.dtype.itemsize == 2 else values


def to_array(values: Any, device: Device, dtype: np.dtype[Any] | None = None) -> Array:
    """Return a new array with the elements of a NumPy array or scalar."""
    values = np.asarray(values)
    if dtype is None or dtype == values.dtype:
        return from_numpy(values, device)
    if not device.host_memory:
        return from_numpy(values.astype(dtype), device)
    out = empty(values.shape, dtype, device)
    to_numpy(out)[...] = values
    return out


def run(
    function: Callable[..., Any],
    *arrays: Array,
    device: Device | None = None,
    dtype: np.dtype[Any] | None = None,
) -> Any:
    """Return the results of a function of NumPy arrays as arrays on the device."""
    where = arrays[0].device if device is None else device
    results = function(*map(view, arrays))
    if isinstance(results, tuple):
        return tuple(to_array(result, where, dtype) for result in results)
    return to_array(results, where, dtype)


def fill(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    device: Device,
    function: Callable[..., object],
    *arrays: Array,
) -> Array:
    """Return a new array that a function of NumPy arrays, the output first, writes."""
    views = map(view, arrays)
    if not device.host_memory:
        out = np.empty(shape, dtype)
        function(out, *views)
        return from_numpy(out, device)
    array = empty(shape, dtype, device)
    function(to_numpy(array), *views)
    return array


def modify(x: Array, function: Callable[[NumpyArray], object]) -> None:
    """Let a function change an array's elements in place."""
    values = to_numpy(x)
    function(values)
    if not x.device.host_memory:
        assign(x, from_numpy(values, x.device))
