"""Measuring and printing a language model on every device, for model.py."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from promises import Target, show_targets

import portarray as pa
from examples import llama
from examples.llama.model import DTYPES, PACKED
from portarray import _host_memory
from portarray._cli.bench.report import environment
from portarray._cli.bench.timing import Times, turns

__all__ = ["Line", "Plan", "bandwidth", "measured", "show_all", "targets"]

PAUSE = 0.3  # seconds until the previous candidate's threads sleep
READ = 512 * 1_000_000  # bytes, more than any cache holds
TARGETS: Mapping[str, Mapping[str, tuple[float, float | None]]] = {
    "PyTorch": {"torch": (1.0, 1.0), "clarray": (0.8, 0.8), "numpy": (0.8, 0.8)},
    "llama.cpp": {"clarray": (1.0, 1.5), "numpy": (0.9, None), "torch": (0.9, None)},
}
"""Targets: the share of a peer's tokens per second, decoding and reading the prompt."""
SHARES = {"PyTorch": 0.5, "llama.cpp": 0.6}
"""Targets: the share of the limit that memory bandwidth sets."""

TEXT = """
An array library computes with many numbers at once. Each has its own functions, its own rules and
its own devices, and a program that was written for one does not run on another. A standard says
what all of them should have in common: how arrays are made, how they are added, which type a sum
has, and what happens where the rules end. A program that keeps to the standard runs wherever the
standard is kept. What remains is where the numbers are, and how they get from one place to another.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, and the peer."""

    file: Path | None
    dtype: str
    prompt: int
    tokens: int
    repeats: int
    threads: int
    beside: str = "torch"


@dataclass(frozen=True, slots=True)
class Line:
    """One device."""

    device: str
    beside: str  # the peer
    prompt_rate: float  # tokens per second
    decode_rate: float
    prompt_ratio: float  # relative to the peer; above 1 is faster
    decode_ratio: float
    peer_prompt_rate: float  # the peer's own
    peer_decode_rate: float
    # Of the limit that the machine's memory sets to decoding; None for GPUs, whose memory is not
    # measured.
    share: float | None
    spread: float  # (median - shortest) / shortest of decoding
    memory: int | None  # bytes by which the process grew with the model and its cache
    same: int  # leading tokens that equal the peer's


