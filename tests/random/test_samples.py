"""Choices, permutations, and messages for wrong arguments, on every device."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray.random import sampling


def as_numpy(x: pa.Array) -> Any:
    return np.asarray(x.to_device("numpy"))


def test_permutations(device: str) -> None:
    key = pa.random.key(11, device=device)
    order = as_numpy(pa.random.permutation(key, 100))
    with pa.config(tuned_kernels=False):
        assert np.array_equal(order, as_numpy(pa.random.permutation(pa.random.key(11), 100)))
    assert np.array_equal(np.sort(order), np.arange(100))
    x = pa.reshape(pa.arange(300, dtype=pa.int32, device=device), (3, 100))
    assert np.array_equal(as_numpy(pa.random.permutation(key, x, axis=1)), as_numpy(x)[:, order])
    assert np.array_equal(as_numpy(pa.random.permutation(key, x, axis=-1)), as_numpy(x)[:, order])
    assert pa.random.permutation(key, x).shape == (3, 100)
    assert pa.random.permutation(key, 0).shape == (0,)


def test_the_order_is_that_of_64_bits(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices without uint64 sort twice and get the same order."""
    key = pa.random.key(12, device=device)
    once = as_numpy(pa.random.permutation(key, 500))
    monkeypatch.setattr(sampling.distributions, "U64", None)
    assert np.array_equal(once, as_numpy(pa.random.permutation(key, 500)))
    drawn = pa.asarray([[1, 2], [1, 1], [0, 5], [1, 0]], dtype=pa.uint32, device=device)
    monkeypatch.setattr(sampling.drawing, "at", lambda *_: drawn)
    assert as_numpy(pa.random.permutation(key, 4)).tolist() == [2, 3, 1, 0]


