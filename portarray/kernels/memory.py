"""How much memory a language model takes at inference, before any of it is loaded."""

from __future__ import annotations

import operator
from typing import NamedTuple, SupportsIndex

WORKSPACE = 16
"""Hidden states that are in memory at once: what one token's activations take, roughly."""


class InferenceMemory(NamedTuple):
    """What the weights, the cache and the activations of a language model take, in bytes.

    It is an index of its total, so that it can be given wherever a number of bytes is due:
    ``pa.device("auto", memory=estimate)``.

    Attributes
    ----------
    embedding : int
        The table of token embeddings and the output head; one of them where both are the same.
    layer : int
        The weights of one layer: attention, feed-forward network and two norms.
    layers : int
        Number of layers.
    final_norm : int
        The norm before the head.
    kv_cache : int
        Keys and values of all layers over the whole context.
    workspace : int
        Activations of one token.

    Examples
    --------
    >>> import portarray as pa
    >>> estimate = pa.kernels.estimate_inference_memory(
    ...     hidden=64, intermediate=256, layers=2, vocab=1000, heads=4, context=128,
    ... )
    >>> print(estimate)
    embedding and head     512,000 bytes
    2 layers of 262,656    525,312 bytes
    final norm                 256 bytes
    KV cache               131,072 bytes
    workspace                4,096 bytes
    total                1,172,736 bytes (0.00 GiB)
    >>> estimate.weights  # what the file holds
    1037568
    """

    embedding: int
    layer: int
    layers: int
    final_norm: int
    kv_cache: int
    workspace: int

    @property
    def weights(self) -> int:
        """All weights, as the file stores them."""
        return self.embedding + self.layers * self.layer + self.final_norm

    @property
    def total(self) -> int:
        """Total of all parts."""
        return self.weights + self.kv_cache + self.workspace

    def __index__(self) -> int:
        return self.total

    def __str__(self) -> str:
        rows = [
            ("embedding and head", self.embedding),
            (f"{self.layers} layers of {self.layer:,}", self.layers * self.layer),
            ("final norm", self.final_norm),
            ("KV cache", self.kv_cache),
            ("workspace", self.workspace),
            ("total", self.total),
        ]
        width = max(len(name) for name, _ in rows)
        figure = len(f"{self.total:,}")
        lines = [f"{name:{width}}  {value:>{figure},} bytes" for name, value in rows]
        return "\n".join(lines) + f" ({self.total / 2**30:.2f} GiB)"

    def as_dict(self) -> dict[str, int]:
        """Return the parts and sums, for JSON."""
        return {
            "embedding": self.embedding,
            "layer": self.layer,
            "layers": self.layers,
            "final_norm": self.final_norm,
            "weights": self.weights,
            "kv_cache": self.kv_cache,
            "workspace": self.workspace,
            "total": self.total,
        }


def estimate_inference_memory(
    *,
    hidden: SupportsIndex,
    intermediate: SupportsIndex,
    layers: SupportsIndex,
    vocab: SupportsIndex,
    heads: SupportsIndex,
    kv_heads: SupportsIndex | None = None,
    head_dim: SupportsIndex | None = None,
    context: SupportsIndex,
    bytes_per_value: SupportsIndex = 4,
    tied_embedding: bool = False,
) -> InferenceMemory:
    """Estimate the memory that a model of the Llama architecture takes at inference.

    In values, each of ``bytes_per_value``:

    - embedding and head: ``2 * vocab * hidden``, or half of it where ``tied_embedding``
    - a layer: ``2 * hidden * heads * head_dim + 2 * hidden * kv_heads * head_dim + 3 * hidden *
      intermediate + 2 * hidden``, for the projections of queries and of the output, those of keys
      and values, the gated feed-forward network, and two norms
    - the final norm: ``hidden``
    - the KV cache: ``2 * layers * context * kv_heads * head_dim``
    - the workspace: ``16 * hidden``, the activations of one token

    Prompts of many tokens at once, and what a library keeps for itself, come on top.

    Parameters
    ----------
    hidden : int
        Features of a token.
    intermediate : int
        Features inside the feed-forward network.
    layers : int
        Number of layers.
    vocab : int
        Number of tokens known.
    heads : int
        Query heads.
    kv_heads : int, optional
        Key and value heads, of which ``heads`` must be a multiple; None for as many as ``heads``.
    head_dim : int, optional
        Features of a head; None for ``hidden // heads``, and then ``hidden`` must be a multiple.
    context : int
        Tokens that the KV cache holds.
    bytes_per_value : int
        4 for float32, 2 for float16 and bfloat16.
    tied_embedding : bool
        Whether the head is the embedding itself and so takes no memory of its own.

    Returns
    -------
    InferenceMemory
        Each part in bytes, and the total.

    Raises
    ------
    TypeError
        If a number is not an integer.
    ValueError
        If a number is below 1, or head counts do not divide.

    Examples
    --------
    >>> import portarray as pa
    >>> estimate = pa.kernels.estimate_inference_memory(
    ...     hidden=4096, intermediate=14336, layers=32, vocab=32000, heads=32, kv_heads=8,
    ...     context=4096, bytes_per_value=4,
    ... )
    >>> estimate.total
    30040932352

    The best device that has that much memory free, or an error that lists what each one has:

    >>> small = pa.kernels.estimate_inference_memory(
    ...     hidden=64, intermediate=256, layers=2, vocab=1000, heads=4, context=128,
    ... )
    >>> device = pa.device("auto", memory=small)
    """
    hidden = _count("hidden", hidden)
    intermediate = _count("intermediate", intermediate)
    layers = _count("layers", layers)
    vocab = _count("vocab", vocab)
    heads = _count("heads", heads)
    kv_heads = heads if kv_heads is None else _count("kv_heads", kv_heads)
    context = _count("context", context)
    size = _count("bytes_per_value", bytes_per_value)
    if head_dim is None and hidden % heads:
        raise ValueError(
            f"estimate_inference_memory: hidden={hidden} is not a multiple of heads={heads}"
            f"\nHint: pass head_dim, the features of a head"
        )
    features = hidden // heads if head_dim is None else _count("head_dim", head_dim)
    if heads % kv_heads:
        raise ValueError(
            f"estimate_inference_memory: heads={heads} is not a multiple of kv_heads={kv_heads}"
        )
    queries, keys = heads * features, kv_heads * features
    layer = 2 * hidden * queries + 2 * hidden * keys + 3 * hidden * intermediate + 2 * hidden
    return InferenceMemory(
        embedding=(1 if tied_embedding else 2) * vocab * hidden * size,
        layer=layer * size,
        layers=layers,
        final_norm=hidden * size,
        kv_cache=2 * layers * context * keys * size,
        workspace=WORKSPACE * hidden * size,
    )


def _count(name: str, value: SupportsIndex) -> int:
    """Return a positive integer, or raise."""
    if isinstance(value, bool):
        raise TypeError(f"estimate_inference_memory: {name}={value} must be an int")
    try:
        count = operator.index(value)
    except TypeError:
        problem = f"{name}={value!r} ({type(value).__name__}) must be an int"
        raise TypeError(f"estimate_inference_memory: {problem}") from None
    if count < 1:
        raise ValueError(f"estimate_inference_memory: {name}={count} must be at least 1")
    return count
