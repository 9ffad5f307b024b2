"""Random numbers: the published generator, its distributions, and the same stream everywhere."""

from __future__ import annotations

import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.exceptions import AxisError
from scipy import stats

from portarray._opencl.device import Device
from portarray._opencl.registry import devices
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.random import Generator

# counter, key and result of philox4x32 with 10 rounds in Random123's kat_vectors.
KNOWN = (
    (
        (0, 0, 0, 0),
        (0, 0),
        (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8),
    ),
    (
        (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF),
        (0xFFFFFFFF, 0xFFFFFFFF),
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
)


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_published_vectors(
    device: Device, counter: tuple[int, ...], key: tuple[int, ...], words: tuple[int, ...]
) -> None:
    rng = Generator(0, device)
    rng.state = {
        "key": key[0] | key[1] << 32,
        "block": counter[0] | counter[1] << 32,
        "stream": counter[2] | counter[3] << 32,
    }
    group = to_numpy(rng.integers(0, 1 << 32, (64,), np.uint32))
    assert tuple(group[::16].tolist()) == words


def draws(rng: Generator) -> dict[str, np.ndarray[Any, Any]]:
    """Return some of everything."""
    found = {
        "float32": rng.uniform((3, 67), dtype=np.float32),
        "float16": rng.uniform(5, -1, 3, dtype=np.float16),
        "bfloat16": rng.uniform(5, dtype="bfloat16"),
        "shifted": rng.uniform(1000, -0.3, 0.7, dtype=np.float32),
        "int8": rng.integers(-5, 6, (101,), np.int8),
        "uint16": rng.integers(0, 65535, (101,), np.uint16, endpoint=True),
        "int64": rng.integers(-(10**12), 10**12, (101,), np.int64),
        "all": rng.integers(-(2**63), 2**63, (7,), np.int64),
        "order": rng.permutation(50),
    }
    if np.dtype(np.float64) in rng.device.dtypes:
        found["float64"] = rng.uniform((129,), 1, 4, dtype=np.float64)
    return {name: np.array(to_numpy(x)) for name, x in found.items()}


def test_the_stream_is_the_same_on_every_device(device: Device) -> None:
    here, first = draws(Generator(11, device)), draws(Generator(11, devices()[0]))
    for name, values in here.items():
        assert values.dtype == first[name].dtype
        assert values.tobytes() == first[name].tobytes(), name
    ours = to_numpy(Generator(3, device).normal((4001,), 1, 2, dtype=np.float32))
    other = to_numpy(Generator(3, devices()[0]).normal((4001,), 1, 2, dtype=np.float32))
    np.testing.assert_allclose(ours, other, rtol=0, atol=64 * np.finfo(np.float32).eps)


def test_draws_follow_each_other(device: Device) -> None:
    whole = to_numpy(Generator(5, device).uniform(5000, dtype=np.float32))
    rng = Generator(5, device)
    # Every draw begins with a group of 64 words.
    parts = [to_numpy(rng.uniform(n, dtype=np.float32)).copy() for n in (64, 3072, 0, 1864)]
    assert np.array_equal(np.concatenate(parts), whole)
    longer = to_numpy(Generator(5, device).uniform(5001, dtype=np.float32))
    assert np.array_equal(longer[:5000], whole)
    assert rng.state["block"] == 16 * -(-5000 // 64)


def test_words_that_belong_to_an_element(device: Device) -> None:
    words = to_numpy(Generator(12, device).integers(0, 1 << 32, 64, np.uint32)).astype(np.uint64)
    longs = to_numpy(Generator(12, device).integers(0, 1 << 64, 32, np.uint64))
    lower, upper = words.reshape(2, 2, 16).transpose(1, 0, 2)
    assert np.array_equal(longs.reshape(2, 16), lower | upper << np.uint64(32))
    uniform = to_numpy(Generator(12, device).uniform(64, dtype=np.float32))
    assert np.array_equal(uniform, (words >> np.uint64(8)).astype(np.float32) * np.float32(2**-24))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distributions(device: Device, dtype: str) -> None:
    if np.dtype(dtype) not in device.dtypes:
        pytest.skip(f"{device} has no {dtype}")
    rng = Generator(2026, device)
    uniform = to_numpy(rng.uniform(200_001, -2, 5, dtype=dtype)).astype(np.float64)
    assert uniform.min() >= -2
    assert uniform.max() < 5
    assert stats.kstest(uniform, stats.uniform(-2, 7).cdf).pvalue > 1e-3
    normal = to_numpy(rng.normal(200_001, 1, 2, dtype=dtype)).astype(np.float64)
    assert stats.kstest(normal, stats.norm(1, 2).cdf).pvalue > 1e-3
    pairs = normal[:-1].reshape(-1, 2)
    assert abs(np.corrcoef(pairs.T)[0, 1]) < 0.01
    assert np.isfinite(normal).all()


def test_whole_numbers_are_equally_likely(device: Device) -> None:
    rng = Generator(4, device)
    counts = np.bincount(to_numpy(rng.integers(-3, 4, 140_000, np.int8)) + 3, minlength=7)
    assert stats.chisquare(counts).pvalue > 1e-3
    # Where a third of all draws is refused, a biased method would take the lower half too often.
    for span, dtype in ((3 << 30, np.int64), (3 << 62, np.uint64)):
        values = to_numpy(rng.integers(0, span, 100_000, dtype)).astype(np.float64) / float(span)
        assert stats.kstest(values, "uniform").pvalue > 1e-3
    assert set(to_numpy(rng.integers(3, shape=100)).tolist()) == {0, 1, 2}
    assert set(to_numpy(rng.integers(1, 2, 100, endpoint=True)).tolist()) == {1, 2}
    assert to_numpy(rng.integers(7, 8, 5)).tolist() == [7] * 5


def test_uniform_numbers_stay_below_high(device: Device) -> None:
    rng = Generator(8, device)
    for dtype, high in ((np.float16, 1.0), (ml_dtypes.bfloat16, 1.0), (np.float32, 1.0)):
        # The numbers between lie so densely that rounding would often give ``high``.
        values = to_numpy(rng.uniform(5000, 0.99, high, dtype=dtype))
        assert np.all(values < np.asarray(high, dtype))
        assert np.all(values >= np.asarray(0.99, dtype))
    assert np.all(to_numpy(rng.uniform(5, 3, 3, dtype=np.float32)) == 3)


def test_permutations(device: Device) -> None:
    rng = Generator(6, device)
    assert sorted(to_numpy(rng.permutation(1000)).tolist()) == list(range(1000))
    assert rng.permutation(0).shape == (0,)
    x = from_numpy(np.arange(12, dtype=np.float32).reshape(4, 3), device)
    rows = to_numpy(rng.permutation(x))
    assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, to_numpy(x).tolist()))
    columns = to_numpy(rng.permutation(x, axis=1))
    assert sorted(columns[0].tolist()) == [0, 1, 2]
    orders = {tuple(to_numpy(rng.permutation(3)).tolist()) for _ in range(60)}
    assert len(orders) == 6


