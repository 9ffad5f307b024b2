"""All rows, each run on a device within the device's limits."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import limits
import numpy as np
import other_rows
import pytest
import scipy_rows
import scipy_signal_rows
import sklearn_rows
from side_by_side import Row, beside, lacking

import portarray as pa

ROWS: list[Row] = [*scipy_rows.ROWS, *scipy_signal_rows.ROWS, *sklearn_rows.ROWS, *other_rows.ROWS]
BY_NAME = {row.name: row for row in ROWS}


def is_immutable(device: str) -> bool:
    """Return whether a part of an array is a copy, so that nothing is written through it."""
    x = pa.zeros(2, device=device)
    x[:1][0] = 1
    return float(x[0]) == 0


def in_single(row: Row, device: str) -> bool:
    """Return whether a row computes in single precision on a device."""
    missing = lacking(device)
    return "float64" in missing or ("complex128" in missing and row.name in limits.COMPLEX)


def obstacle(row: Row, device: str) -> tuple[str, AbstractContextManager[object]]:
    """Return why a row cannot run on a device, and a context that expects its error."""
    if row.fails:
        return "no", pytest.raises(Exception)
    if "complex128" in lacking(device) and row.name in limits.COMPLEX128:
        return "needs complex128", pytest.raises(TypeError, match="complex128")
    if row.name in limits.READ_ONLY and is_immutable(device):
        return "writes into it", pytest.raises(ValueError, match="read-only")
    if row.name in limits.THROUGH_VIEWS and is_immutable(device):
        # In single precision what is lost is not to be seen.
        causes = pytest.raises(AssertionError, match="Not equal to tolerance")
        return "writes into it", nullcontext() if in_single(row, device) else causes
    return "", nullcontext()


def run(row: Row, device: str, fake: str) -> None:
    """Run a row on a device that is not the default one."""
    with pa.device(fake):
        beside(row, device, single=in_single(row, device))


def is_readable(device: str) -> bool:
    """Return whether NumPy can read the device's memory."""
    try:
        np.asarray(pa.zeros(1, device=device))
    except TypeError:
        return False
    return True
