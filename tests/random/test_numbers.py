"""Random numbers equal published vectors and other implementations, on every device.

Each test runs twice, with the kernels and with the standard's functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray.random import distributions, drawing, numbers
from portarray.random.threefry import threefry

Values = np.ndarray[Any, np.dtype[Any]]

SEED = 20_261
COUNT = 3000  # above and below it numbers are made in other ways
DTYPES = ("float16", "bfloat16", "float32", "float64")
SMALLEST_STEP = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24}


@pytest.fixture(params=["kernel", "functions"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Use kernels wherever the device runs them, even for few numbers, or never."""
    monkeypatch.setattr(drawing, "_FEW", 0)
    monkeypatch.setattr(drawing, "_started", set())
    with pa.config(tuned_kernels=request.param == "kernel"):
        yield request.param


def as_numpy(x: pa.Array) -> Values:
    return np.asarray((pa.astype(x, pa.float32) if x.dtype.itemsize == 2 else x).to_device("numpy"))


def has(device: str, dtype: str) -> bool:
    try:
        pa.empty(1, dtype=dtype, device=device)
    except pa.DTypeNotSupportedError:
        return False
    return True


def threefry_words(key: tuple[int, int], start: int, count: int) -> tuple[Values, Values]:
    """Return the words at positions, by Threefry as its authors write it."""
    parity = key[0] ^ key[1] ^ 0x1BD11BDA
    rotations = (13, 15, 26, 6, 17, 29, 16, 24)
    most = 2**32
    result = []
    for position in range(start, start + count):
        x0, x1 = (position >> 32) + key[0], (position % most) + key[1]
        subkeys = (key[0], key[1], parity)
        for turn in range(20):
            x0 = (x0 + x1) % most
            n = rotations[turn % 8]
            x1 = ((x1 % most) << n | (x1 % most) >> (32 - n)) % most ^ x0
            if turn % 4 == 3:
                step = turn // 4 + 1
                x0 += subkeys[step % 3]
                x1 += subkeys[(step + 1) % 3] + step
        result.append((x0 % most, x1 % most))
    both = np.array(result, dtype=np.uint64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


# From kat_vectors of Random123 1.14: key, counter, result.
PUBLISHED = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("key", "counter", "result"), PUBLISHED)
def test_published_vectors(
    device: str,
    path: str,
    key: tuple[int, int],
    counter: tuple[int, int],
    result: tuple[int, int],
) -> None:
    there = pa.asarray(key, dtype=pa.uint32, device=device)
    position = counter[0] * 2**32 + counter[1]
    assert tuple(pa.random.fold_in(there, position).tolist()) == result
    first, second = (int(word[0]) for word in threefry_words(key, position, 1))
    assert (first, second) == result  # as the reference of the other tests


def test_words_of_the_first_positions_and_around_a_carry(device: str, path: str) -> None:
    key = pa.random.key(SEED, device=device)
    draw = drawing.Draw(distributions.WORDS)
    for start, count in (
        *((0, 70), (2**32 - 5, 11), (5 * 2**32 + 2**31, 3), (2**64 - 2, 2)),
        *((2**32 - 8, 8), (2**63 + 12, 32), (7, 33)),  # of which few are computed on the host
    ):
        got = as_numpy(drawing.at(draw, key, start, count))
        assert np.array_equal(got, np.stack(threefry_words((0, SEED), start, count), axis=-1))


