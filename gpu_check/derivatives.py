"""Gradients on one device, beside NumPy's: every case of the tests."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from part import BEGAN, Writer, arguments

import portarray as pa

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "transforms"))

from gradient_cases import (  # type: ignore[import-not-found]
    CASES,
    Case,
    placed,
    weighted,
)

BOUND = 3e-3
"""Largest error beside the largest element: single precision, as many devices have no other."""


def gradient(case: Case, device: str) -> np.ndarray[Any, Any]:
    """Return the gradient of a case's weighted sum."""
    found = pa.grad(lambda x: weighted(case, x))(placed(case.x, device))
    return np.asarray(pa.to_device(found, "numpy"))


def checked(case: Case, device: str) -> tuple[str, str]:
    """Return how a case ended, and what was wrong."""
    try:
        got = gradient(case, device)
    except pa.DTypeNotSupportedError as error:
        return "not run", str(error)
    except Exception as error:  # noqa: BLE001 - whatever is wrong is told
        return "failed", f"{type(error).__name__}: {error}"
    want = gradient(case, "numpy")
    off = float(np.max(np.abs(got - want), initial=0) / (1 + np.max(np.abs(want), initial=0)))
    return ("passed", "") if off <= BOUND else ("failed", f"differs from NumPy's by {off:.2g}")


if __name__ == "__main__":
    given = arguments(__doc__, lambda parser: parser.add_argument("device"))
    with Writer(given.out) as out:
        for case in CASES:
            if time.monotonic() > BEGAN + given.seconds:
                break
            status, message = checked(case, given.device)
            out({"case": case.name, "status": status, "examples": 1, "message": message})
