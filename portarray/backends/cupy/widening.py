"""C++ preamble of kernels in several files."""

from __future__ import annotations

WIDE = """
template <typename T> __device__ inline float portarray_wide(T x) { return float(x); }
__device__ inline double portarray_wide(double x) { return x; }
"""
"""For kernels that compute on float16 as float."""