@pytest.mark.drawn_devices(2)
def test_repeated_draws_depend_on_their_keys_and_refuse_what_the_first_refuses(
    device: str, path: str
) -> None:
    keys = pa.random.split(pa.random.key(SEED, device=device), 2)
    one_in_two = pa.stack([keys[1, :], keys[0, :]], axis=-1)[:, 0]  # not contiguous
    for draw in (
        lambda key: pa.random.uniform(key, (2, 2), low=-1.0, dtype=pa.float32),
        lambda key: pa.random.integers(key, -3, 9, 4),
        lambda key: pa.random.integers(key, 9, shape=(4,), dtype=pa.int16),
        lambda key: pa.random.bits(key, (), dtype=pa.uint8),
        lambda key: pa.random.split(key, (2, 3)),
    ):
        for key in (keys[0, :], keys[0, :], one_in_two, keys[1, :]):
            got = as_numpy(draw(key))
            with pa.config(tuned_kernels=False):
                assert np.array_equal(got, as_numpy(draw(key)))
    for shape in ((2.0, 2.0), (2, -2)):
        with pytest.raises((TypeError, ValueError), match="shape"):
            pa.random.uniform(keys[0, :], shape, low=-1.0, dtype=pa.float32)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"high is 9\.0"):
        pa.random.integers(keys[0, :], -3, 9.0, 4)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"the key has shape \(2, 2\)"):
        pa.random.integers(keys, -3, 9, 4)


