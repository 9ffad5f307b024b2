"""The benchmark of a model runs, judges figures, and its PyTorch model is right."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import portarray as pa

for needed in ("gguf", "tokenizers", "jinja2", "torch"):
    pytest.importorskip(needed, reason=f"{needed}, which the benchmark needs, is not installed")

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "data" / "model.json"


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    for folder in (ROOT, ROOT / "benchmarks", ROOT / "tests" / "examples"):
        monkeypatch.syspath_prepend(str(folder))
    torch = importlib.import_module("torch")
    threads = torch.get_num_threads()
    module = importlib.import_module("model_table")
    monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setattr(module, "READ", 4 * 64 * 1000)
    yield module
    torch.set_num_threads(threads)


@pytest.fixture
def model(table: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = importlib.import_module("model")
    monkeypatch.setattr(module, "prepare", lambda threads, waiting: None)
    return module


def run(model: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["model.py", *map(str, arguments)])
    model.main()


@pytest.mark.parametrize("cuts", [[12], [1] * 12, [5, 1, 1, 5]])
def test_the_plain_model_is_the_textbook_s(
    table: ModuleType, cuts: list[int], tmp_path: Path
) -> None:
    files = importlib.import_module("llama_files")
    tiny = files.Tiny(hidden=24, intermediate=40, heads=3, kv_heads=1, theta=1e5, tied=False)
    file = table.llama.ModelFile(tiny.write(tmp_path / "tiny.gguf"))
    plain = importlib.import_module("torch_llama").TorchLlama(file)
    tokens = np.random.default_rng(3).integers(0, tiny.vocab, 12).tolist()
    expected = files.logits(tiny, tokens)
    cache = plain.cache(12)
    for end in np.cumsum(cuts):
        logits = plain.prefill(tokens[cache.length : end], cache)
        np.testing.assert_allclose(logits.numpy(), expected[end - 1], atol=2e-5)
    assert plain.nbytes == 4 * sum(values.size for values in tiny.tensors().values())


def test_short_run(
    model: ModuleType,
    table: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = importlib.import_module("llama_files")
    path = files.Tiny(layers=1, seed=5).write(tmp_path / "tiny.gguf")
    file = tmp_path / "model.json"
    options = ["--prompt", 7, "--tokens", 3, "--repeats", 1, "--file", path]
    run(model, monkeypatch, *options, "--json", file)
    printed = capsys.readouterr()
    assert printed.err == ""
    report = json.loads(file.read_text("utf-8"))
    devices = pa.devices()
    assert [row["device"] for row in report["rows"]] == [str(device) for device in devices]
    for row in report["rows"]:
        assert row["same"] == 4, "greedy tokens are PyTorch's"
        assert min(row["prompt_rate"], row["decode_rate"], row["peer_decode_rate"]) > 0
        assert row["device"] in printed.out
    assert report["prompt"] == 7
    # A layer of a hidden size of 32, one of 48 between, 4 heads of 8 and 2 with keys.
    layer = 32 * 32 * 2 + 2 * 16 * 32 + 3 * 32 * 48 + 2 * 32
    cache = 2 * 16 * (7 + 1)
    vocabulary = len(files.TOKENS)
    assert report["bytes_per_token"] == 4 * (layer + 32 + vocabulary * 32 + cache)
    limit = max(report["bandwidth"].values()) / report["bytes_per_token"]
    assert report["limit"] == pytest.approx(limit)
    pytest.importorskip("matplotlib")
    picture = tmp_path / "model.svg"
    run(model, monkeypatch, "--read", file, "--plot", picture)
    assert capsys.readouterr().out == printed.out
    assert "<svg" in picture.read_text("utf-8")


def line(table: ModuleType, **figures: Any) -> Any:
    values: dict[str, Any] = {
        "device": "numpy:cpu:0",
        "beside": "torch cpu",
        "prompt_rate": 1.0,
        "decode_rate": 1.0,
        "prompt_ratio": 1.0,
        "decode_ratio": 1.0,
        "peer_prompt_rate": 1.0,
        "peer_decode_rate": 1.0,
        "share": None,
        "spread": 0.0,
        "memory": None,
        "same": 1,
    }
    return table.Line(**{**values, **figures})


@pytest.mark.parametrize(
    ("figures", "held"),
    [
        ({"decode_ratio": 0.79}, [False, True]),
        ({"prompt_ratio": 0.79}, [True, False]),
        ({"device": "torch:cpu:0", "decode_ratio": 0.99}, [False, True]),
        ({"device": "clarray:opencl:0", "decode_ratio": 0.81}, [True, True]),
        ({"device": "dpnp:oneapi:0", "decode_ratio": 0.01}, []),
        ({"device": "mlx:cpu:0", "share": 0.51}, [True]),
        ({"share": 0.49}, [True, True, False]),
    ],
)
def test_targets_are_judged(table: ModuleType, figures: dict[str, Any], held: list[bool]) -> None:
    judged = table.targets([line(table, **figures)], table.Plan(None, "float32", 7, 3, 1, 2))
    assert [target.holds for target in judged] == held


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--repeats", "0"], "--repeats: must be at least 1, got 0"),
        (["--device", "numpi"], "unknown device 'numpi'"),
        (["--file", "nothing.gguf"], "there is no file nothing.gguf"),
        (["--read", "nothing.json"], "--read: "),
    ],
)
def test_bad_options_are_refused(
    model: ModuleType,
    options: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        run(model, monkeypatch, *options)
    assert message in capsys.readouterr().err
