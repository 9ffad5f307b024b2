"""Attention: which keys a query sees, how heads share them, and how much memory it takes."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray.kernels import attention

Values = np.ndarray[Any, np.dtype[Any]]

RNG = np.random.default_rng(11)
HEADS, SHARED, QUERIES, KEYS, DIM = 6, 2, 5, 9, 8


def normal(*shape: int) -> Values:
    return RNG.standard_normal(shape).astype(np.float32)


def host(x: pa.Array) -> Values:
    return np.asarray(x.to_device("numpy"))


def near(got: pa.Array, expected: pa.Array | Values, atol: float = 2e-6) -> None:
    expected = host(expected) if isinstance(expected, pa.Array) else expected
    np.testing.assert_allclose(host(got), expected, rtol=1e-5, atol=atol)


class Given:
    """Queries, keys and values on a device."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.values = (
            normal(2, HEADS, QUERIES, DIM),
            normal(2, SHARED, KEYS, DIM),
            normal(2, SHARED, KEYS, 4),
        )
        self.q, self.k, self.v = map(self.on, self.values)

    def on(self, x: Any) -> pa.Array:
        return pa.asarray(x, device=self.device, copy=True)


@pytest.fixture(params=[True, False], ids=["tuned", "generic"])
def inputs(device: str, request: pytest.FixtureRequest) -> Any:
    with pa.config(tuned_kernels=request.param):
        yield Given(device)


def triangle(queries: int, keys: int) -> Values:
    return np.arange(keys) <= np.arange(queries)[:, None] + (keys - queries)


def test_causal_is_a_mask_aligned_at_the_end(inputs: Given) -> None:
    mask = triangle(QUERIES, KEYS)
    causal = attention(inputs.q, inputs.k, inputs.v, causal=True)
    near(causal, attention(inputs.q, inputs.k, inputs.v, mask=inputs.on(mask)))
    added = np.where(mask, 0, -np.inf).astype(np.float32)
    near(causal, attention(inputs.q, inputs.k, inputs.v, mask=inputs.on(added)))
    # One query more or less at the front changes nothing for the others.
    near(causal[:, :, 2:, :], attention(inputs.q[:, :, 2:, :], inputs.k, inputs.v, causal=True))
    # Both a mask and causal hold.
    second = RNG.random((HEADS, QUERIES, KEYS)) < 0.5
    near(
        attention(inputs.q, inputs.k, inputs.v, mask=inputs.on(second), causal=True),
        attention(inputs.q, inputs.k, inputs.v, mask=inputs.on(second & mask)),
    )


@pytest.mark.parametrize("causal", [False, True])
def test_keys_behind_key_length_are_not_there(inputs: Given, causal: bool) -> None:
    n = 6
    k, v = (values.copy() for values in inputs.values[1:])
    k[..., n:, :] = v[..., n:, :] = np.nan  # what lies in a cache that was never written
    expected = attention(inputs.q, inputs.k[..., :n, :], inputs.v[..., :n, :], causal=causal)
    lengths: tuple[Any, ...] = (
        n,
        np.int64(n),
        inputs.on(np.asarray(n)),
        inputs.on(np.asarray(n, np.int32)),
    )
    for length in lengths:
        near(
            attention(inputs.q, inputs.on(k), inputs.on(v), causal=causal, key_length=length),
            expected,
        )
    mask = RNG.random((QUERIES, KEYS)) < 0.7
    near(
        attention(
            inputs.q, inputs.on(k), inputs.on(v), causal=causal, key_length=n, mask=inputs.on(mask)
        ),
        attention(
            inputs.q,
            inputs.k[..., :n, :],
            inputs.v[..., :n, :],
            causal=causal,
            mask=inputs.on(mask[:, :n]),
        ),
    )


def test_heads_share_keys(inputs: Given) -> None:
    repeated = [np.repeat(values, HEADS // SHARED, axis=1) for values in inputs.values[1:]]
    near(
        attention(inputs.q, inputs.k, inputs.v, causal=True),
        attention(inputs.q, *map(inputs.on, repeated), causal=True),
    )


def test_two_axes_are_one_head(inputs: Given) -> None:
    q, k, v = inputs.q[0, 0], inputs.k[0, 0], inputs.v[0, 0]
    out = attention(q, k, v, causal=True)
    assert out.shape == (QUERIES, 4)
    near(out, attention(inputs.q, inputs.k, inputs.v, causal=True)[0, 0])


def test_rows_that_see_nothing_are_zeros(inputs: Given) -> None:
    mask = np.ones((QUERIES, KEYS), bool)
    mask[1] = False
    added = np.where(mask, np.float32(0.5), np.float32(-np.inf))
    for bias in (mask, added):
        out = host(attention(inputs.q, inputs.k, inputs.v, mask=inputs.on(bias)))
        assert np.isfinite(out).all()
        assert (out[:, :, 1] == 0).all()
        assert (out[:, :, 0] != 0).all()
    # More queries than keys: the first ones come before all keys.
    few = inputs.k[..., :2, :], inputs.v[..., :2, :]
    out = host(attention(inputs.q, *few, causal=True))
    assert (out[:, :, : QUERIES - 2] == 0).all()
    near(attention(inputs.q[:, :, QUERIES - 2 :, :], *few, causal=True), out[:, :, QUERIES - 2 :])
    for length in (0, inputs.on(np.asarray(0))):
        assert not host(attention(inputs.q, inputs.k, inputs.v, key_length=length)).any()


def test_scale(inputs: Given) -> None:
    near(
        attention(inputs.q, inputs.k, inputs.v, scale=0.5),
        attention(inputs.on(inputs.values[0] * np.float32(0.5 * DIM**0.5)), inputs.k, inputs.v),
    )
    even = attention(inputs.q, inputs.k, inputs.v, scale=0.0)
    near(even[:, :, 0, :], np.repeat(inputs.values[2].mean(axis=2), HEADS // SHARED, axis=1))


def test_blocks_of_queries_meet(device: str) -> None:
    # Long enough for several blocks, of which the last is a shorter one.
    length = 2100
    q, k, v = (pa.asarray(normal(length, 4), device=device) for _ in range(3))
    with pa.config(tuned_kernels=False):
        whole = attention(q, k, v, causal=True)
        for start in (0, 2047):
            part = slice(start, start + 53)
            near(whole[part], attention(q[part], k[: start + 53], v[: start + 53], causal=True))


@pytest.mark.parametrize("tuned", [True, False])
def test_memory_grows_with_the_length_and_not_with_its_square(tuned: bool) -> None:
    peaks = {}
    for length in (4096, 8192):
        q = pa.asarray(normal(length, 8), device="numpy")
        with pa.config(tuned_kernels=tuned):
            attention(q[:9], q, q)  # what is set up once is no part of it
            tracemalloc.start()
            attention(q, q, q, causal=True)
            peaks[length] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    assert peaks[8192] < 2.2 * peaks[4096]
    assert peaks[8192] < 8192**2 * 4 / 2  # the scores alone
