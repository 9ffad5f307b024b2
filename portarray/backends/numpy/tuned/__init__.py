"""Core kernels on NumPy arrays, in blocks that fit the caches and with reused buffers.

Time saved relative to the generic version, in rows of benchmarks/kernels.py: NumPy 2.4, one
thread, two or three runs on a loaded machine. Softmax, linear and gemm did not save reliably
(-45 % to 41 %, -35 % to 58 %, -297 % to 6 %), and have only the generic version.

================  ======================  ============================  =================
kernel            decode step, float32    prompt, float32               prompt, float64
================  ======================  ============================  =================
silu              1x1536: 34-37 %         512x4096: 75-82 %             53-57 %
gelu              1x1536: 66 %            512x4096: 86-90 %             65-67 % (tanh)
relu              1x1536: 62 %            512x4096: 40-45 %             53-73 %
rms_norm          1x576: 47-50 %          512x4096: 15-33 %             63-78 %
layer_norm        1x576: -26 to -22 %     512x4096: 46-72 %             69-77 %
rope              9x1x64: 18 %            32x1024x128: 46-53 %          51-61 %
attention         9/3x64: 17-28 %         9/3x1024x64 causal: 22-53 %   9x1024x64: 2-9 %
attention         32/8x128: -19 to 13 %   32/8x1024x128: -25 to -20 %
cross_entropy                             512x4096: 30-59 %             0-14 %
solve_triangular                          512x512: 45-71 %              48-50 %
================  ======================  ============================  =================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from portarray.backends.numpy.tuned import blas, rows
from portarray.backends.numpy.tuned.heads import attention, is_valid
from portarray.backends.types import TunedKernel

__all__ = ["TUNED"]

_FLOATS = frozenset({"float16", "float32", "float64"})
_BLAS = frozenset({"float32", "float64", "complex64", "complex128"})


def _row(
    function: Callable[..., Any], name: str, wins: str, dtypes: frozenset[str] = _FLOATS
) -> tuple[TunedKernel]:
    return (TunedKernel(function, name, dtypes, wins),)


TUNED: Mapping[str, tuple[TunedKernel, ...]] = {
    "solve_triangular": (
        TunedKernel(
            blas.solve_triangular, "SciPy's BLAS", _BLAS, "solve_triangular 512x512", blas.no_solve
        ),
    ),
    "silu": _row(rows.silu, "blocks of values", "silu 512x4096"),
    "gelu": (
        *_row(rows.gelu, "blocks of values", "gelu 512x4096", _FLOATS - {"float64"}),
        TunedKernel(
            rows.gelu,
            "blocks of values",
            frozenset({"float64"}),
            "gelu 512x4096 tanh float64",
            rows.not_by_tanh,
        ),
    ),
    # The generic version is faster in half precision, where each comparison converts.
    "relu": _row(
        lambda x, /: np.maximum(x, 0), "numpy.maximum", "relu 512x4096", _FLOATS - {"float16"}
    ),
    "rms_norm": _row(rows.rms_norm, "blocks of rows", "rms_norm 1x576"),
    "layer_norm": _row(rows.layer_norm, "blocks of rows", "layer_norm 512x4096"),
    "rope": _row(rows.rope, "blocks of heads", "rope 32x1024x128"),
    "attention": (
        TunedKernel(
            attention,
            "blocks of queries and keys",
            _FLOATS,
            "attention 9/3x1024x64 causal",
            is_valid=is_valid,
        ),
    ),
    "cross_entropy": _row(rows.cross_entropy, "blocks of rows", "cross_entropy 512x49152"),
}
