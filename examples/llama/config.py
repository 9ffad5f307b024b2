"""What a GGUF file says of a Llama model: its sizes and how it encodes positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from examples.llama.errors import LlamaError

__all__ = ["ARCHITECTURE", "Config"]

ARCHITECTURE = "llama"


@dataclass(frozen=True, slots=True)
class Config:
    """The sizes of a model.

    Attributes
    ----------
    hidden, intermediate, layers, vocab, heads, kv_heads, head_dim : int
        As everywhere.
    context : int
        Tokens that the model was made for.
    theta : float
        Base of the angles of positions.
    position_scale : float
        What positions are divided by (linear scaling); 1 for most.
    eps : float
        Of RMSNorm.
    tied : bool
        Whether the embedding is the head as well.
    """

    hidden: int
    intermediate: int
    layers: int
    vocab: int
    heads: int
    kv_heads: int
    head_dim: int
    context: int
    theta: float
    position_scale: float
    eps: float
    tied: bool

    @classmethod
    def of(cls, metadata: Mapping[str, Any], *, vocab: int, tied: bool, name: str) -> Config:
        """Read the metadata of a file.

        Parameters
        ----------
        metadata : mapping
            Keys of the file to their values.
        vocab : int
            Rows of the embedding.
        tied : bool
            Whether the file has no head of its own.
        name : str
            The file, for errors.

        Returns
        -------
        Config
            The sizes.

        Raises
        ------
        LlamaError
            If the file is of another architecture, lacks a key or has sizes that do not fit.
        """
        architecture = metadata.get("general.architecture")
        if architecture != ARCHITECTURE:
            raise LlamaError(
                f"{name} holds a model of the architecture {architecture!r}; this program runs "
                f"{ARCHITECTURE!r} alone. Take a file of a Llama model"
            )

        def need(key: str) -> Any:
            full = f"{ARCHITECTURE}.{key}"
            if full not in metadata:
                raise LlamaError(
                    f"{name} does not say {full}, which a Llama model needs: the file is not "
                    "complete, download it again or convert it anew"
                )
            return metadata[full]

        def optional(key: str, default: Any) -> Any:
            return metadata.get(f"{ARCHITECTURE}.{key}", default)

        heads, hidden = int(need("attention.head_count")), int(need("embedding_length"))
        kv_heads = int(optional("attention.head_count_kv", heads))
        if min(heads, kv_heads) < 1 or heads % kv_heads:
            raise LlamaError(
                f"{name} has {heads} heads of queries and {kv_heads} of keys: the first must be a "
                "multiple of the second"
            )
        head_dim = int(optional("attention.key_length", hidden // heads))
        rotated = int(optional("rope.dimension_count", head_dim))
        if rotated != head_dim or head_dim % 2:
            raise LlamaError(
                f"{name} rotates {rotated} of {head_dim} features of a head: this program knows "
                "models alone that rotate all of them, in pairs"
            )
        return cls(
            hidden=hidden,
            intermediate=int(need("feed_forward_length")),
            layers=int(need("block_count")),
            vocab=vocab,
            heads=heads,
            kv_heads=kv_heads,
            head_dim=head_dim,
            context=int(need("context_length")),
            theta=float(optional("rope.freq_base", 10_000.0)),
            position_scale=_position_scale(metadata, name),
            eps=float(need("attention.layer_norm_rms_epsilon")),
            tied=tied,
        )


def _position_scale(metadata: Mapping[str, Any], name: str) -> float:
    """Return what positions are divided by."""
    kind = metadata.get(f"{ARCHITECTURE}.rope.scaling.type", "none")
    if kind == "none":
        return 1.0
    if kind == "linear":
        return float(metadata.get(f"{ARCHITECTURE}.rope.scaling.factor", 1.0))
    raise LlamaError(
        f"{name} scales positions by {kind!r}: this program knows 'none', 'linear' and the factors "
        "that Llama 3 files hold as rope_freqs.weight"
    )
