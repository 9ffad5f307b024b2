"""What the tests of ``pa.save`` and ``pa.load`` share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portarray as pa

FILES = Path(__file__).parent
SHARING = {"numpy", "torch", "clarray"}
"""Libraries whose arrays may lie in memory that NumPy has."""
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def values_of(x: pa.Array) -> np.ndarray[Any, Any]:
    """Return an array's values in host memory, including bfloat16."""
    return x.device._backend.to_host(x.native, copy=None)
