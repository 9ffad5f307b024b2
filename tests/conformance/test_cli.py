"""The command: options, exit statuses, and output on terminals and in logs."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import strategies as st
from portarray_conformance import NotApplicable, Target, cli
from portarray_conformance.cases import Case, Draw
from portarray_conformance.official_suite import read_pin

Run = Callable[..., Result]


def passes(target: Target, draw: Draw) -> None:
    draw.draw(st.integers())


def fails(target: Target, draw: Draw) -> None:
    k = draw.draw(st.integers(0, 1000), label="k")
    assert k < 17, "too much"


def not_applicable(target: Target, draw: Draw) -> None:
    raise NotApplicable("no such dtype")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the command on three cases with known outcomes."""
    few = [
        Case("sin", "trigonometric", "values", passes),
        Case("cos", "trigonometric", "values", fails),
        Case("sort", "sorting", "dtypes", not_applicable),
    ]

    def few_cases(functions: list[str] | None = None) -> list[Case]:
        unknown = set(functions or ()) - {case.function for case in few}
        if unknown:
            raise ValueError(f"no case checks a function {unknown.pop()!r}; did you mean sin?")
        return [case for case in few if functions is None or case.function in functions]

    monkeypatch.setattr(cli, "all_cases", few_cases)
    monkeypatch.setenv("HYPOTHESIS_STORAGE_DIRECTORY", str(tmp_path / "hypothesis"))

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(cli.conformance, ["run", *arguments])

    return run


def test_a_failure_is_exit_status_1(command: Run) -> None:
    result = command("--module", "array_api_strict", "--examples", "60")
    assert result.exit_code == 1
    assert "FAILED cos (values) on module array_api_strict\n    k = 17\n" in result.output
    assert "too much" in result.output
    assert "module array_api_strict: FAILED (1 passed, 1 failed, 1 not run)" in result.output


def test_success_is_exit_status_0(command: Run) -> None:
    result = command("--module", "array_api_strict", "--functions", "sin, sort", "--quick")
    assert result.exit_code == 0, result.output
    assert "module array_api_strict: ok (1 passed, 1 not run)" in result.output


def test_targets_may_run_in_separate_processes(tmp_path: Path) -> None:
    options = ["--device", "numpy", "--module", "array_api_strict", "--functions", "sin,isin"]
    done = CliRunner().invoke(
        cli.conformance, ["run", *options, "--quick", "--processes", "2", "--report", str(tmp_path)]
    )
    assert done.exit_code == 1
    assert "FAILED isin (values) on module array_api_strict" in done.output
    assert "numpy:cpu:0: ok" in done.output
    report = json.loads((tmp_path / "conformance.json").read_text("utf-8"))
    assert [target["label"] for target in report["targets"]] == [
        "numpy:cpu:0",
        "module array_api_strict",
    ]


