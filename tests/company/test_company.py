"""SciPy, scikit-learn, xarray and others run unchanged on portarray arrays, on every device.

Each row of the tables beside this file is one call of another library. It runs with a default
device that is not the arrays' own, as in a program that has several devices: bare where the library
keeps to the device of what it was given, under ``with x.device:`` where it does not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.metadata import version

import other_rows
import pytest
import scipy_rows
import scipy_signal_rows
import sklearn
import sklearn_rows
from side_by_side import ElsewhereError, Row, beside

import portarray as pa

ROWS: list[Row] = [*scipy_rows.ROWS, *scipy_signal_rows.ROWS, *sklearn_rows.ROWS, *other_rows.ROWS]
WORKING = [row for row in ROWS if not row.fails]


VERSIONS = {"scipy": "1.17", "scikit-learn": "1.9"}  # for which the flags of rows were found
AS_FOUND = pytest.mark.skipif(
    any(not version(name).startswith(found + ".") for name, found in VERSIONS.items()),
    reason=f"which rows need a scope or host memory is known for {VERSIONS}",
)


def _cases(rows: list[Row]) -> list[object]:
    """Return rows as test cases, those that cannot work as strict expected failures."""
    return [
        pytest.param(
            row,
            id=row.name,
            marks=[pytest.mark.xfail(strict=True, reason=row.fails)] if row.fails else [],
        )
        for row in rows
    ]


@pytest.fixture(autouse=True)
def dispatching() -> Iterator[None]:
    """Let scikit-learn compute in the arrays' own namespace, as its users ask it to."""
    assert os.environ["SCIPY_ARRAY_API"] == "1"
    with sklearn.config_context(array_api_dispatch=True):
        yield


def test_names_are_unique() -> None:
    names = [row.name for row in ROWS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("row", _cases(ROWS))
def test_runs_unchanged(row: Row, device: str, fake: str) -> None:
    with pa.device(fake), pa.device(device) if row.scoped else nullcontext():
        beside(row, device)


@AS_FOUND
@pytest.mark.parametrize("row", _cases([row for row in WORKING if row.scoped]))
def test_goes_astray_without_scope(row: Row, device: str, fake: str) -> None:
    """``scoped`` is no more than what a library needs: it holds where the library still does."""
    with pa.device(fake), pytest.raises((pa.errors.DeviceMismatchError, ElsewhereError, TypeError)):
        beside(row, device)


@AS_FOUND
@pytest.mark.parametrize("row", _cases(WORKING))
def test_needs_no_host_memory(row: Row, fake: str) -> None:
    """Where a library reads NumPy arrays, the error on other devices has the fix; nowhere else."""
    device = f"{fake}:cuda:0"
    outcome = (
        pytest.raises(TypeError, match=r"numpy\.asarray\(x\.to_device\('numpy'\)\)")
        if row.host
        else nullcontext()
    )
    with pa.device("numpy"), pa.device(device) if row.scoped else nullcontext(), outcome:
        beside(row, device)