def test_choices(device: str) -> None:
    key = pa.random.key(13, device=device)
    x = pa.reshape(pa.arange(30, dtype=pa.float32, device=device), (5, 6))
    rows = as_numpy(pa.random.choice(key, 5, 4))
    assert np.array_equal(rows, as_numpy(pa.random.integers(key, 5, shape=4)))
    assert np.array_equal(as_numpy(pa.random.choice(key, x, 4)), as_numpy(x)[rows])
    columns = as_numpy(pa.random.choice(key, 6, (2, 2)))
    got = pa.random.choice(key, x, (2, 2), axis=-1)
    assert np.array_equal(as_numpy(got), as_numpy(x)[:, columns])
    assert pa.random.choice(key, x).shape == (6,)
    assert pa.random.choice(key, 0, 0).shape == (0,)
    without = as_numpy(pa.random.choice(key, 50, 50, replace=False))
    assert np.array_equal(np.sort(without), np.arange(50))
    assert np.array_equal(
        as_numpy(pa.random.choice(key, 50, (3, 2), replace=False)).ravel(), without[:6]
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_choices_with_probabilities(device: str, dtype: str) -> None:
    if np.dtype(dtype) not in pa.__array_namespace_info__().dtypes(device=device).values():
        pytest.skip(f"{device} has no {dtype}")
    key = pa.random.key(14, device=device)
    values = np.array([0.0, 0.125, 0.5, 0.0, 0.25, 0.125, 0.0])  # whose sums are exact
    p = pa.asarray(values, dtype=dtype, device=device)
    got = as_numpy(pa.random.choice(key, 7, (10, 20), p=p))
    x = as_numpy(pa.random.bits(pa.random.key(14, device="numpy"), (10, 20), dtype="uint64"))
    ends = (np.cumsum(values) * 2.0**52).astype(np.uint64)
    assert np.array_equal(got, np.searchsorted(ends, x >> np.uint64(12), side="right"))
    # The same on every device, whatever the order in which it computes sums.
    many = np.random.default_rng(1).dirichlet(np.full(2000, 0.1)).astype(dtype)
    got = as_numpy(pa.random.choice(key, 2000, 5000, p=pa.asarray(many, device=device)))
    weights = [round(float(value) * 2**52) for value in many]
    x = as_numpy(pa.random.bits(pa.random.key(14, device="numpy"), 5000, dtype="uint64"))
    places = [int(value) * sum(weights) >> 64 for value in x]
    assert np.array_equal(got, np.searchsorted(np.cumsum(weights), places, side="right"))
    got = as_numpy(pa.random.choice(key, 7, 4, p=p, replace=False))
    assert sorted(got.tolist()) == [1, 2, 4, 5]


def test_the_ends_of_probabilities(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest and the largest words select no item of probability 0."""
    drawn = pa.asarray([[0, 0], [2**32 - 1, 2**32 - 1]], dtype=pa.uint32, device=device)
    monkeypatch.setattr(sampling.drawing, "at", lambda *_: drawn)
    key = pa.random.key(0, device=device)
    p = pa.asarray([0.0, 0.3, 0.1, 0.6, 0.0], dtype=pa.float32, device=device)
    assert pa.random.choice(key, 5, 2, p=p).tolist() == [1, 3]
    monkeypatch.setattr(sampling, "I64", None)
    assert pa.random.choice(key, 5, 2, p=p).tolist() == [1, 3]


def test_keys_are_arrays_like_any_other(device: str, tmp_path: Any) -> None:
    pytest.importorskip("optree")
    key = pa.random.key(2**40 + 3, device=device)
    there = pa.to_device({"key": key, "more": [pa.random.split(key)]}, "numpy")
    back = there["key"].to_device(device)
    assert back.tolist() == key.tolist() == [2**8, 3]
    assert pa.random.bits(back, 3).tolist() == pa.random.bits(key, 3).tolist()


def of(text: str) -> Callable[..., Any]:
    """Return a function that evaluates a text, where k is a key and x an array."""
    return eval(f"lambda pa, np, k, x: {text}")  # type: ignore[no-any-return]


WRONG = [
    ("pa.random.key(1.0)", TypeError, "pass int(seed)"),
    ("pa.random.key('a')", TypeError, "int.from_bytes(seed.encode())"),
    ("pa.random.key(None)", TypeError, "secrets.randbits(64)"),
    ("pa.random.key(k)", TypeError, "if it is a key already"),
    ("pa.random.uniform(0, 3)", TypeError, "pass pa.random.key(0)"),
    ("pa.random.uniform(x, 3)", TypeError, "an array of float32 is not a key"),
    ("pa.random.uniform(pa.random.split(k), 3)", ValueError, "such as keys[0]"),
    ("pa.random.uniform(k[:1], 3)", ValueError, "a key has shape (2,)"),
    ("pa.random.split(k, -1)", ValueError, "must not have negative sizes"),
    ("pa.random.split(k, 2.0)", TypeError, "shape must be an integer or a tuple of integers"),
    ("pa.random.fold_in(k, 1.0)", TypeError, "data=1.0 must be an integer"),
    ("pa.random.fold_in(k, x)", TypeError, "integer dtype"),
    ("pa.random.fold_in(k, 2**64)", ValueError, "at most 64 bits"),
    ("pa.random.bits(k, 3, dtype='int32')", TypeError, "unsigned"),
    ("pa.random.bits(k, (3, -1))", ValueError, "must not have negative sizes"),
    ("pa.random.uniform(k, 3, dtype='int32')", TypeError, "use pa.random.integers"),
    ("pa.random.normal(k, 3, dtype='complex64')", TypeError, "two real arrays"),
    ("pa.random.uniform(k, 3, low=2)", ValueError, "low must be less than high"),
    ("pa.random.uniform(k, 3, low=1, high=1 + 1e-9, dtype='float32')", ValueError, "in float32"),
    ("pa.random.uniform(k, 3, high=float('inf'))", ValueError, "must be finite"),
    ("pa.random.uniform(k, 3, high=1e39, dtype='float32')", ValueError, "finite in float32"),
    ("pa.random.uniform(k, 3, low=-3e38, high=3e38, dtype='float32')", ValueError, "high - low"),
    ("pa.random.uniform(k, 3, high=x)", TypeError, "high is an array of shape (3,)"),
    ("pa.random.uniform(k, 3, high='1')", TypeError, "high must be a number"),
    ("pa.random.normal(k, 3, scale=-1)", ValueError, "scale is -1"),
    ("pa.random.normal(k, 3, loc=1j)", TypeError, "real number"),
    ("pa.random.exponential(k, 3, scale=float('nan'))", ValueError, "must be finite"),
    ("pa.random.integers(k, 0)", ValueError, "low must be positive"),
    ("pa.random.integers(k, 5, 5)", ValueError, "low must be less than high"),
    ("pa.random.integers(k, 5, 4, endpoint=True)", ValueError, "or equal to it"),
    ("pa.random.integers(k, 0, 300, dtype='uint8')", ValueError, "do not fit uint8 (0 to 255)"),
    ("pa.random.integers(k, -1, 3, dtype='uint8')", ValueError, "do not fit uint8 (0 to 255)"),
    ("pa.random.integers(k, 0, 2.5)", TypeError, "high is 2.5"),
    ("pa.random.integers(k, 0, 2, dtype='bool')", TypeError, ".astype(pa.bool)"),
    ("pa.random.integers(k, 0, 2, dtype='float32')", TypeError, "use pa.random.uniform"),
    ("pa.random.permutation(k, -1)", ValueError, "must not be negative"),
    ("pa.random.permutation(k, [1, 2])", TypeError, "must be an integer"),
    ("pa.random.permutation(k, x, axis=1)", IndexError, "axis 1 is out of bounds"),
    ("pa.random.permutation(k, x[0])", TypeError, "0-d array"),
    ("pa.random.choice(k, 0, 1)", ValueError, "nothing to choose from"),
    ("pa.random.choice(k, 3, 4, replace=False)", ValueError, "replace=True"),
    ("pa.random.choice(k, 3, 4, p=[1, 0, 0])", TypeError, "pass pa.asarray(p"),
    ("pa.random.choice(k, 4, p=x)", ValueError, "one probability for each of 4"),
    ("pa.random.choice(k, 3, p=x)", ValueError, "pass p / pa.sum(p)"),
    ("pa.random.choice(k, 3, p=x - 1)", ValueError, "must not be negative"),
    ("pa.random.choice(k, 3, p=x * pa.nan)", ValueError, "p has nan"),
    ("pa.random.choice(k, 3, 3, p=(x - 0) / 3, replace=False)", ValueError, "at most 2"),
    ("pa.random.choice(k, 3, p=k)", TypeError, "p has dtype uint32"),
]  # fmt: skip


@pytest.mark.drawn_devices(1)
@pytest.mark.parametrize(("text", "kind", "message"), WRONG, ids=[row[0] for row in WRONG])
def test_messages_for_wrong_arguments(
    device: str, text: str, kind: type[Exception], message: str
) -> None:
    key = pa.random.key(0, device=device)
    x = pa.asarray([0.0, 1.0, 2.0], dtype=pa.float32, device=device)
    with pytest.raises(kind, match=re.escape(message)):
        of(text)(pa, np, key, x)


def test_arrays_of_another_device(fake: str) -> None:
    key = pa.random.key(0, device="numpy")
    x = pa.asarray([0.25, 0.75], dtype=pa.float32, device="fake:cuda:0")
    for call in (
        lambda: pa.random.permutation(key, x),
        lambda: pa.random.choice(key, x),
        lambda: pa.random.choice(key, 2, p=x),
    ):
        with pytest.raises(pa.DeviceMismatchError, match="fake:cuda:0"):
            call()


def test_devices_without_wide_dtypes(no64bit: str) -> None:
    """Bits need uint32 only; unsupported dtypes are refused by name."""
    key = pa.random.key(5, device=no64bit)
    here = pa.random.key(5, device="numpy")
    for make in (
        lambda k: pa.random.uniform(k, 10, dtype="float32"),
        lambda k: pa.random.normal(k, 10, dtype="float32"),
        lambda k: pa.random.integers(k, -3, 2**31 - 1, (10,), dtype="int32"),
        lambda k: pa.random.permutation(k, 20),
        lambda k: pa.random.split(k, 3),
        # Exact in both units.
        lambda k: pa.random.choice(
            k, 3, 50, p=pa.asarray([0.25, 0.5, 0.25], dtype="float32", device=k.device)
        ),
    ):
        assert make(key).tolist() == make(here).tolist()
    for refused in (
        lambda: pa.random.uniform(key, 3, dtype="float64"),
        lambda: pa.random.bits(key, 3, dtype="uint64"),
        lambda: pa.random.integers(key, 0, 3, dtype="int64"),
    ):
        with pytest.raises(pa.DTypeNotSupportedError):
            refused()
