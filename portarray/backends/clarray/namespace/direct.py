"""What clarray itself does for arrays of one dtype, without what the namespace looks at first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portarray.clarray.indexing import getitem

__all__ = ["direct"]


def direct(name: str, dtype: np.dtype[Any]) -> Callable[..., Any] | None:
    """Return clarray's own function for arrays of a dtype, None where the namespace has it."""
    return getitem if name == "getitem" else None
