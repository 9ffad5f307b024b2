"""Kernels of neural networks: one pass over memory where separate functions need several.

They take real floating-point arrays; float16 and bfloat16 are computed in float32.
"""

from portarray.clarray.neural.activations import gelu, relu, silu
from portarray.clarray.neural.attention import attention
from portarray.clarray.neural.linear import linear
from portarray.clarray.neural.lookup import embedding
from portarray.clarray.neural.losses import cross_entropy
from portarray.clarray.neural.normalization import layer_norm, rms_norm
from portarray.clarray.neural.positions import rope, rope_tables
from portarray.clarray.neural.softmax import log_softmax, softmax

__all__ = ["attention", "cross_entropy", "embedding", "gelu", "layer_norm", "linear"]
__all__ += ["log_softmax", "relu", "rms_norm", "rope", "rope_tables", "silu", "softmax"]
