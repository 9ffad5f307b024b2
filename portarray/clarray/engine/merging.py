"""Parallel sort of rows on a CPU: NumPy sorts runs in threads, and a kernel merges them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.programs import Kernel
from portarray.clarray.dtypes import cl_type
from portarray.clarray.engine.host import modify
from portarray.clarray.kernels import kernel_source
from portarray.clarray.strided import Array, empty

NumpyArray = np.ndarray[Any, Any]

RUN = 1 << 16
"""The fewest elements of a run: fewer are not worth a thread."""

_CHUNK = 1 << 14
"""Elements that one work-item merges."""


def sort_rows(x: Array) -> Array:
    """Sort the rows of a contiguous array, ascending, NaN last; not stable."""
    if not x.size:
        return x
    length = x.shape[-1]
    rows = x.size // length
    threads = min(x.device.traits.units, x.size // RUN, 16) if x.device.host_memory else 1
    if threads < 2:
        modify(x, lambda values: values.sort(axis=-1))
        return x
    # One run per available thread. The merge kernel does not support complex numbers.
    runs = 1 if x.dtype.kind == "c" else 1 << (max(threads // rows, 1).bit_length() - 1)
    run = -(-length // runs)

    def sort_runs(values: NumpyArray) -> None:
        lines = values.reshape(rows, length)
        if runs > 1:
            pieces = [
                line[start : start + run] for line in lines for start in range(0, length, run)
            ]
        else:
            pieces = np.array_split(lines, threads)
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda piece: piece.sort(axis=-1), pieces))

    modify(x, sort_runs)
    while run < length:
        x = _merged(x, rows, length, run)
        run *= 2
    return x


def _merged(x: Array, rows: int, length: int, run: int) -> Array:
    """Return a new array in which adjacent runs of each row are merged."""
    out = empty(x.shape, x.dtype, x.device)
    pairs = -(-length // (2 * run))
    size = (-(-min(2 * run, length) // _CHUNK), rows * pairs)
    values = x.offset, run, length, pairs, _CHUNK
    _kernel(x.device, x.dtype).launch(size, (1, 1), (x.storage, out.storage), *values)
    return out


@cache
def _kernel(device: Device, dtype: np.dtype[Any]) -> Kernel:
    c_type = cl_type(dtype)
    # The second half of BEFORE orders NaN; compilers drop it for integers.
    lines = (
        f"#define STORED {c_type.storage}",
        f"#define VALUE(i) {c_type.load}(in, i)",
        "#define BEFORE(x, y) ((x) < (y) || ((y) != (y) && (x) == (x)))",
        kernel_source("merge"),
    )
    return device.kernel("\n".join(lines), "merge", 2, [np.int64] * 5)
