"""The benchmark of files runs and judges figures by its limits; times are not tested."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import portarray as pa

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
OPERATIONS = ["save", "load", "pickle", "unpickle"]
COMPARED_LIBRARIES = {"numpy", "torch", "mlx", "jax", "dpnp", "clarray"}


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("safetensors")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    module = importlib.import_module("files")
    monkeypatch.setattr(module, "MEGABYTE", 4000)
    monkeypatch.setattr(module, "MANY", 3)
    return module


def test_short_run(
    measuring: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, file = tmp_path / "folder", tmp_path / "files.json"
    folder.mkdir()
    arguments = ["--repeats", 1, "--megabytes", 1, "--folder", folder, "--json", file]
    monkeypatch.setattr(sys, "argv", ["files.py", *map(str, arguments)])
    measuring.main()
    printed = capsys.readouterr().out
    report = json.loads(file.read_text("utf-8"))
    assert not list(folder.iterdir())
    devices = [str(device) for device in pa.devices()]
    assert list(report["devices"]) == devices
    assert [(row["device"], row["tree"], row["operation"]) for row in report["rows"]] == [
        (device, tree, operation)
        for device in devices
        for tree in ("large", "many")
        for operation in OPERATIONS
    ]
    judged = 0
    for row in report["rows"]:
        assert (row["arrays"], row["nbytes"]) in ((4, 4000), (3, 768))
        assert row["seconds"] > 0
        if row["device"].partition(":")[0] in COMPARED_LIBRARIES:
            assert row["others"], "every library on a CPU has a way by hand"
        judged += bool(row["others"])
        for method in row["others"]:
            assert method["seconds"] > 0
            assert method["text"] in printed
    assert len(report["targets"]) == judged


def test_ways_by_hand_give_the_same_values(
    measuring: ModuleType, device: str, tmp_path: Path
) -> None:
    where = pa.device(device)
    values = {name: np.arange(i, i + 5, dtype=np.float32) for i, name in enumerate("ab")}
    x = {name: pa.asarray(v, device=where, copy=True) for name, v in values.items()}
    native = {name: array.native for name, array in x.items()}
    by_hand, function = measuring.by_hand, measuring.function

    def same(result: Any) -> bool:
        return {name: pa.asarray(v).to_device("numpy").tolist() for name, v in result.items()} == {
            name: v.tolist() for name, v in values.items()
        }

    path = str(tmp_path / "x.safetensors")
    for text in by_hand(where, "save"):
        function(text, where)(native, path, b"")
        if text.startswith("torch."):
            Path(path).rename(f"{path}.pt")
        else:
            assert same(pa.load(path, device=where)), text
    pa.save(path, x)
    for text in by_hand(where, "load"):
        assert same(function(text, where)({}, path, b"")), text
    for pickled, unpickled in zip(
        by_hand(where, "pickle"), by_hand(where, "unpickle"), strict=True
    ):
        data = function(pickled, where)(native, "", b"")
        values_again = function(unpickled, where)({}, "", data)
        assert same(values_again), unpickled
        assert all(type(v) is type(native[name]) for name, v in values_again.items())


def test_targets_are_judged(measuring: ModuleType) -> None:
    def row(seconds: float, noise: float, *others: float) -> Any:
        ways = [measuring.Other("by hand", seconds_by_hand) for seconds_by_hand in others]
        return measuring.Row("a", "many", "save", 10, 80, seconds, noise, ways)

    call = 10 * measuring.TARGET_CALL
    for noise, most in ((0.0, measuring.NOISE), (0.1, 0.1), (5.0, measuring.MOST_NOISE)):
        rows = [row(1 + most + call + off, noise, 2.0, 1.0) for off in (-1e-6, 1e-6)]
        assert [target.holds for target in measuring.targets(rows)] == [True, False]
    assert measuring.targets([row(1.0, 0.0)]) == []
