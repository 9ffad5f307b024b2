"""Core kernels by PyTorch's functions.

float16 and bfloat16 use the fastest method of the device. No kernel writes into tensors that
autograd tracks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import torch
from torch.nn import functional

from portarray.backends.torch.attention import attention, is_valid, refuses
from portarray.backends.torch.gradients import HALVES, in_float32
from portarray.backends.types import TunedKernel

Tensor = torch.Tensor

WEIGHTS = 1 << 22
"""Elements of a float16 or bfloat16 matrix that are widened to float32 at once."""

DOT = 4096
"""Length of rows from which products row by row are not faster."""

READ = 1 << 17
"""Elements of a matrix from which products row by row are faster."""

_INDICES = frozenset({torch.int32, torch.int64})


def softmax(x: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the softmax along an axis."""
    if x.dtype in HALVES and x.is_cpu and axis not in (-1, x.ndim - 1):
        # Along other axes PyTorch rounds intermediate exponentials to x's dtype.
        return torch.softmax(x, axis, dtype=torch.float32).to(x.dtype)
    return torch.softmax(x, axis)


def log_softmax(x: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the logarithm of the softmax along an axis."""
    if x.dtype in HALVES and x.is_cpu:
        # PyTorch would round the logarithm of the sum to x's dtype.
        return torch.log_softmax(x, axis, dtype=torch.float32).to(x.dtype)
    return torch.log_softmax(x, axis)


def gelu(x: Tensor, /, *, approximate: str = "none") -> Tensor:
    """Return x times the normal distribution function of x, exact or as a tanh.

    PyTorch's gelu overflows in float32 on the CPU: half of the largest number gives inf, inf gives
    NaN.
    """
    if approximate == "none" or not x.is_cpu or x.numel() < 8192:
        return functional.gelu(x, approximate=approximate)
    # On the CPU, functional.gelu takes twice as long. (1 + tanh(z)) / 2 is sigmoid(2 z).
    wide = x.float() if x.dtype in HALVES else x
    slope = 2 * math.sqrt(2 / math.pi)
    inner = torch.addcmul(_constant(slope, wide.dtype), wide, wide, value=0.044715 * slope)
    if wide.requires_grad:
        out = wide * torch.sigmoid(wide * inner)
    else:
        out = inner.mul_(wide).sigmoid_().mul_(wide)
    return out.to(x.dtype)


def rms_norm(x: Tensor, weight: Tensor | None = None, /, *, eps: float = 1e-6) -> Tensor:
    """Divide the last axis by the root of its mean square.

    Four operations on the CPU, where ``torch.nn.functional.rms_norm`` has six.
    """
    size = x.shape[-1]
    if not x.is_cpu or not size:
        return torch.rms_norm(x, (size,), weight, eps)
    dtype = x.dtype
    wide = torch.float32 if dtype in HALVES else dtype
    norm = _norm(x, 2, -1, True, dtype=wide)
    root = torch.addcmul(_constant(eps, wide), norm, norm, value=1 / size).rsqrt_()
    out = x * root
    if weight is not None:
        is_watched = weight.requires_grad or x.requires_grad
        out = out * weight if is_watched else out.mul_(weight)
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
        product = _by_row(x, weight, bias)
        if product is not None:
            return product
    return functional.linear(x, weight, bias)


def _by_row(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor | None:
    """Multiply a matrix with a vector on the CPU row by row; None if that is not possible.

    For one token a model reads more weights than caches hold. MKL, which PyTorch calls, reads 10
    GB/s with one thread, NumPy's inner products row by row 20 GB/s and more.
    """
    if x.requires_grad or weight.requires_grad or (bias is not None and bias.requires_grad):
        return None
    try:
        matrix, vector = weight.numpy(), x.numpy()
    except RuntimeError:  # no NumPy view: torch.func wrappers, lazily negated tensors
        return None
    with np.errstate(all="ignore"):
        product = np.vecdot(matrix, vector.reshape(-1))
    out = torch.from_numpy(product).view(*x.shape[:-1], len(matrix))
    return out if bias is None else out + bias


def narrow_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, /) -> Tensor:
    """Return ``x @ weight.T + bias`` for float16 and bfloat16."""
    if x.is_cpu and _is_widened(x, bias):
        wide = x.float()
        rows = max(1, WEIGHTS // max(1, weight.shape[1]))
        parts = [functional.linear(wide, part.float()) for part in torch.split(weight, rows)]
        out = parts[0] if len(parts) == 1 else torch.cat(parts, -1)
        return (out if bias is None else out + bias).to(x.dtype)
    return functional.linear(x, weight, bias)


def _is_widened(x: Tensor, bias: Tensor | None) -> bool:
    """Return whether to multiply float16 or bfloat16 on the CPU as float32.

    PyTorch rounds before it adds the bias, and most CPUs lack float16 matrix instructions: from 3
    rows on, float32 takes at most half the time.
    """
    return bias is not None or (x.dtype is torch.float16 and x.numel() > 2 * x.shape[-1])


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Multiply matrices of float16 or bfloat16."""
    if x1.dtype is torch.float16 and x1.is_cpu and min(x1.ndim, x2.ndim) > 1:
        return torch.matmul(x1.float(), x2.float()).to(torch.float16)
    return torch.matmul(x1, x2)


def gemm(
    a: Tensor,
    b: Tensor,
    /,
    *,
    out: Tensor | None,
    alpha: complex,
    beta: complex,
    transpose_a: bool,
    transpose_b: bool,
    in_place: bool,
) -> Tensor:
    """Return ``alpha * a @ b + beta * out``, in the memory of ``out`` if ``in_place``."""
    first, second = a.mT if transpose_a else a, b.mT if transpose_b else b
    if out is None:
        product = torch.mm(first, second)
        return product if alpha == 1 else product * alpha
    is_watched = a.requires_grad or b.requires_grad or out.requires_grad
    if in_place and not is_watched and not _shares(out, a) and not _shares(out, b):
        return out.addmm_(first, second, alpha=alpha, beta=beta)
    return torch.addmm(out, first, second, alpha=alpha, beta=beta)


def _shares(x: Tensor, y: Tensor) -> bool:
    """Return whether two tensors share memory."""
    return x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()


def solve_triangular(
    a: Tensor, b: Tensor, /, *, lower: bool, transpose: bool, unit_diagonal: bool
) -> Tensor:
    """Solve a triangular system."""
    rows = b[:, None] if b.ndim == 1 else b
    matrix = a.mT if transpose else a
    solution: Tensor = torch.linalg.solve_triangular(
        matrix, rows, upper=lower is transpose, unitriangular=unit_diagonal
    )
    return solution[..., 0] if b.ndim == 1 else solution


_embedding = in_float32(torch.embedding)


def embedding(indices: Tensor, weight: Tensor, /) -> Tensor:
    """Return the rows of a table at indices."""
    indices = indices if indices.dtype in _INDICES else indices.long()
    return _embedding(weight, indices)


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
        if x.dtype in HALVES:
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
        first_out, second_out = out.chunk(2, -1)
        first_out.addcmul_(second, sin, value=-1)
        second_out.addcmul_(first, sin)
    if out.dtype is not x.dtype:
        out = out.to(x.dtype)
    return out if rotated is x else torch.cat((out, x[..., 2 * half :]), -1)


def _tables(positions: Tensor, size: int, theta: float, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosines and sines of a rotary embedding in the dtype that x is computed in."""
    # Metal has no float64.
    wide = torch.float32 if x.device.type == "mps" else torch.float64
    steps = torch.arange(0, size, 2, dtype=wide, device=x.device)
    angles = positions.to(wide).unsqueeze(-1) * torch.exp(steps * (-math.log(theta) / size))
    dtype = torch.float32 if x.dtype in HALVES else x.dtype
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
    """Return the cross entropy between logits and target classes."""
    classes = logits.shape[-1]
    losses = functional.cross_entropy(
        (logits.float() if logits.dtype in HALVES else logits).reshape(-1, classes),
        targets.reshape(-1).long(),
        reduction=reduction,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
    )
    if losses.dtype is not logits.dtype:
        losses = losses.to(logits.dtype)
    return losses.view(targets.shape) if reduction == "none" else losses


_WIDE = frozenset({"float32", "float64"})
_MATRICES = _WIDE | {"complex64", "complex128"}
_NARROW_NAMES = frozenset({"float16", "bfloat16"})
_FLOATS = _WIDE | _NARROW_NAMES
_NUMBERS = _FLOATS | {"int8", "int16", "int32", "int64", "uint8", "complex64", "complex128"}

# PyTorch's functions, unwrapped where they are correct.
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
    "gemm": (TunedKernel(gemm, "torch.addmm", _MATRICES, "gemm 512x512x512"),),
    "solve_triangular": (
        TunedKernel(
            solve_triangular,
            "torch.linalg.solve_triangular",
            _MATRICES,
            "solve_triangular 512x512",
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
            refuses,
            is_valid=is_valid,
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
