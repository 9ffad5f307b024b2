"""How far a kernel's result may be from the float64 reference, element by element.

A bound is the sum of what each step of the usual algorithm may add, to first order, with the
values that the step sees:

- One operation errs by at most ``u`` of its result, the unit roundoff of the dtype that is computed
  in: 2**-24 for float32, float16 and bfloat16, which are computed in float32, 2**-53 for float64.
- A sum or product of n terms errs by at most ``n * u`` times the sum of their magnitudes, and by
  ``6 * sqrt(n) * u`` of it with a probability of ``1 - 2 * n * exp(-18)``, in whatever order it is
  taken (Higham and Mary, "A New Approach to Probabilistic Rounding Error Analysis", SIAM J. Sci.
  Comput. 41, 2019, https://doi.org/10.1137/18M1226312). The smaller of the two counts.
- The error of an exponential is that of its argument, plus what the library's own function may err
  by. The OpenCL specification's limits stand for all libraries
  (https://registry.khronos.org/OpenCL/specs/unified/html/OpenCL_C.html#relative-error-as-ulps):
  3 ulps for ``exp`` and ``log``, 5 for ``tanh``, 16 for ``erf`` and ``pow``, 4 for ``sin`` and
  ``cos``, 2.5 for a quotient and 3 for a root; one ulp is ``2 * u``. PyTorch's attention on CPUs
  takes an exponential of 20 ulps.
- The result is rounded once to the dtype that it is stored in. Attention may also round the weights
  of the values to it, as matrix units of GPUs need them (Dao et al., "FlashAttention", NeurIPS
  2022, https://arxiv.org/abs/2205.14135).
- What is below the smallest normal number may become 0.

So a float32 kernel that computes in float16 anywhere, whose ``u`` is 8192 times as large, is found
out, except in sums so long that its errors cancel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from portarray._verification import reference

Values = np.ndarray[Any, np.dtype[Any]]

EXP = LOG = ROOT = 6.0
TANH, COS = 10.0, 8.0
ERF = POW = 32.0
DIVIDE = 5.0
FAST_EXP = 40.0
LONGEST = 50.0  # argument of an exponential beyond which any value is within the bound

# Bits of the significand and the smallest exponent.
_FORMATS = {
    "float64": (53, -1022),
    "float32": (24, -126),
    "float16": (11, -14),
    "bfloat16": (8, -126),
}


@dataclass(frozen=True, slots=True)
class Precision:
    """Precision and range of the dtypes of a call."""

    dtype: str  # of the arrays and the result
    # The widest floating-point dtype of the device, in which angles are computed
    widest: str = "float64"

    @property
    def stored(self) -> float:
        """Unit roundoff of the result."""
        return float(2.0 ** -_FORMATS[self.dtype][0])

    @property
    def u(self) -> float:
        """Unit roundoff of the computation; twice it for float64, where the reference errs too."""
        return _unit(self.dtype)

    @property
    def angle(self) -> float:
        """Unit roundoff of angles."""
        return _unit(self.widest)

    @property
    def smallest(self) -> float:
        """Smallest normal number of the computation."""
        return float(2.0 ** _FORMATS["float64" if self.dtype == "float64" else "float32"][1])

    @property
    def floor(self) -> float:
        """Absolute error of any result, from underflow."""
        bits, least = _FORMATS[self.dtype]
        return self.smallest + float(2.0 ** (least - bits + 1))

    @property
    def largest(self) -> float:
        """Largest finite number of the result's dtype."""
        bits, least = _FORMATS[self.dtype]
        return float((2 - 2.0 ** (1 - bits)) * 2.0 ** (1 - least))

    def rounded(self, error: Values, want: Values) -> Values:
        """Return an error plus the rounding of the result to its dtype."""
        result: Values = error + self.stored * np.abs(want) + self.floor
        return result


def _unit(dtype: str) -> float:
    return float(2.0**-52 if dtype == "float64" else 2.0**-24)


def accumulated(n: int) -> float:
    """Return the error of a sum of n terms, in units of u times the sum of their magnitudes."""
    return min(float(n), 6 * math.sqrt(n))


