"""Attention on PyTorch tensors, by PyTorch's fused functions.

Compared with calling them directly, causal masks are aligned to the last key, fully masked queries
give zeros, and float16 and bfloat16 use the fastest method of the device.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional

from portarray.backends.common.attention import LARGE, excludes, in_use
from portarray.backends.torch.gradients import HALVES
from portarray.backends.torch.nan import has_nan
from portarray.backends.torch.tracing import is_traced

Tensor = torch.Tensor

QUERIES = 512
"""Queries for which a mask is materialized at once."""


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
        causal = False  # a single last query attends to all keys
    if (
        mask is not None
        or (causal and length != keys)
        or not 1 <= len(lead) <= 2
        or not q.is_cpu
        or q.dtype in HALVES
        or v.shape[-1] != size
    ):
        return _attention(q, k, v, scale, causal, mask)
    if len(lead) == 1:
        q, k, v = q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0)
    out = functional.scaled_dot_product_attention(
        q, k, v, is_causal=causal, scale=scale, enable_gqa=lead != groups
    )
    return out.squeeze(0) if len(lead) == 1 else out


def refuses(q: Tensor, /, *_: Tensor, **options: Any) -> str:
    """Return why results of :func:`attention` cannot be checked."""
    if q.is_cuda and excludes(q, **options) and torch.cuda.is_current_stream_capturing():
        return "a CUDA graph is captured, and reading a value would end the capture"
    return ""


def is_valid(out: Tensor, q: Tensor, k: Tensor, v: Tensor, /, **options: Any) -> bool:
    """Return whether excluded keys are known not to contribute to a result and its gradients."""
    if not excludes(q, **options):
        return True
    if is_traced(out):
        return False
    if out.requires_grad:  # gradients may have NaN where the result does not
        return _is_small(q, *in_use(k, v, **options))
    return not has_nan(out)


def _is_small(*tensors: Tensor) -> bool:
    """Return whether all numbers are finite and far from overflow."""
    wide = torch.float32 if tensors[0].dtype in HALVES else None
    norms = [torch.linalg.vector_norm(x.detach(), dtype=wide) for x in tensors]
    return torch.stack(norms).max().item() < LARGE  # NaN is not less than a number


def _attention(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None, causal: bool, mask: Tensor | None
) -> Tensor:
    """Convert the arguments to a form that PyTorch's fused functions support."""
    shape, size, dtype = q.shape, v.shape[-1], q.dtype
    if 0 in shape or 0 in v.shape:
        return q.new_zeros((*shape[:-1], size))
    heads, groups = (shape[-3], k.shape[-3]) if q.ndim > 2 else (1, 1)
    scale = 1 / math.sqrt(shape[-1]) if scale is None else scale
    if dtype in HALVES and q.is_cpu:
        # PyTorch's fused function is two to seven times slower on these than on float32.
        q, k, v = q.float(), k.float(), v.float()
        mask = mask.float() if mask is not None and mask.dtype is not torch.bool else mask
    # Query heads that share a key head become a batch with expanded (zero-copy) keys: only some of
    # PyTorch's fused functions support grouped heads.
    width = max(shape[-1], size)  # fused functions require equal widths
    q = _widened(q.reshape(-1, heads // groups, *shape[-2:]), width)
    k = _widened(k.reshape(-1, 1, *k.shape[-2:]), width).expand(-1, heads // groups, -1, -1)
    v = _widened(v.reshape(-1, 1, *v.shape[-2:]), width).expand(-1, heads // groups, -1, -1)
    if mask is not None:
        mask = _grouped(mask, shape, heads, groups)
    out = _blocks(q, k, v, scale, causal, mask)
    return out[..., :size].reshape(*shape[:-1], size).to(dtype)


def _widened(x: Tensor, width: int) -> Tensor:
    """Pad the last axis with zeros to a width."""
    return x if x.shape[-1] == width else functional.pad(x, (0, width - x.shape[-1]))


def _grouped(mask: Tensor, shape: torch.Size, heads: int, groups: int) -> Tensor:
    """Return a mask in the shape of the grouped queries of :func:`_attention`."""
    mask = mask[(None,) * (max(len(shape), 4) - mask.ndim)]
    if math.prod(mask.shape[:-2]) == 1:
        return mask.reshape(1, 1, *mask.shape[-2:])
    lead = shape[:-3] if len(shape) > 3 else (1,)
    whole = mask.expand(*lead, heads, *mask.shape[-2:])
    return whole.reshape(-1, heads // groups, *mask.shape[-2:])


def _blocks(
    q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool, mask: Tensor | None
) -> Tensor:
    """Attend block by block, materializing the mask of one block of queries at a time."""
    length, keys = q.shape[-2], k.shape[-2]
    if causal and length > keys:
        # The first queries attend to no key.
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
            visible = torch.ones(stop - start, end, dtype=torch.bool, device=q.device)
            visible = visible.tril(keys - length + start)
            if part is None:
                part = visible
            elif part.dtype is torch.bool:
                part = part & visible
            else:
                part = torch.where(visible, part, -math.inf)
        parts.append(_masked(q[..., start:stop, :], k[..., :end, :], v[..., :end, :], scale, part))
    return torch.cat(parts, -2)


def _is_fused(q: Tensor) -> bool:
    """Return whether PyTorch has a fused (blockwise) function for a device."""
    return q.is_cpu or q.dtype is not torch.float64


def _masked(q: Tensor, k: Tensor, v: Tensor, scale: float, mask: Tensor | None) -> Tensor:
    """Attend under a mask; fully masked queries give zeros."""
    if mask is None:
        return functional.scaled_dot_product_attention(q, k, v, scale=scale)
    mask = mask.expand(*mask.shape[:-2], q.shape[-2], k.shape[-2])
    out = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
    if q.is_cpu:
        return out
    # Elsewhere they are zeros or NaN, depending on the function that PyTorch selects.
    visible = mask if mask.dtype is torch.bool else mask > -math.inf
    return torch.where(visible.any(-1, keepdim=True), out, 0.0)