def test_states_are_kept_and_given_back() -> None:
    rng = Generator(9)
    rng.uniform(10)
    kept, other = rng.state, pickle.loads(pickle.dumps(rng))
    wanted = to_numpy(rng.uniform(20)).copy()
    assert np.array_equal(to_numpy(other.uniform(20)), wanted)
    rng.state = kept
    assert np.array_equal(to_numpy(rng.uniform(20)), wanted)
    for state in ({"key": 1}, {"key": -1, "stream": 0, "block": 0}):
        with pytest.raises(ValueError, match="key"):
            rng.state = state


def test_streams_differ() -> None:
    rng = Generator(10)
    children = rng.spawn(2) + rng.spawn(1) + [rng.jumped(), rng.jumped(2), Generator(11), rng]
    firsts = {tuple(to_numpy(one.integers(0, 1 << 62, 2)).tolist()) for one in children}
    assert len(firsts) == len(children)
    assert rng.jumped(3).state == rng.jumped().jumped(2).state
    assert Generator().state != Generator().state


def test_what_a_generator_refuses() -> None:
    rng = Generator(0)
    with pytest.raises(ValueError, match="at least one number"):
        rng.integers(3, 3)
    with pytest.raises(ValueError, match="int8 holds"):
        rng.integers(0, 200, dtype=np.int8)
    with pytest.raises(TypeError, match="integer dtype"):
        rng.integers(3, dtype=np.float32)
    with pytest.raises(TypeError, match="floating-point"):
        rng.uniform(dtype=np.int32)
    with pytest.raises(ValueError, match="in order"):
        rng.uniform(3, 2, 1)
    for high in (3e38, 1e300):
        with pytest.raises(ValueError, match="float32 must hold both"):
            rng.uniform(3, -3e38, high, dtype=np.float32)
    with pytest.raises(AxisError):
        rng.permutation(from_numpy(np.arange(3), rng.device), axis=1)
    with pytest.raises(ValueError, match="std"):
        rng.normal(3, 0, -1)
    with pytest.raises(ValueError, match="must not be negative"):
        rng.permutation(-1)
