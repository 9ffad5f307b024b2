"""Expected failures, read from TOML; each row needs a reason and a link."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

__all__ = ["ExpectedFailure", "ExpectedFailureError", "find_row", "read_expected", "stale_rows"]

SUITES = ("ours", "official")


class ExpectedFailureError(ValueError):
    """A row of expected failures that cannot be accepted; the message names the row and the fix."""


@dataclass(frozen=True, slots=True)
class ExpectedFailure:
    """One failure that is known, explained and linked.

    Attributes
    ----------
    suite : str
        ``"ours"`` or ``"official"``.
    function : str
        The function's name as the report shows it, for example ``"linalg.svd"``.
    aspect : str
        The aspect of our case, or the id of the official test, compared literally: a pattern could
        match cases that pass and hide that a row is no longer needed.
    target : str
        Shell pattern over target labels, for example ``"torch:*"``.
    reason : str
        The fault.
    link : str
        Address of the passage of the standard or of the upstream defect.
    """

    suite: str
    function: str
    aspect: str
    target: str
    reason: str
    link: str

    def matches(self, suite: str, function: str, aspect: str, target: str) -> bool:
        """Return whether this row is about that case on the target with that label."""
        return (
            (suite, function, aspect) == (self.suite, self.function, self.aspect)
        ) and fnmatchcase(target, self.target)


KEYS = tuple(field.name for field in fields(ExpectedFailure))


def read_expected(path: Path | None = None) -> list[ExpectedFailure]:
    """Read and check rows of expected failures.

    Parameters
    ----------
    path : Path or None
        A TOML file with tables ``[[expected]]``; by default the rows shipped with this package.

    Returns
    -------
    list of ExpectedFailure
        One for each table, in the file's order.

    Raises
    ------
    ExpectedFailureError
        If the file is not TOML, or a row has an unknown or missing key, an empty reason, a link
        that is not an http(s) address, or repeats an earlier row.
    """
    if path is None:
        source = "expected.toml"
        text = files("portarray_conformance").joinpath("expected.toml").read_text("utf-8")
    else:
        source = str(path)
        text = path.read_text("utf-8")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ExpectedFailureError(f"{source} is not valid TOML: {error}") from error
    unknown = sorted(set(document) - {"expected"})
    if unknown:
        raise ExpectedFailureError(
            f"{source}: unknown table {unknown[0]!r}; rows are written as [[expected]]"
        )
    rows: list[ExpectedFailure] = []
    for position, entry in enumerate(document.get("expected", []), start=1):
        row = _row(entry, f"{source}, row {position}")
        if row in rows:
            raise ExpectedFailureError(f"{source}, row {position} repeats an earlier row: {row}")
        rows.append(row)
    return rows


def _row(entry: dict[str, object], where: str) -> ExpectedFailure:
    unknown = sorted(set(entry) - set(KEYS))
    if unknown:
        raise ExpectedFailureError(
            f"{where}: unknown key {unknown[0]!r}; the keys are {', '.join(KEYS)}"
        )
    values: dict[str, str] = {}
    for key in KEYS:
        value = entry.get(key, "ours" if key == "suite" else None)
        if not isinstance(value, str) or not value.strip():
            raise ExpectedFailureError(
                f"{where}: {key} is {value!r}; every row needs a text for {key}, so write one"
            )
        values[key] = value.strip()
    if values["suite"] not in SUITES:
        raise ExpectedFailureError(
            f"{where}: suite is {values['suite']!r}; write one of {', '.join(SUITES)}"
        )
    address = urlsplit(values["link"])
    if address.scheme not in ("http", "https") or not address.netloc:
        raise ExpectedFailureError(
            f"{where}: link is {values['link']!r}; give the http(s) address of the standard's "
            "passage or of the upstream defect"
        )
    return ExpectedFailure(**values)


def find_row(
    rows: Iterable[ExpectedFailure], suite: str, function: str, aspect: str, target: str
) -> ExpectedFailure | None:
    """Return the row about a case on a target, or None if a failure is not expected."""
    return next((row for row in rows if row.matches(suite, function, aspect, target)), None)


def stale_rows(
    rows: Iterable[ExpectedFailure], suite: str, all_cases: Iterable[tuple[str, str]]
) -> list[ExpectedFailure]:
    """Return the rows of a suite that do not name one of its cases (function, aspect)."""
    cases = set(all_cases)
    return [row for row in rows if row.suite == suite and (row.function, row.aspect) not in cases]
