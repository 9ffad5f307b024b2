"""Adapters of a language model: trained on every device as in plain PyTorch, saved and merged."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import optree
import pytest

import portarray as pa

for needed in ("click", "gguf", "jinja2", "matplotlib", "rich", "safetensors", "tokenizers"):
    pytest.importorskip(needed, reason=f"{needed}, which this needs, is not installed")
pytest.importorskip("sklearn", reason="scikit-learn, which ships the text, is not installed")

from click.testing import CliRunner, Result  # noqa: E402
from llama_files import Tiny  # noqa: E402

from examples import llama  # noqa: E402
from examples.llama.command import llama as talk  # noqa: E402
from examples.training.command import train as command  # noqa: E402
from examples.training.config import Config  # noqa: E402
from examples.training.errors import TrainingError  # noqa: E402
from examples.training.steps import BETAS, EPSILON, forward, schedule  # noqa: E402
from examples.training.train import Trainer  # noqa: E402

TINY = Tiny(hidden=24, intermediate=40, heads=3, kv_heads=1, tied=False, seed=1)
FILE_NAMES = {
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "output": "attn_output",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}
EVERY = ",".join(FILE_NAMES)
STEPS = 5


def config(precision: str = "float32", **options: Any) -> Config:
    sizes = {"context": 12, "batch": 2, "steps": 20, "rank": 3, "rate": 1e-2, "adapt": EVERY}
    return Config.of("llama", precision=precision, **{**sizes, **options})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return TINY.write(tmp_path_factory.mktemp("models") / "tiny.gguf")


def on_host(tree: Any) -> list[np.ndarray]:
    return [np.array(x) for x in optree.tree_leaves(pa.to_device(tree, "numpy"))]


@cache
def by_plain_pytorch(file: Path, of: Config) -> list[float]:
    """Return losses of the model as its file has it, in PyTorch's float64 with its own Adam."""
    torch = pytest.importorskip("torch", reason="PyTorch, the reference, is not installed")
    functional = torch.nn.functional
    weights = {
        name.removesuffix(".weight"): torch.asarray(values).double()
        for name, values in TINY.tensors().items()
    }
    with Trainer(of, ["numpy"], file=file) as trainer:
        batches = [
            [torch.asarray(np.array(x)).long() for x in trainer.batch(step)]
            for step in range(STEPS)
        ]
        # The order of a head's features differs from the file's. B is zero, so that either will do.
        adapters = [
            {
                name: torch.asarray(np.array(x)).double().requires_grad_()
                for name, x in layer_weights.items()
            }
            for layer_weights in trainer.state["parameters"]
        ]
    names = of.adapt.split(",")
    half = TINY.head_dim // 2
    rates = TINY.theta ** (-2.0 * torch.arange(half).double() / TINY.head_dim)
    turns = torch.polar(torch.ones(1).double(), torch.arange(of.context)[:, None] * rates)

    def product(layer: int, name: str, x: Any) -> Any:
        y = x @ weights[f"blk.{layer}.{FILE_NAMES[name]}"].T
        adapter = adapters[layer]
        if name not in names:
            return y
        return y + of.alpha / of.rank * (x @ adapter[f"{name}_A"].T @ adapter[f"{name}_B"].T)

    def normed(x: Any, name: str) -> Any:
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + TINY.eps) * weights[name]

    def turned(x: Any) -> Any:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], half, 2).contiguous())
        return torch.view_as_real(pairs * turns).flatten(-2)

    def logits(tokens: Any) -> Any:
        x = weights["token_embd"][tokens]
        for n in range(TINY.layers):
            y = normed(x, f"blk.{n}.attn_norm")
            q, k, v = (
                product(n, name, y).unflatten(-1, (-1, TINY.head_dim)).transpose(1, 2)
                for name in "qkv"
            )
            scores = turned(q) @ turned(k).transpose(-1, -2) / TINY.head_dim**0.5
            visible = torch.ones(of.context, of.context).tril().bool()
            mixed = scores.masked_fill(~visible, -torch.inf).softmax(-1) @ v
            x = x + product(n, "output", mixed.transpose(1, 2).flatten(2))
            y = normed(x, f"blk.{n}.ffn_norm")
            gate = product(n, "gate", y)
            x = x + product(n, "down", gate * torch.sigmoid(gate) * product(n, "up", y))
        return normed(x, "output_norm") @ weights["output"].T

    every = [x for layer_weights in adapters for x in layer_weights.values()]
    adam = torch.optim.Adam(every, of.rate, betas=BETAS, eps=EPSILON)
    history = []
    for step, (tokens, targets) in enumerate(batches):
        adam.param_groups[0]["lr"] = schedule(of, step)
        adam.zero_grad()
        loss = functional.cross_entropy(logits(tokens).flatten(0, 1), targets.flatten())
        loss.backward()
        adam.step()
        history.append(float(loss.detach()))
    return history


