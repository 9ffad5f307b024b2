"""One real model, one file: every device says what transformers says with PyTorch.

All devices are in one test, so that the reference is computed once, in whatever process that runs.
"""

from __future__ import annotations

import gc
import itertools
import os
from typing import Any

import numpy as np
import pytest

for needed in ("gguf", "tokenizers", "jinja2", "torch", "transformers", "accelerate"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

import portarray as pa  # noqa: E402
from examples import llama  # noqa: E402

PROMPTS = (
    "Why is the sky blue?",
    "Write a Python function that returns the n-th Fibonacci number.",
    "Erzähle mir eine kurze Geschichte über einen Hund 🐶.",
    "List three rivers of South America and the countries they cross.",
    "What is 12 * 7? Explain each step.",
)
TOKENS = 64
FULL = bool(os.environ.get("PORTARRAY_TEST_FULL"))  # makes every token anew, everywhere
# transformers' greedy answers: it confirms them in one pass, which takes less than to make them.
TEXTS = (
    """
    504 2988 288 451 1962 5721 281 260 7564 7180 282 1420 284 2380 30 378 6376 4541 4461 975
    282 253 7613 1343 347 13739 43464 24484 30 669 4149 645 1420 13242 6756 282 1512 28 527
    15802 260 9895 20518 282 1420 28 2755 260 4461 1420 28 281 253 970 338 4461 4541 288 325
    260 768 13490 30 198
    """,
    """
    3725 5367 198 1604 3987 46477 24 94 727 472 585 304 10204 216 32 42 448 1003 216 32 472
    4698 304 10204 216 33 42 448 1003 304 472 1745 42 448 3987 79 19932 446 933 32 28 216 33
    77 448 1003 3987 79 19932 75 94 731 216 33 77 1232 3987 79 19932 75 94 731 216 34
    """,
    """
    57 322 501 1682 297 462 501 315 2404 452 31939 42441 5549 137 593 662 88 336 290 444 763
    297 37864 407 1145 30 198 198 788 3697 28 476 24046 106 9023 88 290 18 18419 288 476 504
    3760 282 18 284 476 61 337 297 462 501 315 2404 452 31939 42441 5549 137 593 297 37864
    407 1145
    """,
    """
    504 1398 339 2711 3685 314 441 29959 28 284 665 359 800 540 7626 282 2582 2493 338 339
    8540 982 6651 30 3726 359 1296 3171 7626 282 2582 2493 338 339 3543 4415 42 1116 33 30
    9860 3992 42 378 9860 3992 314 260 3995 4626 281 2582 2493 284 8634 738 2582 2493 506
    9860 22450 30 657 506
    """,
    """
    33 34 1672 216 39 446 216 40 32 198 198 504 2798 8345 314 216 33 34 1672 216 39 446 216
    40 32 30 198 198 504 1867 1833 314 288 17109 216 33 34 411 216 39 30 669 314 2294 411
    4990 216 33 34 288 2581 216 39 1711 30 1644 28 216 33 34 1672 216 39 446
    """,
)
ANSWERS = tuple(list(map(int, text.split())) for text in TEXTS)
# Of logits up to 35. Float32 keeps 2e-6 of such a number; 30 layers add to that. The closest two
# candidates of these answers are 0.011 apart, forty times as much.
BOUND = 3e-4


@pytest.fixture(scope="module")
def file() -> llama.ModelFile:
    try:
        return llama.ModelFile(llama.default_file())
    except llama.LlamaError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def reference(file: llama.ModelFile) -> list[tuple[list[int], np.ndarray]]:
    """Return each prompt's tokens, and transformers' logits behind them and those of the answer."""
    import torch
    from transformers import AutoModelForCausalLM, logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    # It reads, dequantizes and reorders the file by its own code.
    peer: Any = AutoModelForCausalLM.from_pretrained(
        file.path.parent, gguf_file=file.path.name, dtype=torch.float32
    )
    tokenizer = llama.Tokenizer.of(file)
    answers = []
    for prompt, answer in zip(PROMPTS, ANSWERS, strict=True):
        tokens = tokenizer.chat(prompt)
        with torch.inference_mode():
            logits = peer(torch.asarray([[*tokens, *answer[:-1]]])).logits[0].numpy()
            if FULL:
                inputs = torch.asarray([tokens])
                generated = peer.generate(
                    inputs,
                    attention_mask=torch.ones_like(inputs),
                    max_new_tokens=TOKENS,
                    min_new_tokens=TOKENS,
                    do_sample=False,
                )
                assert generated[0, len(tokens) :].tolist() == answer
        answers.append((tokens, logits))
    return answers


def test_every_device_says_what_transformers_says(
    file: llama.ModelFile, reference: list[tuple[list[int], np.ndarray]]
) -> None:
    # An answer is read at once: behind each of its tokens the likeliest must be the next. To make
    # all of them step by step takes minutes, so that only the first one's beginning is, by default,
    # and the others are read on one device.
    steps = TOKENS if FULL else 6
    every = list(zip(reference, ANSWERS, strict=True))
    wrong = []
    for (prompt, logits), answer in every:
        if likeliest(logits, prompt) != answer:
            wrong.append(f"transformers does not say {answer}")
    kinds = ("packed", "float32") if FULL else ("auto",)
    for index, (device, kind) in enumerate(itertools.product(pa.devices(), kinds)):
        model = llama.load(file, device=device, dtype=kind, context=256)
        for (prompt, logits), answer in every if FULL or index == 0 else every[:1]:
            cache = model.cache(256)
            whole = np.asarray(model.logits([*prompt, *answer[:-1]], cache).to_device("numpy"))
            furthest = np.abs(whole - logits).max()
            if not furthest < BOUND:
                wrong.append(f"{device}, {kind}: logits differ by {furthest}")
            if likeliest(whole, prompt) != answer:
                wrong.append(f"{device}, {kind}: {likeliest(whole, prompt)} and not {answer}")
            said = spoken(model, prompt, steps)
            if said != answer[:steps]:
                wrong.append(f"{device}, {kind}, in steps: {said} and not {answer}")
        del model, cache
        gc.collect()
        pa.reclaim(device)
    assert wrong == []


def likeliest(logits: np.ndarray, prompt: list[int]) -> list[int]:
    """Return the likeliest tokens behind a prompt and each token that follows it."""
    choices: list[int] = logits[len(prompt) - 1 :].argmax(axis=-1).tolist()
    return choices


def spoken(model: llama.Model, prompt: list[int], tokens: int) -> list[int]:
    """Return the beginning of the greedy answer, made token by token."""
    cache, sampler = model.cache(256), llama.Sampler()
    said = [sampler(model.prefill(prompt, cache))]
    while len(said) < tokens:
        said.append(sampler(model.step(said[-1], cache)))
    return said
