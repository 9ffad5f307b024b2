"""Test your own code: fixtures, marks, assertions, checks and virtual devices.

The pytest plugin needs no import. ``pip install "portarray[testing]"`` installs its dependencies.
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from typing import Any, TypeAlias

    import numpy as np

    from portarray import Array
    from portarray._devices.device import Device as Device
    from portarray.testing._assertions import (
        assert_close,
        assert_close_nulp,
        assert_equal,
        assert_less,
    )
    from portarray.testing._checking import (
        CheckError,
        CheckReport,
        CheckRow,
        check_function,
    )
    from portarray.testing._choice import yield_namespace_device_dtype_combinations
    from portarray.testing.virtual.blocks import virtual_devices
    from portarray.testing.virtual.traits import Traits, presets
    from portarray.testing.virtual.transfers import HostTransfer, HostTransferError, host_transfers
    from portarray.typing import Namespace

    Xp: TypeAlias = Namespace[Array]
    """Type of the fixture ``xp``."""
    NativeXp: TypeAlias = Namespace[Any]
    """Type of the fixture ``native_xp``."""
    DType: TypeAlias = np.dtype[Any]
    """Type of the fixture ``dtype``."""


_HOMES = {
    "_assertions": ("assert_close", "assert_close_nulp", "assert_equal", "assert_less"),
    "_checking": ("CheckError", "CheckReport", "CheckRow", "check_function"),
    "_choice": ("yield_namespace_device_dtype_combinations",),
    "_types": ("DType", "Device", "NativeXp", "Xp"),
    "virtual.blocks": ("virtual_devices",),
    "virtual.traits": ("Traits", "presets"),
    "virtual.transfers": ("HostTransfer", "HostTransferError", "host_transfers"),
}
"""Names by module, imported on first access."""

if not _typing.TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name):
        """Import a name's module on first access."""
        for module, names in _HOMES.items():
            if name in names:
                loaded = _importlib.import_module(f"portarray.testing.{module}")
                return globals().setdefault(name, getattr(loaded, name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "CheckError",
    "CheckReport",
    "CheckRow",
    "DType",
    "Device",
    "HostTransfer",
    "HostTransferError",
    "NativeXp",
    "Traits",
    "Xp",
    "assert_close",
    "assert_close_nulp",
    "assert_equal",
    "assert_less",
    "check_function",
    "host_transfers",
    "presets",
    "virtual_devices",
    "yield_namespace_device_dtype_combinations",
]
