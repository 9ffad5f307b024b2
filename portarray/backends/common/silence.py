"""Calls of NumPy's functions without warnings of infinities and NaN."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import numpy as np

__all__ = ["silently"]

with np.errstate(all="ignore"):
    _silent = copy_context()


def silently(function: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
    """Call a function of NumPy as under ``errstate(all="ignore")``, which takes twice as long."""
    return _silent.copy().run(function, *args, **options)
