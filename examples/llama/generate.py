"""Text from a model, piece by piece, and how fast it came."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import portarray as pa
from examples.llama.cache import Cache
from examples.llama.config import Config
from examples.llama.draft import Draft
from examples.llama.errors import LlamaError
from examples.llama.model import Model
from examples.llama.sampling import Sampler
from examples.llama.slots import check_context
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
    read : int
        How many tokens of the prompt were read; the others were in the cache.
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
    read: int = 0
    _pieces: Iterator[str] = field(default=iter(()), repr=False)

    @property
    def prompt_rate(self) -> float:
        """Tokens of the prompt that were read in a second."""
        return self.read / self.prompt_seconds if self.prompt_seconds else 0.0

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
    cache: Cache | None = None,
    chunk: int | None = None,
    draft: Draft | None = None,
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
    cache : Cache, optional
        Where keys and values are; what it has of the prompt's beginning is not read again. The
        default is a new one.
    chunk : int, optional
        How many tokens of the prompt are read at once at most; None means all.
    draft : Draft, optional
        Guesses tokens ahead, which changes how long it takes and nothing else.

    Returns
    -------
    Generation
        Iterate over it for the text while it is made.

    Raises
    ------
    LlamaError
        If prompt and tokens do not fit in the cache or in what the model was made for.
    """
    if cache is not None:
        context = cache.context
    length = context_for(model.config, len(prompt), tokens, context)
    if draft is not None:
        draft.check(model)
    if chunk is not None and chunk < 1:
        raise LlamaError(f"chunks of {chunk} tokens: at least 1 is needed (--chunk)")
    generation = Generation(list(prompt))
    cache = model.cache(length) if cache is None else cache
    token_iterator = _tokens(generation, model, cache, sampler or Sampler(), tokens, chunk, draft)
    generation._pieces = _pieces(generation, tokenizer, token_iterator, tokens)
    return generation


def _tokens(
    generation: Generation,
    model: Model,
    cache: Cache,
    sampler: Sampler,
    tokens: int,
    chunk: int | None,
    draft: Draft | None,
) -> Iterator[int]:
    """Yield tokens, and take the time."""
    remaining = generation.prompt[cache.keep(generation.prompt) :]
    generation.read = len(remaining)
    pa.synchronize(model.device)
    start = time.perf_counter()
    token = sampler(model.prefill(remaining, cache, chunk=chunk))
    pa.synchronize(model.device)
    generation.prompt_seconds = time.perf_counter() - start
    yield token
    start = time.perf_counter()
    for some in _further(model, cache, token, sampler, tokens - 1, draft):
        generation.decode_seconds += time.perf_counter() - start
        generation.steps += len(some)
        yield from some
        start = time.perf_counter()


def _further(
    model: Model, cache: Cache, token: int, sampler: Sampler, tokens: int, draft: Draft | None
) -> Iterator[list[int]]:
    """Yield the tokens behind the first one, some at a time."""
    if draft is not None:
        yield from draft.continued(model, cache, token, sampler, tokens)
        return
    for _ in range(tokens):
        token = sampler(model.step(token, cache))
        yield [token]


def _pieces(
    generation: Generation, tokenizer: Tokenizer, generated: Iterator[int], tokens: int
) -> Iterator[str]:
    """Yield the text of tokens up to one that ends it."""
    text = tokenizer.stream()
    for token in generated:
        if token in tokenizer.stops:
            generation.stopped = "stop"
            break
        generation.tokens.append(token)
        piece = text.add(token)
        generation.text += piece
        if piece:
            yield piece
        if len(generation.tokens) == tokens:
            generation.stopped = "length"
            break
    remaining = text.end()
    generation.text += remaining
    if remaining:
        yield remaining
