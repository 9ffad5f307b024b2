"""NumPy's versions of the core kernels, called as functions on NumPy arrays."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from portarray._verification import reference
from portarray.backends.numpy import tuned
from portarray.backends.numpy.tuned import blocks, heads, threads

FLOATS = ("float32", "float64", "float16")
# Of results computed in float32 and rounded once.
TOLERANCE = {"float64": 1e-13, "float32": 1e-5, "float16": 1e-3}

NO_OPTIONS = {"scale": None, "causal": False, "mask": None, "key_length": None}
KERNELS = {name: rows[0].function for name, rows in tuned.TUNED.items()}

Values = np.ndarray[Any, Any]


@pytest.fixture
def three_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Split work among three threads in blocks of a few elements."""
    monkeypatch.setattr(blocks, "SMALL", 0)
    monkeypatch.setattr(blocks, "BLOCK", 64)
    monkeypatch.setattr(blocks, "SHARED", 0)
    monkeypatch.setattr(heads, "SHARED", 0)
    monkeypatch.setattr(heads, "KEYS", 8)
    monkeypatch.setattr(heads, "PRODUCT", 8 * 9 * 3)
    monkeypatch.setattr(heads, "SCORES", 3 * 16)
    monkeypatch.setattr(threads, "count", lambda: 3)
    threads._pool.cache_clear()
    yield
    threads._pool().shutdown()
    threads._pool.cache_clear()


def normal(rng: np.random.Generator, *shape: int, dtype: str = "float64") -> Values:
    return np.asarray(rng.standard_normal(shape)).astype(dtype)


def exact(x: Any) -> Any:
    return x.astype(np.float64) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x


def assert_close(got: Any, want: Values, dtype: str) -> None:
    assert type(got) is np.ndarray
    assert got.dtype == dtype
    assert got.shape == want.shape
    np.testing.assert_allclose(
        exact(got), want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], equal_nan=True
    )


def attend(q: Values, k: Values, v: Values, **options: Any) -> None:
    """Compare attention with the reference, on read-only operands."""
    options = {**NO_OPTIONS, **options}
    for x in (q, k, v):
        x.flags.writeable = False
    reference_options = {name: exact(value) for name, value in options.items()}
    if reference_options["key_length"] is not None:
        reference_options["key_length"] = int(reference_options["key_length"])
    want = reference.attention(exact(q), exact(k), exact(v), **reference_options)
    assert_close(KERNELS["attention"](q, k, v, **options), want, q.dtype.name)


