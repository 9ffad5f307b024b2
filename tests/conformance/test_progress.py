"""How far a run is: lines without a terminal, a bar on one."""

from __future__ import annotations

import io
import re
import time
from itertools import count

import pytest
from portarray_conformance.progress import BarWatch, PlainWatch, watch
from portarray_conformance.run import Result, Status
from rich.console import Console


def result(status: Status) -> Result:
    return Result("sum", "statistical", "values", "numpy", "", status, 0.0, 1)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_say_what_failed_and_how_far_the_run_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = count(0, 4)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    with watch(Console(file=io.StringIO())) as lines:
        assert isinstance(lines, PlainWatch)
        lines.begin("numpy", 12)
        for status in ("passed", "failed", "expected", "unexpected pass", "not run", "passed"):
            lines.start("sum values")
            lines.result(result(status))
    # The clock goes on by four seconds each time that it is asked.
    assert capsys.readouterr().out.splitlines() == [
        "numpy: 12 cases",
        "  FAILED sum (values)",
        "  3 of 12, 12 s elapsed, about 36 s remaining",
        "  UNEXPECTED PASS sum (values)",
        "  6 of 12, 24 s elapsed, about 24 s remaining",
    ]


def test_a_bar_counts_cases_and_failures() -> None:
    file = Terminal()
    with watch(Console(file=file, force_terminal=True, width=200)) as bar:
        assert isinstance(bar, BarWatch)
        for label in ("numpy", "torch"):
            bar.begin(label, 3)
            for status in ("passed", "failed", "failed"):
                bar.start("sum values")
                bar.result(result(status))
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", file.getvalue())
    last = [line for line in plain.splitlines() if "3/3" in line][-2:]
    assert [line.split()[0] for line in last] == ["numpy", "torch"]
    assert all(line.rstrip().endswith("2 failed") for line in last)


def test_other_consoles_get_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    # A terminal is pretended, and what is written goes to a file.
    assert isinstance(watch(Console(file=io.StringIO(), force_terminal=True)), PlainWatch)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(watch(Console(file=Terminal(), force_terminal=True)), PlainWatch)
