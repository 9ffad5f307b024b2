"""What attention excludes does not count, whatever it holds, in results and in gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import portarray as pa
from portarray.kernels import attention

Values = np.ndarray[Any, np.dtype[Any]]

NAN, INF = math.nan, math.inf
SHAPES = [  # leading axes, heads, heads of keys, queries, keys
    ((), 1, 1, 3, 3),
    ((2,), 4, 2, 5, 7),
    ((), 2, 1, 1, 6),
    ((1,), 2, 2, 6, 4),
]
SIZE, WIDTH = 3, 2
RULES = ("bool", "added", "length", "length on the device", "causal", "causal and bool", "all")


def test_attention_leaves_out_nan_behind_a_mask(device: str) -> None:
    q = pa.asarray([[0.0, 1.0], [2.0, 3.0]], device=device, dtype=pa.float32)
    k = pa.asarray([[0.0, 1.0], [NAN, 3.0]], device=device, dtype=pa.float32)
    v = pa.asarray([[5.0, 6.0], [NAN, INF]], device=device, dtype=pa.float32)
    mask = pa.asarray([[True, False], [True, False]], device=device)
    added = pa.asarray([[0.0, -INF], [0.0, -INF]], device=device, dtype=pa.float32)
    for hidden in (mask, added):
        assert attention(q, k, v, mask=hidden).tolist() == [[5.0, 6.0], [5.0, 6.0]]
    values = pa.asarray([[5.0, 6.0], [NAN, INF]], device=device, dtype=pa.float32)
    first, second = attention(q, q, values, causal=True).tolist()
    assert first == [5.0, 6.0]
    assert math.isnan(second[0])
    assert second[1] == INF


def test_gradients_of_pytorch_leave_out_infinity_behind_a_mask(device: str) -> None:
    """The score of the excluded key is minus infinity without the mask, too."""
    if pa.device(device).library != "torch":
        pytest.skip("PyTorch's autograd alone")
    k = pa.asarray([[0.0, 1.0], [-INF, 3.0]], device=device, dtype=pa.float32)
    q = pa.asarray([[1.0, 1.0], [2.0, 3.0]], device=device, dtype=pa.float32)
    mask = pa.asarray([[True, False], [True, False]], device=device)
    q.native.requires_grad_()
    v = pa.ones((2, 2), dtype=pa.float32, device=device)
    attention(q, k, v, mask=mask).native.sum().backward()
    assert q.native.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


class Case:
    """Drawn queries, keys, values and rules; ``visible`` has the shape of the scores."""

    def __init__(self, seed: int, shape: Any, rule: str, poison: float, large: bool) -> None:
        rng = np.random.default_rng(seed)
        lead, heads, kv_heads, queries, keys = shape
        self.group = heads // kv_heads
        self.q, self.k, self.v, self.g = (
            rng.standard_normal((*lead, *axes)).astype(np.float32)
            for axes in (
                (heads, queries, SIZE),
                (kv_heads, keys, SIZE),
                (kv_heads, keys, WIDTH),
                (heads, queries, WIDTH),
            )
        )
        scores = (*lead, heads, queries, keys)
        self.visible, self.added = np.ones(scores, bool), np.zeros(scores)
        self.options: dict[str, Any] = {}
        used = keys
        if "length" in rule or rule == "all":
            used = int(rng.integers(0, keys + 1))
            self.options["key_length"] = used if rule == "length" else np.asarray(used)
            self.visible &= np.arange(keys) < used
        if "causal" in rule or rule == "all":
            self.options["causal"] = True
            last = np.arange(queries)[:, None] + used - queries
            self.visible &= np.arange(keys) <= last
        if rule in ("bool", "added", "causal and bool", "all"):
            mask_shape = tuple(n if rng.random() < 0.7 else 1 for n in scores)
            mask = rng.random(mask_shape) < 0.6
            mask[..., rng.integers(mask.shape[-2]), :] = rng.random() < 0.5  # perhaps no key
            mask[..., rng.integers(mask.shape[-1])] &= rng.random() < 0.5
            if rule == "added":
                self.options["mask"] = np.where(mask, rng.standard_normal(mask_shape), -INF)
                self.options["mask"] = self.options["mask"].astype(np.float32)
                self.added = np.where(mask, self.options["mask"], 0) + np.zeros(scores)
            else:
                self.options["mask"] = mask[0] if rng.random() < 0.5 and len(mask) == 1 else mask
            self.visible &= mask
        # Poison what no query sees, and rarely what some see; and queries that see nothing.
        attended = self.visible.reshape(*lead, kv_heads, self.group * queries, keys).any(-2)
        if not (large or self.visible.all()) and rng.random() < 0.3:
            attended[..., -1] = False
        for x in (self.k, self.v):
            x[~attended & (rng.random(attended.shape) < 0.8)] = 3e38 if large else poison
        if not large:
            self.q[~self.visible.any(-1)] = poison

    def expected(self) -> tuple[Values, list[Values]]:
        """Return the result and gradients in float64, from visible pairs alone.

        Rows that are not finite get a cotangent of 0.
        """
        q, k, v = (x.astype(np.float64) for x in (self.q, self.k, self.v))
        out = np.zeros((*q.shape[:-1], WIDTH))
        gradients = [np.zeros_like(x) for x in (q, k, v)]
        scale = 1 / math.sqrt(SIZE)
        for row in np.ndindex(q.shape[:-1]):
            keys = (*row[:-2], row[-2] // self.group)
            scores = np.full(k.shape[-2], -INF)
            there = self.visible[row]
            scores[there] = scale * (k[keys][there] @ q[row]) + self.added[row][there]
            there = there & (scores != -INF)
            if not there.any():
                continue
            weights = np.exp(scores[there] - scores[there].max())
            weights /= weights.sum()
            out[row] = weights @ v[keys][there]
            if not np.isfinite(out[row]).all():
                self.g[row] = 0
                continue
            slopes = v[keys][there] @ self.g[row]
            slopes = scale * weights * (slopes - weights @ slopes)
            gradients[0][row] = slopes @ k[keys][there]
            gradients[1][keys][there] += np.outer(slopes, q[row])
            gradients[2][keys][there] += np.outer(weights, self.g[row])
        return out, gradients


@pytest.mark.parametrize("tuned", [True, False], ids=["tuned", "generic"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**32),
    shape=st.sampled_from(SHAPES),
    rule=st.sampled_from(RULES),
    poison=st.sampled_from([NAN, INF, -INF]),
    large=st.booleans(),
)
def test_excluded_keys_do_not_change_attention(
    device: str, tuned: bool, seed: int, shape: Any, rule: str, poison: float, large: bool
) -> None:
    case = Case(seed, shape, rule, poison, large)
    with np.errstate(all="ignore"):
        expected, gradients = case.expected()
    arrays = [pa.asarray(x, device=device) for x in (case.q, case.k, case.v)]
    options = {
        name: pa.asarray(value, device=device) if isinstance(value, np.ndarray) else value
        for name, value in case.options.items()
    }
    with pa.config(tuned_kernels=tuned), np.errstate(all="ignore"):
        out, vjp = pa.vjp(lambda q, k, v: attention(q, k, v, **options), *arrays)
        plain = attention(*arrays, **options)
        computed = vjp(pa.asarray(case.g, device=device))
    for result in (plain, out):
        np.testing.assert_allclose(host(result), expected, rtol=1e-4, atol=1e-5)
    for name, result, gradient in zip("qkv", computed, gradients, strict=True):
        np.testing.assert_allclose(
            host(result), gradient, rtol=1e-3, atol=1e-4, err_msg=f"gradient of {name}"
        )


def host(x: pa.Array) -> Values:
    return np.asarray(x.to_device("numpy"))
