"""Core kernels on PyTorch tensors: PyTorch's own functions, under the rules of all devices.

What differs from calling PyTorch by hand: causal attention is aligned at the end of the keys, a
query that sees no key gives zeros, and float16 and bfloat16 go the way that is fast on the device.
Nothing here writes into tensors that autograd follows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from portarray.backends.protocol import TunedKernel

__all__ = ["TUNED"]

Tensor = torch.Tensor

QUERIES = 512
"""Queries whose part of a mask is in memory at once."""

WEIGHTS = 1 << 22
"""Numbers of a narrow matrix that are in memory as float32 at once."""

DOT = 4096
"""Length of a row from which on it is no gain to take rows one by one."""

READ = 1 << 17
"""Numbers of a matrix from which on it is one."""

_NARROW = frozenset({torch.float16, torch.bfloat16})
_INDICES = frozenset({torch.int32, torch.int64})


def softmax(x: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the softmax along an axis."""
    if x.dtype in _NARROW and x.is_cpu and axis not in (-1, x.ndim - 1):
        # Along other axes PyTorch rounds exponentials to x's dtype there.
        return torch.softmax(x, axis, dtype=torch.float32).to(x.dtype)
    return torch.softmax(x, axis)


def log_softmax(x: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the logarithm of the softmax along an axis."""
    if x.dtype in _NARROW and x.is_cpu:
        # There PyTorch rounds the logarithm of the sum to x's dtype before it subtracts.
        return torch.log_softmax(x, axis, dtype=torch.float32).to(x.dtype)
    return torch.log_softmax(x, axis)


def gelu(x: Tensor, /, *, approximate: str = "none") -> Tensor:
    """Return x times the normal distribution function of x, exact or as a tanh.

    PyTorch's own doubles x before it halves it: in float32 on the CPU, half of the largest number
    and more gives inf, and inf gives NaN.
    """
    if approximate == "none" or not x.is_cpu or x.numel() < 8192:
        return functional.gelu(x, approximate=approximate)
    # On the CPU, PyTorch's own takes twice the time of these. (1 + tanh(z)) / 2 is sigmoid(2 z).
    wide = x.float() if x.dtype in _NARROW else x
    slope = 2 * math.sqrt(2 / math.pi)
    inner = torch.addcmul(_constant(slope, wide.dtype), wide, wide, value=0.044715 * slope)
    if wide.requires_grad:
        out = wide * torch.sigmoid(wide * inner)
    else:
        out = inner.mul_(wide).sigmoid_().mul_(wide)
    return out.to(x.dtype)


def rms_norm(x: Tensor, weight: Tensor | None = None, /, *, eps: float = 1e-6) -> Tensor:
    """Divide the last axis by the root of its mean square.

    ``torch.nn.functional.rms_norm`` is made of six functions on the CPU; these are four.
    """
    size = x.shape[-1]
    if not x.is_cpu or not size:
        return torch.rms_norm(x, (size,), weight, eps)
    dtype = x.dtype
    wide = torch.float32 if dtype in _NARROW else dtype
    norm = _norm(x, 2, -1, True, dtype=wide)
    root = torch.addcmul(_constant(eps, wide), norm, norm, value=1 / size).rsqrt_()
    out = x * root
    if weight is not None:
        followed = weight.requires_grad or x.requires_grad
        out = out * weight if followed else out.mul_(weight)
    return out if dtype is wide else out.to(dtype)


_norm = torch.linalg.vector_norm


@lru_cache(maxsize=64)
def _constant(value: float, dtype: torch.dtype) -> Tensor:
    """Return a number as a tensor on the CPU."""
    return torch.tensor(value, dtype=dtype)


def layer_norm(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    /,
    *,
    eps: float = 1e-5,
) -> Tensor:
    """Give the last axis mean 0 and variance 1."""
    return torch.layer_norm(x, x.shape[-1:], weight, bias, eps)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, /) -> Tensor:
    """Return ``x @ weight.T + bias``."""
    size = x.shape[-1]
    if x.numel() == size < DOT and x.is_cpu and weight.numel() >= READ:
        found = _by_row(x, weight, bias)
        if found is not None:
            return found
    return functional.linear(x, weight, bias)


def _by_row(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor | None:
    """Multiply a matrix with a vector on the CPU, one row after the other; None where it cannot.

    Models read more weights for one token than caches hold. MKL, which PyTorch calls, reads them
    with one thread at 10 GB/s where inner products of row after row, as NumPy takes them in the
    same memory, read 20 and more.
    """
    if x.requires_grad or weight.requires_grad or (bias is not None and bias.requires_grad):
        return None
    try:
        matrix, vector = weight.numpy(), x.numpy()
    except RuntimeError:  # torch.func's tensors have no memory, lazily negated ones not their own
        return None
    with np.errstate(all="ignore"):
        product = np.vecdot(matrix, vector.reshape(-1))
    out = torch.from_numpy(product).view(*x.shape[:-1], len(matrix))
    return out if bias is None else out + bias


def narrow_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, /) -> Tensor:
    """Return ``x @ weight.T + bias`` of narrow numbers."""
    if x.is_cpu and _is_widened(x, bias):
        wide = x.float()
        rows = max(1, WEIGHTS // max(1, weight.shape[1]))
        parts = [functional.linear(wide, part.float()) for part in torch.split(weight, rows)]
        out = parts[0] if len(parts) == 1 else torch.cat(parts, -1)
        return (out if bias is None else out + bias).to(x.dtype)
    return functional.linear(x, weight, bias)


def _is_widened(x: Tensor, bias: Tensor | None) -> bool:
    """Tell whether narrow numbers on the CPU are multiplied as float32.

    Before it adds the bias PyTorch rounds there, and most CPUs have no instructions for matrices of
    float16: from 3 rows on, float32 takes half the time and less.
    """
    return bias is not None or (x.dtype is torch.float16 and x.numel() > 2 * x.shape[-1])


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Multiply matrices of narrow numbers."""
    if x1.dtype is torch.float16 and x1.is_cpu and min(x1.ndim, x2.ndim) > 1:
        return torch.matmul(x1.float(), x2.float()).to(torch.float16)
    return torch.matmul(x1, x2)


def embedding(indices: Tensor, weight: Tensor, /) -> Tensor:
    """Return the rows of a table at indices."""
    return torch.embedding(weight, indices if indices.dtype in _INDICES else indices.long())


def rope(
    x: Tensor,
    positions: Tensor | None = None,
    /,
    *,
    tables: tuple[Tensor, Tensor] | None = None,
    theta: float = 10000.0,
    interleaved: bool = False,
) -> Tensor:
    """Rotate pairs of features by angles that grow with the position."""
    if tables is None:
        if positions is None:
            positions = torch.arange(x.shape[-2], device=x.device)
        cos, sin = _tables(positions, x.shape[-1], theta, x)
    else:
        cos, sin = tables
        if x.dtype in _NARROW:
            cos, sin = cos.float(), sin.float()
    half = cos.shape[-1]
    rotated = x if 2 * half == x.shape[-1] else x[..., : 2 * half]
    if interleaved:
        first, second = rotated.reshape(*rotated.shape[:-1], half, 2).unbind(-1)
    else:
        first, second = rotated.chunk(2, -1)
    if interleaved or x.requires_grad or cos.requires_grad or sin.requires_grad:
        parts = (
            torch.addcmul(first * cos, second, sin, value=-1),
            torch.addcmul(second * cos, first, sin),
        )
        out = torch.stack(parts, -1).flatten(-2) if interleaved else torch.cat(parts, -1)
    else:
        out = rotated * torch.cat((cos, cos), -1)
        left, right = out.chunk(2, -1)
        left.addcmul_(second, sin, value=-1)
        right.addcmul_(first, sin)
    if out.dtype is not x.dtype:
        out = out.to(x.dtype)
    return out if rotated is x else torch.cat((out, x[..., 2 * half :]), -1)


def _tables(positions: Tensor, size: int, theta: float, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosines and sines of a rotary embedding in the dtype that x is computed in."""
    # Metal has no float64.
    wide = torch.float32 if x.device.type == "mps" else torch.float64
    steps = torch.arange(0, size, 2, dtype=wide, device=x.device)
    angles = positions.to(wide).unsqueeze(-1) * torch.exp(steps * (-math.log(theta) / size))
    dtype = torch.float32 if x.dtype in _NARROW else x.dtype
    return angles.cos().to(dtype), angles.sin().to(dtype)


def cross_entropy(
    logits: Tensor,
    targets: Tensor,
    /,
    *,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the cross entropy between logits and the classes that were due."""
    classes = logits.shape[-1]
    losses = functional.cross_entropy(
        (logits.float() if logits.dtype in _NARROW else logits).reshape(-1, classes),
        targets.reshape(-1).long(),
        reduction=reduction,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
    )
    if losses.dtype is not logits.dtype:
        losses = losses.to(logits.dtype)
    return losses.view(targets.shape) if reduction == "none" else losses


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    /,
    *,
    scale: float | None = None,
    causal: bool = False,
    mask: Tensor | None = None,
    key_length: Any = None,
) -> Tensor:
    """Return ``softmax(scale * q @ k.T + mask) @ v``, head by head."""
    *lead, length, size = q.shape
    *groups, keys, _ = k.shape
    if key_length is not None:
        used = min(max(int(key_length), 0), keys)
        if used != keys:
            k, v, keys = k.narrow(-2, 0, used), v.narrow(-2, 0, used), used
            if mask is not None and mask.ndim and mask.shape[-1] != 1:
                mask = mask[..., :used]
    if length == 1:
        causal = False  # the last query sees all keys
    if (
        mask is not None
        or (causal and length != keys)
        or not 1 <= len(lead) <= 2
        or not q.is_cpu
        or q.dtype in _NARROW
        or v.shape[-1] != size
    ):
        return _attention(q, k, v, scale, causal, mask)
    if len(lead) == 1:
        q, k, v = q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0)
    out = functional.scaled_dot_product_attention(
        q, k, v, is_causal=causal, scale=scale, enable_gqa=lead != groups
    )
    return out.squeeze(0) if len(lead) == 1 else out


