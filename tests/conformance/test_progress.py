"""Progress of a run: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import re

import pytest
from portarray_conformance.progress import BarWatch, PlainWatch, watch
from portarray_conformance.run import Result, Status
from rich.console import Console


def result(status: Status) -> Result:
    return Result("sum", "statistical", "values", "numpy", "", status, 0.0, 1)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_counts_cases_and_failures() -> None:
    file = Terminal()
    with watch(Console(file=file, force_terminal=True, width=200)) as bar:
        assert isinstance(bar, BarWatch)
        for label in ("numpy", "torch"):
            bar.start_target(label, 3)
            for status in ("passed", "failed", "failed"):
                bar.start("sum values")
                bar.result(result(status))
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", file.getvalue())
    last = [line for line in plain.splitlines() if "3/3" in line][-2:]
    assert [line.split()[0] for line in last] == ["numpy", "torch"]
    assert all(line.rstrip().endswith("2 failed") for line in last)


def test_a_bar_counts_targets_of_several_processes() -> None:
    file = Terminal()
    with watch(Console(file=file, force_terminal=True, width=200)) as bar:
        bar.start_target("targets", 2)
        bar.advance(3)
        bar.advance(1)
    assert re.search(r"targets .* 2/2 .* 4 failed", re.sub(r"\x1b\[[0-9;?]*m", "", file.getvalue()))


def test_other_consoles_get_a_line_for_each_target(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # A terminal is pretended, and what is written goes to a file.
    log = io.StringIO()
    with watch(Console(file=log, force_terminal=True)) as plain:
        assert isinstance(plain, PlainWatch)
        plain.start_target("numpy", 1)
        plain.start("sum values")
        plain.result(result("failed"))
    assert log.getvalue() == ""
    assert tuple(capsys.readouterr()) == ("", "numpy: 1 cases\n")
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(watch(Console(file=Terminal(), force_terminal=True)), PlainWatch)