def test_bits_and_keys_are_those_of_jax(device: str, path: str) -> None:
    jax = pytest.importorskip("jax")
    for seed in (0, 1, -1, 2**63 - 1, -(2**63), 987654321987654321):
        theirs = jax.random.key(seed)
        with jax.enable_x64(True):
            theirs = jax.random.key(seed)
            ours = pa.random.key(seed, device=device)
            assert np.array_equal(as_numpy(ours), jax.random.key_data(theirs))
            split = jax.random.key_data(jax.random.split(theirs, (2, 3)))
            assert np.array_equal(as_numpy(pa.random.split(ours, (2, 3))), split)
            folded = jax.random.key_data(jax.random.fold_in(theirs, 2**32 - 7))
            assert np.array_equal(as_numpy(pa.random.fold_in(ours, 2**32 - 7)), folded)
            for dtype in ("uint8", "uint16", "uint32", "uint64"):
                if not has(device, dtype):
                    continue
                expected = jax.random.bits(theirs, (5, 7), dtype)
                assert np.array_equal(as_numpy(pa.random.bits(ours, (5, 7), dtype=dtype)), expected)


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize("dtype", DTYPES)
def test_uniform_numbers_are_exact(device: str, path: str, dtype: str) -> None:
    if not has(device, dtype):
        pytest.skip(f"{device} has no {dtype}")
    key = pa.random.key(SEED, device=device)
    x0, x1 = threefry_words((0, SEED), 0, 200)
    if dtype == "float64":
        expected = ((x0 << np.uint64(32) | x1) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    else:
        step = SMALLEST_STEP[dtype]
        expected = np.floor((x0 ^ x1).astype(np.float64) * 2.0**-32 / step) * step
    x = pa.random.uniform(key, (4, 50), dtype=dtype)
    assert x.dtype == pa.ones(1, dtype=dtype, device=device).dtype
    assert np.array_equal(as_numpy(x).astype(np.float64).ravel(), expected)
    # Scaled, each product and sum rounded by itself.
    kind = np.float64 if dtype == "float64" else np.float32
    low, high = (float(pa.asarray(v, dtype=dtype, device=device)) for v in (-3.1, 5.7))
    width = float(pa.asarray(high - low, dtype=dtype, device=device))
    scaled = expected.astype(kind) * kind(width) + kind(low)
    got = as_numpy(pa.random.uniform(key, 200, dtype=dtype, low=-3.1, high=5.7))
    if dtype in ("float32", "float64"):
        assert np.array_equal(
            got, np.where(scaled < kind(high), scaled, np.nextafter(kind(high), 0))
        )
    assert low <= got.min()
    assert got.max() < high


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize("dtype", DTYPES)
def test_uniform_numbers_stay_below_the_end(device: str, path: str, dtype: str) -> None:
    """Rounding does not reach the upper end of a narrow range."""
    if not has(device, dtype):
        pytest.skip(f"{device} has no {dtype}")
    eps = float(pa.finfo(dtype).eps)
    key = pa.random.key(1, device=device)
    got = as_numpy(pa.random.uniform(key, COUNT, dtype=dtype, low=1, high=1 + 2 * eps)).astype(
        float
    )
    assert set(((got - 1) / eps).tolist()) == {0.0, 1.0}


def quantiles(dtype: str) -> tuple[Values, Values]:
    """Return the normal and exponential numbers of the first words in higher precision."""
    special = pytest.importorskip("scipy.special")
    x0, x1 = threefry_words((0, SEED), 0, COUNT)
    if dtype == "float64":
        mpmath = pytest.importorskip("mpmath")
        x0, x1 = x0[:150], x1[:150]
        normal, exponential = [], []
        with mpmath.workdps(40):
            for high, low in zip(x0.tolist(), x1.tolist(), strict=True):
                x = (mpmath.mpf(high * 2**32 + low) + mpmath.mpf(1) / 2) / 2**64
                normal.append(float(mpmath.sqrt(2) * mpmath.erfinv(2 * x - 1)))
                exponential.append(float(-mpmath.log1p(-x)))
        return np.array(normal), np.array(exponential)
    x = ((x0 ^ x1).astype(np.float64) + 0.5) * 2.0**-32
    return special.ndtri(x), -np.log1p(-x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_and_exponential_numbers_are_quantiles(device: str, path: str, dtype: str) -> None:
    if not has(device, dtype):
        pytest.skip(f"{device} has no {dtype}")
    key = pa.random.key(SEED, device=device)
    for name, expected in zip(("normal", "exponential"), quantiles(dtype), strict=True):
        got = as_numpy(getattr(pa.random, name)(key, COUNT, dtype=dtype))[: expected.size]
        units = np.abs(got - expected) / np.spacing(np.abs(expected).astype(dtype))
        assert units.max() <= 4


@pytest.mark.one_device
def test_tails() -> None:
    """Quantiles at both ends are exact, which no random draw would reach."""
    mpmath = pytest.importorskip("mpmath")

    def arrays(*columns: Any) -> list[pa.Array]:
        return [pa.asarray(column, dtype=pa.uint32, device="numpy") for column in columns]

    rng = np.random.default_rng(2)
    for bits, dtype in ((32, np.float32), (64, np.float64)):
        half = 2 ** (bits - 1)
        powers = [int(2**power) for power in rng.uniform(0, bits - 1.01, 300)]
        m = [0, 1, 2, 3, *powers]  # distances from the ends and from the middle
        places = [*m, *(2 * half - 1 - value for value in m), *(half + value for value in m)]
        if bits == 32:
            x0, x1 = arrays(places, [0] * len(places))
        else:
            x0, x1 = arrays(*zip(*(divmod(value, 2**32) for value in places), strict=True))
        normal = getattr(distributions, f"NORMAL{bits}").formula(x0, x1, 1.0, 0.0)
        exponential = getattr(distributions, f"EXPONENTIAL{bits}").formula(x0, x1, 1.0)
        worst = 0.0
        with mpmath.workdps(60):
            for position, z, e in zip(places, as_numpy(normal), as_numpy(exponential), strict=True):
                x = (mpmath.mpf(position) + mpmath.mpf(1) / 2) / 2**bits
                for got, expected in (
                    (z, mpmath.sqrt(2) * mpmath.erfinv(2 * x - 1)),
                    (e, -mpmath.log1p(-x)),
                ):
                    unit = float(np.spacing(dtype(abs(expected))))
                    worst = max(worst, float(abs(mpmath.mpf(float(got)) - expected)) / unit)
        assert worst <= 4


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize("name", ["uniform", "normal", "exponential"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_are_those_of_numpy_and_of_any_part(
    device: str, path: str, name: str, dtype: str
) -> None:
    """Numbers are the same on every device, with and without kernels, whole or in parts."""
    if not has(device, dtype):
        pytest.skip(f"{device} has no {dtype}")
    make = getattr(pa.random, name)
    got = as_numpy(make(pa.random.key(SEED, device=device), COUNT, dtype=dtype))
    if has("numpy", dtype):
        with pa.config(tuned_kernels=False):
            want = as_numpy(make(pa.random.key(SEED, device="numpy"), COUNT, dtype=dtype))
        if name == "uniform":
            assert np.array_equal(got, want)
        else:
            eps = np.finfo(dtype).eps
            np.testing.assert_allclose(got, want, rtol=4 * eps, atol=0)
    shape = as_numpy(make(pa.random.key(SEED, device=device), (COUNT // 100, 10, 10), dtype=dtype))
    assert np.array_equal(shape.ravel(), got)
    few = as_numpy(make(pa.random.key(SEED, device=device), 37, dtype=dtype))
    assert np.array_equal(few, got[:37])


def test_parts_of_a_draw(device: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "BLOCK", 64)
    monkeypatch.setattr(drawing, "_LARGEST", 100)
    key = pa.random.key(SEED, device=device)
    whole = as_numpy(pa.random.bits(key, 1000))
    monkeypatch.undo()
    assert np.array_equal(whole, as_numpy(pa.random.bits(key, 1000)))
    for start, count in ((0, 1), (1, 130), (999, 1), (500, 0)):
        part = drawing.at(numbers._BITS32, key, start, count)
        assert np.array_equal(as_numpy(part), whole[start : start + count])


RANGES = [
    (0, 1, "int32"), (-7, 12, "int8"), (-128, 128, "int8"), (0, 2**16, "uint16"),
    (-(2**31), 2**31, "int32"), (-(2**31), 2**31 - 1, "int32"), (5, 2**32 - 1, "uint32"),
    (0, 2**32, "uint32"), (-5, 10**6, "int64"), (-(2**40), 2**32 - 2**40, "int64"),
    (2**63, 2**63 + 99, "uint64"), (0, 2**32 + 1, "int64"), (-(2**63), 2**63, "int64"),
    (-(2**63), 2**63 - 1, "int64"), (0, 2**64, "uint64"), (1, 2**64, "uint64"),
    (-(10**18), 3 * 10**18, "int64"),
]  # fmt: skip


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize(("low", "high", "dtype"), RANGES)
def test_integers_are_exact(device: str, path: str, low: int, high: int, dtype: str) -> None:
    """Integers equal the shifted product of the range and the random bits."""
    if not has(device, dtype):
        pytest.skip(f"{device} has no {dtype}")
    key = pa.random.key(SEED, device=device)
    x0, x1 = (x.tolist() for x in threefry_words((0, SEED), 0, 100))
    x2 = threefry_words((0, SEED), 2**63, 100)[0].tolist()
    count = high - low
    if count <= 2**32:
        expected = [low + (count * (a * 2**32 + b) >> 64) for a, b in zip(x0, x1, strict=True)]
    else:
        parts = zip(x0, x1, x2, strict=True)
        expected = [low + (count * (a * 2**64 + b * 2**32 + c) >> 96) for a, b, c in parts]
    got = pa.random.integers(key, low, high, (100,), dtype=dtype)
    assert got.dtype == np.dtype(dtype)
    assert got.tolist() == expected
    assert pa.random.integers(key, low, high, (5,), dtype=dtype).tolist() == expected[:5]
    same = pa.random.integers(key, low, high - 1, (10, 10), dtype=dtype, endpoint=True)
    assert pa.reshape(same, (100,)).tolist() == expected


@pytest.mark.one_device
def test_products_of_words_of_any_size() -> None:
    rng = np.random.default_rng(3)
    x0, x1 = (rng.integers(0, 2**32, 5000, dtype=np.uint32) for _ in range(2))
    edges = np.array([0, 1, 2**16 - 1, 2**16, 2**31, 2**32 - 1], np.uint32)
    x0, x1 = (np.concatenate([x, edges, edges[::-1]]) for x in (x0, x1))
    for count in (1, 2, 3, 2**16 - 1, 2**16, 2**16 + 1, 2**31 + 1, 2**32 - 1, 1_234_567_891):
        n1, n0 = divmod(count, 2**16)
        got = distributions.INTEGERS.formula(
            *(pa.asarray(x, device="numpy") for x in (x0, x1)), n0, n1
        )
        pairs = zip(x0.tolist(), x1.tolist(), strict=True)
        assert got.tolist() == [count * (a * 2**32 + b) >> 64 for a, b in pairs]


def test_the_default_dtypes_and_shapes(device: str) -> None:
    info = pa.__array_namespace_info__().default_dtypes(device=device)
    key = pa.random.key(0, device=device)
    for name in ("uniform", "normal", "exponential"):
        x = getattr(pa.random, name)(key)
        assert (x.shape, x.dtype, x.device) == ((), info["real floating"], pa.device(device))
    x = pa.random.integers(key, 3)
    assert (x.shape, x.dtype, x.device) == ((), info["integral"], pa.device(device))
    assert pa.random.bits(key, (0, 3)).shape == (0, 3)
    assert pa.random.normal(key, [2, 0]).shape == (2, 0)
    assert pa.random.split(key, ()).shape == (2,)
    assert pa.random.split(key, 0).shape == (0, 2)


def test_keys_of_many_numbers(device: str) -> None:
    key = pa.random.key(9, device=device)
    for dtype in ("int8", "uint8", "int32", "uint32", "int64"):
        if not has(device, dtype):
            continue
        values = [0, 1, 100] if dtype[0] == "u" else [[0, -1], [100, -128]]
        data = pa.asarray(values, dtype=dtype, device=device)
        keys = pa.random.fold_in(key, data)
        assert keys.shape == (*data.shape, 2)
        for index in np.ndindex(data.shape):
            single_key = pa.random.fold_in(key, int(data[index]))
            assert keys[index].tolist() == single_key.tolist()


@pytest.mark.one_device
def test_seeds_of_any_size_have_their_own_keys() -> None:
    seeds = [*range(-3, 4), np.int8(5), np.uint64(2**64 - 1), pa.asarray(6)]
    seeds += [sign * 2**power + more for power in (63, 64, 127, 128, 200) for sign in (1, -1)
              for more in (-1, 0, 1)]  # fmt: skip
    keys = {tuple(pa.random.key(seed).tolist()) for seed in seeds}
    assert len(keys) == len({int(seed) for seed in seeds})


def test_under_the_transformations_of_libraries(path: str) -> None:
    """Functions that a library compiles or maps draw the same numbers as without it."""

    def drawn(native: Any) -> Any:
        key1, key2 = pa.random.split(pa.asarray(native))
        return (
            pa.random.uniform(key1, (2, 2), dtype="float32").native,
            pa.random.normal(key2, 3, dtype="float32", loc=2.0).native,
            pa.random.exponential(key2, 3, dtype="float32").native,
            pa.random.integers(key1, -3, 9, 4).native,
            pa.random.permutation(key1, 6).native,
            pa.random.choice(key1, 5, 3).native,
        )

    expected = [np.asarray(x) for x in drawn(pa.random.key(3, device="numpy").native)]

    def check(got: Any) -> None:
        for x, y in zip(got, expected, strict=True):
            # Of a sum with loc, which may be near zero, the rounding is that of its terms.
            np.testing.assert_allclose(np.asarray(x), y, rtol=5e-7, atol=5e-7)

    if pa.functional("jax"):
        import jax

        native = pa.random.key(3, device="jax").native
        check(jax.jit(drawn)(native))
        check([x[0] for x in jax.vmap(drawn)(native[None])])
    if pa.functional("torch"):
        import torch

        native = pa.random.key(3, device="torch:cpu").native
        check([x[0] for x in torch.func.vmap(drawn)(native[None])])
    if pa.functional("mlx:cpu"):
        import mlx.core as mx

        native = pa.random.key(3, device="mlx:cpu").native
        check([x[0] for x in mx.vmap(drawn)(native[None])])


def test_plain_words() -> None:
    """The generator works with arrays of any namespace, such as NumPy's."""
    counters_high, counters_low = (np.arange(9, dtype=np.uint32) for _ in range(2))
    got = threefry(
        np.zeros(1, np.uint32), np.full(1, SEED, np.uint32), counters_high * 0, counters_low
    )
    assert np.array_equal(np.stack(got), np.stack(threefry_words((0, SEED), 0, 9)))
