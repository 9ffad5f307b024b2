"""``portarray bench``: every case runs on the right devices; times are not tested."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import portarray as pa

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pytest.importorskip("rich", reason="the extra 'cli' is not installed")

from click.testing import CliRunner, Result
from rich.console import Console

from portarray._cli.bench import cases, measure, plot, timing
from portarray._cli.bench.report import Measurement, Report
from portarray._cli.bench.table import tables
from portarray._cli.bench.timing import Times, turns
from portarray._cli.group import portarray
from portarray._installation import pip_install


@pytest.fixture(autouse=True)
def small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "TURN", 0.0)
    monkeypatch.setattr(measure, "PAUSE", 0.0)
    monkeypatch.setattr(cases, "SIZES", (10, 100))
    monkeypatch.setattr(cases, "SIDES", (3, 5))
    monkeypatch.setattr(cases, "LONGEST_SORT", 50)
    monkeypatch.setattr(cases, "TOKENS", (1, 3))


def run(*arguments: object, columns: int = 300) -> Result:
    runner = CliRunner(env={"COLUMNS": str(columns)})
    command = ["bench", *map(str, arguments)]
    return runner.invoke(portarray, command, catch_exceptions=False)


@pytest.mark.parametrize("subject", ["kernels", "ops"])
def test_every_case_is_measured(subject: str) -> None:
    result = run(subject, "--device", "numpy", "--repeats", 2, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert (report["subject"], report["baseline"]) == (subject, "numpy:cpu:0")
    expected = [(case.name, case.size) for case in measure.SUBJECTS[subject][1]()]
    assert [(figure["name"], figure["size"]) for figure in report["figures"]] == expected
    for figure in report["figures"]:
        assert figure["problem"] == ""
        assert figure["seconds"] > 0
        assert figure["spread"] >= 0
        assert figure["ratio"] == 1
    names = {name for name, _ in expected}
    assert names <= set(pa.kernels.__all__ if subject == "kernels" else pa.__all__)
    assert {"kernels": "attention", "ops": "matmul"}[subject] in names


def test_every_device_runs_kernels(device: str) -> None:
    result = run("kernels", "--only", "norm", "--device", device, "--json", "--repeats", 1)
    figures = json.loads(result.stdout)["figures"]
    assert {figure["name"] for figure in figures} == {"rms_norm", "layer_norm"}
    assert [figure["problem"] for figure in figures if figure["problem"]] == []
    assert {figure["device"] for figure in figures} == {device}


def test_ratios_are_to_the_baseline(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fixed(actions: dict[str, Any], *_: Any, **options: Any) -> dict[str, Times]:
        return {name: Times([2.0, 1.0] if "numpy" in name else [4.0, 6.0]) for name in actions}

    monkeypatch.setattr(measure, "turns", fixed)
    for baseline, ratios in (("numpy", [1, 4]), ("fake:cuda:0", [0.25, 1])):
        options = ["--device", "numpy", "--device", "fake:cuda:0", "--baseline", baseline]
        report = json.loads(run("ops", "--only", "matmul", *options, "--json").stdout)
        figures = [[row[key] for row in report["figures"]] for key in ("ratio", "spread")]
        assert figures == [ratios * 2, [0.5, 0.25] * 2]


def test_units_and_colours() -> None:
    names: Any = [f"library{index}:gpu:0" for index in range(6)]
    seconds = (2.5, 0.0125, 0.000_003, 1.0, 0.001, 0.000_999)
    ratios = (0.5, 1.5, 1.0, 0.949, 1.051, None)
    figures = [
        Measurement("exp", 10, name, time, 0.1, ratio)
        for name, time, ratio in zip(names, seconds, ratios, strict=True)
    ]
    report = Report("ops", "elements", names[0], names, tuple(figures))
    for columns in (300, 60):
        *grids, _ = tables(report, columns)
        assert all(Console(width=400).measure(grid).maximum <= columns for grid in grids)
        cells = [
            str(cell) for grid in grids for column in grid.columns[2:] for cell in column.cells
        ]
        assert cells == [
            "2.5 s [green]0.50 ×[/]", "12.5 ms [yellow]1.50 ×[/]", "3 µs [dim]1.00 ×[/]",
            "1 s [green]0.95 ×[/]", "1 ms [yellow]1.05 ×[/]", "999 µs",
        ]  # fmt: skip


@pytest.mark.parametrize("columns", [300, 60])
def test_the_table_in_wide_and_narrow_terminals(fake: str, columns: int) -> None:
    options = ["--device", "fake:cuda:0", "--baseline", "numpy", "--only", "a"]
    result = run("ops", *options, "--repeats", "1", columns=columns)
    assert result.exit_code == 0
    printed = set(result.stdout.split())
    assert {"add", "matmul", "take", "numpy", "fake", "cuda:0", "1.00"} <= printed
    assert "exp" not in printed
    assert "times numpy:cpu:0; below 1 is faster" in " ".join(result.stdout.split())
    assert max(map(len, result.stdout.splitlines())) <= columns


def test_a_failing_device_is_reported_and_the_others_are_measured(
    fake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exp(x: pa.Array) -> pa.Array:
        if x.device.library == "fake":
            raise RuntimeError("the card fell off [the bus]")
        return pa.exp(x)

    monkeypatch.setitem(cases.UNARY, "exp", exp)
    options = ["ops", "--device", "numpy", "--device", "fake:cuda:0", "--only", "exp"]
    shown = run(*options, "--repeats", 1)
    assert shown.exit_code == 0
    assert "exp, 10, fake:cuda:0: RuntimeError: the card fell off [the bus]" in shown.stdout
    figures = json.loads(run(*options, "--repeats", 1, "--json").stdout)["figures"]
    assert [figure["seconds"] is None for figure in figures] == [False, True] * 2
    failing = run(*options, "--baseline", "fake:cuda:0", "--json", "--repeats", 1)
    assert all(figure["ratio"] is None for figure in json.loads(failing.stdout)["figures"])


def test_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'bench' is not installed")
    picture = tmp_path / "bench.svg"
    options = ["--device", "numpy", "--only", "softmax", "--repeats", 1]
    shown = run(*options, "--plot", picture)
    assert "log_softmax" in shown.stdout
    assert "<svg" in picture.read_text("utf-8")
    wrong = run(*options, "--plot", tmp_path / "bench.doc")
    assert wrong.exit_code == 1
    assert "unsupported format '.doc'; supported: ." in wrong.stderr
    missing = run(*options, "--plot", tmp_path / "nowhere" / "bench.svg")
    assert f"the folder {tmp_path / 'nowhere'} does not exist" in missing.stderr


def test_a_picture_shows_every_device_and_case(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'bench' is not installed")
    devices = tuple(pa.devices())
    figures = [
        Measurement(name, size, str(device), size * 1e-6, 0.0, 1.0)
        for name in ("one", "two", "three", "four")
        for size in (1, 10, 100)
        for device in devices[1:]  # the first failed
    ]
    file = tmp_path / "growth.svg"
    plot.draw(Report("ops", "elements", str(devices[0]), devices, tuple(figures)), file)
    again = tmp_path / "again.svg"
    plot.draw(Report("ops", "elements", str(devices[0]), devices, tuple(figures)), again)
    assert file.read_bytes() == again.read_bytes()
    drawn = file.read_text("utf-8")
    assert drawn.count('id="axes_') == 6  # two rows of three, the last two empty


def test_without_matplotlib_nothing_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(measure, "turns", None)
    result = run("--plot", tmp_path / "bench.svg")
    assert result.exit_code == 1
    assert pip_install("portarray[bench]") in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["kernel"], 2, "'kernel' is not one of 'kernels', 'ops'"),
        (["--device", "nmpy"], 1, "unknown device 'nmpy'"),
        (["--baseline", "nmpy"], 1, "unknown device 'nmpy'"),
        (["--repeats", "0"], 2, "0 is not in the range x>=1"),
        (["ops", "--only", "add up"], 2, "no case of ops contains 'add up'; cases: add, exp"),
    ],
)
def test_wrong_input(arguments: list[str], code: int, message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == code
    assert message in " ".join(result.stderr.split())


def test_turns_and_their_spread() -> None:
    calls: list[str] = []

    def action(name: str) -> Any:
        return lambda: calls.append(name)

    waits: list[int] = []
    actions = {"a": action("a"), "b": action("b")}
    results = turns(actions, 4, 0.0, before_turn=lambda: waits.append(len(calls)))
    assert [len(times.turns) for times in results.values()] == [4, 4]
    assert len(waits) == 8
    assert sorted(calls[-8:]) == ["a"] * 4 + ["b"] * 4
    assert sorted(calls[-8:-6]) == ["a", "b"]  # each once before the next turn
    times = Times([2.0, 1.0, 1.5])
    assert (times.shortest, times.spread) == (1.0, 0.5)
    limited = turns({"a": action("a")}, 9, 0.0, limit=0.0)
    assert len(limited["a"].turns) == 3


def test_times_are_per_call(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])

    def action() -> None:
        clock[0] += 2.0

    (times,) = turns({"a": action}, 3, 20.0).values()
    assert times.turns == [2.0] * 3
    assert clock[0] == 2.0 * (1 + 1 + 5 + 3 * 10)  # warm, tried once and five times, and timed


def test_a_call_ends_when_an_element_was_read() -> None:
    read: list[Any] = []

    class Lazy:
        ndim = 2

        def __getitem__(self, key: Any) -> float:
            read.append(key)
            return 1.0

    create: Any = Lazy
    cases.evaluated(create)()
    assert read == [(0, 0)]
