"""Core kernels on NumPy arrays, in blocks that fit the caches and with buffers used again."""

from __future__ import annotations

from collections.abc import Mapping

from portarray.backends.numpy.tuned import blas, rows
from portarray.backends.numpy.tuned.heads import attention
from portarray.backends.numpy.tuned.products import linear
from portarray.backends.types import TunedKernel

__all__ = ["TUNED"]

_FLOATS = frozenset({"float16", "float32", "float64"})
_BLAS = frozenset({"float32", "float64", "complex64", "complex128"})

TUNED: Mapping[str, tuple[TunedKernel, ...]] = {
    "linear": (
        TunedKernel(
            linear, "numpy.matmul, numpy.vecdot for one row", _FLOATS, "linear decode 49152x576"
        ),
    ),
    "gemm": (TunedKernel(blas.gemm, "SciPy's BLAS", _BLAS, "gemm 512x512x512", blas.no_gemm),),
    "solve_triangular": (
        TunedKernel(
            blas.solve_triangular,
            "SciPy's BLAS",
            _BLAS,
            "solve_triangular 512x512",
            blas.no_solve,
        ),
    ),
    "softmax": (
        TunedKernel(rows.softmax, "blocks of rows", _FLOATS, "softmax 512x4096", rows.not_last),
    ),
    "log_softmax": (
        TunedKernel(
            rows.log_softmax, "blocks of rows", _FLOATS, "log_softmax 512x4096", rows.not_last
        ),
    ),
    "silu": (TunedKernel(rows.silu, "blocks of values", _FLOATS, "silu 512x4096"),),
    "gelu": (
        TunedKernel(rows.gelu, "blocks of values", _FLOATS - {"float64"}, "gelu 512x4096"),
        TunedKernel(
            rows.gelu,
            "blocks of values",
            frozenset({"float64"}),
            "gelu 512x4096 tanh float64",
            rows.not_by_tanh,
        ),
    ),
    # The generic version is faster in half precision, where each comparison converts.
    "relu": (TunedKernel(rows.relu, "numpy.maximum", _FLOATS - {"float16"}, "relu 512x4096"),),
    "rms_norm": (TunedKernel(rows.rms_norm, "blocks of rows", _FLOATS, "rms_norm 512x4096"),),
    "layer_norm": (TunedKernel(rows.layer_norm, "blocks of rows", _FLOATS, "layer_norm 512x4096"),),
    "rope": (TunedKernel(rows.rope, "blocks of heads", _FLOATS, "rope 9x1024x64"),),
    "attention": (
        TunedKernel(attention, "blocks of queries and keys", _FLOATS, "attention 9x4096x64 causal"),
    ),
    "cross_entropy": (
        TunedKernel(rows.cross_entropy, "blocks of rows", _FLOATS, "cross_entropy 512x49152"),
    ),
}
