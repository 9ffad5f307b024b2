"""Several sequences at once, beginnings that are known, chunks and guesses: the tokens stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portarray as pa

for needed in ("gguf", "tokenizers", "jinja2"):
    pytest.importorskip(needed, reason=f"{needed}, which examples/llama needs, is not installed")

from gguf import GGMLQuantizationType  # noqa: E402
from llama_files import Tiny, logits  # noqa: E402

from examples import llama  # noqa: E402
from examples.llama.draft import Draft, first_layers  # noqa: E402
from examples.llama.slots import Part  # noqa: E402

TINY = Tiny(layers=3)
RANDOM = np.random.default_rng(4)
TOKENS = [RANDOM.integers(0, TINY.vocab, 30).tolist() for _ in range(3)]
PROMPT = RANDOM.integers(0, TINY.vocab, 21).tolist()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return TINY.write(tmp_path_factory.mktemp("together") / "model.gguf")


def generate(model: llama.Model, prompt: list[int], **options: Any) -> llama.Generation:
    result = llama.generate(model, llama.Tokenizer.of(model.file), prompt, **options)
    assert "".join(result) == result.text
    return result


def test_sequences_in_slots_are_the_textbook_s(device: str, path: Path) -> None:
    model = llama.load(path, device=device)
    expected = [logits(TINY, tokens) for tokens in TOKENS]
    slots = model.slots(4, 40)
    # Who is in which slot, and how many tokens of each are read in a step: prompts beside tokens,
    # neighbours, gaps, and one whose logits nobody wants.
    where = {0: 3, 1: 0, 2: 1}
    read = [0, 0, 0]
    for cut in ((9, 1, 0), (1, 5, 7), (1, 1, 1), (12, 1, 1)):
        chosen = sorted((n for n in range(3) if cut[n]), key=where.__getitem__)
        parts = [
            Part(where[n], TOKENS[n][read[n] : read[n] + cut[n]], needs_logits=cut[n] != 5)
            for n in chosen
        ]
        read = [done + more for done, more in zip(read, cut, strict=True)]
        result = np.asarray(model.read(parts, slots).to_device("numpy"))
        ends = [expected[n][read[n] - 1] for n in chosen if cut[n] != 5]
        np.testing.assert_allclose(result, np.stack(ends), atol=2e-5)
    with pytest.raises(llama.LlamaError, match=r"slots \[0, 0\]: each at most once"):
        model.read([Part(0, [1]), Part(0, [2])], slots)
    # The free slot gets what the others know of a beginning, and goes on by itself.
    prompt = [*TOKENS[0][:8], *PROMPT]
    assert slots.keep(2, prompt) == 8
    assert slots.tokens[2] == prompt[:8]
    result = np.asarray(model.read([Part(2, prompt[8:])], slots).to_device("numpy"))
    np.testing.assert_allclose(result[0], logits(TINY, prompt)[-1], atol=2e-5)


@pytest.mark.parametrize("cache_dtype", [None, "float16"])
def test_a_compiled_step_is_the_step(device: str, tmp_path: Path, cache_dtype: str | None) -> None:
    """Of one token, of guesses, and of several sequences; keys behind a block of scores."""
    tiny = Tiny(hidden=64, intermediate=96, context=160, seed=5)
    kinds = {name: GGMLQuantizationType.Q8_0 for name, x in tiny.tensors().items() if x.ndim == 2}
    path = tiny.but(kinds=kinds).write(tmp_path / "model.gguf")
    tokens = [RANDOM.integers(0, tiny.vocab, 160).tolist() for _ in range(3)]
    models = [llama.load(path, device=device, dtype="packed") for _ in range(2)]
    models[1]._steps[160] = None  # layer by layer
    slots = [model.slots(4, 160, dtype=cache_dtype) for model in models]
    read = [0, 0, 0]
    for cut in ((126, 1, 40), (1, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 1), (1, 1, 1), (2, 5, 1)):
        parts = [Part(n, tokens[n][read[n] : read[n] + cut[n]]) for n in range(3) if cut[n]]
        read = [done + more for done, more in zip(read, cut, strict=True)]
        got, want = (
            np.asarray(model.read(parts, some).to_device("numpy"))
            for model, some in zip(models, slots, strict=True)
        )
        np.testing.assert_allclose(got, want, atol=1e-4 if cache_dtype is None else 5e-3)
    if slots[0].changes_memory:
        run: Any = models[0]._steps[160]
        assert len(run._programs) == 3, "for 1, 3 and 8 tokens"


def test_cached_tokens_of_a_prompt_are_not_computed_again(path: Path) -> None:
    model = llama.load(path, device="numpy")
    cache = model.cache(64)
    first = generate(model, PROMPT, tokens=8, cache=cache)
    again = generate(model, PROMPT, tokens=8, cache=cache)
    longer = generate(model, [*PROMPT[:15], 7, 8, 9], tokens=8, cache=cache)
    assert (first.read, again.read, longer.read) == (21, 1, 3)
    assert again.tokens == first.tokens
    assert longer.tokens == generate(model, longer.prompt, tokens=8).tokens


def test_prompts_in_chunks(path: Path) -> None:
    model = llama.load(path, device="numpy")
    expected = generate(model, PROMPT, tokens=8).tokens
    for chunk in (1, 7, 20, 21):
        assert generate(model, PROMPT, tokens=8, chunk=chunk).tokens == expected


def test_narrow_keys_and_values_are_near(device: str, path: Path) -> None:
    expected = logits(TINY, TOKENS[0])
    dtypes = pa.__array_namespace_info__().dtypes(device=device, kind="real floating")
    model = llama.load(path, device=device)
    for name, bound in (("float16", 0.01), ("bfloat16", 0.08)):
        if name not in dtypes:
            continue
        cache, slots = model.cache(40, dtype=name), model.slots(2, 40, dtype=name)
        model.prefill(TOKENS[0][:20], cache)
        model.read([Part(0, TOKENS[0][:20]), Part(1, TOKENS[0][:20])], slots)
        for n in range(20, 24):
            alone = model.step(TOKENS[0][n], cache)
            both = model.read([Part(0, [TOKENS[0][n]]), Part(1, [TOKENS[0][n]])], slots)
            for row in (alone, both[0, :], both[1, :]):
                assert row.dtype == np.float32
                np.testing.assert_allclose(
                    np.asarray(row.to_device("numpy")), expected[n], atol=bound
                )


def test_guesses_change_no_token(device: str, path: Path) -> None:
    model = llama.load(path, device=device)
    whole = Draft(llama.load(path, device=device), guesses=3)  # which is always right
    part = Draft(first_layers(model, 2), guesses=3)
    options = {"temperature": 1.2, "top_p": 0.9, "seed": 5}
    expected = generate(model, PROMPT, tokens=9, sampler=llama.Sampler(**options)).tokens
    for draft in (whole, part):
        result = generate(model, PROMPT, tokens=9, sampler=llama.Sampler(**options), draft=draft)
        assert result.tokens == expected
    assert whole.accepted == whole.guessed > 0
    assert part.accepted < part.guessed


def test_guesses_of_many_greedy_tokens(path: Path) -> None:
    model = llama.load(path, device="numpy")
    expected = generate(model, PROMPT, tokens=100).tokens
    for layers, guesses in ((1, 2), (2, 7)):
        draft = Draft(first_layers(model, layers), guesses)
        assert generate(model, PROMPT, tokens=100, draft=draft).tokens == expected
        assert 0 < draft.accepted < draft.guessed


def test_models_that_cannot_draft_are_refused(path: Path, tmp_path: Path) -> None:
    model = llama.load(path, device="numpy")
    changed = TINY.but(metadata={"tokenizer.ggml.tokens": [f"{n}" for n in range(TINY.vocab)]})
    strange = llama.load(changed.write(tmp_path / "strange.gguf"), device="numpy")
    for act, said in (
        (lambda: first_layers(model, 3), "a draft of 3 layers: the model has 3"),
        (lambda: Draft(model, 0), "0 guesses at a time"),
        (lambda: generate(model, PROMPT, draft=Draft(strange)), "another vocabulary"),
        (lambda: generate(model, PROMPT, chunk=0), "chunks of 0 tokens"),
        (lambda: model.slots(0, 40), "0 sequences at once"),
        (lambda: model.read([Part(0, PROMPT)], model.slots(1, 20)), "do not fit in a cache of 20"),
    ):
        with pytest.raises(llama.LlamaError) as caught:
            act()
        assert said in str(caught.value)
