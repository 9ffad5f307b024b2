"""Bad kernels and calls are refused, each by an error of its own at the user's line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import refused
from kernel_helpers import module_of, require_launcher
from refused import Elsewhere, Made, Raw, Refused

import portarray as pa

pytest.importorskip("portarray.kernel_language")

DEVICE = "numpy"


def rows(*tables: str) -> list[Any]:
    """Return the rows of tables as parameters."""
    return [pytest.param(row, id=row.name) for table in tables for row in getattr(refused, table)]


def argument(value: Any) -> Any:
    """Return an argument as a row means it."""
    if isinstance(value, Raw):
        return value.value
    if isinstance(value, Elsewhere):
        other = next((d for d in pa.devices() if d != pa.device(DEVICE)), None)
        if other is None:
            pytest.skip("there is one device only")
        return pa.asarray(value.value, device=other)
    return pa.asarray(value, device=DEVICE) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("row", rows("BODIES", "MODULES", "CALLS"))
def test_refused(row: Refused, tmp_path: Path) -> None:
    require_launcher(DEVICE)
    if row.lacks:
        pytest.skip(f"{DEVICE} has {row.lacks}")
    arguments = [argument(value) for value in row.make()]
    with pytest.raises(row.error) as raised:
        module_of(row.text, tmp_path / "bad_kernel.py").bad(*arguments, **row.options)
    # The text of a SyntaxError has the file's name as well.
    said = getattr(raised.value, "msg", str(raised.value))
    assert re.search(row.says, said, re.IGNORECASE | re.DOTALL), said
    if isinstance(raised.value, SyntaxError) and row.lines:
        assert raised.value.filename == str(tmp_path / "bad_kernel.py")
        assert raised.value.lineno == row.lines[0]
    if isinstance(raised.value, pa.KernelSyntaxError) and row.lines:
        # What follows from a mistake is not told.
        assert [problem.line for problem in raised.value.problems] == list(row.lines)


@pytest.mark.parametrize("row", rows("MAKING"))
def test_not_made(row: Made) -> None:
    with pytest.raises(row.error) as raised:
        (pa.kernel(**row.options) if row.options else pa.kernel)(row.what())
    assert re.search(row.says, str(raised.value), re.IGNORECASE | re.DOTALL), raised.value
