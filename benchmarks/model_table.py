"""Measuring and printing what model.py starts: a language model on every device."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from promises import Target, show_targets
from torch_llama import TorchLlama

import portarray as pa
from examples import llama
from portarray import _host_memory
from portarray._cli.bench.report import surroundings
from portarray._cli.bench.timing import Times, turns

__all__ = ["Line", "Plan", "bandwidth", "measured", "show_all", "targets"]

REST = 0.3  # seconds in which the threads of the candidate before fall asleep
READ = 512 * 1_000_000  # bytes, more than any cache holds
TARGETS: Mapping[str, float] = {"torch": 1.0, "clarray": 0.8, "numpy": 0.8}
"""What share of PyTorch's tokens per second is promised."""
HALF = 0.5

TEXT = """
An array library computes with many numbers at once. Each has its own functions, its own rules and
its own devices, and a program that was written for one does not run on another. A standard says
what all of them should have in common: how arrays are made, how they are added, which type a sum
has, and what happens where the rules end. A program that keeps to the standard runs wherever the
standard is kept. What remains is where the numbers are, and how they get from one place to another.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured: file, dtype, and how much of it."""

    file: Path | None
    dtype: str
    prompt: int
    tokens: int
    repeats: int
    threads: int


@dataclass(frozen=True, slots=True)
class Line:
    """One device.

    Parameters
    ----------
    device : str
        Where.
    beside : str
        PyTorch's device that it was compared with.
    prompt_rate, decode_rate : float
        Tokens in a second.
    prompt_to_torch, decode_to_torch : float
        The same as multiples of PyTorch's in the same minutes; more is faster.
    torch_prompt_rate, torch_decode_rate : float
        PyTorch's own.
    share : float or None
        Of the limit that the machine's memory sets to decoding; None for GPUs, whose memory is
        not measured.
    spread : float
        How much longer the median turn of decoding was, relatively.
    memory : int or None
        By how many bytes the process grew with the model and its cache.
    same : int
        How many of the tokens are PyTorch's, from the first one on.
    """

    device: str
    beside: str
    prompt_rate: float
    decode_rate: float
    prompt_to_torch: float
    decode_to_torch: float
    torch_prompt_rate: float
    torch_decode_rate: float
    share: float | None
    spread: float
    memory: int | None
    same: int