def exact(p: Precision, want: Values, *_: object, **__: object) -> Values:
    """Return the bound of kernels that only copy values: 0."""
    return np.zeros_like(want)


def matmul(p: Precision, want: Values, x1: Values, x2: Values, /) -> Values:
    """Return the bound of inner products: of the products of magnitudes."""
    n = x1.shape[-1]
    error = p.u * (accumulated(n) + 1) * np.matmul(np.abs(x1), np.abs(x2))
    return p.rounded(error + n * p.smallest, want)


def gemm(
    p: Precision,
    want: Values,
    a: Values,
    b: Values,
    /,
    *,
    out: Values | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Values:
    """Return the bound of inner products, and of two factors and a sum."""
    first, second = a.T if transpose_a else a, b.T if transpose_b else b
    n = first.shape[-1]
    size = abs(alpha) * np.matmul(np.abs(first), np.abs(second))
    added = 0.0 if out is None or beta == 0 else abs(beta) * np.abs(out)
    error = p.u * ((accumulated(n + 1) + 3) * size + 3 * added)
    return p.rounded(error + (n + 2) * p.smallest, want)


def solve_triangular(
    p: Precision,
    want: Values,
    a: Values,
    b: Values,
    /,
    *,
    lower: bool = False,
    transpose: bool = False,
    unit_diagonal: bool = False,
) -> Values:
    """Return the bound of substitution: ``|inv(a)| @ |a| @ |x|`` times what sums err by.

    By blocks it is larger by the growth of the small blocks' inverses, which 4 allows for (Higham,
    "Accuracy and Stability of Numerical Algorithms", 2002, sections 8.1 and 14.2).
    """
    half = np.tril(a) if lower else np.triu(a)
    n = a.shape[-1]
    if unit_diagonal:
        half = half * (1 - np.eye(n)) + np.eye(n)
    half = np.swapaxes(half, -1, -2) if transpose else half
    x = np.abs(want)[:, None] if want.ndim == 1 else np.abs(want)
    inverse = np.abs(np.linalg.inv(half))
    error = 4 * p.u * (accumulated(n) + DIVIDE) * (inverse @ (np.abs(half) @ x))
    return p.rounded(error[:, 0] if want.ndim == 1 else error, want)


def linear(
    p: Precision, want: Values, x: Values, weight: Values, bias: Values | None = None, /
) -> Values:
    """Return the bound of inner products with the bias as one more term."""
    n = x.shape[-1]
    size = np.matmul(np.abs(x), np.abs(weight).T)
    if bias is not None:
        size = size + np.abs(bias)
    error = p.u * (accumulated(n + 1) + 1) * size
    return p.rounded(error + n * p.smallest, want)


def _distances(x: Values, weights: Values, axis: int) -> tuple[Values, Values]:
    """Return how far below its row's largest each value is, and the mean of that by weights."""
    with np.errstate(invalid="ignore"):
        far = np.max(x, axis=axis, keepdims=True, initial=-math.inf) - x
    mean = np.sum(np.where(weights > 0, weights * far, 0.0), axis=axis, keepdims=True)
    return far, mean


def softmax(p: Precision, want: Values, x: Values, /, *, axis: int = -1) -> Values:
    """Return the bound: of the argument's rounding, two exponentials, the sum and a quotient."""
    far, mean = _distances(x, want, axis)
    steps = 2 * EXP + accumulated(x.shape[axis]) + DIVIDE
    with np.errstate(invalid="ignore"):
        error = np.where(want > 0, p.u * (far + mean + steps) * want, 0.0)
    return p.rounded(error, want)


def log_softmax(p: Precision, want: Values, x: Values, /, *, axis: int = -1) -> Values:
    """Return the bound, which is absolute: of the argument, the sum's logarithm, a difference."""
    far, mean = _distances(x, np.exp(want), axis)
    total = np.abs(want + far)  # the logarithm of the sum of exponentials
    steps = EXP + accumulated(x.shape[axis])
    error = p.u * (far + mean + steps + LOG * total + np.abs(want))
    return p.rounded(error, want)


def silu(p: Precision, want: Values, x: Values, /) -> Values:
    """Return the bound: of an exponential, a sum and a quotient."""
    error = p.u * (EXP + 2 + DIVIDE) * np.abs(want) + p.smallest * np.abs(x)
    return p.rounded(error, want)


def gelu(p: Precision, want: Values, x: Values, /, *, approximate: str = "none") -> Values:
    """Return the bound, which is relative to x: 1 and the error function cancel below 0."""
    function = TANH if approximate == "tanh" else ERF
    return p.rounded(p.u * (function / 2 + 4) * np.abs(x), want)


def rms_norm(
    p: Precision, want: Values, x: Values, weight: Values | None = None, /, *, eps: float = 1e-6
) -> Values:
    """Return the bound: half of that of the mean of squares, a root, a quotient, a product."""
    steps = (accumulated(x.shape[-1]) + 3) / 2 + ROOT + DIVIDE + 2
    return p.rounded(p.u * steps * np.abs(want), want)


def layer_norm(
    p: Precision,
    want: Values,
    x: Values,
    weight: Values | None = None,
    bias: Values | None = None,
    /,
    *,
    eps: float = 1e-5,
) -> Values:
    """Return the bound: of the mean, which may be far larger than the spread, then as a root's."""
    n = x.shape[-1]
    plain = reference.layer_norm(x, eps=eps)
    centred = x - np.mean(x, axis=-1, keepdims=True)
    deviation = np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + eps)
    # What each centred value errs by: the mean's error, and the difference's.
    shift = p.u * (accumulated(n) + 2) * np.mean(np.abs(x), axis=-1, keepdims=True)
    shift = shift + p.u * np.abs(centred)
    steps = (accumulated(n) + 3) / 2 + ROOT + DIVIDE + 2
    scale = np.sqrt(np.mean(shift * shift, axis=-1, keepdims=True)) / deviation
    error = shift / deviation + np.abs(plain) * (p.u * steps + scale)
    if weight is not None:
        error = error * np.abs(weight)
    if bias is not None:
        error = error + p.u * (np.abs(bias) + np.abs(want))
    return p.rounded(error, want)


