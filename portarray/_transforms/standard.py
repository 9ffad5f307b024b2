"""portarray's own namespace, in which the rules of gradients are written."""

from __future__ import annotations

from typing import Any

from portarray._array import base

pa: Any = base.NAMESPACE[0]
"""The module ``portarray``, which imports this package."""
