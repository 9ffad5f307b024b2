"""``--json`` and ``--csv`` of every command that prints data, and progress bars."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pytest.importorskip("rich", reason="the extra 'cli' is not installed")

import click
from click.testing import CliRunner, Result

from portarray._cli import doctor
from portarray._cli.bench import cases, measure
from portarray._cli.group import portarray
from portarray._cli.output import forms, show
from portarray._movement import matrix, progress

REPORT = {
    "format": 1,
    "devices": {"numpy:cpu:0": "a processor"},
    "not_run": {"cupy": "no GPU"},
    "tests": {
        "tests/test_a.py::test_f": {
            "supports": ["mylib.f", "mylib.g"],
            "devices": {"numpy:cpu:0": {"passed": 2, "failed": 1}},
        }
    },
}
KERNELS = """
import functools, portarray as pa, portarray.kernel_language as kl

@pa.kernel
def double(y, x):
    y[kl.index()] = 2.0 * x[kl.index()]

def kernel_examples():
    return 3 * [functools.partial(double, pa.ones(4), pa.ones(4))]
"""

PRINTING = {
    "bench": ["ops", "--device", "numpy", "--only", "matmul", "--repeats", "1"],
    "cache": [],
    "conformance run": ["--module", "array_api_strict", "--functions", "sin", "--quick"],
    "device-report table": ["report.json"],
    "devices": [],
    "doctor": ["--fast"],
    "routes": ["numpy", "fake:cuda:0"],
    "support": ["-d", "numpy"],
    "verify": ["-d", "numpy", "-k", "relu", "-n", "1"],
}
"""Commands that print data, with arguments for which they print some."""
MORE = {
    "routes --measure": ["numpy", "--measure", "--megabytes", "1"],
    "support --short": [],
    "verify --kernels": ["kernels.py", "-d", "numpy"],
}
"""Commands with options that change the data."""
NOT_PRINTING = {
    "device-report badge": "writes a picture",
    "device-report merge": "writes a report, which is JSON",
    "prefer": "changes the preference and prints one line",
}
"""Commands that do not print data, with the reason."""


@pytest.fixture(autouse=True)
def prepared(fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.json").write_text(json.dumps(REPORT))
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "cache" / "programs").mkdir(parents=True)
    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HYPOTHESIS_STORAGE_DIRECTORY", str(tmp_path / "hypothesis"))
    for module, name, value in (
        *((measure, "TURN", 0.0), (measure, "PAUSE", 0.0), (matrix, "LEAST", 0.0)),
        *((cases, "SIDES", (3, 5)), (doctor, "SECONDS", 0.1), (doctor, "SIDE", 8)),
    ):
        monkeypatch.setattr(module, name, value)


def commands(group: click.Group = portarray, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the names of all commands of portarray's distributions, nested groups included."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        elif getattr(command, "callback", None).__module__.startswith("portarray"):
            yield " ".join((*path, name))


def run(command: str, *arguments: str) -> Result:
    result = CliRunner().invoke(portarray, [*command.split(), *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_every_command_is_listed_here() -> None:
    assert not set(PRINTING) & set(NOT_PRINTING)
    existing, listed = set(commands()), {*PRINTING, *NOT_PRINTING}
    assert existing - listed == set(), "add --json and --csv, or list why there is no data"
    assert listed - existing <= {"conformance run"}  # from a separate distribution


@pytest.mark.parametrize(("command", "arguments"), [*PRINTING.items(), *MORE.items()])
def test_every_command_prints_json_and_csv(command: str, arguments: list[str]) -> None:
    if command == "conformance run":
        pytest.importorskip("portarray_conformance")
        pytest.importorskip("array_api_strict")
    printed = run(command, *arguments, "--json")
    assert json.loads(printed.stdout)
    printed = run(command, *arguments, "--csv")
    head, *rows = csv.reader(io.StringIO(printed.stdout))
    assert len(set(head)) == len(head) > 1
    assert rows
    assert {len(row) for row in rows} == {len(head)}
    assert printed.stdout.count("\n") == 1 + len(rows)  # a row is a line


def test_csv_and_json_agree() -> None:
    def both(command: str) -> tuple[Any, list[dict[str, str]]]:
        arguments = PRINTING[command]
        rows = csv.DictReader(io.StringIO(run(command, *arguments, "--csv").stdout))
        return json.loads(run(command, *arguments, "--json").stdout), list(rows)

    report, rows = both("devices")
    devices = [
        (device["device"], device["name"])
        for lib in report["libraries"]
        for device in lib["devices"]
    ]
    assert [(r["device"], r["name"]) for r in rows if r["functional"] == "True"] == devices
    assert [r["device"] for r in rows if r["recommended"] == "True"] == [report["recommended"]]
    reasons = {name: why for lib in report["libraries"] for name, why in lib["reasons"].items()}
    refused = {row["device"]: row["reason"] for row in rows if row["functional"] == "False"}
    assert refused.keys() == reasons.keys()
    report, rows = both("doctor")
    assert {r["what"]: r["found"] for r in rows if r["about"] == "packages"} == report["packages"]
    report, rows = both("routes")
    assert [row["why"] for row in rows] == ["; ".join(route["why"]) for route in report["routes"]]
    report, rows = both("device-report table")
    assert report == REPORT
    (row,) = rows
    assert row["supports"] == "mylib.f; mylib.g"
    assert [row[name] for name in ("passed", "failed", "skipped")] == ["2", "1", "0"]


def test_a_row_is_one_line_and_columns_stay_without_rows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows: list[dict[str, Any]] = [
        {"a": "two\nlines", "b": {"x": 1, "y": None}, "c": "left out"},
        {"b": [1, 2]},
    ]
    show("csv", document=0, columns=("a", "b"), rows=rows, text=print)
    assert capsys.readouterr().out == "a,b\ntwo lines,x: 1; y: None\n,1; 2\n"
    show("csv", document=0, columns=("a", "b"), rows=[], text=print)
    assert capsys.readouterr().out == "a,b\n"


def test_the_options_are_the_same_everywhere() -> None:
    @click.command()
    @forms
    def bare(form: str | None) -> None:
        click.echo(repr(form))

    for options, form in (([], None), (["--json"], "json"), (["--csv"], "csv")):
        assert CliRunner().invoke(bare, options).output == f"{form!r}\n"


def test_rows_are_whole_where_colours_are_forced() -> None:
    runner = CliRunner(env={"FORCE_COLOR": "1", "COLUMNS": None})
    shown = runner.invoke(portarray, ["support"])
    assert "\x1b[" in shown.stdout
    assert "…" not in shown.stdout
    assert max(map(len, re.sub(r"\x1b\[[0-9;]*m", "", shown.stdout).splitlines())) > 80


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("command", "arguments", "label"),
    [
        ("bench", PRINTING["bench"], "measuring ops"),
        ("doctor", [], "measuring devices"),
        ("routes", PRINTING["routes"], "measuring routes"),
        ("verify", PRINTING["verify"], "verifying numpy:cpu:0"),
        ("verify --kernels", MORE["verify --kernels"], "verifying numpy:cpu:0"),
    ],
)
def test_long_work_shows_a_bar_in_a_terminal_alone(
    command: str, arguments: list[str], label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as some logs do
    assert run(command, *arguments, "--json").stderr == ""
    monkeypatch.setenv("TERM", "xterm")
    printed, drawn = io.StringIO(), Terminal()
    monkeypatch.setattr(sys, "stdout", printed)
    monkeypatch.setattr(sys, "stderr", drawn)
    portarray([*command.split(), *arguments, "--json"], standalone_mode=False)
    assert json.loads(printed.getvalue())
    assert label in drawn.getvalue()
    assert re.search(r"-:--:--|0:00:0", drawn.getvalue())  # the time left


def test_the_bar_of_the_conformance_suite_leaves_standard_output_alone(tmp_path: Path) -> None:
    pytest.importorskip("portarray_conformance")
    pytest.importorskip("array_api_strict")
    pty = pytest.importorskip("pty")
    code = "from portarray._cli import main; main()"
    arguments = ["conformance", "run", *PRINTING["conformance run"], "--csv"]
    command = [sys.executable, "-c", code, *arguments]
    ours, theirs = pty.openpty()
    drawn = b""
    with (tmp_path / "out.csv").open("w") as out:
        with subprocess.Popen(
            command, stdout=out, stderr=theirs, env={**os.environ, "TERM": "xterm"}
        ) as child:
            os.close(theirs)
            with contextlib.suppress(OSError):  # Linux's end of a terminal
                while piece := os.read(ours, 65536):
                    drawn += piece
        os.close(ours)
    assert child.returncode == 0
    assert b"module array_api_strict" in drawn
    assert b"remaining" in drawn
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert {row["function"] for row in rows} == {"sin"}
