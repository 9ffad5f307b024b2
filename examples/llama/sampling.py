"""The next token, from logits."""

from __future__ import annotations

import numpy as np

import portarray as pa
from examples.llama.errors import LlamaError

__all__ = ["Sampler"]


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

    Raises
    ------
    LlamaError
        If the temperature is negative or not finite, or top_p is not above 0 and up to 1.
    """

    def __init__(
        self, temperature: float = 0.0, top_p: float = 1.0, seed: int | None = None
    ) -> None:
        if not 0 <= temperature < float("inf"):
            raise LlamaError(f"a temperature of {temperature}: it must be 0 or more, and finite")
        if not 0 < top_p <= 1:
            raise LlamaError(f"a top_p of {top_p}: it must be above 0 and at most 1")
        self.temperature = temperature
        self.top_p = top_p
        self._random = np.random.default_rng(seed)

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
        if self.temperature == 0:
            return int(pa.argmax(logits))
        # Some tens of thousands of numbers: the host draws, so that all devices draw the same.
        values = np.asarray(pa.astype(logits, "float32").to_device("numpy"), dtype=np.float64)
        chosen, chances = likeliest(values / self.temperature, self.top_p)
        drawn = np.searchsorted(np.cumsum(chances), self._random.random(), side="right")
        return int(chosen[min(int(drawn), len(chosen) - 1)])


def likeliest(logits: np.ndarray, top_p: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the fewest tokens that have a probability together, and their chances among them."""
    order = np.argsort(-logits, kind="stable")
    weights = np.exp(logits[order] - logits[order[0]])
    sums = np.cumsum(weights)
    count = int(np.searchsorted(sums, top_p * sums[-1])) + 1
    kept = weights[:count]
    return order[:count], kept / np.sum(kept)