@pytest.mark.parametrize("adapt", ["q,v", EVERY])
def test_losses_are_those_of_plain_pytorch(
    device: str, adapt: str, file: Path, tmp_path: Path
) -> None:
    of = config(adapt=adapt)
    saved, adapter = tmp_path / "training.safetensors", tmp_path / "adapter.safetensors"
    with Trainer(of, [device], file=file) as trainer:
        initial = on_host(trainer._first.frozen)
        while trainer.step < STEPS:
            trainer.train()
            if trainer.step == 3:
                trainer.save(saved)
        np.testing.assert_allclose(trainer.losses, by_plain_pytorch(file, of), rtol=1e-5)
        for x, y in zip(initial, on_host(trainer._first.frozen), strict=True):
            np.testing.assert_array_equal(x, y)

        assert trainer.base is not None
        trainer.base.adapters(trainer.state["parameters"]).save(adapter)
        tokens = trainer.batch(0)[0]
        adapted = forward(
            trainer.model, trainer.state["parameters"], tokens, frozen=trainer._first.frozen
        )
    with Trainer(of, [device], file=file) as resumed:
        resumed.load(saved)
        while resumed.step < STEPS:
            resumed.train()
        assert resumed.losses == trainer.losses
        for x, y in zip(on_host(resumed.state), on_host(trainer.state), strict=True):
            np.testing.assert_array_equal(x, y)

    loaded = pa.load(adapter, device="numpy")
    assert len(loaded) == 2 * len(adapt.split(",")) * TINY.layers
    first = "base_model.model.model.layers.0.self_attn.q_proj.lora"
    assert loaded[f"{first}_A.weight"].shape == (of.rank, TINY.hidden)
    assert loaded[f"{first}_B.weight"].shape == (TINY.hidden, of.rank)
    merged = llama.load(file, device=device, adapter=adapter)
    plain = llama.load(file, device=device)
    for row, expected in zip(
        np.asarray(tokens.to_device("numpy")), on_host(adapted)[0], strict=True
    ):
        got, base = (
            on_host(model.logits(row.tolist(), model.cache(of.context)))[0]
            for model in (merged, plain)
        )
        np.testing.assert_allclose(got, expected, atol=2e-5)
        assert np.max(np.abs(base - expected)) > 1e-2


def losses(of: Config, file: Path, devices: list[str], **options: Any) -> list[float]:
    with Trainer(of, devices, file=file, **options) as trainer:
        while trainer.step < 3:
            trainer.train()
        return trainer.losses


@pytest.mark.parametrize(
    ("precision", "options", "off"),
    [
        ("float64", {"checkpointing": True}, 1e-6),
        ("float32", {"compile": True}, 1e-5),
        ("mixed", {}, 1e-2),
    ],
    ids=["checkpointing", "compile", "mixed"],
)
def test_ways_of_training(
    device: str, file: Path, precision: str, options: dict[str, bool], off: float
) -> None:
    compiles = "compile" in options
    if compiles != device.startswith("jax") and (compiles or device.startswith("jax")):
        pytest.skip("takes long: JAX compiles every call, and others a transformer in C")
    expected = by_plain_pytorch(file, config())[:3]
    result = losses(config(precision), file, [device], **options)
    np.testing.assert_allclose(result, expected, rtol=off)


@pytest.mark.parametrize("split", [False, True], ids=["devices", "split"])
def test_two_libraries_train_together(file: Path, split: bool) -> None:
    devices = [str(device) for device in pa.devices()][:2]
    expected = by_plain_pytorch(file, config())[:3]
    np.testing.assert_allclose(losses(config(), file, devices, split=split), expected, rtol=1e-5)


def run(*options: str, model: str = "llama") -> Result:
    return CliRunner().invoke(command, [model, "--device", "numpy", *options])


def test_the_model_talks_with_what_it_learned(file: Path, tmp_path: Path) -> None:
    adapter = str(tmp_path / "adapter.safetensors")
    sizes = ("--file", str(file), "--context", "24", "--batch", "4", "--rate", "1e-2")
    result = run(*sizes, "--steps", "60", "--adapter", adapter, "--json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    # Random weights with a few thousand parameters beside them learn which characters are frequent.
    assert np.mean(report["losses"][-5:]) < np.mean(report["losses"][:5]) - 0.5
    arguments = ["The data", "--raw", "--tokens", "8", "--device", "numpy", "--file", str(file)]
    said = [
        CliRunner().invoke(talk, [*arguments, *more]).stdout
        for more in ([], ["--adapter", adapter])
    ]
    assert said[0] != said[1]


def test_impossible_options_are_reported(file: Path, tmp_path: Path) -> None:
    for options, message in (
        (("--adapt", "q,w"), "'w' is not a matrix of a layer; use q, k, v, output"),
        (("--width", "8"), "width: llama has no such sizes"),
        (("--rank", "0"), "rank is 0; it must be positive"),
        (("--file", "none.gguf"), "there is no file none.gguf"),
        (("--context", "513"), "a context of 513 tokens: this model was made for 1 to 512"),
    ):
        result = run("--file", str(file), *options)
        assert result.exit_code != 0
        assert message in result.stderr
    result = run("--adapter", "a", model="mlp")
    assert "--file and --adapter belong to llama" in result.stderr

    with Trainer(config(), ["numpy"], file=file) as trainer:
        saved = tmp_path / "training.safetensors"
        trainer.save(saved)
        different = TINY.but(seed=2).write(tmp_path / "other.gguf")
        with (
            Trainer(config(), ["numpy"], file=different) as wrong,
            pytest.raises(TrainingError, match="checksum of the file"),
        ):
            wrong.load(saved)
        assert trainer.base is not None
        path = tmp_path / "adapter.safetensors"
        trainer.base.adapters(trainer.state["parameters"]).save(path)
    arrays, about = pa.load(path, device="numpy", return_metadata=True)
    name = next(iter(arrays))
    about = {key: about[key] for key in ("rank", "alpha")}
    for content, metadata, message in (
        (arrays, {}, "does not say rank and alpha"),
        (arrays, {**about, "rank": "4"}, r"of the shape .* does not fit the model, which needs"),
        ({**arrays, "head": arrays[name]}, about, "which has no such matrix"),
        ({k: v for k, v in arrays.items() if k != name}, about, "lacks one of the two"),
    ):
        pa.save(path, content, metadata=metadata)
        with pytest.raises(llama.LlamaError, match=message):
            llama.load(file, device="numpy", adapter=path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(llama.LlamaError, match="holds no adapters"):
        llama.load(file, device="numpy", adapter=path)
