"""Core kernels on clarray: clarray's own, in one pass over memory.

Kernels compute float16 and bfloat16 as float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from portarray import clarray as cl
from portarray.backends.common.attention import excludes, has_nan
from portarray.backends.types import TunedKernel
from portarray.clarray import neural
from portarray.clarray.engine.transfer import to_numpy

__all__ = ["TUNED"]

_FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
_ANY = _FLOATS | {
    *("bool", "complex64", "complex128"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
}
_BACKEND = "portarray.clarray.neural"


def _is_valid(out: cl.Array, q: cl.Array, /, *_: cl.Array, **options: Any) -> bool:
    """Return whether excluded keys have not contributed to a result of attention."""
    if not (excludes(q, **options) and out.size):
        return True
    if q.device.host_memory:
        return not has_nan(to_numpy(out))
    largest = float(cl.max(out))
    return largest == largest


TUNED: Mapping[str, tuple[TunedKernel, ...]] = {
    "softmax": (TunedKernel(neural.softmax, f"{_BACKEND}.softmax", _FLOATS, "softmax 512x4096"),),
    "log_softmax": (
        TunedKernel(neural.log_softmax, f"{_BACKEND}.log_softmax", _FLOATS, "log_softmax 512x4096"),
    ),
    "silu": (TunedKernel(neural.silu, f"{_BACKEND}.silu", _FLOATS, "silu 512x4096"),),
    "gelu": (TunedKernel(neural.gelu, f"{_BACKEND}.gelu", _FLOATS, "gelu 512x4096"),),
    "relu": (TunedKernel(neural.relu, f"{_BACKEND}.relu", _FLOATS, "relu 512x4096"),),
    "rms_norm": (
        TunedKernel(neural.rms_norm, f"{_BACKEND}.rms_norm", _FLOATS, "rms_norm 512x4096"),
    ),
    "layer_norm": (
        TunedKernel(neural.layer_norm, f"{_BACKEND}.layer_norm", _FLOATS, "layer_norm 512x4096"),
    ),
    "rope": (TunedKernel(neural.rope, f"{_BACKEND}.rope", _FLOATS, "rope 9x1024x64"),),
    "attention": (
        TunedKernel(
            neural.attention,
            f"{_BACKEND}.attention",
            _FLOATS,
            "attention 9x1024x64 causal",
            is_valid=_is_valid,
        ),
    ),
    "linear": (
        TunedKernel(neural.linear, f"{_BACKEND}.linear", _FLOATS, "linear decode 1536x576"),
    ),
    "cross_entropy": (
        TunedKernel(
            neural.cross_entropy, f"{_BACKEND}.cross_entropy", _FLOATS, "cross_entropy 512x49152"
        ),
    ),
    "embedding": (
        TunedKernel(neural.embedding, f"{_BACKEND}.embedding", _ANY, "embedding 512 of 49152x576"),
    ),
}
