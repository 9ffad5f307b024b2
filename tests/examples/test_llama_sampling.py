"""The next token: the likeliest, or by chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

for needed in ("gguf", "tokenizers", "jinja2"):
    pytest.importorskip(needed, reason=f"{needed}, which examples/llama needs, is not installed")

import portarray as pa  # noqa: E402
from examples.llama import LlamaError, Sampler  # noqa: E402
from examples.llama.sampling import chances, chosen  # noqa: E402

LOGITS = np.random.default_rng(0).standard_normal(50).astype(np.float32) * 3


def test_the_likeliest_is_taken_and_of_equal_ones_the_first(device: str) -> None:
    values = LOGITS.copy()
    values[[7, 30]] = values.max() + 1
    assert Sampler()(pa.asarray(values, device=device)) == 7


def test_a_seed_draws_the_same_on_every_device(device: str) -> None:
    sampler = Sampler(0.8, 0.9, seed=5)
    here = [sampler(pa.asarray(LOGITS, device=device)) for _ in range(20)]
    there = Sampler(0.8, 0.9, seed=5)
    assert here == [there(pa.asarray(LOGITS, device="numpy")) for _ in range(20)]
    assert len(set(here)) > 1


def test_a_batch_draws_what_each_of_its_rows_draws(device: str) -> None:
    rows = np.stack([LOGITS, LOGITS[::-1], LOGITS * 0.5])
    samplers = [Sampler(0.9, 0.8, 1, 20), Sampler(), Sampler(1.5, seed=2)]
    logits = pa.asarray(rows, device=device)
    for index in range(3):
        both = chosen(logits, samplers, [index] * 3)
        alone = [int(sampler.token(logits[n, :], index)) for n, sampler in enumerate(samplers)]
        assert both == alone
    assert chosen(logits, [Sampler()] * 3, [0] * 3) == rows.argmax(axis=1).tolist()


def test_tokens_come_as_often_as_they_are_likely() -> None:
    temperature, draws = 1.5, 4000
    sampler = Sampler(temperature, seed=1)
    logits = pa.asarray(LOGITS[:6], device="numpy")
    counts = np.bincount([sampler(logits) for _ in range(draws)], minlength=6)
    chances = np.exp(LOGITS[:6].astype(np.float64) / temperature)
    expected = draws * chances / chances.sum()
    assert np.sum((counts - expected) ** 2 / expected) < 20.5  # chi square, 5 degrees, 0.1 %


def test_the_likely_tokens_are_kept(device: str) -> None:
    random = np.random.default_rng(2)
    for n in range(12):
        logits = random.standard_normal(9).astype(np.float32) * random.uniform(0.1, 5)
        temperature, top_p = random.uniform(0.3, 2), random.uniform(0.01, 1)
        top_k = n % 4 * 3  # 0 and 9 are all
        scores = chances(pa.asarray(logits, device=device), temperature, top_p, top_k)
        values = np.asarray(scores.to_device("numpy"))
        order = np.argsort(-logits)[: top_k or None]
        weights = np.exp(logits[order].astype(np.float64) / temperature)
        sums = np.cumsum(weights / weights.sum())
        retained = order[: np.searchsorted(sums, top_p) + 1]
        assert set(np.flatnonzero(values > -np.inf)) == set(retained)
        expected = (logits[retained] - logits.max()) / temperature
        np.testing.assert_allclose(values[retained], expected, atol=1e-5)


def test_a_small_top_p_is_greedy() -> None:
    sampler = Sampler(2.0, 1e-9)
    assert {sampler(pa.asarray(LOGITS, device="numpy")) for _ in range(10)} == {LOGITS.argmax()}


def test_logits_of_narrow_dtypes() -> None:
    for device in pa.devices():
        try:
            logits = pa.asarray(LOGITS, dtype="bfloat16", device=device)
        except pa.errors.DTypeNotSupportedError:
            continue
        assert 0 <= Sampler(1.0, seed=0)(logits) < 50


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"temperature": -0.1}, "a temperature of -0.1: it must be 0 or more"),
        ({"temperature": float("inf")}, "a temperature of inf"),
        ({"temperature": float("nan")}, "a temperature of nan"),
        ({"top_p": 0.0}, "a top_p of 0.0: it must be above 0 and at most 1"),
        ({"top_p": 1.1}, "a top_p of 1.1"),
        ({"top_p": float("nan")}, "a top_p of nan"),
        ({"top_k": -1}, "a top_k of -1"),
    ],
)
def test_options_that_mean_nothing(options: dict[str, Any], said: str) -> None:
    with pytest.raises(LlamaError) as caught:
        Sampler(**options)
    assert said in str(caught.value)