def bandwidth(nbytes: int, repeats: int, devices: Sequence[pa.Device]) -> dict[str, float]:
    """Return the bytes per second that sums of one array read, by library.

    Opens only the measured devices: in a process with dpnp, waiting for kernels in host memory
    takes longer, which doubles the time of a token.
    """
    values = np.ones(nbytes // 4, np.float32)
    tensor = torch.from_numpy(values)
    actions: dict[str, Callable[[], object]] = {
        "numpy": values.sum,
        "torch": tensor.sum,
        "torch, matrix by vector": _product(tensor),
    }
    for device in devices:
        if device.library == "clarray" and device.kind == "cpu":
            x = pa.asarray(values, device=device)
            actions[str(device)] = _sum(x)
    results = turns(actions, repeats, 0.0, pause=PAUSE / 10)
    return {name: values.nbytes / times.shortest for name, times in results.items()}


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
    """Return a prompt of English tokens."""
    encoded = llama.Tokenizer.of(file).encode(TEXT)
    return (encoded * -(-tokens // len(encoded)))[:tokens]


class Runner:
    """A model with a cache that reads the prompt and decodes greedily.

    The model has ``cache(context)`` and ``prefill(tokens, cache)``; ``likeliest`` maps logits to a
    token and waits for it.
    """

    def __init__(
        self, model: Any, likeliest: Callable[[Any], int], plan: Plan, prompt: list[int]
    ) -> None:
        self.model = model
        self.likeliest = likeliest
        self.prompt = prompt
        self.tokens = plan.tokens
        # A multiple of 256, as in examples/llama.
        context = -(-(len(prompt) + plan.tokens) // 256) * 256
        self.cache = model.cache(min(context, model.config.context))
        self.first = 0
        self.generated: list[int] = []

    def read(self) -> None:
        """Read the prompt, from an empty cache."""
        self.cache.length = 0
        self.first = self.likeliest(self.model.prefill(self.prompt, self.cache))

    def decode(self) -> None:
        """Decode after the prompt, overwriting the tokens of an earlier turn."""
        self.cache.length = len(self.prompt)
        token = self.first
        self.generated = [token]
        for _ in range(self.tokens):
            token = self.likeliest(self.model.prefill([token], self.cache))
            self.generated.append(token)


def measured(
    plan: Plan, devices: Sequence[pa.Device], *, keep: Callable[[dict[str, Any]], object]
) -> dict[str, Any]:
    """Measure, print and return the report; pass it to ``keep`` after each device."""
    _check_peer(plan.beside)
    torch.set_num_threads(plan.threads)
    file = llama.ModelFile(plan.file or llama.default_file())
    limits = bandwidth(READ, max(3, plan.repeats), devices)
    speed = max(limits.values())
    prompt = prompt_of(file, plan.prompt)
    per_token = bytes_per_token(file, plan, len(prompt))
    limit = speed / per_token
    report: dict[str, Any] = {
        **environment(devices, threads=plan.threads, **_version(plan.beside)),
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
        beside = _peer_name(plan, device)
        if beside not in plain:
            model = _peer(plan, beside, file)
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
    judged = targets(lines, plan)
    show_targets(judged)
    report["targets"] = [asdict(target) for target in judged]
    return report


def _check_peer(beside: str) -> None:
    """Raise an error before measuring if the peer is not installed."""
    if beside == "llama.cpp":
        try:
            import llama_cpp  # noqa: F401
        except ImportError as error:
            raise llama.LlamaError(
                f"--beside: llama-cpp-python is not installed ({error})\n"
                "Hint: pip builds it with a C++ compiler and CMake"
            ) from None


def _version(beside: str) -> dict[str, str]:
    if beside == "torch":
        return {"torch": torch.__version__}
    return {"llama_cpp_python": version("llama-cpp-python")}


def _peer_name(plan: Plan, device: pa.Device) -> str:
    """Return the peer of a device and where it runs."""
    if plan.beside == "llama.cpp":
        return "llama.cpp cpu"
    gpu = device.kind == "gpu" and (device.index or torch.cuda.is_available())
    return f"torch cuda:{device.index}" if gpu else "torch cpu"


def _peer(plan: Plan, name: str, file: llama.ModelFile) -> Any:
    """Return a peer's model."""
    if plan.beside == "llama.cpp":
        from llama_cpp_llama import LlamaCpp

        return LlamaCpp(file, threads=plan.threads, context=plan.prompt + plan.tokens + 256)
    from torch_llama import TorchLlama

    dtype = "float32" if plan.dtype in PACKED else plan.dtype
    return TorchLlama(file, device=name.partition(" ")[2], dtype=dtype)


def bytes_per_token(file: llama.ModelFile, plan: Plan, prompt: int) -> int:
    """Return the bytes that one token reads: every weight once, and the cached keys and values.

    A tied embedding is read whole as the head; its row for the token is negligible.
    """
    config = file.config
    attention = (2 * config.heads + 2 * config.kv_heads) * config.head_dim * config.hidden
    layer = attention + 3 * config.hidden * config.intermediate + 2 * config.hidden
    weights = config.layers * layer + config.hidden + config.vocab * config.hidden
    length = prompt + plan.tokens // 2
    cache = 2 * config.layers * config.kv_heads * config.head_dim * length
    if plan.dtype in PACKED:
        row = 0 if config.tied else file.size_of("token_embd.weight")
        return file.nbytes - row + 4 * cache
    return DTYPES[plan.dtype] * (weights + cache)


def measure(
    plan: Plan,
    device: pa.Device,
    file: llama.ModelFile,
    plain: Runner,
    beside: str,
    prompt: list[int],
    limit: float,
) -> Line:
    """Measure one device alternately with its peer."""
    memory_before = _host_memory.resident()
    model = llama.load(
        file, device=device, dtype=plan.dtype, context=len(prompt) + plan.tokens + 256
    )
    ours = Runner(model, lambda logits: int(pa.argmax(logits)), plan, prompt)
    reading = alternate({"ours": ours.read, "plain": plain.read}, plan.repeats)
    decoding = alternate({"ours": ours.decode, "plain": plain.decode}, plan.repeats)
    memory_after = _host_memory.resident()
    rates = {
        name: (len(prompt) / reading[name].shortest, plan.tokens / decoding[name].shortest)
        for name in reading
    }
    pairs = zip(ours.generated, plain.generated, strict=True)
    same = next((n for n, (a, b) in enumerate(pairs) if a != b), len(ours.generated))
    return Line(
        str(device),
        beside,
        prompt_rate=rates["ours"][0],
        decode_rate=rates["ours"][1],
        prompt_ratio=rates["ours"][0] / rates["plain"][0],
        decode_ratio=rates["ours"][1] / rates["plain"][1],
        peer_prompt_rate=rates["plain"][0],
        peer_decode_rate=rates["plain"][1],
        share=None if device.kind == "gpu" else rates["ours"][1] / limit,
        spread=decoding["ours"].spread,
        memory=None
        if memory_before is None or memory_after is None
        else max(0, memory_after - memory_before),
        same=same,
    )


def alternate(actions: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, Times]:
    """Time long actions alternately, after a warm-up and with pauses."""
    results = {name: Times() for name in actions}
    for action in actions.values():
        action()
    for turn in range(repeats):
        for name in sorted(actions, reverse=bool(turn % 2)):
            time.sleep(PAUSE)
            start = time.perf_counter()
            actions[name]()
            results[name].turns.append(time.perf_counter() - start)
    return results


def targets(lines: Sequence[Line], plan: Plan) -> list[Target]:
    """Check the targets; clarray's apply to its first device only."""
    results = []
    peer = "PyTorch" if plan.beside == "torch" else plan.beside
    judged = plan.dtype == "float32" if peer == "PyTorch" else plan.dtype in PACKED
    first = next((row.device for row in lines if row.device.startswith("clarray:")), "")
    for line in lines:
        library = line.device.partition(":")[0]
        promised = TARGETS[peer].get(library)
        second = library == "clarray" and line.device != first  # other drivers may be slower
        if promised is not None and judged and not second:
            for phase, ratio, least in (
                ("decoding", line.decode_ratio, promised[0]),
                ("the prompt", line.prompt_ratio, promised[1]),
            ):
                if least is None:
                    continue
                promise = f"{phase} at least {least} of {peer}'s tokens a second: {line.device}"
                shown = f"{ratio:.2f}"
                results.append(Target(promise, shown, ratio >= least))
        if line.share is not None:
            promise = (
                f"{SHARES[peer]} of the memory's limit or a profile that says why: {line.device}"
            )
            shown = f"{line.share:.2f}"
            results.append(Target(promise, shown, line.share >= SHARES[peer]))
    return results


def show_head(report: Mapping[str, Any]) -> None:
    reads = ", ".join(f"{name} {value / 1e9:.1f}" for name, value in report["bandwidth"].items())
    dtype = "its own packing" if report["dtype"] in PACKED else report["dtype"]
    print(
        f"{report['file']} in {dtype}: a prompt of {report['prompt']} tokens, then "
        f"{report['tokens']} made; {report['machine']['threads']} threads"
    )
    print(f"reading memory, GB/s: {reads}")
    print(
        f"bytes read for a token: {report['bytes_per_token'] / 1e6:.0f} MB, so at most "
        f"{report['limit']:.1f} tokens a second\n"
    )
    print(
        f"{'device':<18} {'prompt':>9} {'of peer':>9} {'decoding':>9} {'of peer':>9} "
        f"{'of limit':>9} {'spread':>7} {'memory':>9}  same tokens",
        flush=True,
    )


def show(line: Line) -> None:
    """Print one device."""
    share = "-" if line.share is None else f"{line.share:.2f}"
    memory = "-" if line.memory is None else f"{line.memory / 1e6:.0f} MB"
    print(
        f"{line.device:<18} {line.prompt_rate:>7.1f}/s {line.prompt_ratio:>9.2f} "
        f"{line.decode_rate:>7.1f}/s {line.decode_ratio:>9.2f} {share:>9} "
        f"{line.spread:>7.0%} {memory:>9}  {line.same}"
    )
    print(
        f"{'  ' + line.beside:<18} {line.peer_prompt_rate:>7.1f}/s {'':>9} "
        f"{line.peer_decode_rate:>7.1f}/s",
        flush=True,
    )


def show_all(report: Mapping[str, Any]) -> None:
    """Print an earlier report."""
    show_head(report)
    for row in report["rows"]:
        show(Line(**row))
    show_targets([Target(**target) for target in report["targets"]])
