"""The transformer against a textbook's, on every device, however its tokens are given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import portarray as pa

for needed in ("gguf", "tokenizers", "jinja2"):
    pytest.importorskip(needed, reason=f"{needed}, which examples/llama needs, is not installed")

from gguf import GGMLQuantizationType  # noqa: E402
from llama_files import Tiny, logits  # noqa: E402

from examples import llama  # noqa: E402

# Sizes that differ in everything: shared heads or not, a head of its own, scaled positions.
MODELS = [
    Tiny(),
    Tiny(hidden=24, intermediate=40, heads=3, kv_heads=1, theta=1e5, tied=False, seed=1),
    Tiny(heads=2, kv_heads=2, factors=(1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0, 8.0), scale=2.0, seed=2),
]
TOKENS = np.random.default_rng(3).integers(0, MODELS[0].vocab, 40).tolist()
CUTS = ([40], [1] * 40, [17, 1, 1, 21])  # at once, one by one, a prompt behind a prompt


def read(model: llama.Model, cuts: list[int]) -> np.ndarray:
    cache = model.cache(len(TOKENS))
    ends = np.cumsum(cuts)
    parts = [model.logits(TOKENS[e - n : e], cache) for n, e in zip(cuts, ends, strict=True)]
    assert cache.length == len(TOKENS)
    return np.concatenate([on_host(part) for part in parts])


def on_host(x: pa.Array) -> np.ndarray:
    """Return values as NumPy has them, which does not support bfloat16 here."""
    return np.asarray(pa.astype(x, "float32").to_device("numpy"))


def test_logits_equal_those_of_a_textbook_implementation(device: str, tmp_path: Path) -> None:
    for index, tiny in enumerate(MODELS):
        expected = logits(tiny, TOKENS)
        model = llama.load(tiny.write(tmp_path / f"{index}.gguf"), device=device)
        assert (str(model.device), str(model.dtype)) == (device, "float32")
        for cuts in CUTS if index == 0 else CUTS[:1]:
            np.testing.assert_allclose(read(model, cuts), expected, atol=2e-5)


def test_packed_weights_say_what_unpacked_ones_do(device: str, tmp_path: Path) -> None:
    tiny = MODELS[0].but(intermediate=64)
    kinds = {
        name: GGMLQuantizationType.Q8_0 if ".0.attn_v" in name else GGMLQuantizationType.Q4_1
        for name, values in tiny.tensors().items()
        if values.ndim == 2
    }
    path = tiny.but(kinds=kinds).write(tmp_path / "model.gguf")
    expected = read(llama.load(path, device=device, dtype="float32"), CUTS[0])
    model = llama.load(path, device=device, dtype="packed")
    assert model.weights.head.layout == model.weights.layers[1].qkv.layout == "Q4_1"
    assert type(model.weights.layers[0].qkv) is pa.Array  # of two layouts
    for cuts in CUTS:
        np.testing.assert_allclose(read(model, cuts), expected, atol=1e-4)


def test_only_the_last_logits_are_given_to_whoever_generates(device: str, tmp_path: Path) -> None:
    model = llama.load(MODELS[0].write(tmp_path / "model.gguf"), device=device)
    expected = logits(MODELS[0], TOKENS)
    cache = model.cache(64)
    last = model.prefill(TOKENS[:39], cache)
    assert last.shape == (MODELS[0].vocab,)
    np.testing.assert_allclose(on_host(last), expected[38], atol=2e-5)
    last = model.step(TOKENS[39], cache)
    np.testing.assert_allclose(on_host(last), expected[39], atol=2e-5)
    cache.clear()  # what was there must not be seen again
    last = model.prefill(TOKENS[:1], cache)
    np.testing.assert_allclose(on_host(last), expected[0], atol=2e-5)


def test_narrow_dtypes_are_near(device: str, tmp_path: Path) -> None:
    file = llama.ModelFile(MODELS[0].write(tmp_path / "model.gguf"))
    expected = logits(MODELS[0], TOKENS)
    dtypes = pa.__array_namespace_info__().dtypes(device=device, kind="real floating")
    for dtype, bound in (("float64", 1e-6), ("float16", 0.02), ("bfloat16", 0.2)):
        if dtype in dtypes or dtype in extra_dtypes(device):
            model = llama.load(file, device=device, dtype=dtype)
            assert str(model.dtype) == dtype
            assert np.abs(read(model, CUTS[0]) - expected).max() < bound
        else:
            with pytest.raises(pa.errors.DTypeNotSupportedError, match=dtype):
                llama.load(file, device=device, dtype=dtype)


def extra_dtypes(device: str) -> list[str]:
    """Return the floating-point dtypes of a device that the standard does not know."""
    extras = []
    for dtype in ("float16", "bfloat16"):
        try:
            pa.empty(0, dtype=dtype, device=device)
        except pa.errors.DTypeNotSupportedError:
            continue
        extras.append(dtype)
    return extras


def test_tokens_that_cannot_be_read(tmp_path: Path) -> None:
    model = llama.load(MODELS[0].write(tmp_path / "model.gguf"), device="numpy")
    cache = model.cache(8)
    with pytest.raises(llama.LlamaError, match="no tokens"):
        model.prefill([], cache)
    with pytest.raises(llama.LlamaError, match=f"token {MODELS[0].vocab} is none of 0 to"):
        model.prefill([3, MODELS[0].vocab], cache)
    with pytest.raises(llama.LlamaError, match="token -1"):
        model.step(-1, cache)
    assert cache.length == 0


def test_a_full_cache_says_so_and_loses_nothing(tmp_path: Path) -> None:
    model = llama.load(MODELS[0].write(tmp_path / "model.gguf"), device="numpy")
    cache = model.cache(8)
    with pytest.raises(llama.LlamaError, match="9 tokens do not fit in a cache of 8"):
        model.prefill(TOKENS[:9], cache)
    model.prefill(TOKENS[:8], cache)
    with pytest.raises(llama.LlamaError, match="9 tokens do not fit in a cache of 8"):
        model.step(TOKENS[8], cache)
    assert cache.length == 8
    with pytest.raises(llama.LlamaError, match=r"a context of 513 tokens: .* 1 to 512"):
        model.cache(513)


def test_a_device_with_too_little_memory_is_refused_before_loading(
    device: str, tmp_path: Path
) -> None:
    file = llama.ModelFile(Tiny(context=2**50).write(tmp_path / "long.gguf"))
    loaded: list[int] = []
    with pytest.raises(pa.errors.DeviceNotFunctionalError, match=r"memory|free"):
        llama.load(file, device=device, progress=loaded.append)
    assert loaded == []
    llama.load(file, device=device, context=64, progress=loaded.append)
    assert sum(loaded) == file.nbytes


def test_weights_do_not_change_with_the_file(device: str, tmp_path: Path) -> None:
    path = MODELS[0].write(tmp_path / "model.gguf")
    model = llama.load(path, device=device)
    with path.open("r+b") as stream:  # in place: what was mapped is now other values
        stream.seek(-10_000, 2)
        stream.write(bytes(10_000))
    np.testing.assert_allclose(read(model, CUTS[0]), logits(MODELS[0], TOKENS), atol=2e-5)


def test_a_dtype_that_there_is_not(tmp_path: Path) -> None:
    path = MODELS[0].write(tmp_path / "model.gguf")
    with pytest.raises(llama.LlamaError, match="dtype 'int8' is none of auto"):
        llama.load(path, device="numpy", dtype="int8")
