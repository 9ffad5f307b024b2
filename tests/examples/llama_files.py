"""Small models of random weights, written as GGUF files, and the same models in plain NumPy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, quants

Values = np.ndarray[Any, np.dtype[Any]]

# The texts of bytes in a byte-level vocabulary, as GPT-2 spells them.
PRINTED = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), 256)]
SPELLED = {byte: chr(byte) for byte in PRINTED} | {
    byte: chr(256 + index)
    for index, byte in enumerate(byte for byte in range(256) if byte not in PRINTED)
}
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ w"]
TOKENS = [*SPECIAL, *(SPELLED[byte] for byte in range(256)), *(m.replace(" ", "") for m in MERGES)]
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@dataclass(frozen=True)
class Tiny:
    """A model to write."""

    hidden: int = 32
    intermediate: int = 48
    layers: int = 2
    heads: int = 4
    kv_heads: int = 2
    vocab: int = len(TOKENS)
    context: int = 512
    theta: float = 10_000.0
    eps: float = 1e-5
    tied: bool = True
    factors: tuple[float, ...] = ()  # of the rates of positions, as Llama 3 files have them
    scale: float = 1.0  # of positions
    seed: int = 0
    architecture: str = "llama"
    kinds: dict[str, GGMLQuantizationType] = field(default_factory=dict)  # of tensors, by name
    metadata: dict[str, Any] = field(default_factory=dict)  # added, or left out where None
    pre: str = "smollm"

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads

    def tensors(self) -> dict[str, Values]:
        """Return the weights by their names in a file, as a file has them."""
        random = np.random.default_rng(self.seed)

        def matrix(out: int, width: int) -> Values:
            values: Values = random.standard_normal((out, width)) / np.sqrt(width)
            return values.astype(np.float32)

        def norm() -> Values:
            return random.uniform(0.5, 1.5, self.hidden).astype(np.float32)

        keys = self.kv_heads * self.head_dim
        by_name = {"token_embd.weight": matrix(self.vocab, self.hidden)}
        for index in range(self.layers):
            by_name |= {
                f"blk.{index}.attn_norm.weight": norm(),
                f"blk.{index}.attn_q.weight": matrix(self.hidden, self.hidden),
                f"blk.{index}.attn_k.weight": matrix(keys, self.hidden),
                f"blk.{index}.attn_v.weight": matrix(keys, self.hidden),
                f"blk.{index}.attn_output.weight": matrix(self.hidden, self.hidden),
                f"blk.{index}.ffn_norm.weight": norm(),
                f"blk.{index}.ffn_gate.weight": matrix(self.intermediate, self.hidden),
                f"blk.{index}.ffn_up.weight": matrix(self.intermediate, self.hidden),
                f"blk.{index}.ffn_down.weight": matrix(self.hidden, self.intermediate),
            }
        by_name["output_norm.weight"] = norm()
        if not self.tied:
            by_name["output.weight"] = matrix(self.vocab, self.hidden)
        if self.factors:
            by_name["rope_freqs.weight"] = np.asarray(self.factors, dtype=np.float32)
        return by_name

    def write(self, path: Path, tensors: dict[str, Values] | None = None) -> Path:
        """Write it; return the path."""
        writer = GGUFWriter(path, self.architecture)
        keys: dict[str, Any] = {
            "llama.block_count": self.layers,
            "llama.context_length": self.context,
            "llama.embedding_length": self.hidden,
            "llama.feed_forward_length": self.intermediate,
            "llama.attention.head_count": self.heads,
            "llama.attention.head_count_kv": self.kv_heads,
            "llama.attention.layer_norm_rms_epsilon": self.eps,
            "llama.rope.freq_base": self.theta,
            "llama.rope.dimension_count": self.head_dim,
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": self.pre,
            "tokenizer.ggml.tokens": TOKENS,
            "tokenizer.ggml.token_type": [3] * len(SPECIAL) + [1] * (len(TOKENS) - len(SPECIAL)),
            "tokenizer.ggml.merges": MERGES,
            "tokenizer.ggml.bos_token_id": 1,
            "tokenizer.ggml.eos_token_id": 2,
            "tokenizer.chat_template": TEMPLATE,
        }
        if self.scale != 1:
            keys |= {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": self.scale}
        for key, value in (keys | self.metadata).items():
            if isinstance(value, list):
                writer.add_array(key, value)
            elif isinstance(value, str):
                writer.add_string(key, value)
            elif isinstance(value, float):
                writer.add_float32(key, value)
            elif value is not None:
                writer.add_uint64(key, value)
        for name, values in (self.tensors() if tensors is None else tensors).items():
            kind = self.kinds.get(name, GGMLQuantizationType.F32)
            # Bytes are blocks already.
            stored = values if values.dtype == np.uint8 else quants.quantize(values, kind)
            writer.add_tensor(name, stored, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    def but(self, **changes: Any) -> Tiny:
        """Return the model with something else."""
        return replace(self, **changes)


def logits(model: Tiny, tokens: list[int]) -> Values:
    """Return the logits behind each token: the textbook's way, in float64, token by token.

    Rotates neighbouring features, as the file has them: the order of the file is its order.
    """
    weights = {name: values.astype(np.float64) for name, values in model.tensors().items()}
    half = model.head_dim // 2
    rates = model.theta ** (-2.0 * np.arange(half) / model.head_dim) / model.scale
    if model.factors:
        rates = rates / weights["rope_freqs.weight"]

    def normed(x: Values, name: str) -> Values:
        return x / np.sqrt(np.mean(x * x) + model.eps) * weights[f"{name}.weight"]

    def rotated(x: Values, position: int) -> Values:
        pairs = x.reshape(-1, half, 2)
        turned = (pairs[..., 0] + 1j * pairs[..., 1]) * np.exp(1j * position * rates)
        return np.stack([turned.real, turned.imag], axis=-1).reshape(-1, model.head_dim)

    cache: list[list[tuple[Values, Values]]] = [[] for _ in range(model.layers)]
    rows = []
    for position, token in enumerate(tokens):
        x = weights["token_embd.weight"][token]
        for index in range(model.layers):
            block = f"blk.{index}."

            def project(name: str, values: Values, block: str = block) -> Values:
                out: Values = weights[f"{block}{name}.weight"] @ values
                return out

            y = normed(x, f"{block}attn_norm")
            q = rotated(project("attn_q", y), position)
            k = rotated(project("attn_k", y), position)
            v = project("attn_v", y).reshape(-1, model.head_dim)
            cache[index].append((k, v))
            mixed = []
            for head in range(model.heads):
                kv_head = head // (model.heads // model.kv_heads)
                scores = np.asarray([q[head] @ k[kv_head] for k, _ in cache[index]])
                chances = np.exp((scores - scores.max()) / np.sqrt(model.head_dim))
                values = np.asarray([v[kv_head] for _, v in cache[index]])
                mixed.append(chances / chances.sum() @ values)
            x = x + project("attn_output", np.concatenate(mixed))
            y = normed(x, f"{block}ffn_norm")
            gate = project("ffn_gate", y)
            x = x + project("ffn_down", gate / (1 + np.exp(-gate)) * project("ffn_up", y))
        head_weights = weights["token_embd.weight" if model.tied else "output.weight"]
        rows.append(head_weights @ normed(x, "output_norm"))
    return np.asarray(rows)
