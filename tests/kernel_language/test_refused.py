"""Bad kernels and calls are refused, each by its own error at the user's line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_helpers import module_of, require_launcher
from refused.bodies import BODIES
from refused.calls import CALLS
from refused.definitions import DEFINITIONS, Definition
from refused.modules import MODULES
from refused.rows import Elsewhere, Raw, Refused

import portarray as pa

pytest.importorskip("portarray.kernel_language")

DEVICE = "numpy"


def named(row: Refused | Definition) -> str:
    return row.name


def argument(value: Any) -> Any:
    """Return an argument as a row means it."""
    if isinstance(value, Raw):
        return value.value
    if isinstance(value, Elsewhere):
        second = next((d for d in pa.devices() if d != pa.device(DEVICE)), None)
        if second is None:
            pytest.skip("there is one device only")
        return pa.asarray(value.value, device=second)
    return pa.asarray(value, device=DEVICE) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("row", [*BODIES, *MODULES, *CALLS], ids=named)
def test_refused(row: Refused, tmp_path: Path) -> None:
    require_launcher(DEVICE)
    if row.lacks:
        pytest.skip(f"{DEVICE} has {row.lacks}")
    arguments = [argument(value) for value in row.make()]
    with pytest.raises(row.error) as raised:
        module_of(row.text, tmp_path / "bad_kernel.py").bad(*arguments, **row.options)
    # The text of a SyntaxError has the file's name as well.
    message = getattr(raised.value, "msg", str(raised.value))
    assert re.search(row.says, message, re.IGNORECASE | re.DOTALL), message
    if isinstance(raised.value, SyntaxError) and row.lines:
        assert raised.value.filename == str(tmp_path / "bad_kernel.py")
        assert raised.value.lineno == row.lines[0]
    if isinstance(raised.value, pa.KernelSyntaxError) and row.lines:
        # Consequences of a mistake are not reported.
        assert [problem.line for problem in raised.value.problems] == list(row.lines)


@pytest.mark.parametrize("row", DEFINITIONS, ids=named)
def test_refused_definitions(row: Definition) -> None:
    with pytest.raises(row.error) as raised:
        (pa.kernel(**row.options) if row.options else pa.kernel)(row.make())
    assert re.search(row.says, str(raised.value), re.IGNORECASE | re.DOTALL), raised.value
