"""Core kernels of neural networks: written once, tuned where it pays.

Each runs on every device and gives the same answers; :func:`explain` says which version serves a
call and why.
"""

from portarray.kernels.activations import gelu, log_softmax, relu, silu, softmax
from portarray.kernels.attention import attention
from portarray.kernels.losses import cross_entropy
from portarray.kernels.normalization import layer_norm, rms_norm
from portarray.kernels.positions import rope, rope_tables
from portarray.kernels.products import embedding, linear, matmul

__all__ = [
    "attention",
    "cross_entropy",
    "embedding",
    "gelu",
    "layer_norm",
    "linear",
    "log_softmax",
    "matmul",
    "relu",
    "rms_norm",
    "rope",
    "rope_tables",
    "silu",
    "softmax",
]
