"""Guessing ahead: a quick model guesses tokens, and the model checks them all at once.

The model reads its own last token and the guesses in one pass, which costs little more than one
token where reading the weights is what takes time. Guesses are kept as long as they are what the
model chooses itself, so that the tokens are those that it makes without guesses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from examples.llama.cache import Cache
from examples.llama.errors import LlamaError
from examples.llama.model import Model
from examples.llama.sampling import Sampler, chosen

__all__ = ["Draft", "first_layers"]


class Draft:
    """Guesses what a model says next.

    Parameters
    ----------
    model : Model
        A quicker one with the same vocabulary.
    guesses : int, optional
        How many tokens it guesses at a time.

    Attributes
    ----------
    guessed, accepted : int
        How many tokens it has guessed, and how many of them the model chose as well.

    Raises
    ------
    LlamaError
        If it is to guess nothing.
    """

    def __init__(self, model: Model, guesses: int = 4) -> None:
        if guesses < 1:
            raise LlamaError(f"{guesses} guesses at a time: at least 1 is needed (--guesses)")
        self.model = model
        self.guesses = guesses
        self.guessed = self.accepted = 0
        self._cache: Cache | None = None

    def check(self, model: Model) -> None:
        """Refuse a model of another vocabulary."""
        key = "tokenizer.ggml.tokens"
        if self.model.file.metadata.get(key) != model.file.metadata.get(key):
            raise LlamaError(
                f"{self.model.file.path.name} has another vocabulary than "
                f"{model.file.path.name}: a model can guess for one that has the same tokens"
            )

    def continued(
        self, model: Model, cache: Cache, first: int, sampler: Sampler, tokens: int
    ) -> Iterator[list[int]]:
        """Yield the tokens that follow the first one, some at a time.

        Parameters
        ----------
        model : Model
            What chooses them.
        cache : Cache
            Holds all tokens before the first.
        first : int
            The first token, the sampler's draw 0.
        sampler : Sampler
            Chooses.
        tokens : int
            How many are to follow.

        Yields
        ------
        list of int
            At least one token.
        """
        said = [*cache.tokens, first]
        start, end = len(said), len(said) + tokens
        if self._cache is None or self._cache.context < cache.context:
            self._cache = self.model.cache(min(cache.context, self.model.config.context))
        while len(said) < end:
            index = 1 + len(said) - start
            guesses = self._guess(said, sampler, index, min(self.guesses, end - len(said) - 1))
            logits = model.logits([said[-1], *guesses], cache)
            count = len(guesses) + 1
            verified = chosen(logits, [sampler] * count, range(index, index + count))
            right = next(
                (n for n, guess in enumerate(guesses) if guess != verified[n]), len(guesses)
            )
            self.guessed += len(guesses)
            self.accepted += right
            cache.length -= len(guesses) - right
            said += verified[: right + 1]
            yield verified[: right + 1]

    def _guess(self, said: Sequence[int], sampler: Sampler, index: int, count: int) -> list[int]:
        cache = self._cache
        if cache is None or len(said) + count > cache.context or count < 1:
            return []
        guesses: list[int] = []
        tokens = said[cache.keep(said) :]
        for n in range(count):
            # It draws what the model will draw, so that chance does not part them.
            logits = self.model.prefill(tokens, cache)
            guesses.append(int(sampler.token(logits, index + n)))
            tokens = guesses[-1:]
        return guesses


def first_layers(model: Model, layers: int) -> Model:
    """Return a model of the first layers of another one, with which it shares them.

    Parameters
    ----------
    model : Model
        The whole.
    layers : int
        How many of its layers.

    Returns
    -------
    Model
        Quicker, and less right.

    Raises
    ------
    LlamaError
        If it has no such number of layers.
    """
    if not 0 < layers < model.config.layers:
        raise LlamaError(
            f"a draft of {layers} layers: the model has {model.config.layers}, so it must be 1 to "
            f"{model.config.layers - 1}"
        )
    weights = replace(model.weights, layers=model.weights.layers[:layers])
    return Model(replace(model.config, layers=layers), weights, model.file)
