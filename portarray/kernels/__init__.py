"""Core kernels of neural networks: written once, tuned where it pays.

Each runs on every device and gives the same answers; :func:`explain` says which version serves a
call and why.
"""

from typing import TYPE_CHECKING, Any

from portarray import _name_hints
from portarray._verification.kernels import Verification, verify
from portarray.kernels.activations import gelu, log_softmax, relu, silu, softmax
from portarray.kernels.attention import attention
from portarray.kernels.explain import Explanation, explain
from portarray.kernels.losses import cross_entropy
from portarray.kernels.memory import InferenceMemory, estimate_inference_memory
from portarray.kernels.normalization import layer_norm, rms_norm
from portarray.kernels.positions import rope, rope_tables
from portarray.kernels.products import (
    embedding,
    fused_linear,
    gemm,
    linear,
    matmul,
    solve_triangular,
)

__all__ = [
    "Explanation",
    "InferenceMemory",
    "Packed",
    "Verification",
    "attention",
    "cross_entropy",
    "embedding",
    "estimate_inference_memory",
    "explain",
    "fused_linear",
    "gelu",
    "gemm",
    "layer_norm",
    "linear",
    "log_softmax",
    "matmul",
    "pack",
    "relu",
    "rms_norm",
    "rope",
    "rope_tables",
    "silu",
    "softmax",
    "solve_triangular",
    "unpack",
    "verify",
]

if TYPE_CHECKING:
    from portarray.kernels.packed import Packed, pack, unpack
else:  # a type checker would take every name to be there
    _absent_name = _name_hints.module_getattr(__name__)

    def __getattr__(name: str) -> Any:
        """Import packed matrices on first use: most programs have none."""
        if name not in ("Packed", "pack", "unpack"):
            return _absent_name(name)
        from portarray.kernels import packed

        globals()[name] = value = getattr(packed, name)
        return value
