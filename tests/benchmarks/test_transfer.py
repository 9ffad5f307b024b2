"""The benchmark of moves runs and judges figures by its limits; times are not tested."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import portarray as pa

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
COMPARED_LIBRARIES = {"numpy", "torch", "mlx", "jax", "dpnp", "clarray"}
FIGURES = ROOT / "docs" / "data" / "transfer.json"


@pytest.fixture
def transfer(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    module = importlib.import_module("transfer")
    for name, value in module.SLEEPING.items():
        monkeypatch.setenv(name, value)  # main sets them for the process; this takes them back
    return module


def run(transfer: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["transfer.py", *map(str, arguments)])
    transfer.main()


def test_short_run(
    transfer: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    devices = pa.devices()
    if len(devices) < 2:
        pytest.skip("one device alone has nowhere to move to")
    monkeypatch.setattr(transfer, "MEGABYTE", 4000)
    file = tmp_path / "transfer.json"
    run(transfer, monkeypatch, "--repeats", 1, "--megabytes", 1, "--json", file)
    printed = capsys.readouterr().out
    report = json.loads(file.read_text("utf-8"))
    assert list(report["devices"]) == [str(device) for device in devices]
    assert report["nbytes"] == 4000
    measured = {(row["source"], row["target"]): row for row in report["rows"]}
    assert len(measured) == len(report["rows"]) == len(devices) * (len(devices) - 1)
    calls = {(call["source"], call["target"]): call for call in report["calls"]}
    assert len(calls) == len(report["calls"])
    for source in devices:
        x = pa.zeros(1000, dtype=pa.float32, device=source)
        for target in devices:
            if source is target:
                continue
            pair = (str(source), str(target))
            row, plan = measured[pair], pa.transfer_plan(x, target)
            assert (row["route"], row["copies"], row["why"]) == (plan.route, plan.copies, plan.why)
            assert min(row["to_warm"], row["to_fresh"], row["to_pages"]) > 0
            assert (pair in calls) == (plan.copies == 0)
            if (
                source.kind == target.kind == "cpu"
                and {source.library, target.library} <= COMPARED_LIBRARIES
            ):
                assert row["others"], "every pair of CPUs has a way by hand"
                assert (row["to_hand"] is None) == all(method["note"] for method in row["others"])
            assert f"{source!s:<17} {target!s:<17} {plan.route}" in printed
            for by_hand in row["others"] + calls.get(pair, {"others": []})["others"]:
                assert by_hand["seconds"] > 0
                assert by_hand["text"] in printed
    assert len(report["targets"]) >= len(calls)
    run(transfer, monkeypatch, "--read", file)
    assert capsys.readouterr().out == printed


def test_ways_by_hand_give_the_same_values(transfer: ModuleType) -> None:
    values = np.arange(60, dtype=np.float32)
    tried = 0
    for source, target in transfer.pairs(pa.devices()):
        x = pa.asarray(values, device=source, copy=True)
        for method in transfer.by_hand(source, target):
            y = pa.asarray(transfer.function(method, target)(x.native))
            assert y.device.library == target.library, method.text
            assert np.array_equal(np.asarray(y.to_device("numpy")), values), method.text
            tried += 1
    assert tried or len(pa.devices()) == 1


def test_the_ways_that_are_compared_with_keep_arrays_apart(transfer: ModuleType) -> None:
    """A write to the source of a compared move does not change an immutable target."""
    values = np.arange(60, dtype=np.float32)
    constant = {device for device in pa.devices() if _never_changes(device)}
    for source, target in transfer.pairs(pa.devices()):
        if target not in constant:
            continue
        x = pa.asarray(values, device=source, copy=True)
        for method in transfer.by_hand(source, target):
            if method.note or source in constant:
                continue
            y = pa.asarray(transfer.function(method, target)(x.native))
            x[...] = -1.0
            pa.synchronize(source)
            assert np.array_equal(np.asarray(y.to_device("numpy")), values), method.text
            x[...] = pa.asarray(values, device=source)


def _never_changes(device: pa.Device) -> bool:
    """Return whether NumPy sees a device's arrays as read-only."""
    host = device._backend.to_host(pa.zeros(3, device=device).native, copy=None)
    return not host.flags.writeable


def test_targets_are_judged(transfer: ModuleType) -> None:
    def row(copies: int, to_fresh: float, to_hand: float | None, noise: float) -> object:
        return transfer.Row(
            *("a", "b", "memory", copies, "", 1.0, 1.0, 1.0, to_fresh, 1.0, noise, [], to_hand)
        )

    copying = [row(1, 1.24, 1.04, 0.0), row(1, 1.26, 1.06, 0.0), row(1, 1.29, 1.09, 0.1)]
    others = [row(1, 1.36, 1.16, 9.0), row(2, 9.0, None, 0.0), row(0, 0.0, 9.0, 0.0)]
    judged = transfer.targets(
        [*copying, *others],
        [transfer.Call("a", "b", 14e-6, []), transfer.Call("a", "b", 16e-6, [])],
    )
    assert [target.holds for target in judged] == [
        *(True, True, False, False, True, True, False, False),  # beside memcpy, and by hand
        *(True, False),  # calls
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--repeats", "0"), "--repeats: must be at least 1, got 0"),
        (("--megabytes", "0"), "--megabytes: must be at least 1, got 0"),
        (("--devices", "numpi"), "unknown device 'numpi'"),
        (("--devices", "numpy"), "needs two devices, got only numpy:cpu:0"),
        (("--read", "nowhere.json"), "No such file"),
    ],
)
def test_wrong_input(
    transfer: ModuleType,
    arguments: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        run(transfer, monkeypatch, *arguments)
    assert message in capsys.readouterr().err


def test_the_figures_of_the_documentation_are_of_these_routes() -> None:
    if not FIGURES.is_file():
        pytest.skip("the documentation is not beside the tests")
    report = json.loads(FIGURES.read_text("utf-8"))
    here = {str(device) for device in pa.devices()}
    arrays = {
        text: pa.zeros(1000, dtype=pa.float32, device=text)
        for text in here & set(report["devices"])
    }
    for row in report["rows"]:
        if row["source"] in arrays and row["target"] in arrays:
            plan = pa.transfer_plan(arrays[row["source"]], row["target"])
            assert [row["route"], row["copies"], row["why"]] == [
                *(plan.route, plan.copies, plan.why)
            ], f"{row['source']} to {row['target']}: take the figures anew (docs/benchmarks.md)"


def test_the_picture_is_drawn_from_the_figures(
    transfer: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib draws the picture")
    if not FIGURES.is_file():
        pytest.skip("the documentation is not beside the tests")
    for index in range(2):
        run(transfer, monkeypatch, "--read", FIGURES, "--picture", tmp_path / f"{index}.svg")
    first, second = (tmp_path / "0.svg").read_text(), (tmp_path / "1.svg").read_text()
    assert first == second
    for row in json.loads(FIGURES.read_text("utf-8"))["rows"]:
        text = f"{row['to_fresh']:.2f}" if row["copies"] else "shared"
        assert f"<!-- {text} -->" in first
