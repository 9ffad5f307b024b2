"""Text from a model, piece by piece, and how fast it came."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import portarray as pa
from examples.llama.cache import check_context
from examples.llama.config import Config
from examples.llama.errors import LlamaError
from examples.llama.model import Model
from examples.llama.sampling import Sampler
from examples.llama.tokenizer import Tokenizer

__all__ = ["Generation", "context_for", "generate"]

BLOCK = 256  # caches are multiples of it, so that libraries that compile for shapes do so seldom


@dataclass(slots=True)
class Generation:
    """What was made of a prompt, complete once its pieces have been taken.

    Attributes
    ----------
    prompt : list of int
        The tokens that were given.
    tokens : list of int
        The tokens that followed, without the one that stopped it.
    text : str
        Their text.
    stopped : str
        Why it ended: ``"stop"``, the model was done, or ``"length"``, as many as were asked for.
    prompt_seconds : float
        From the start to the first token.
    decode_seconds : float
        From the first token to the last.
    """

    prompt: list[int]
    tokens: list[int] = field(default_factory=list)
    text: str = ""
    stopped: str = ""
    prompt_seconds: float = 0.0
    decode_seconds: float = 0.0
    steps: int = 0
    _pieces: Iterator[str] = field(default=iter(()), repr=False)

    @property
    def prompt_rate(self) -> float:
        """Tokens of the prompt that were read in a second."""
        return len(self.prompt) / self.prompt_seconds if self.prompt_seconds else 0.0

    @property
    def decode_rate(self) -> float:
        """Tokens that were made in a second, those of the prompt not counted."""
        return self.steps / self.decode_seconds if self.decode_seconds else 0.0

    def __iter__(self) -> Iterator[str]:
        """Yield the text while it is made, in whole characters."""
        return self._pieces


def context_for(config: Config, prompt: int, tokens: int, context: int | None = None) -> int:
    """Return the length of a cache for a prompt and what follows.

    Parameters
    ----------
    config : Config
        The model's sizes.
    prompt, tokens : int
        Tokens of the prompt, and how many are to follow.
    context : int, optional
        The length that is asked for; by default it is enough for all.

    Returns
    -------
    int
        The length.

    Raises
    ------
    LlamaError
        If they do not fit, or the model was not made for so many.
    """
    if tokens < 1:
        raise LlamaError(f"{tokens} tokens: ask for at least 1 (--tokens)")
    check_context(config, context)
    needed = prompt + tokens
    if needed > config.context:
        raise LlamaError(
            f"{prompt} tokens of the prompt and {tokens} more are {needed}, but the model was made "
            f"for {config.context}: shorten the prompt or ask for fewer (--tokens)"
        )
    if context is None:
        return min(-(-needed // BLOCK) * BLOCK, config.context)
    if needed > context:
        raise LlamaError(
            f"{prompt} tokens of the prompt and {tokens} more are {needed}, but the cache has room "
            f"for {context}: make it longer (--context) or ask for fewer (--tokens)"
        )
    return context


def generate(
    model: Model,
    tokenizer: Tokenizer,
    prompt: Sequence[int],
    *,
    tokens: int = 256,
    sampler: Sampler | None = None,
    context: int | None = None,
) -> Generation:
    """Continue a prompt.

    Parameters
    ----------
    model : Model
        On any device.
    tokenizer : Tokenizer
        Of the same file.
    prompt : sequence of int
        What :meth:`Tokenizer.chat` or :meth:`Tokenizer.encode` gave.
    tokens : int, optional
        How many to make at most.
    sampler : Sampler, optional
        Chooses them; the default takes the likeliest.
    context : int, optional
        Tokens that the cache has room for; the default is enough for all.

    Returns
    -------
    Generation
        Iterate over it for the text while it is made.

    Raises
    ------
    LlamaError
        If prompt and tokens do not fit in the cache or in what the model was made for.
    """
    length = context_for(model.config, len(prompt), tokens, context)
    made = Generation(list(prompt))
    made._pieces = _pieces(made, model, tokenizer, tokens, sampler or Sampler(), length)
    return made


def _pieces(
    made: Generation,
    model: Model,
    tokenizer: Tokenizer,
    tokens: int,
    sampler: Sampler,
    context: int,
) -> Iterator[str]:
    cache = model.cache(context)
    text = tokenizer.stream()
    pa.synchronize(model.device)
    start = time.perf_counter()
    token = sampler(model.prefill(made.prompt, cache))
    pa.synchronize(model.device)
    made.prompt_seconds = time.perf_counter() - start
    while token not in tokenizer.stops:
        made.tokens.append(token)
        piece = text.add(token)
        made.text += piece
        if piece:
            yield piece
        if len(made.tokens) == tokens:
            made.stopped = "length"
            break
        start = time.perf_counter()
        token = sampler(model.step(token, cache))
        made.decode_seconds += time.perf_counter() - start
        made.steps += 1
    else:
        made.stopped = "stop"
    rest = text.end()
    made.text += rest
    if rest:
        yield rest