def bandwidth(nbytes: int, repeats: int) -> dict[str, float]:
    """Return the bytes that sums of one array read in a second, by library."""
    values = np.ones(nbytes // 4, np.float32)
    tensor = torch.from_numpy(values)
    actions: dict[str, Callable[[], object]] = {
        "numpy": values.sum,
        "torch": tensor.sum,
        "torch, matrix by vector": _product(tensor),
    }
    for device in pa.devices():
        if device.library == "clarray" and device.kind == "cpu":
            x = pa.asarray(values, device=device)
            actions[str(device)] = _sum(x)
    found = turns(actions, repeats, 0.0, rest=REST / 10)
    return {name: values.nbytes / times.shortest for name, times in found.items()}


def _product(tensor: torch.Tensor) -> Callable[[], object]:
    width = next(width for width in (4096, 576, 64, 1) if len(tensor) % width == 0)
    vector = torch.ones(width)
    return lambda: torch.mv(tensor.view(-1, width), vector)


def _sum(x: pa.Array) -> Callable[[], object]:
    def run() -> None:
        pa.sum(x)
        pa.synchronize(x.device)

    return run


def prompt_of(file: llama.ModelFile, tokens: int) -> list[int]:
    """Return a prompt of so many tokens of English."""
    found = llama.Tokenizer.of(file).encode(TEXT)
    return (found * -(-tokens // len(found)))[:tokens]


class Runner:
    """A model with a cache: reads the prompt, makes tokens greedily, and says which.

    Parameters
    ----------
    model : Any
        Has ``cache(context)`` and ``prefill(tokens, cache)``.
    likeliest : callable
        From logits to a token; waits for it.
    plan : Plan
        How many tokens.
    prompt : list of int
        The tokens of the prompt.
    """

    def __init__(
        self, model: Any, likeliest: Callable[[Any], int], plan: Plan, prompt: list[int]
    ) -> None:
        self.model = model
        self.likeliest = likeliest
        self.prompt = prompt
        self.tokens = plan.tokens
        # A multiple of 256, as examples/llama makes it.
        context = -(-(len(prompt) + plan.tokens) // 256) * 256
        self.cache = model.cache(min(context, model.config.context))
        self.first = 0
        self.made: list[int] = []

    def read(self) -> None:
        """Read the prompt, from an empty cache."""
        self.cache.length = 0
        self.first = self.likeliest(self.model.prefill(self.prompt, self.cache))

    def decode(self) -> None:
        """Make tokens behind the prompt; those of an earlier turn are written over."""
        self.cache.length = len(self.prompt)
        token = self.first
        self.made = [token]
        for _ in range(self.tokens):
            token = self.likeliest(self.model.prefill([token], self.cache))
            self.made.append(token)


def measured(
    plan: Plan, devices: Sequence[pa.Device], *, keep: Callable[[dict[str, Any]], object]
) -> dict[str, Any]:
    """Measure, print, and return the report; hand it out after each device too."""
    torch.set_num_threads(plan.threads)
    file = llama.ModelFile(plan.file or llama.default_file())
    limits = bandwidth(READ, max(3, plan.repeats))
    speed = max(limits.values())
    prompt = prompt_of(file, plan.prompt)
    per_token = bytes_per_token(file.config, plan, len(prompt))
    limit = speed / per_token
    report: dict[str, Any] = {
        **surroundings(devices, threads=plan.threads, torch=torch.__version__),
        "file": file.path.name,
        "dtype": plan.dtype,
        "prompt": len(prompt),
        "tokens": plan.tokens,
        "repeats": plan.repeats,
        "bandwidth": limits,
        "bytes_per_token": per_token,
        "limit": limit,
        "rows": [],
        "targets": [],
    }
    show_head(report)
    lines: list[Line] = []
    plain: dict[str, Runner] = {}
    for device in devices:
        beside = f"cuda:{device.index}" if device.kind == "gpu" else "cpu"
        if beside == "cuda:0" and not torch.cuda.is_available():
            beside = "cpu"
        if beside not in plain:
            model = TorchLlama(file, device=beside, dtype=plan.dtype)
            plain[beside] = Runner(model, lambda logits: int(logits.argmax()), plan, prompt)
        try:
            line = measure(plan, device, file, plain[beside], beside, prompt, limit)
        except Exception as error:  # noqa: BLE001  (told; the other devices are measured)
            print(f"{device!s:<18} FAILS: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        show(line)
        lines.append(line)
        report["rows"].append(asdict(line))
        keep(report)
        gc.collect()
        pa.reclaim(device)
    judged = targets(lines, plan.dtype)
    show_targets(judged)
    report["targets"] = [asdict(target) for target in judged]
    return report


def bytes_per_token(config: llama.Config, plan: Plan, prompt: int) -> int:
    """Return the bytes that one token reads: every weight once, and the keys and values so far.

    Of a tied embedding the head is read whole; the row of the token is nothing beside it.
    """
    attention = (2 * config.heads + 2 * config.kv_heads) * config.head_dim * config.hidden
    layer = attention + 3 * config.hidden * config.intermediate + 2 * config.hidden
    weights = config.layers * layer + config.hidden + config.vocab * config.hidden
    length = prompt + plan.tokens // 2
    cache = 2 * config.layers * config.kv_heads * config.head_dim * length
    size = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}[plan.dtype]
    return size * (weights + cache)


def measure(
    plan: Plan,
    device: pa.Device,
    file: llama.ModelFile,
    plain: Runner,
    beside: str,
    prompt: list[int],
    limit: float,
) -> Line:
    """Measure one device beside PyTorch."""
    before = _host_memory.resident()
    model = llama.load(
        file, device=device, dtype=plan.dtype, context=len(prompt) + plan.tokens + 256
    )
    ours = Runner(model, lambda logits: int(pa.argmax(logits)), plan, prompt)
    reading = alternate({"ours": ours.read, "plain": plain.read}, plan.repeats)
    decoding = alternate({"ours": ours.decode, "plain": plain.decode}, plan.repeats)
    after = _host_memory.resident()
    rates = {
        name: (len(prompt) / reading[name].shortest, plan.tokens / decoding[name].shortest)
        for name in reading
    }
    pairs = zip(ours.made, plain.made, strict=True)
    same = next((n for n, (a, b) in enumerate(pairs) if a != b), len(ours.made))
    return Line(
        str(device),
        f"torch {beside}",
        prompt_rate=rates["ours"][0],
        decode_rate=rates["ours"][1],
        prompt_to_torch=rates["ours"][0] / rates["plain"][0],
        decode_to_torch=rates["ours"][1] / rates["plain"][1],
        torch_prompt_rate=rates["plain"][0],
        torch_decode_rate=rates["plain"][1],
        share=None if device.kind == "gpu" else rates["ours"][1] / limit,
        spread=decoding["ours"].spread,
        memory=None if before is None or after is None else max(0, after - before),
        same=same,
    )


def alternate(actions: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, Times]:
    """Time actions of a second or so in turns, each after a pause and once before all turns."""
    found = {name: Times() for name in actions}
    for action in actions.values():
        action()
    for turn in range(repeats):
        for name in sorted(actions, reverse=bool(turn % 2)):
            time.sleep(REST)
            begin = time.perf_counter()
            actions[name]()
            found[name].each.append(time.perf_counter() - begin)
    return found


def targets(lines: Sequence[Line], dtype: str) -> list[Target]:
    """Judge the promises by the figures; clarray's is about the first of its devices."""
    found = []
    first = next((one.device for one in lines if one.device.startswith("clarray:")), "")
    for line in lines:
        library = line.device.partition(":")[0]
        least = TARGETS.get(library)
        second = library == "clarray" and line.device != first  # machines may have slower drivers
        if least is not None and dtype == "float32" and not second:
            for what, ratio in (
                ("decoding", line.decode_to_torch),
                ("the prompt", line.prompt_to_torch),
            ):
                found.append(
                    Target(
                        f"{what} at least {least} of PyTorch's tokens a second: {line.device}",
                        f"{ratio:.2f}",
                        ratio >= least,
                    )
                )
        if line.share is not None:
            found.append(
                Target(
                    f"half of the memory's limit or a profile that says why: {line.device}",
                    f"{line.share:.2f}",
                    line.share >= HALF,
                )
            )
    return found


def show_head(report: Mapping[str, Any]) -> None:
    reads = ", ".join(f"{name} {value / 1e9:.1f}" for name, value in report["bandwidth"].items())
    print(
        f"{report['file']} in {report['dtype']}: a prompt of {report['prompt']} tokens, then "
        f"{report['tokens']} made; {report['machine']['threads']} threads"
    )
    print(f"reading memory, GB/s: {reads}")
    print(
        f"bytes read for a token: {report['bytes_per_token'] / 1e6:.0f} MB, so at most "
        f"{report['limit']:.1f} tokens a second\n"
    )
    print(
        f"{'device':<18} {'prompt':>9} {'of torch':>9} {'decoding':>9} {'of torch':>9} "
        f"{'of limit':>9} {'spread':>7} {'memory':>9}  same tokens",
        flush=True,
    )


def show(line: Line) -> None:
    """Print one device."""
    share = "-" if line.share is None else f"{line.share:.2f}"
    memory = "-" if line.memory is None else f"{line.memory / 1e6:.0f} MB"
    print(
        f"{line.device:<18} {line.prompt_rate:>7.1f}/s {line.prompt_to_torch:>9.2f} "
        f"{line.decode_rate:>7.1f}/s {line.decode_to_torch:>9.2f} {share:>9} "
        f"{line.spread:>7.0%} {memory:>9}  {line.same}"
    )
    print(
        f"{'  ' + line.beside:<18} {line.torch_prompt_rate:>7.1f}/s {'':>9} "
        f"{line.torch_decode_rate:>7.1f}/s",
        flush=True,
    )


def show_all(report: Mapping[str, Any]) -> None:
    """Print an earlier report."""
    show_head(report)
    for row in report["rows"]:
        show(Line(**row))
    show_targets([Target(**target) for target in report["targets"]])
