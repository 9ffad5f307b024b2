"""The report as data, with its JSON and CSV forms."""

from __future__ import annotations

import csv
import io
import json
import platform
from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field, fields
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, get_args

from portarray_conformance.names import VERSION
from portarray_conformance.run import Result, Status
from portarray_conformance.target import Target

__all__ = [
    "SCHEMA",
    "STATUSES",
    "Report",
    "TargetReport",
    "as_csv",
    "as_json",
    "versions",
    "write_json",
]

SCHEMA = 1
"""Number of the JSON layout; it changes when a field changes its meaning or goes away."""

STATUSES: tuple[str, ...] = get_args(Status)

KEYS = tuple("chapter" if key.name == "category" else key.name for key in fields(Result))
"""Keys of a result in JSON, and columns in CSV."""


@dataclass(frozen=True, slots=True)
class TargetReport:
    """All results of one target and the wall-clock time, or the reason why it was not run."""

    label: str
    results: list[Result] = field(default_factory=list)
    seconds: float = 0.0
    reason: str = ""

    def totals(self) -> dict[str, int]:
        """Return how many results have each status."""
        counts = Counter(result.status for result in self.results)
        return {status: counts[status] for status in STATUSES}  # type: ignore[index]


@dataclass(frozen=True, slots=True)
class Report:
    """One run over all its targets.

    ``versions`` lists Python, NumPy and every tested library; ``warnings`` are for the reader, such
    as an official suite that is not at its pin; ``created`` is in UTC, ISO 8601.
    """

    suite: str
    seed: int
    examples: int
    targets: list[TargetReport]
    versions: dict[str, str]
    warnings: list[str] = field(default_factory=list)
    standard: str = VERSION
    platform: str = field(default_factory=platform.platform)
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def bad(self) -> bool:
        """Whether any result fails the run."""
        return any(result.bad for target in self.targets for result in target.results)

    def document(self) -> dict[str, Any]:
        """Return the report in the layout of ``conformance.json``."""
        return {
            "schema": SCHEMA,
            "suite": self.suite,
            "standard": self.standard,
            "created": self.created,
            "platform": self.platform,
            "versions": self.versions,
            "seed": self.seed,
            "examples": self.examples,
            "warnings": self.warnings,
            "targets": [
                {
                    "label": target.label,
                    "seconds": round(target.seconds, 3),
                    "reason": target.reason,
                    "totals": target.totals(),
                }
                for target in self.targets
            ],
            "results": [
                dict(zip(KEYS, astuple(result), strict=True))
                | {"seconds": round(result.seconds, 4)}
                for target in self.targets
                for result in target.results
            ],
        }


def versions(targets: Iterable[Target]) -> dict[str, str]:
    """Return the versions of Python, this package, and the tested libraries."""
    numbers = {"python": platform.python_version()}
    for name in ("portarray-conformance", "hypothesis", "numpy"):
        numbers[name] = _distribution(name)
    for target in targets:
        namespace = target.xp.__name__
        numbers[namespace] = str(getattr(target.xp, "__version__", _distribution(namespace)))
        if target.library and target.library not in numbers:
            numbers[target.library] = _distribution(target.library)
    return numbers


def _distribution(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "(source tree)"


def as_json(report: Report) -> str:
    """Return the text of ``conformance.json``."""
    return json.dumps(report.document(), indent=1, ensure_ascii=False) + "\n"


def write_json(report: Report, path: Path) -> None:
    """Write ``conformance.json``."""
    path.write_text(as_json(report), encoding="utf-8")


def as_csv(report: Report) -> str:
    """Return the results with commas, each on one line, below the names of their fields."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(KEYS)
    for row in report.document()["results"]:
        writer.writerow([" ".join(str(row[name]).splitlines()) for name in KEYS])
    return text.getvalue()
