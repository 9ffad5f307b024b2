"""The next token, from logits: chosen on the device, so that only its number comes to the host."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import portarray as pa
from examples.llama.errors import LlamaError

__all__ = ["Sampler", "TokenLogprob", "chances", "chosen", "token_logprob"]


class Sampler:
    """Chooses tokens: the likeliest, or by chance among the likely ones.

    Parameters
    ----------
    temperature : float, optional
        0 takes the likeliest token. Otherwise logits are divided by it: below 1 likely tokens
        become likelier, above 1 less so.
    top_p : float, optional
        Chance is between the likeliest tokens that have this probability together.
    seed : int, optional
        The same seed draws the same numbers on every device. Without one they differ each time.
    top_k : int, optional
        Chance is between so many of the likeliest tokens; 0 means all.

    Raises
    ------
    LlamaError
        If the temperature is negative or not finite, top_p is not above 0 and up to 1, or top_k is
        negative.
    """

    def __init__(
        self,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int | None = None,
        top_k: int = 0,
    ) -> None:
        if not 0 <= temperature < math.inf:
            raise LlamaError(f"a temperature of {temperature}: it must be 0 or more, and finite")
        if not 0 < top_p <= 1:
            raise LlamaError(f"a top_p of {top_p}: it must be above 0 and at most 1")
        if top_k < 0:
            raise LlamaError(f"a top_k of {top_k}: it must be 0, which means all, or more")
        self.temperature = temperature
        self.top_p = top_p
        self.top_k = top_k
        self.seed = secrets.randbits(63) if seed is None else seed
        self._drawn = 0
        self._key: pa.Array | None = None

    def __call__(self, logits: pa.Array) -> int:
        """Return the next token.

        Parameters
        ----------
        logits : Array
            Of shape (vocab,).

        Returns
        -------
        int
            The token; of equally likely ones the first where the temperature is 0.
        """
        token = int(self.token(logits, self._drawn))
        self._drawn += 1
        return token

    def token(self, logits: pa.Array, index: int) -> pa.Array:
        """Return a token on the device, as an integer of shape ().

        Parameters
        ----------
        logits : Array
            Of shape (vocab,).
        index : int
            Which of the sampler's draws it is: the same one draws the same numbers again.

        Returns
        -------
        Array
            The token.
        """
        if self.temperature == 0:
            return pa.argmax(logits)
        if self._key is None or self._key.device is not logits.device:
            self._key = pa.random.key(self.seed, device=logits.device)
        scores = chances(logits, self.temperature, self.top_p, self.top_k)
        # The first of waiting times that are the shorter the likelier a token is (Gumbel's trick):
        # one maximum, which rounding changes only where two are nearly equal.
        key = pa.random.fold_in(self._key, index)
        waits = pa.random.exponential(key, scores.shape, dtype=pa.float32)
        return pa.argmax(scores - pa.log(waits))


def chances(logits: pa.Array, temperature: float, top_p: float, top_k: int = 0) -> pa.Array:
    """Return logarithms of chances, up to one number, -inf where a token is not among the likely.

    Parameters
    ----------
    logits : Array
        Of shape (vocab,).
    temperature, top_p, top_k
        As :class:`Sampler` takes them.

    Returns
    -------
    Array
        Of float32 and the shape of `logits`. Tokens as likely as the last one kept are kept.
    """
    scores = pa.astype(logits, pa.float32)
    scores = (scores - pa.max(scores)) / temperature
    few = 0 < top_k < scores.shape[0]
    if not few and top_p == 1:
        return scores
    ordered = pa.sort(scores, descending=True)
    ordered = ordered[:top_k] if few else ordered
    last = ordered[-1]
    if top_p < 1:
        weights = pa.exp(ordered)
        sums = pa.cumulative_sum(weights)
        likelier = sums - weights  # what is likelier than each
        retained = pa.where(likelier < top_p * sums[-1], ordered, 0.0)
        last = pa.min(retained)
    return pa.where(scores < last, -math.inf, scores)


def chosen(logits: pa.Array, samplers: Sequence[Sampler], numbers: Sequence[int]) -> list[int]:
    """Return the next token of several sequences, in one transfer.

    Parameters
    ----------
    logits : Array
        Of shape (sequences, vocab).
    samplers : sequence of Sampler
        That of each sequence.
    numbers : sequence of int
        Which of its draws it is.

    Returns
    -------
    list of int
        The tokens.
    """
    if all(sampler.temperature == 0 for sampler in samplers):
        tokens = pa.argmax(logits, axis=-1)
    else:
        pairs = zip(samplers, numbers, strict=True)
        tokens = pa.stack([sampler.token(logits[n, :], m) for n, (sampler, m) in enumerate(pairs)])
    chosen_tokens: list[int] = tokens.tolist()
    return chosen_tokens


class TokenLogprob(NamedTuple):
    """The logarithm of a token's probability, and those of the likeliest tokens in its place.

    Attributes
    ----------
    token : int
        The token.
    logprob : float
        Its natural logarithm of a probability.
    top : tuple
        Pairs of a token and its logarithm, the likeliest first.
    """

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()


def token_logprob(logits: pa.Array, token: int, count: int) -> TokenLogprob:
    """Return the logarithm of a token's probability under the model.

    Parameters
    ----------
    logits : Array
        Of shape (vocab,), not divided by a temperature.
    token : int
        The token that was chosen.
    count : int
        How many of the likeliest tokens to return as well; of equally likely ones the first.

    Returns
    -------
    TokenLogprob
        Computed in float64 on the host.
    """
    scores = pa.astype(logits, pa.float32).to_device("numpy").native.astype(np.float64)
    scores -= scores.max()
    scores -= np.log(np.exp(scores).sum())
    count = min(count, len(scores))
    top: list[int] = []
    if count:
        candidates = np.flatnonzero(scores >= np.partition(scores, -count)[-count])
        order = np.argsort(-scores[candidates], kind="stable")
        top = candidates[order][:count].tolist()
    pairs = tuple((candidate, float(scores[candidate])) for candidate in top)
    return TokenLogprob(token, float(scores[token]), pairs)
