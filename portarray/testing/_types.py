"""Types of the fixtures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from portarray._devices.device import Device
from portarray.typing import Namespace

if TYPE_CHECKING:
    from portarray._array.array import Array

__all__ = ["DType", "Device", "NativeXp", "Xp"]

Xp: TypeAlias = "Namespace[Array]"
"""Type of the fixture ``xp``."""

NativeXp: TypeAlias = Namespace[Any]
"""Type of the fixture ``native_xp``."""

DType: TypeAlias = np.dtype[Any]
"""Type of the fixture ``dtype``."""
