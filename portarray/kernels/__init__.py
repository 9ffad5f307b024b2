"""Core kernels of neural networks: written once, tuned where it pays.

Each runs on every device and gives the same answers; :func:`explain` says which version serves a
call and why.
"""

from typing import TYPE_CHECKING

from portarray import _absent
from portarray.kernels.activations import gelu, log_softmax, relu, silu, softmax
from portarray.kernels.attention import attention
from portarray.kernels.explain import Explanation, explain
from portarray.kernels.losses import cross_entropy
from portarray.kernels.memory import InferenceMemory, estimate_inference_memory
from portarray.kernels.normalization import layer_norm, rms_norm
from portarray.kernels.positions import rope, rope_tables
from portarray.kernels.products import embedding, linear, matmul
from portarray.kernels.verify import Verification, verify

__all__ = [
    "Explanation",
    "InferenceMemory",
    "Verification",
    "attention",
    "cross_entropy",
    "embedding",
    "estimate_inference_memory",
    "explain",
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
    "verify",
]

if not TYPE_CHECKING:  # a type checker would take every name to be there
    __getattr__ = _absent.in_module(__name__)
