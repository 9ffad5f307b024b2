"""The public namespace ``pa``, for the modules that the package itself imports.

Gradient rules and NumPy's functions are written in portarray's own functions. ``portarray``
registers itself here when all its names are defined.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

pa: Any


def register(namespace: ModuleType) -> None:
    """Set the namespace; called once, before modules that use it are imported."""
    global pa
    pa = namespace
