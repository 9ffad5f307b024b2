"""Kernels of neural networks: one pass over memory where separate functions need several."""

from portarray.clarray.neural.attention import attention
from portarray.clarray.neural.linear import linear, matmul

__all__ = ["attention", "linear", "matmul"]