def _angle_errors(p: Precision, positions: Values, dimensions: int, theta: float) -> Values:
    """Return the error of cosines and sines of ``position * theta ** (-2 i / dimensions)``."""
    powers = 2 * np.arange(dimensions // 2) / dimensions
    angles = np.abs(positions)[..., None] * theta**-powers
    rate = 2 * abs(math.log(theta)) * powers + POW + 1
    result: Values = p.angle * (angles * rate + COS)
    return result


def rope_tables(
    p: Precision, want: Values, positions: Values, dimensions: int, /, *, theta: float = 10000.0
) -> Values:
    """Return the bound of either table: of the power, the angle, and the function."""
    return p.rounded(_angle_errors(p, positions, dimensions, theta), want)


def rope(
    p: Precision,
    want: Values,
    x: Values,
    positions: Values | None = None,
    /,
    *,
    tables: tuple[Values, Values] | None = None,
    theta: float = 10000.0,
    interleaved: bool = False,
) -> Values:
    """Return the bound: of two products and a sum, and of the angles where they are computed."""
    if tables is None:
        angles_at = np.arange(x.shape[-2]) if positions is None else positions
        turned = _angle_errors(p, angles_at, x.shape[-1], theta) + p.u
        half = x.shape[-1] // 2
    else:
        half = tables[0].shape[-1]
        turned = np.zeros(half)
    if interleaved:
        a, b = x[..., 0 : 2 * half : 2], x[..., 1 : 2 * half : 2]
    else:
        a, b = x[..., :half], x[..., half : 2 * half]
    pair = (np.abs(a) + np.abs(b)) * (turned + 2 * p.u)
    error = np.zeros_like(x)
    if interleaved:
        error[..., 0 : 2 * half : 2] = error[..., 1 : 2 * half : 2] = pair
    else:
        error[..., :half] = error[..., half : 2 * half] = pair
    bound = p.rounded(error, want)
    bound[..., 2 * half :] = 0.0  # these features are copied
    return bound


def attention(
    p: Precision,
    want: Values,
    q: Values,
    k: Values,
    v: Values,
    /,
    *,
    scale: float | None = None,
    causal: bool = False,
    mask: Values | None = None,
    key_length: int | None = None,
) -> Values:
    """Return the bound: the scores' errors go through the exponential, then a weighted mean."""
    if q.ndim > 2 and q.shape[-3] != k.shape[-3]:
        group = q.shape[-3] // k.shape[-3]
        k, v = np.repeat(k, group, axis=-3), np.repeat(v, group, axis=-3)
    length, keys, features = q.shape[-2], k.shape[-2], q.shape[-1]
    used = keys if key_length is None else key_length
    scale = 1 / math.sqrt(features) if scale is None else scale
    turned = np.swapaxes(k, -1, -2)
    plain = scale * (q @ turned)
    error = (accumulated(features) + 2) * abs(scale) * (np.abs(q) @ np.abs(turned))
    visible = np.arange(keys) < np.full((length, 1), used)
    if causal:
        visible = visible & (np.arange(keys) <= np.arange(length)[:, None] + (used - length))
    scores = plain
    if mask is not None and mask.dtype == bool:
        visible = visible & mask
    elif mask is not None:
        visible = visible & (mask > -math.inf)
        added = np.where(mask > -math.inf, mask, 0.0)
        scores = plain + added
        error = error + np.abs(added)
    visible = np.broadcast_to(visible, scores.shape)
    scores = np.where(visible, scores, -math.inf)
    top = np.max(scores, axis=-1, keepdims=True, initial=-math.inf)
    far = np.where(visible, np.where(np.isfinite(top), top, 0.0) - scores, 0.0)
    e = np.where(visible, np.exp(-far), 0.0)
    total = np.sum(e, axis=-1, keepdims=True)
    weights = e / np.where(total > 0, total, 1.0)
    argument = p.u * (error + np.abs(np.where(visible, scores, 0.0)) + far + FAST_EXP)
    grown = weights * np.expm1(np.minimum(argument, LONGEST))
    size = np.abs(v)
    mean = weights @ size
    bound = grown @ size + np.sum(grown, axis=-1, keepdims=True) * np.abs(want)
    bound = bound + p.u * (2 * accumulated(keys) + 2 + DIVIDE) * mean
    if p.stored > p.u:
        bound = bound + p.stored * mean
    return p.rounded(bound + keys * p.smallest * np.max(size, initial=0.0), want)


def cross_entropy(
    p: Precision,
    want: Values,
    logits: Values,
    targets: Values,
    /,
    *,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Values:
    """Return the bound: of each row's logarithms, then of the sum or mean of the losses."""
    classes = logits.shape[-1]
    counted = targets != ignore_index
    logs = reference.log_softmax(logits)
    inner = Precision("float64" if p.dtype == "float64" else "float32")
    errors = log_softmax(inner, logs, logits)
    class_index = np.where(counted, targets, 0)[..., None]
    error = np.take_along_axis(errors, class_index, axis=-1)[..., 0]
    loss = -np.take_along_axis(logs, class_index, axis=-1)[..., 0]
    if label_smoothing:
        smoothing_loss = -np.mean(logs, axis=-1)
        mean = np.mean(errors, axis=-1) + p.u * (accumulated(classes) + 1) * smoothing_loss
        error = (1 - label_smoothing) * error + label_smoothing * mean
        loss = (1 - label_smoothing) * loss + label_smoothing * smoothing_loss
        error = error + 3 * p.u * loss
    error, loss = np.where(counted, error, 0.0), np.where(counted, loss, 0.0)
    if reduction != "none":
        error = np.sum(error) + p.u * (accumulated(loss.size) + DIVIDE) * np.sum(loss)
        if reduction == "mean":
            error = error / max(int(np.sum(counted)), 1)
    return p.rounded(np.asarray(error), want)
