"""CUDA code of core kernels, one launch each where CuPy's functions need several.

CuPy compiles each on its first call, for the dtypes of that call. ``T`` is the dtype of the arrays
and ``W`` the compute dtype: float32 for float16, else the same. Sums are CuPy's reductions.
"""

from __future__ import annotations

import cupy

from portarray.backends.cupy.widening import WIDE

_CODE = (
    WIDE
    + """
template <typename W> __device__ inline W portarray_silu(W x) { return x / (W(1) + exp(-x)); }

template <typename W> __device__ inline W portarray_gelu(W x) {
    return x * (W(0.5) * erfc(x * W(-0.70710678118654752)));
}

// (1 + tanh(y)) / 2 is 1 / (1 + exp(-2 y)), which does not cancel far below 0.
template <typename W> __device__ inline W portarray_gelu_tanh(W x) {
    return x / (W(1) + exp(x * (W(-1.5957691216057308) + W(-0.07135481627260025) * (x * x))));
}
"""
)


def _elementwise(inputs: str, outputs: str, operation: str, name: str) -> cupy.ElementwiseKernel:
    return cupy.ElementwiseKernel(inputs, outputs, operation, f"portarray_{name}", preamble=_CODE)


def _sum(inputs: str, output: str, term: str, name: str) -> cupy.ReductionKernel:
    """Return a kernel that sums over an axis in the dtype of the result."""
    return cupy.ReductionKernel(
        inputs, output, term, "a + b", "sum = a", "0", f"portarray_{name}", preamble=_CODE
    )


silu = _elementwise("T x", "T y", "y = T(portarray_silu(portarray_wide(x)))", "silu")
gelu = _elementwise("T x", "T y", "y = T(portarray_gelu(portarray_wide(x)))", "gelu")
gelu_tanh = _elementwise("T x", "T y", "y = T(portarray_gelu_tanh(portarray_wide(x)))", "gelu_tanh")

# Sums of float64 in float64, of other dtypes in float32.
total = _sum("T x", "T sum", "portarray_wide(x)", "total")
total32 = _sum("T x", "float32 sum", "portarray_wide(x)", "total32")
squares = _sum("T x", "T sum", "portarray_wide(x) * portarray_wide(x)", "squares")
squares32 = _sum("T x", "float32 sum", "portarray_wide(x) * portarray_wide(x)", "squares32")

exponentials = _sum("T x, W top", "W sum", "exp(portarray_wide(x) - top)", "exponentials")
"""The sum of exponentials, after subtracting the maximum."""

distance = _sum(
    "T x, W mean",
    "W sum",
    "(portarray_wide(x) - mean) * (portarray_wide(x) - mean)",
    "distance",
)
"""The sum of squared distances from the mean."""

softmax = _elementwise(
    "T x, W top, W sum", "T y", "y = T(exp(portarray_wide(x) - top) / sum)", "softmax"
)
log_softmax = _elementwise(
    "T x, W top, W sum", "T y", "y = T(portarray_wide(x) - top - log(sum))", "log_softmax"
)
rms_norm = _elementwise(
    "T x, W square, W eps, T weight",
    "T y",
    "y = T(portarray_wide(x) / sqrt(square + eps) * portarray_wide(weight))",
    "rms_norm",
)
layer_norm = _elementwise(
    "T x, W mean, W square, W eps, T weight, T bias",
    "T y",
    """
    const W normal = (portarray_wide(x) - mean) / sqrt(square + eps);
    y = T(normal * portarray_wide(weight) + portarray_wide(bias));
    """,
    "layer_norm",
)

rotate = _elementwise(
    "T a, T b, T cosine, T sine",
    "T c, T d",
    """
    c = T(portarray_wide(a) * portarray_wide(cosine) - portarray_wide(b) * portarray_wide(sine));
    d = T(portarray_wide(b) * portarray_wide(cosine) + portarray_wide(a) * portarray_wide(sine));
    """,
    "rotate",
)
"""Rotate pairs by an angle."""
