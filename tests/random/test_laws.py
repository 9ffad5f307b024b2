"""Statistical tests of distributions and samples at level 1e-4, with fixed seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import portarray as pa

stats = pytest.importorskip("scipy.stats")

pytestmark = pytest.mark.one_device  # numbers are the same on all devices: see test_numbers.py

LEVEL = 1e-4
N = 200_000


def key(seed: int) -> pa.Array:
    return pa.random.key(seed, device="numpy")


def as_numpy(x: pa.Array) -> Any:
    return np.asarray(x)


LAWS = {
    "uniform": (lambda k, dtype: pa.random.uniform(k, N, dtype=dtype, low=-2, high=6),
                stats.uniform(-2, 8)),
    "normal": (lambda k, dtype: pa.random.normal(k, N, dtype=dtype, loc=1, scale=3),
               stats.norm(1, 3)),
    "exponential": (lambda k, dtype: pa.random.exponential(k, N, dtype=dtype, scale=2),
                    stats.expon(scale=2)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LAWS)
def test_distributions_and_moments(name: str, dtype: str) -> None:
    make, law = LAWS[name]
    for seed in range(4):
        x = as_numpy(make(key(seed), dtype)).astype(np.float64)
        assert stats.kstest(x, law.cdf).pvalue > LEVEL
        central = (x - law.mean()) / law.std()
        for power in (1, 2, 3, 4):
            moment = law.moment(power) if law.mean() == 0 else None
            got = np.mean(central**power)
            exact = {1: 0.0, 2: 1.0, 3: float(law.stats("s")), 4: float(law.stats("k")) + 3}[power]
            standard_error = np.std(central**power) / np.sqrt(N)
            assert moment is None or moment == pytest.approx(exact)
            assert abs(got - exact) < 4.5 * standard_error


def test_bits_are_independent() -> None:
    for seed in range(3):
        x = as_numpy(pa.random.bits(key(seed), N))
        planes = (x[:, None] >> np.arange(32, dtype=np.uint32)) & 1
        ones = planes.sum(axis=0)
        assert stats.chisquare(np.stack([ones, N - ones])[:, :].ravel()).pvalue > LEVEL
        agree = np.corrcoef(planes.T.astype(np.float64))
        assert np.abs(agree - np.eye(32)).max() < 5.5 / np.sqrt(N)
        assert stats.chisquare(np.bincount(x >> 20, minlength=4096)).pvalue > LEVEL


def test_numbers_and_keys_are_independent() -> None:
    root = key(7)
    keys = [root, *pa.random.split(root, 4), *pa.random.split(pa.random.split(root)[0], 2)]
    keys += [pa.random.fold_in(root, 1000 + n) for n in range(3)] + [key(8), key(6)]
    draws = np.stack([as_numpy(pa.random.uniform(k, N, dtype="float64")) for k in keys[1:]])
    off = np.abs(np.corrcoef(draws) - np.eye(len(draws)))
    assert off.max() < 5 / np.sqrt(N)
    for x in draws:
        for lag in (1, 2, 3, 64, 1024):
            assert abs(np.corrcoef(x[:-lag], x[lag:])[0, 1]) < 5 / np.sqrt(N)


@pytest.mark.parametrize("count", [2, 6, 10, 1000])
def test_integers_are_equally_probable(count: int) -> None:
    x = as_numpy(pa.random.integers(key(count), count, shape=(N,)))
    assert stats.chisquare(np.bincount(x, minlength=count)).pvalue > LEVEL


def test_large_integers_are_equally_probable() -> None:
    for low, high in ((-(2**62), 2**62 + 2**61), (0, 3 * 2**40)):
        x = as_numpy(pa.random.integers(key(1), low, high, (N,), dtype="int64")).astype(np.float64)
        assert stats.kstest(x, stats.uniform(low, high - low).cdf).pvalue > LEVEL


def test_permutations_are_equally_probable() -> None:
    keys = pa.random.split(key(3), 4800)
    orders = [tuple(pa.random.permutation(k, 4).tolist()) for k in keys[:2400]]
    assert stats.chisquare(list(np.unique(orders, axis=0, return_counts=True)[1])).pvalue > LEVEL
    assert len(set(orders)) == 24


def test_choices_have_their_probabilities() -> None:
    p = pa.asarray([0.05, 0.0, 0.5, 0.2, 0.25], dtype=pa.float64, device="numpy")
    x = as_numpy(pa.random.choice(key(0), 5, N, p=p))
    counts = np.bincount(x, minlength=5)
    assert counts[1] == 0
    possible = [0, 2, 3, 4]
    assert stats.chisquare(counts[possible], N * as_numpy(p)[possible]).pvalue > LEVEL
    assert stats.chisquare(np.bincount(as_numpy(pa.random.choice(key(0), 5, N)))).pvalue > LEVEL


def test_choices_without_replacement_have_their_probabilities() -> None:
    """The first follows ``p``, the second ``p`` renormalized without the first."""
    p = np.array([0.1, 0.0, 0.6, 0.3])
    keys = pa.random.split(key(5), 3000)
    pairs = [
        tuple(pa.random.choice(k, 4, 2, p=pa.asarray(p, device="numpy"), replace=False).tolist())
        for k in keys
    ]
    probabilities = {
        (a, b): p[a] * p[b] / (1 - p[a]) for a in (0, 2, 3) for b in (0, 2, 3) if a != b
    }
    assert set(pairs) == set(probabilities)
    counts = [pairs.count(pair) for pair in probabilities]
    assert stats.chisquare(counts, 3000 * np.array(list(probabilities.values()))).pvalue > LEVEL
