"""Attention against NumPy in float64: every kernel, layout, mask and dtype."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from portarray._opencl.device import Device
from portarray._opencl.registry import devices
from portarray.clarray.array import Array
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.neural import attention

Values = np.ndarray[Any, Any]

DTYPES = ("float32", "float64", "float16", "bfloat16")


def reference(
    q: Values,
    k: Values,
    v: Values,
    *,
    scale: float | None = None,
    causal: bool = False,
    mask: Values | None = None,
    n: int | None = None,
) -> Values:
    """Return attention in float64, computed by its formula."""
    q, k, v = (operand.astype(np.float64) for operand in (q, k, v))
    repeats = q.shape[-3] // k.shape[-3]
    k, v = np.repeat(k, repeats, -3), np.repeat(v, repeats, -3)
    queries, keys = q.shape[-2], k.shape[-2]
    n = keys if n is None else n
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    i, j = np.arange(queries)[:, None], np.arange(keys)
    visible = (
        (j < n) & (j <= i + n - queries) if causal else np.broadcast_to(j < n, (queries, keys))
    )
    scores = np.where(visible, scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = weights.sum(-1, keepdims=True)
    result: Values = weights / np.where(total == 0, 1, total) @ v
    return result


def check(got: Values, expected: Values, v: Values) -> None:
    """Check a result to a few roundings of the largest value."""
    assert got.shape == expected.shape
    assert got.dtype == v.dtype
    eps = float(ml_dtypes.finfo(v.dtype).eps)
    # Weights add up to 1, so that errors are of the values' size; scores have errors of their own.
    single = 64 * float(np.finfo(np.float64 if v.dtype.itemsize == 8 else np.float32).eps)
    bound = (eps + single) * np.abs(v.astype(np.float64)).max(initial=1)
    assert np.abs(got.astype(np.float64) - expected).max(initial=0) <= bound


def drawn(rng: np.random.Generator, dtype: str, *shape: int) -> Values:
    result: Values = rng.standard_normal(shape).astype(np.dtype(dtype))
    return result


def in_cache(values: Values, device: Device) -> Array:
    """Return keys or values as a slice of a longer cache of shape (..., keys, heads, features)."""
    heads, keys, features = values.shape[-3:]
    wide = np.full((*values.shape[:-3], keys + 3, heads + 1, features), np.nan, values.dtype)
    wide[..., 1 : keys + 1, 1:, :] = np.swapaxes(values, -2, -3)
    x = from_numpy(wide, device)
    *outer, along, across, step = x.strides
    return x.view(values.shape, (*outer, across, along, step), x.offset + along + across)


@pytest.mark.parametrize("dtype", DTYPES)
def test_drawn_shapes_layouts_and_masks(device: Device, dtype: str) -> None:
    if np.dtype(dtype) not in device.dtypes:
        pytest.skip(f"{device} has no {dtype}")
    rng = np.random.default_rng(DTYPES.index(dtype))
    # PoCL builds a kernel for seconds.
    all_widths = "Intel" in device.platform_name and dtype == "float32"
    for _ in range(40 if dtype == "float32" else 12):
        lead = ((), (2,), (2, 3))[rng.integers(3)]
        key_heads, group = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        heads = key_heads * group
        queries = int(rng.choice((1, 2, 5, 31, 33, 70)))
        keys = int(rng.choice((1, 7, 64, 65, 150, 300)))
        d = int(rng.choice((64, 40, 5, 128) if all_widths else (64, 40, 5)))
        dv = int(rng.choice((d, d, 64, 9)))
        q = drawn(rng, dtype, *lead, heads, queries, d)
        k = drawn(rng, dtype, *lead, key_heads, keys, d)
        v = drawn(rng, dtype, *lead, key_heads, keys, dv)
        n = int(rng.integers(keys + 1)) if rng.random() < 0.5 else None
        length: Any = n
        if n is not None and rng.random() < 0.5:
            length = from_numpy(np.array(n, rng.choice(("int32", "int64", "uint8"))), device)
            n = int(to_numpy(length))
        shape = (
            (queries, keys), (heads, 1, keys), (keys,), (*lead, 1, queries, 1), (1,) * len(lead)
            + (heads, queries, keys),
        )[rng.integers(5)]  # fmt: skip
        kind = rng.integers(3)
        mask: Values | None = None
        if kind == 1:
            mask = rng.random(shape) < 0.6
        elif kind == 2:
            mask = np.where(rng.random(shape) < 0.3, -np.inf, drawn(rng, dtype, *shape))
            mask = mask.astype(np.dtype(dtype))
        causal = bool(rng.integers(2))
        scale = None if rng.random() < 0.7 else 0.2
        upload = in_cache if rng.random() < 0.5 else from_numpy
        got = attention(
            from_numpy(q, device), upload(k, device), upload(v, device), scale=scale, causal=causal,
            mask=None if mask is None else from_numpy(mask, device), key_length=length,
        )  # fmt: skip
        assert got.contiguous
        expected = reference(
            q, k, v, scale=scale, causal=causal, n=n,
            mask=mask if mask is None or mask.dtype == bool else mask.astype(np.float64),
        )  # fmt: skip
        check(to_numpy(got), expected, v)


def test_one_head_without_a_head_axis(device: Device) -> None:
    rng = np.random.default_rng(4)
    q, k, v = (drawn(rng, "float32", size, 5) for size in (3, 7, 7))
    got = attention(*(from_numpy(operand, device) for operand in (q, k, v)), causal=True)
    assert got.shape == (3, 5)
    check(to_numpy(got), reference(q[None], k[None], v[None], causal=True)[0], v)


def test_wide_heads_and_other_strides(device: Device) -> None:
    rng = np.random.default_rng(5)
    for width, queries in ((700, 2), (300, 40)):
        if width == 300 and "Intel" not in device.platform_name:
            continue
        q, k, v = (drawn(rng, "float32", 2, size, width) for size in (queries, 70, 70))
        arrays = [from_numpy(np.ascontiguousarray(np.swapaxes(operand, -1, -2)), device)
                  for operand in (q, k, v)]  # fmt: skip
        turned = [
            x.view(operand.shape, (x.strides[0], 1, x.strides[1]), x.offset)
            for x, operand in zip(arrays, (q, k, v), strict=True)
        ]
        check(to_numpy(attention(*turned)), reference(q, k, v), v)


@pytest.mark.parametrize("queries", [1, 40])
def test_queries_that_see_nothing_give_zeros(device: Device, queries: int) -> None:
    rng = np.random.default_rng(6)
    q, k, v = (from_numpy(drawn(rng, "float32", 1, size, 64), device) for size in (queries, 9, 9))
    nothing = from_numpy(np.zeros((queries, 1), np.bool_), device)
    infinite = from_numpy(np.full((queries, 9), -np.inf, np.float32), device)
    for result in (
        attention(q, k, v, mask=nothing),
        attention(q, k, v, mask=infinite),
        attention(q, k, v, key_length=0),
        attention(q, k.view((1, 0, 64), k.strides, 0), v.view((1, 0, 64), v.strides, 0)),
    ):
        np.testing.assert_array_equal(to_numpy(result), np.zeros((1, queries, 64), np.float32))
    if queries > 9:
        result = to_numpy(attention(q, k, v, causal=True))
        np.testing.assert_array_equal(result[:, : queries - 9], 0)
        assert np.all(np.abs(result[:, queries - 9 :]).sum(-1) > 0)


@pytest.mark.parametrize("queries", [1, 40])
def test_large_scores_and_nan(device: Device, queries: int) -> None:
    rng = np.random.default_rng(7)
    q, k, v = (drawn(rng, "float32", 1, size, 64) for size in (queries, 300, 300))
    k[:, 200] *= 1e3  # the largest scores come late: what was summed before is scaled to nothing
    got = to_numpy(attention(*(from_numpy(operand, device) for operand in (q, k, v)), scale=1.0))
    # Scores of thousands are off by roundings of their own size.
    np.testing.assert_allclose(got, reference(q, k, v, scale=1.0), atol=2e-2)
    q[0, 0, 3] = np.nan
    got = to_numpy(attention(*(from_numpy(operand, device) for operand in (q, k, v))))
    assert np.all(np.isnan(got[0, 0]))
    assert not np.any(np.isnan(got[0, 1:]))


def test_scores_are_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    device = devices()[0]
    rng = np.random.default_rng(8)
    q, k, v = (from_numpy(drawn(rng, "float32", 2, 600, 64), device) for _ in range(3))
    query = from_numpy(drawn(rng, "float32", 2, 1, 64), device)
    taken: list[int] = []
    take = device.pool.take
    monkeypatch.setattr(device.pool, "take", lambda size: taken.append(size) or take(size))
    attention(q, k, v, causal=True)
    attention(query, k, v)
    assert sum(taken) < 2 * q.size * 4


def test_shapes_that_do_not_fit_are_refused(device: Device) -> None:
    x = from_numpy(np.ones((2, 3, 4), np.float32), device)
    halves = from_numpy(np.ones((2, 3, 4), np.float16), device)
    three = from_numpy(np.ones((3, 3, 4), np.float32), device)
    whole = from_numpy(np.ones((2, 3, 4), np.int32), device)
    for arguments, options, error, message in (
        ((x, x, halves), {}, TypeError, "float16"),
        ((whole, whole, whole), {}, TypeError, "int32"),
        ((x, np.ones((2, 3, 4)), x), {}, TypeError, "k is of type ndarray"),
        ((x, three, three), {}, ValueError, "multiple of key_heads"),
        ((x, x, three), {}, ValueError, r"\(3, 3, 4\)"),
        ((x, x, x), {"mask": whole}, TypeError, "int32"),
        ((x, x, x), {"mask": three}, ValueError, r"\(3, 3, 4\)"),
        ((x, x, x), {"key_length": x}, TypeError, "key_length"),
        ((x, x, x), {"key_length": 1.5}, TypeError, "key_length"),
    ):
        with pytest.raises(error, match=message):
            attention(*arguments, **options)
