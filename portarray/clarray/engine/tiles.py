"""Register tiles of matrix products, and the programs that use them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyopencl as cl

from portarray._opencl.device import Device
from portarray.clarray.dtypes import cl_type, kind_of, real_dtype_of
from portarray.clarray.kernels import kernel_source

DType = np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Tile:
    """The register tile and the blocks of packed products."""

    rows: int
    columns: int
    width: int
    depth: int
    block_rows: int
    block_columns: int
    itemsize: int

    @property
    def wide(self) -> int:
        """Columns of the register tile, in elements."""
        return self.columns * self.width


# (bytes of a register, complex) -> rows, columns in vectors, depth, block of rows, of columns.
# Measured with float32 on an AMD processor with AVX-512 (Zen 4, 1 MiB of second-level cache for
# each core) on Intel's runtime: 8 x 2, 12 x 2, 8 x 3 and 6 x 4 vectors all reach 111 of 112 billion
# operations a second in the first-level cache, and 8 x 2 divides powers of two. Blocks of the
# summed axis of 256, 512 and 1024 terms took 1.02, 1.00 and 0.89 times NumPy's time at 1024, since
# each but the first reads the result again. AVX2 and older have 16 registers: 6 x 2 (BLIS's tile).
_TILES: dict[tuple[int, bool], tuple[int, int, int, int, int]] = {
    (64, False): (8, 2, 1024, 128, 128),
    (64, True): (4, 2, 512, 64, 128),
    (32, False): (6, 2, 512, 96, 128),
    (32, True): (2, 2, 512, 64, 128),
    (16, False): (6, 2, 256, 96, 64),
    (16, True): (2, 2, 256, 64, 64),
}


@cache
def tile_of(device: Device, dtype: DType) -> Tile:
    """Return the tile for a dtype on a device, by the width of the device's vectors."""
    part = _part(dtype)
    size = min(64, max(16, 4 * device.native.native_vector_width_float))
    rows, columns, depth, block_rows, block_columns = _TILES[size, dtype.kind == "c"]
    width = size // part.itemsize
    return Tile(
        rows, columns, width, depth,
        -(-block_rows // rows) * rows,
        -(-block_columns // (columns * width)) * columns * width,
        part.itemsize * (1 + (dtype.kind == "c")),
    )  # fmt: skip


def _part(dtype: DType) -> DType:
    """Return the real dtype that products of a dtype are computed in."""
    if dtype.kind in "iu":
        return np.dtype(np.uint64 if dtype.itemsize == 8 else np.uint32)
    return np.dtype(np.float64 if real_dtype_of(dtype).itemsize == 8 else np.float32)


_REAL = """
#define MULADD FUSED
#define VMULADD FUSED
#define ZERO ((T)0)
#define CONJ(v) (v)
"""

_COMPLEX = """
#define VMULADD FUSED
static T multiply_add(T a, T b, T c) {
    return (T)(FUSED(-a.y, b.y, FUSED(a.x, b.x, c.x)), FUSED(a.y, b.x, FUSED(a.x, b.y, c.y)));
}
#define MULADD multiply_add
#define ZERO ((T)(0, 0))
#define CONJ(v) ((T)((v).x, -(v).y))
"""

_INTEGER = """
#define MULADD(a, b, c) ((a) * (b) + (c))
#define VMULADD MULADD
#define ZERO ((T)0)
#define CONJ(v) (v)
"""


def _fused(device: Device) -> str:
    """Return the function for fused multiply-add."""
    # Intel's runtime and GPUs compile ``mad`` to one instruction; PoCL only ``fma``, which is slow
    # software on CPUs without the instruction. No device defines ``FP_FAST_FMAF``.
    native = device.native
    has = native.single_fp_config & cl.device_fp_config.FMA
    return "fma" if has and native.native_vector_width_float >= 8 else "mad"


@cache
def source(device: Device, dtype: DType, out: DType, file: str) -> str:
    """Return a program of ``kernels/FILE.cl`` for operands and results of given dtypes."""
    element, result = cl_type(dtype), cl_type(out)
    part = cl_type(_part(dtype)).storage
    tile = tile_of(device, dtype)
    integer = dtype.kind in "iu"
    dense = dtype.kind != "c" and dtype.itemsize >= 4
    # Signed integers of the computed width are read as unsigned ones.
    storage = part if dense else element.storage
    compute = element.compute if dtype.kind == "c" else part
    return "\n".join([
        "#define CAT_(a, b) a##b",
        "#define CAT(a, b) CAT_(a, b)",
        f"#define S {storage}",
        f"#define O {storage if out == dtype else result.storage}",
        f"#define T {compute}",
        f"#define R {part}",
        f"#define LOAD_S(p, i) (({compute}){element.load}(p, i))" if integer
        else f"#define LOAD_S {element.load}",
        f"#define LOAD_O(p, i) (({compute}){result.load}(p, i))" if integer
        else f"#define LOAD_O {result.load}",
        f"#define STORE_O {result.store}",
        f"#define DENSE {int(dense)}",
        f"#define OUT_DENSE {int(dense and out == dtype)}",
        f"#define COMPLEX {int(dtype.kind == 'c')}",
        f"#define W {tile.width}",
        "#define V CAT(R, W)",
        f"#define FUSED {_fused(device)}",
        f"#define ROWS {tile.rows}",
        f"#define COLUMNS {tile.columns}",
        f"#define U {next(unroll for unroll in (16, 8, 4, 2) if tile.rows % unroll == 0)}",
        _INTEGER if integer else _COMPLEX if kind_of(dtype) == "complex" else _REAL,
        kernel_source(file),
    ])  # fmt: skip
