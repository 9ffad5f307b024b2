"""What kernels keep, whichever version serves the call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray.kernels import (
    cross_entropy,
    gelu,
    generic,
    layer_norm,
    log_softmax,
    rms_norm,
    rope,
    rope_tables,
    silu,
    softmax,
)

strict = pytest.importorskip("array_api_strict")

Values = np.ndarray[Any, np.dtype[Any]]

RNG = np.random.default_rng(5)


def normal(*shape: int) -> Values:
    return RNG.standard_normal(shape).astype(np.float32)


def host(x: pa.Array) -> Values:
    return np.asarray((pa.astype(x, pa.float32) if x.dtype.itemsize == 2 else x).to_device("numpy"))


def near(got: pa.Array, expected: Any, rtol: float = 1e-5, atol: float = 1e-5) -> None:
    expected = host(expected) if isinstance(expected, pa.Array) else expected
    np.testing.assert_allclose(host(got), expected, rtol=rtol, atol=atol)


def test_softmax_sums_to_one_and_keeps_shifts_out(device: str) -> None:
    values = np.round(8 * normal(4, 33)) / 8  # shifts by whole numbers are exact
    x = pa.asarray(values, device=device)
    for axis in (0, 1):
        weights = softmax(x, axis=axis)
        near(pa.sum(weights, axis=axis), np.ones(values.shape[1 - axis]))
        near(softmax(x + 1024.0, axis=axis), weights, rtol=1e-6, atol=0)
        near(pa.exp(log_softmax(x, axis=axis)), weights)


def test_rows_that_softmax_cannot_weigh(device: str) -> None:
    x = pa.asarray([[-np.inf, -np.inf], [-np.inf, 3.0]], dtype=pa.float32, device=device)
    with np.errstate(invalid="ignore"):  # infinity minus infinity is NaN
        weights, logarithms = host(softmax(x)), host(log_softmax(x))
    assert np.isnan(weights[0]).all()
    assert weights[1].tolist() == [0.0, 1.0]
    assert logarithms[1].tolist() == [-np.inf, 0.0]


def test_shapes_without_values(device: str) -> None:
    for shape in ((0, 3), (3, 0)):
        x = pa.zeros(shape, dtype=pa.float32, device=device)
        for kernel in (softmax, log_softmax, silu, gelu, rms_norm, layer_norm):
            assert kernel(x).shape == shape
    empty, ones = (pa.ones((2, n, 4), dtype=pa.float32, device=device) for n in (0, 3))
    assert host(pa.kernels.attention(ones, empty, empty)).tolist() == np.zeros((2, 3, 4)).tolist()
    assert pa.kernels.attention(empty, ones, ones).shape == (2, 0, 4)
    assert pa.kernels.linear(empty, ones[0]).shape == (2, 0, 3)
    assert rope(empty).shape == (2, 0, 4)
    # Sums of nothing are 0.
    empty_rows, bias = empty[0].mT, ones[0, 0]
    assert (
        host(pa.kernels.linear(empty_rows[:, :0], ones[0].mT[:, :0], bias)).tolist()
        == [[1.0] * 4] * 4
    )
    indices = pa.zeros((0, 2), dtype=pa.int64, device=device)
    assert pa.kernels.embedding(indices, ones[0]).shape == (0, 2, 4)
    assert float(cross_entropy(empty[0], indices[:, 0], reduction="sum")) == 0


def test_large_values_stay_finite(device: str) -> None:
    x = pa.asarray([-1e30, -100.0, -0.0, 100.0, 1e30], dtype=pa.float32, device=device)
    for result in (silu(x), gelu(x), gelu(x, approximate="tanh")):
        assert host(result)[[0, 2, 3, 4]].tolist() == [0, 0, 100, np.float32(1e30)]
        assert -1e-30 <= host(result)[1] <= 0


def test_gelu_is_exact_to_the_last_digits() -> None:
    # Far below 0, where the distribution's function is next to nothing, too.
    x = np.linspace(-30, 10, 2001)
    with pa.config(tuned_kernels=False):
        got = host(gelu(pa.asarray(x, device="numpy")))
    expected = [value * 0.5 * math.erfc(-value / math.sqrt(2)) for value in x]
    np.testing.assert_allclose(got, expected, rtol=3e-13)
    inner = np.abs(x) < 3
    np.testing.assert_allclose(got[inner], np.asarray(expected)[inner], rtol=4e-15)


def test_norms_do_not_see_the_scale(device: str) -> None:
    values = normal(3, 40)
    x = pa.asarray(values, device=device)
    near(pa.mean(rms_norm(x, eps=0.0) ** 2, axis=-1), np.ones(3))
    near(rms_norm(8.0 * x, eps=0.0), rms_norm(x, eps=0.0), rtol=1e-6, atol=0)
    near(pa.mean(layer_norm(x), axis=-1), np.zeros(3))
    near(pa.std(layer_norm(x, eps=0.0), axis=-1), np.ones(3))
    near(layer_norm(x + 3.0), layer_norm(x), rtol=1e-4)
    assert host(rms_norm(0.0 * x)).tolist() == np.zeros((3, 40)).tolist()


def test_rope_turns_and_keeps_lengths(device: str) -> None:
    values = normal(2, 7, 8)
    x = pa.asarray(values, device=device)
    turned = rope(x)
    near(turned[:, 0, :], values[:, 0, :], rtol=0, atol=0)
    near(pa.sum(turned * turned, axis=-1), np.sum(values * values, axis=-1))
    # Interleaved is half-split with the features in another order.
    order = np.arange(8).reshape(4, 2).T.ravel()
    near(rope(x, interleaved=True), host(rope(x[:, :, order]))[:, :, np.argsort(order)])
    # Only distances count: inner products are the same 5 places on.
    places = pa.asarray(np.arange(7), device=device)
    first, on = rope(x, places), rope(x, places + 5)
    near(pa.matmul(first, first.mT), pa.matmul(on, on.mT), rtol=1e-4, atol=1e-4)


def test_rope_with_tables(device: str) -> None:
    x = pa.asarray(normal(2, 7, 8), device=device)
    places = pa.asarray(np.arange(100, 107), device=device)
    near(rope(x, places), rope(x, tables=rope_tables(places, 8, dtype=x.dtype)))
    cos, sin = rope_tables(places, 4, dtype=x.dtype, theta=50.0)
    assert cos.shape == sin.shape == (7, 2)
    part = rope(x, tables=(cos, sin))
    near(part[:, :, 4:], x[:, :, 4:], rtol=0, atol=0)
    near(part[:, :, :4], rope(x[:, :, :4], places, theta=50.0))


class WithoutFloat64:
    """array-api-strict on a device that has no float64."""

    def __getattr__(self, name: str) -> Any:
        return getattr(strict, name)

    def __array_namespace_info__(self) -> WithoutFloat64:
        return self

    def dtypes(self, *, device: Any, kind: str) -> dict[str, Any]:
        return {"float32": strict.float32}


def test_angles_far_away_are_exact_without_float64() -> None:
    places = np.asarray([0, 1, 1023, 1024, 8191, 131_071, 10**8, 2**31 - 1, -1, -70_000])
    tables = generic.rope_tables(
        WithoutFloat64(), strict.asarray(places), dimensions=64, theta=1e4, dtype=strict.float32
    )
    for got, function in zip(tables, (math.cos, math.sin), strict=True):
        assert got.dtype == strict.float32
        expected = [[function(n * 1e4 ** (-i / 32)) for i in range(32)] for n in places.tolist()]
        np.testing.assert_allclose(np.asarray(got), expected, rtol=0, atol=1e-6)


def test_cross_entropy_leaves_ignored_rows_out(device: str) -> None:
    logits, targets = normal(6, 9), np.asarray([1, 8, -100, 0, -100, 3])
    x, due = (pa.asarray(array, device=device) for array in (logits, targets))
    counted = np.flatnonzero(targets >= 0)
    some = pa.asarray(logits[counted], device=device), pa.asarray(targets[counted], device=device)
    for smoothing in (0.0, 0.2):
        near(
            cross_entropy(x, due, label_smoothing=smoothing),
            cross_entropy(*some, label_smoothing=smoothing),
        )
    losses = host(cross_entropy(x, due, reduction="none"))
    assert losses[[2, 4]].tolist() == [0.0, 0.0]
    near(cross_entropy(x, due, reduction="sum"), losses.sum())
    with np.errstate(invalid="ignore"):
        empty_rows = cross_entropy(x, pa.full(6, -100, device=device, dtype=due.dtype))
    assert math.isnan(float(empty_rows))
    # Certainty of all classes alike costs the logarithm of their number.
    near(cross_entropy(0.0 * x, due), math.log(9))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_dtypes_are_computed_in_float32(device: str, dtype: str) -> None:
    where = pa.device(device)
    if dtype not in {str(name) for name in where._backend.dtypes(where.platform, where.index)}:
        pytest.skip(f"{device} has no {dtype}")
    ones = pa.astype(pa.ones((1, 5000), dtype=pa.float32, device=device), dtype)
    # Added up in 16 bits, ones stay at 2048 or 256, and 200 ** 2 * 5000 is beyond float16.
    near(softmax(ones), np.full((1, 5000), 1 / 5000), rtol=1e-2)
    assert float(pa.astype(pa.kernels.linear(ones, ones), pa.float32)[0, 0]) in (4992, 5000)
    near(rms_norm(200.0 * ones), np.ones((1, 5000)), rtol=1e-2)
    assert softmax(ones).dtype == ones.dtype