def _attention(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None, causal: bool, mask: Tensor | None
) -> Tensor:
    """Bring any attention into the form that PyTorch has fused functions for."""
    shape, size, dtype = q.shape, v.shape[-1], q.dtype
    if 0 in shape or 0 in v.shape:
        return q.new_zeros((*shape[:-1], size))
    heads, groups = (shape[-3], k.shape[-3]) if q.ndim > 2 else (1, 1)
    scale = 1 / math.sqrt(shape[-1]) if scale is None else scale
    if dtype in _NARROW and q.is_cpu:
        # PyTorch's fused function is two to seven times slower on these than on float32.
        q, k, v = q.float(), k.float(), v.float()
        mask = mask.float() if mask is not None and mask.dtype is not torch.bool else mask
    # Query heads that share a key head become the heads of one batch, whose keys are the same
    # memory for all: only some of PyTorch's fused functions take grouped heads as they are.
    width = max(shape[-1], size)  # fused functions want one width
    q = _widened(q.reshape(-1, heads // groups, *shape[-2:]), width)
    k = _widened(k.reshape(-1, 1, *k.shape[-2:]), width).expand(-1, heads // groups, -1, -1)
    v = _widened(v.reshape(-1, 1, *v.shape[-2:]), width).expand(-1, heads // groups, -1, -1)
    if mask is not None:
        mask = _grouped(mask, shape, heads, groups)
    out = _blocks(q, k, v, scale, causal, mask)
    return out[..., :size].reshape(*shape[:-1], size).to(dtype)


def _widened(x: Tensor, width: int) -> Tensor:
    """Return x with zeros after its last axis, up to a width."""
    return x if x.shape[-1] == width else functional.pad(x, (0, width - x.shape[-1]))


def _grouped(mask: Tensor, shape: torch.Size, heads: int, groups: int) -> Tensor:
    """Return a mask for queries in the shape that :func:`_attention` gives them."""
    mask = mask[(None,) * (max(len(shape), 4) - mask.ndim)]
    if math.prod(mask.shape[:-2]) == 1:
        return mask.reshape(1, 1, *mask.shape[-2:])
    lead = shape[:-3] if len(shape) > 3 else (1,)
    whole = mask.expand(*lead, heads, *mask.shape[-2:])
    return whole.reshape(-1, heads // groups, *mask.shape[-2:])


def _blocks(
    q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool, mask: Tensor | None
) -> Tensor:
    """Attend with masks of no more than a block of queries in memory at once."""
    length, keys = q.shape[-2], k.shape[-2]
    if causal and length > keys:
        # The first queries come before every key.
        blind = length - keys
        mask = mask if mask is None or mask.shape[-2] == 1 else mask[..., blind:, :]
        seeing = _blocks(q[..., blind:, :], k, v, scale, causal, mask)
        return functional.pad(seeing, (0, 0, blind, 0))
    if mask is None and (not causal or length == keys) and _is_fused(q):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)
    if not causal and _is_fused(q):
        return _masked(q, k, v, scale, mask)
    parts = []
    for start in range(0, length, QUERIES):
        stop = min(start + QUERIES, length)
        end = keys - length + stop if causal else keys
        part = mask
        if part is not None:
            part = part if part.shape[-2] == 1 else part[..., start:stop, :]
            part = part if part.shape[-1] == 1 else part[..., :end]
        if causal:
            seen = torch.ones(stop - start, end, dtype=torch.bool, device=q.device)
            seen = seen.tril(keys - length + start)
            if part is None:
                part = seen
            elif part.dtype is torch.bool:
                part = part & seen
            else:
                part = torch.where(seen, part, -math.inf)
        parts.append(_masked(q[..., start:stop, :], k[..., :end, :], v[..., :end, :], scale, part))
    return torch.cat(parts, -2)


def _is_fused(q: Tensor) -> bool:
    """Tell whether PyTorch attends to a block of keys at a time on a device."""
    return q.is_cpu or q.dtype is not torch.float64


def _masked(q: Tensor, k: Tensor, v: Tensor, scale: float, mask: Tensor | None) -> Tensor:
    """Attend under a mask; queries that see nothing give zeros."""
    if mask is None:
        return functional.scaled_dot_product_attention(q, k, v, scale=scale)
    mask = mask.expand(*mask.shape[:-2], q.shape[-2], k.shape[-2])
    out = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
    if q.is_cpu:
        return out
    # Elsewhere it depends on the function that PyTorch picks whether they are zeros or NaN.
    seen = mask if mask.dtype is torch.bool else mask > -math.inf
    return torch.where(seen.any(-1, keepdim=True), out, 0.0)


_WIDE = frozenset({"float32", "float64"})
_NARROW_NAMES = frozenset({"float16", "bfloat16"})
_FLOATS = _WIDE | _NARROW_NAMES
_NUMBERS = _FLOATS | {"int8", "int16", "int32", "int64", "uint8", "complex64", "complex128"}

# Where a function of PyTorch does right as it is, it stands here itself: a call costs nothing more.
TUNED: Mapping[str, tuple[TunedKernel, ...]] = {
    "matmul": (TunedKernel(matmul, "torch.matmul", _NARROW_NAMES, "matmul 512x576x1536 float16"),),
    "linear": (
        TunedKernel(
            linear,
            "torch.nn.functional.linear, numpy.vecdot for one row",
            _WIDE,
            "linear decode 49152x576",
        ),
        TunedKernel(
            narrow_linear,
            "torch.nn.functional.linear",
            _NARROW_NAMES,
            "linear decode 1536x576 bfloat16",
        ),
    ),
    "softmax": (TunedKernel(softmax, "torch.softmax", _FLOATS, "softmax 512x4096"),),
    "log_softmax": (
        TunedKernel(log_softmax, "torch.log_softmax", _FLOATS, "log_softmax 512x4096"),
    ),
    "silu": (TunedKernel(functional.silu, "torch.nn.functional.silu", _FLOATS, "silu 512x4096"),),
    "gelu": (TunedKernel(gelu, "torch.nn.functional.gelu", _FLOATS, "gelu 512x4096"),),
    "relu": (TunedKernel(torch.relu, "torch.relu", _FLOATS, "relu 512x4096"),),
    "rms_norm": (TunedKernel(rms_norm, "torch.linalg.vector_norm", _FLOATS, "rms_norm 512x4096"),),
    "layer_norm": (TunedKernel(layer_norm, "torch.layer_norm", _FLOATS, "layer_norm 512x4096"),),
    "rope": (TunedKernel(rope, "torch.addcmul", _FLOATS, "rope 9x1024x64"),),
    "attention": (
        TunedKernel(
            attention,
            "torch.nn.functional.scaled_dot_product_attention",
            _FLOATS,
            "attention 9x1024x64 causal",
        ),
    ),
    "cross_entropy": (
        TunedKernel(
            cross_entropy, "torch.nn.functional.cross_entropy", _FLOATS, "cross_entropy 512x49152"
        ),
    ),
    "embedding": (
        TunedKernel(embedding, "torch.embedding", _NUMBERS, "embedding 512 of 49152x576"),
    ),
}
