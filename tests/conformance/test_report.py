"""The report: complete JSON, and HTML that escapes quoted texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from portarray_conformance import Target
from portarray_conformance.report import (
    Report,
    TargetReport,
    failure_texts,
    summary_table,
    write_html,
    write_json,
)
from portarray_conformance.report.json_ import STATUSES, versions
from portarray_conformance.run import Result
from rich.console import Console

NASTY = "</script><script>alert('x')</script> <!-- & \u2028 ü \U0001f600"


@pytest.fixture
def report(make_result: Callable[..., Result]) -> Report:
    failed = make_result("failed", function="cos", example=f"x = {NASTY}", message="3 ulp off")
    torch = [make_result(target="torch:cpu:0"), make_result("not run", function="cos")]
    return Report(
        suite="ours",
        seed=7,
        examples=50,
        targets=[
            TargetReport("numpy:cpu:0", [make_result(), failed], 1.5),
            TargetReport("torch:cpu:0", torch, 2.5),
            TargetReport("mlx:metal:0", reason="mlx is not installed"),
        ],
        versions={"python": "3.11"},
        warnings=["not at its pin"],
    )


def test_json_describes_the_run(report: Report, tmp_path: Path) -> None:
    write_json(report, tmp_path / "conformance.json")
    document = json.loads((tmp_path / "conformance.json").read_text(encoding="utf-8"))
    assert document["schema"] == 1
    assert (document["suite"], document["standard"]) == ("ours", "2025.12")
    assert (document["seed"], document["examples"]) == (7, 50)
    assert document["warnings"] == ["not at its pin"]
    assert document["platform"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", document["created"])
    assert [target["label"] for target in document["targets"]] == [
        "numpy:cpu:0",
        "torch:cpu:0",
        "mlx:metal:0",
    ]
    assert document["targets"][0]["totals"] == dict.fromkeys(STATUSES, 0) | {
        "passed": 1,
        "failed": 1,
    }
    assert document["targets"][2]["reason"] == "mlx is not installed"
    assert document["results"][1]["example"] == f"x = {NASTY}"
    assert set(document["results"][0]) == {
        *("function", "chapter", "aspect", "target", "served", "status", "seconds"),
        *("examples", "example", "message", "reason", "link"),
    }


def test_versions_name_everything_tested(strict: Target) -> None:
    names = versions([strict])
    assert names["numpy"] == np.__version__
    assert {"python", "hypothesis", "portarray-conformance", "array_api_strict"} <= set(names)


def test_a_page_escapes_quoted_texts(report: Report, tmp_path: Path) -> None:
    write_html(report, tmp_path / "conformance.html")
    text = (tmp_path / "conformance.html").read_text(encoding="utf-8")
    assert text.count("</script>") == 2
    data = re.search(r'<script type="application/json" id="report">(.*?)</script>', text, re.S)
    assert data is not None
    assert json.loads(data[1])["results"][1]["example"] == f"x = {NASTY}"


def test_a_page_needs_nothing_from_elsewhere(report: Report, tmp_path: Path) -> None:
    write_html(report, tmp_path / "conformance.html")
    text = (tmp_path / "conformance.html").read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)\s*=\s*["']|@import|url\(|fetch\(|https?://""", text)
    assert "default-src 'none'" in text


def test_the_table_counts_by_category(report: Report) -> None:
    console = Console(width=100, color_system=None)
    with console.capture() as capture:
        console.print(summary_table(report.targets[1]))
    text = capture.get()
    assert "torch:cpu:0" in text
    row = next(line for line in text.splitlines() if "trigonometric" in line)
    assert re.findall(r"[\d.]+|-", row) == ["1", "-", "-", "-", "1", "0.5"]
    total = next(line for line in text.splitlines() if "total" in line)
    assert "2.5" in total
    assert "\x1b" not in text


def test_failures_are_shown_with_their_inputs(report: Report) -> None:
    (text,) = failure_texts(report)
    assert text.startswith("FAILED cos (values) on numpy:cpu:0\n    x = ")
    assert text.endswith("\n  3 ulp off")
    assert report.bad