def test_processes_get_the_options(command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = []

    class Pool:
        """A pool that runs tasks at once in this process."""

        def __init__(self, processes: int, **_: object) -> None:
            assert processes == 2

        def __enter__(self) -> Pool:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def submit(self, function: Callable[..., Any], plan: Any, label: str) -> Future[Any]:
            sent.append((plan.seed, plan.examples, plan.quick, plan.functions))
            future: Future[Any] = Future()
            future.set_result(function(plan, label))
            return future

    monkeypatch.setattr(cli, "ProcessPoolExecutor", Pool)
    options = ("--functions", "sin", "--seed", "5", "--examples", "3", "--processes", "2")
    result = command("--module", "array_api_strict", "--module", "numpy", *options)
    assert result.exit_code == 0
    assert sent == [(5, 3, False, ["sin"])] * 2


def test_nothing_run_is_not_a_success(command: Run) -> None:
    result = command("--module", "array_api_strict", "--functions", "sort")
    assert result.exit_code == 1
    assert "NOTHING WAS RUN" in result.output


def test_output_to_a_log_is_plain(command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # processes of pytest-xdist have it
    result = command("--module", "array_api_strict")
    assert "\x1b" not in result.output
    assert "\r" not in result.output
    assert re.fullmatch(r"module array_api_strict: \d+ cases\n", result.stderr)
    assert re.search(r"trigonometric\W+1\W+1 ", result.output)


def test_the_report_as_json_and_csv(command: Run, tmp_path: Path) -> None:
    options = ("--module", "array_api_strict", "--report", str(tmp_path))
    document = command(*options, "--json")
    assert document.exit_code == 1
    assert document.stdout == (tmp_path / "conformance.json").read_text("utf-8")
    rows = list(csv.DictReader(command(*options, "--csv").stdout.splitlines()))
    expected = json.loads(document.stdout)["results"]
    names = ("function", "aspect", "status", "example")
    assert [[row[n] for n in names] for row in rows] == [
        [row[n] for n in names] for row in expected
    ]
    refused = command(*options, "--suite", "programs", "--only", "1", "--csv")
    assert refused.exit_code == 2
    assert "leave --csv out" in refused.output


def test_several_targets_make_one_report(command: Run, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "report"
    both = ("--module", "array_api_strict", "--module", "numpy", "--module", "numpy")
    result = command(*both, "--report", str(folder), "--seed", "3", "--examples", "40")
    assert result.exit_code == 1
    assert str(folder / "conformance.html") in result.output
    document = json.loads((folder / "conformance.json").read_text(encoding="utf-8"))
    assert [target["label"] for target in document["targets"]] == [
        "module array_api_strict",
        "module numpy",
    ]
    assert (document["seed"], document["examples"], len(document["results"])) == (3, 40, 6)
    assert (folder / "conformance.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--functions", "sinn"], "did you mean sin"),
        (["--functions", " , "], "names no function"),
        (["--module", "no_such_module"], "no_such_module"),
        (["--module", "json"], "not an Array API namespace"),
        (["--examples", "0"], "x>=1"),
        (["--seed", "-1"], "x>=0"),
        (["--suite", "theirs"], "official"),
        (["--suite-dir", "."], "add --suite official"),
        (["--default-device", "numpy"], "--suite official"),
        (["--no-such-option"], "No such option"),
    ],
)
def test_bad_options_are_exit_status_2(command: Run, arguments: list[str], message: str) -> None:
    module = [] if "--module" in arguments else ["--module", "array_api_strict"]
    result = command(*module, *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_a_report_folder_that_cannot_be_made_is_refused_before_the_run(
    command: Run, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    module = ("--module", "array_api_strict")
    result = command(*module, "--report", str(tmp_path / "file" / "report"))
    assert result.exit_code == 2
    assert "FAILED" not in result.output


def test_an_unknown_device_shows_portarrays_message(command: Run) -> None:
    pa = pytest.importorskip("portarray", reason="portarray is not installed")
    with pytest.raises(ValueError) as caught:
        pa.device("nunpy")
    result = command("--device", "nunpy")
    assert result.exit_code == 2
    assert " ".join(str(caught.value).split()) in " ".join(result.output.split())


def test_every_functional_device_is_tested_by_default(command: Run, tmp_path: Path) -> None:
    pa = pytest.importorskip("portarray", reason="portarray is not installed")
    result = command("--functions", "sin", "--quick", "--report", str(tmp_path))
    assert result.exit_code == 0
    for device in pa.devices():
        assert f"{device}: ok (1 passed)" in result.output
    document = json.loads((tmp_path / "conformance.json").read_text(encoding="utf-8"))
    reasons = {target["label"]: target["reason"] for target in document["targets"]}
    for library in pa.summary().as_dict()["libraries"]:
        for label, reason in library["reasons"].items():
            assert reasons[label] == reason
            assert label in result.output


def test_known_failures_of_a_library(command: Run, tmp_path: Path) -> None:
    rows = """
        [[expected]]
        function = "{}"
        aspect = "values"
        target = "module array_api_*"
        reason = "its cosine counts only to 16"
        link = "https://example.org/issues/16"
    """
    path = tmp_path / "expected.toml"
    options = ("--module", "array_api_strict", "--expected", str(path), "--examples", "60")
    path.write_text(rows.format("cos"), encoding="utf-8")
    result = command(*options)
    assert result.exit_code == 0, result.output
    assert "ok (1 passed, 1 expected, 1 not run)" in result.output
    path.write_text(rows.format("sin"), encoding="utf-8")
    result = command(*options)
    assert result.exit_code == 1
    assert "UNEXPECTED PASS sin (values)" in result.output
    path.write_text(rows.format("sine"), encoding="utf-8")
    result = command(*options)
    assert result.exit_code == 2
    assert "no case is called sine (values)" in result.output
    path.write_text(rows.format("cos").replace("reason", "why"), encoding="utf-8")
    result = command(*options)
    assert result.exit_code == 2
    assert "unknown key 'why'" in result.output


def test_an_official_suite_that_is_none_is_exit_status_2(command: Run, tmp_path: Path) -> None:
    module = ("--module", "array_api_strict", "--suite", "official")
    result = command(*module, "--suite-dir", str(tmp_path))
    assert result.exit_code == 2
    assert "git clone" in result.output
    assert read_pin().revision in result.output


def test_a_module_in_the_working_folder_is_found(
    command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "from array_api_strict import *\n"
    (tmp_path / "my_own_namespace.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    result = command("--module", "my_own_namespace", "--functions", "sin")
    assert result.exit_code == 0, result.output
    assert "module my_own_namespace: ok" in result.output


def test_runs_leave_no_files_in_the_working_folder(tmp_path: Path) -> None:
    code = "from portarray_conformance.cli import conformance; conformance()"
    options = ("--module", "array_api_strict", "--functions", "sin,add", "--quick")
    path = os.pathsep.join(entry for entry in sys.path if entry)
    subprocess.run(
        [sys.executable, "-c", code, "run", *options],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        check=True,
        capture_output=True,
    )
    assert {entry.name for entry in tmp_path.iterdir()} <= {"cache"}


def test_help_shows_an_example_and_the_exit_status() -> None:
    result = CliRunner().invoke(cli.conformance, ["run", "--help"])
    assert result.exit_code == 0
    assert "  portarray conformance run --quick\n" in result.output
    assert "Exit status:" in result.output
