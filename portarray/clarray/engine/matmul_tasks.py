"""The arguments of matrix product kernels, and the kernels."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.pool import Storage
from portarray._opencl.programs import Kernel
from portarray.clarray.engine.tiles import source

DType = np.dtype[Any]
Three = tuple[int, int, int]


class Task(NamedTuple):
    """Products of matrices along three batch axes; strides in elements.

    ``c``'s matrices are contiguous in sequence; ``c_m`` and ``c_n`` are the strides within one.
    """

    a: Storage
    b: Storage
    c: Storage
    a_at: int
    b_at: int
    c_at: int
    m: int
    n: int
    depth: int
    a_m: int
    a_k: int
    b_k: int
    b_n: int
    c_m: int
    c_n: int
    batch: Three
    a_batch: Three
    b_batch: Three

    @property
    def matrices(self) -> int:
        """How many products there are."""
        return math.prod(self.batch)

    def transposed(self) -> Task:
        """Return the same products as those of the transposed operands, exchanged."""
        return self._replace(
            a=self.b, b=self.a, a_at=self.b_at, b_at=self.a_at, m=self.n, n=self.m,
            a_m=self.b_n, a_k=self.b_k, b_k=self.a_k, b_n=self.a_m, c_m=self.c_n, c_n=self.c_m,
            a_batch=self.b_batch, b_batch=self.a_batch,
        )  # fmt: skip


@cache
def kernel_of(
    device: Device, dtype: DType, out: DType, name: str, buffers: int, values: int
) -> Kernel:
    """Return a kernel of matrix products, built for a dtype and that of the results."""
    packed = name in ("pack_rows", "pack_columns", "tiles")
    file = "matmul_packed" if packed else "matmul_local" if name == "squares" else "matmul"
    text = source(device, dtype, out, file)
    return device.kernel(text, name, buffers, [np.int64] * values)
