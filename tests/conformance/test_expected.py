"""Expected failures are refused on reading without a reason and a link."""

from __future__ import annotations

from pathlib import Path

import pytest
from portarray_conformance.expected import ExpectedFailureError, find_row, read_expected, stale_rows

GOOD = """
[[expected]]
function = "linalg.svd"
aspect = "values"
target = "torch:*"
reason = "returns its factors swapped"
link = "https://example.org/issues/1"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "expected.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_row_is_read(tmp_path: Path) -> None:
    (row,) = read_expected(write(tmp_path, GOOD))
    assert row.suite == "ours"
    assert find_row([row], "ours", "linalg.svd", "values", "torch:cpu:0") is row
    assert find_row([row], "ours", "linalg.svd", "values", "numpy:cpu:0") is None
    assert find_row([row], "ours", "linalg.svd", "special", "torch:cpu:0") is None
    assert find_row([row], "official", "linalg.svd", "values", "torch:cpu:0") is None


def test_the_shipped_rows_are_good() -> None:
    assert isinstance(read_expected(), list)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('reason = "returns its factors swapped"', "", "reason"),
        ('reason = "returns its factors swapped"', 'reason = "  "', "reason"),
        ('link = "https://example.org/issues/1"', "", "link"),
        ("https://example.org/issues/1", "see the tracker", "http"),
        ("function", "func", "unknown key 'func'"),
        ("[[expected]]", "[[expect]]", "unknown table 'expect'"),
        ("[[expected]]", '[[expected]]\nsuite = "theirs"', "ours, official"),
        ("[[expected]]", "[[expected", "not valid TOML"),
        ('aspect = "values"', "aspect = 3", "aspect is 3"),
    ],
)
def test_a_bad_row_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(ExpectedFailureError, match=message) as caught:
        read_expected(path)
    assert str(path) in str(caught.value)


def test_a_repeated_row_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExpectedFailureError, match="row 2 repeats"):
        read_expected(write(tmp_path, GOOD + GOOD))


def test_rows_about_no_case_are_found(tmp_path: Path) -> None:
    rows = read_expected(write(tmp_path, GOOD))
    assert stale_rows(rows, "ours", [("linalg.svd", "values")]) == []
    assert stale_rows(rows, "ours", [("linalg.svd", "shape")]) == rows
    assert stale_rows(rows, "official", []) == []
