"""The device report: which test ran on which device, as JSON, over several machines.

::

    {"format": 1,
     "devices": {"numpy:cpu:0": "name"},
     "not_run": {"cupy": "reason"},
     "tests": {"tests/test_a.py::test_f": {
         "supports": ["mylib.f"],
         "devices": {"numpy:cpu:0": {"passed": 2}}}}}
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from portarray.testing._choice import Chosen

__all__ = ["OUTCOMES", "Recorder", "badge", "merge", "read", "table", "write"]

FORMAT = 1
OUTCOMES = ("passed", "failed", "xfailed", "skipped")

Report: TypeAlias = dict[str, Any]


class Recorder:
    """A recorder of the outcomes of a run."""

    def __init__(self, path: str) -> None:
        self._path = Path(path).absolute()  # tests may change the working directory
        self._devices: dict[str, str] = {}
        self._tests: Report = {}

    def add(self, report: Any) -> None:
        """Add pytest's report of one phase of a test."""
        outcome = self._outcome(report)
        properties = dict(report.user_properties)
        device = properties.get("device")
        if outcome is None or device is None:
            return
        self._devices[device] = properties["device_name"]
        name = report.nodeid.partition("[")[0]
        test = self._tests.setdefault(name, {"supports": [], "devices": {}})
        test["supports"] = properties.get("supports", [])
        counts = test["devices"].setdefault(device, {})
        counts[outcome] = counts.get(outcome, 0) + 1

    @staticmethod
    def _outcome(report: Any) -> str | None:
        """Return the outcome of a test, None for phases that do not determine it."""
        if report.when == "call" or (report.when == "setup" and not report.passed):
            expected = hasattr(report, "wasxfail")
            return "xfailed" if expected and report.skipped else str(report.outcome)
        return "failed" if report.failed else None

    def write(self, chosen: Chosen) -> None:
        """Write the report file."""
        write(
            self._path,
            {
                "format": FORMAT,
                "devices": self._devices,
                "not_run": dict(chosen.not_run),
                "tests": self._tests,
            },
        )


def write(path: Path, report: Report) -> None:
    """Write a report."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n", "utf-8")


def read(path: str | Path) -> Report:
    """Read a report.

    Raises
    ------
    ValueError
        If the file is not a device report.
    """
    text = Path(path).read_text("utf-8")
    try:
        report: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not a device report: {error}") from error
    if not isinstance(report, dict) or report.get("format") != FORMAT or "tests" not in report:
        raise ValueError(
            f"{path} is not a device report of format {FORMAT}\n"
            f"Hint: write one with pytest --device-report"
        )
    valid: Report = report
    return valid


def merge(reports: Iterable[Report]) -> Report:
    """Merge the reports of several machines or runs, adding the counts of each device.

    ``not_run`` excludes libraries that ran anywhere.
    """
    merged: Report = {"format": FORMAT, "devices": {}, "not_run": {}, "tests": {}}
    for report in reports:
        merged["devices"] |= report["devices"]
        merged["not_run"] |= report["not_run"]
        for name, test in report["tests"].items():
            into = merged["tests"].setdefault(name, {"supports": [], "devices": {}})
            into["supports"] = list(dict.fromkeys([*into["supports"], *test["supports"]]))
            for device, counts in test["devices"].items():
                merged_counts = into["devices"].setdefault(device, {})
                for outcome, count in counts.items():
                    merged_counts[outcome] = merged_counts.get(outcome, 0) + count
    ran = {device.partition(":")[0] for device in merged["devices"]}
    merged["not_run"] = {k: why for k, why in merged["not_run"].items() if k not in ran}
    return merged


def table(report: Report) -> tuple[list[str], list[list[str]]]:
    """Return the head and the lines of a table of functions and devices.

    A line is a function named by the mark ``supports``, or a test's name without ``test_``.
    """
    devices = sorted(report["devices"], key=_order)
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for name, test in report["tests"].items():
        for line in test["supports"] or [name.rpartition("::")[2].removeprefix("test_")]:
            cells = counts.setdefault(line, {})
            for device, outcomes in test["devices"].items():
                cell = cells.setdefault(device, {})
                for outcome, count in outcomes.items():
                    cell[outcome] = cell.get(outcome, 0) + count
    head = ["", *(device.removesuffix(":0") for device in devices)]
    lines = [[line, *(_cell(cells.get(d, {})) for d in devices)] for line, cells in counts.items()]
    return head, sorted(lines)


def _cell(counts: dict[str, int]) -> str:
    """Return a cell: ✓ if all tests passed, ✗ if any failed, expected or not."""
    wrong = counts.get("failed", 0) + counts.get("xfailed", 0)
    right = counts.get("passed", 0)
    if wrong:
        return f"✗ ({right} of {right + wrong})" if right else "✗"
    return "✓" if right else "–"


def _order(device: str) -> tuple[bool, str]:
    return _is_virtual(device), device


def _is_virtual(device: str) -> bool:
    return device.startswith("virtual:")


def _share(passed: list[bool]) -> str:
    return str(len(passed)) if all(passed) else f"{sum(passed)} of {len(passed)}"


def markdown(report: Report, *, not_run: bool = False) -> str:
    """Return the table in Markdown, optionally with the libraries that did not run."""
    head, lines = table(report)
    rows = [head, ["---"] + [":-:"] * (len(head) - 1), *lines]
    text = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    if not_run and report["not_run"]:
        text += "\nNot run:\n\n"
        text += "".join(f"- {name}: {why}\n" for name, why in sorted(report["not_run"].items()))
    return text


_BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" \
aria-label="{label}: {text}">
<title>{label}: {text}</title>
<rect width="{left}" height="20" fill="#555"/>
<rect x="{left}" width="{right}" height="20" fill="{colour}"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{middle_left}" y="14">{label}</text>
<text x="{middle_right}" y="14">{text}</text>
</g>
</svg>
"""


def badge(report: Report) -> str:
    """Return an SVG badge with the number of devices on which every test passed.

    Virtual devices, which are NumPy, are counted separately.
    """
    passed = dict.fromkeys(report["devices"], True)
    for test in report["tests"].values():
        for device, counts in test["devices"].items():
            passed[device] &= not counts.get("failed") and not counts.get("xfailed")
    right, all_of = sum(passed.values()), len(passed)
    virtual = [good for device, good in passed.items() if _is_virtual(device)]
    real = [good for device, good in passed.items() if not _is_virtual(device)]
    parts = [
        *([_share(real)] if real else []),
        *([f"{_share(virtual)} virtual"] if virtual else []),
    ]
    text = " + ".join(parts) or "0"
    label, left, width = "devices", 54, 54 + 14 + 7 * len(text)
    colour = "#2e7d32" if all_of and right == all_of else "#b26a00" if right else "#b3261e"
    return _BADGE.format(
        label=label,
        text=text,
        left=left,
        right=width - left,
        width=width,
        colour=colour,
        middle_left=left / 2,
        middle_right=(left + width) / 2,
    )