def every_form(dtype: str, factor: float) -> None:
    rng = np.random.default_rng(1)
    for lead, count, groups, length, keys, size, out in [
        ((), 6, 2, 1, 9, 8, 8),
        ((), 6, 2, 7, 7, 8, 8),
        ((2,), 4, 4, 7, 21, 8, 5),  # a prompt that goes on
        ((2, 1), 4, 1, 8, 5, 8, 12),  # queries before all keys
        (None, 1, 1, 4, 16, 8, 8),
        ((1,), 2, 1, 4, 0, 8, 8),
        ((1,), 2, 1, 0, 4, 8, 8),
    ]:
        front = () if lead is None else (*lead, count)
        back = () if lead is None else (*lead, groups)
        q = factor * normal(rng, *front, length, size, dtype=dtype)
        k = factor * normal(rng, *back, keys, size, dtype=dtype)
        v = normal(rng, *back, keys, out, dtype=dtype)
        visible = rng.random((length, keys)) < 0.7
        visible[:1] = False
        added = normal(rng, *front, length, keys, dtype=dtype)
        added[..., -1:, :] = -math.inf
        added[..., 1:2, ::2] = -math.inf
        for mask in (None, visible, visible[:, :1], visible[-1:], added, added[..., :1, :]):
            for causal in (False, True):
                attend(q, k, v, causal=causal, mask=mask)
                attend(q, k, v, causal=causal, mask=mask, scale=0.3, key_length=keys // 2)
        attend(q, k, v, causal=True, key_length=np.asarray(max(keys - 1, 0)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_attention_of_every_form(dtype: str) -> None:
    every_form(dtype, 1.0)


# Scores beyond 60 need a shift.
@pytest.mark.parametrize("factor", [1.0, 8.0])
def test_attention_in_many_blocks_and_threads(three_threads: None, factor: float) -> None:
    for dtype in ("float32", "float64") if factor == 1 else ("float64",):
        every_form(dtype, factor)


def test_attention_of_views_and_masks_with_a_batch(three_threads: None) -> None:
    rng = np.random.default_rng(2)
    q, k, v = (normal(rng, 2, 7, 4, 8).swapaxes(1, 2) for _ in range(3))
    attend(q, k[:, :2], v[:, :2], causal=True)
    padding = np.ones((2, 1, 1, 7), bool)
    padding[1, ..., 4:] = False
    attend(q, k[:, :2], v[:, :2], mask=padding)
    attend(q, k[:, :2], v[:, :2], mask=padding, causal=True)


def test_scores_beyond_all_exponentials() -> None:
    rng = np.random.default_rng(3)
    q, k, v = (normal(rng, 2, 40, 16, dtype="float32") for _ in range(3))
    for many in (30, 1000):
        got = KERNELS["attention"](many * q, k, v, **NO_OPTIONS)
        want = reference.attention(many * exact(q), exact(k), exact(v))
        np.testing.assert_allclose(got, want, atol=1e-6 * many, rtol=0)
    # Values that would overflow before they are divided by the sum.
    huge = np.float32(1e37) * v
    got = KERNELS["attention"](4 * q, k, huge, **NO_OPTIONS)
    want = reference.attention(exact(4 * q), exact(k), exact(huge))
    np.testing.assert_allclose(got, want, rtol=0, atol=1e32)


def test_memory_of_attention_is_linear_in_length() -> None:
    rng = np.random.default_rng(4)

    def peak(length: int) -> int:
        q, k, v = (normal(rng, 2, length, 8, dtype="float32") for _ in range(3))
        tracemalloc.start()
        KERNELS["attention"](q, k, v, **{**NO_OPTIONS, "causal": True})
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak_bytes

    peak(16)
    # Twelve arrays of this size, and the blocks of both threads; scores would take 128 MiB.
    assert peak(4096) < 12 * 2 * 4096 * 8 * 4 + 8 * heads.SCORES * threads.count() + 2**20


def rows_of(rng: np.random.Generator, dtype: str) -> None:
    for shape in ((7,), (1, 64), (2, 3, 129), (40, 9), (3, 0), (0, 5), (1, 9000)):
        x, weight, bias = (normal(rng, *s, dtype=dtype) for s in (shape, shape[-1:], shape[-1:]))
        for w in (None, weight):
            want = reference.rms_norm(exact(x), exact(w), eps=1e-6)
            assert_close(KERNELS["rms_norm"](x, w, eps=1e-6), want, dtype)
            for b in (None, bias):
                want = reference.layer_norm(exact(x), exact(w), exact(b), eps=1e-5)
                assert_close(KERNELS["layer_norm"](x, w, b, eps=1e-5), want, dtype)


def values_of(rng: np.random.Generator, dtype: str) -> None:
    for shape in ((), (9,), (3, 50), (0, 3)):
        x = 4 * normal(rng, *shape, dtype=dtype)
        assert_close(KERNELS["silu"](x), reference.silu(exact(x)), dtype)
        for approximate in ("none", "tanh") if dtype != "float64" else ("tanh",):
            want = reference.gelu(exact(x), approximate=approximate)
            assert_close(KERNELS["gelu"](x, approximate=approximate), want, dtype)
    most = 6e4 if dtype == "float16" else 1e30
    large = np.asarray([-most, -1000.0, 1000.0, most]).astype(dtype)
    want = np.asarray([-0.0, -0.0, 1000.0, most]).astype(dtype)
    for approximate in ("none", "tanh"):
        np.testing.assert_array_equal(KERNELS["gelu"](large, approximate=approximate), want)
    np.testing.assert_array_equal(KERNELS["silu"](large), want)


def turns_of(rng: np.random.Generator, dtype: str) -> None:
    x = normal(rng, 2, 3, 5, 8, dtype=dtype)
    for interleaved in (False, True):
        options: dict[str, Any] = {"theta": 1e4, "interleaved": interleaved}
        for positions in (None, np.arange(40, 45), np.arange(10).reshape(2, 1, 5)):
            want = reference.rope(exact(x), positions, **options)
            assert_close(KERNELS["rope"](x, positions, tables=None, **options), want, dtype)
        for half in (4, 2, 1):
            angles = normal(rng, 5, half)
            tables = tuple(part.astype(dtype) for part in (np.cos(angles), np.sin(angles)))
            want = reference.rope(exact(x), tables=tuple(map(exact, tables)), **options)
            for operand in (x, x[0, 0]):
                expected = want if operand is x else want[0, 0]
                assert_close(
                    KERNELS["rope"](operand, None, tables=tables, **options), expected, dtype
                )


def losses_of(rng: np.random.Generator, dtype: str) -> None:
    logits = normal(rng, 4, 5, 11, dtype=dtype)
    for integers in ("int32", "int64", "int16"):
        targets = rng.integers(0, 11, (4, 5)).astype(integers)
        targets[0, 1] = -7
        for reduction in ("mean", "sum", "none"):
            for smoothing in (0.0, 0.2):
                options: dict[str, Any] = {"reduction": reduction, "ignore_index": -7}
                options["label_smoothing"] = smoothing
                want = reference.cross_entropy(exact(logits), targets, **options)
                assert_close(KERNELS["cross_entropy"](logits, targets, **options), want, dtype)
    ignored = np.full((4, 5), -7)
    options = {"reduction": "mean", "ignore_index": -7, "label_smoothing": 0.0}
    assert np.isnan(KERNELS["cross_entropy"](logits, ignored, **options))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("of", [rows_of, values_of, turns_of, losses_of])
def test_blocks(of: Any, dtype: str) -> None:
    of(np.random.default_rng(5), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("of", [rows_of, values_of, turns_of, losses_of])
def test_blocks_in_threads(three_threads: None, of: Any, dtype: str) -> None:
    of(np.random.default_rng(6), dtype)


def test_exact_gelu_is_that_of_float32() -> None:
    x = np.linspace(-14, 14, 30001, dtype=np.float32)
    want = reference.gelu(exact(x))
    error = np.abs(KERNELS["gelu"](x, approximate="none") - want) / np.maximum(np.abs(x), 1e-9)
    assert error.max() < 3 * 2.0**-24
    refuses = tuned.TUNED["gelu"][1].refuses
    assert refuses is not None
    assert "float32 only" in refuses(exact(x), approximate="none")


@pytest.mark.parametrize("hidden", [math.nan, math.inf])
def test_masked_keys_do_not_count(hidden: float) -> None:
    rng = np.random.default_rng(11)
    q, k, v = (normal(rng, 2, 6, 8) for _ in range(3))
    k[0, 3, 5] = hidden
    got = KERNELS["attention"](q, k, v, **{**NO_OPTIONS, "causal": True})
    want = reference.attention(q[:, :3], k[:, :3], v[:, :3], causal=True)
    np.testing.assert_allclose(got[:, :3], want, rtol=1e-12)
    shown = np.ones((6, 6), bool)
    shown[:, 3] = False
    got = KERNELS["attention"](q, k, v, **{**NO_OPTIONS, "mask": shown})
    few = [0, 1, 2, 4, 5]
    np.testing.assert_allclose(got, reference.attention(q, k[:, few], v[:, few]), rtol=1e-12)


def test_errors_in_threads_are_raised(three_threads: None) -> None:
    done: list[int] = []

    def work(numbers: Iterator[int]) -> None:
        for task in numbers:
            if task == 5:
                raise MemoryError("five")
            done.append(task)

    with pytest.raises(MemoryError, match="five"):
        threads.shared(work, range(100), among=3)
    done.clear()
    threads.shared(work, range(10, 60), among=3)
    assert sorted(done) == list(range(10, 60))


def test_busy_threads_are_not_waited_for(three_threads: None) -> None:
    hold = threading.Event()
    for _ in range(2):
        threads._pool().submit(hold.wait)
    x = normal(np.random.default_rng(8), 50, 20)
    assert_close(KERNELS["silu"](x), reference.silu(x), "float64")
    hold.set()


def test_several_threads_of_the_user(three_threads: None) -> None:
    x = normal(np.random.default_rng(9), 60, 20)
    want = reference.silu(x)
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: KERNELS["silu"](x), range(40)):
            assert_close(got, want, "float64")


def test_settings_of_numpy_stay_as_they_are(three_threads: None) -> None:
    settings = np.geterr(), np.getbufsize()
    KERNELS["silu"](np.ones((50, 20)))
    assert (np.geterr(), np.getbufsize()) == settings


PROGRAM = """
import os, sys
import numpy as np
from portarray.backends.numpy.tuned import blocks, threads
from portarray.backends.numpy.tuned.rows import silu
print(threads.count(), flush=True)
threads.count.cache_clear()
threads.count = lambda: 2
blocks.SHARED = blocks.SMALL = 0
x = np.zeros((4000, 100))
silu(x)
if os.fork() == 0:
    assert not silu(x).any()
    sys.exit(0)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_forks_have_threads_of_their_own() -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout.split() == ["1", "0"]
