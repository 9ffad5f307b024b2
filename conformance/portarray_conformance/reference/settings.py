"""Dtypes, default dtypes and the device that one reference models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from portarray_conformance.reference import kinds
from portarray_conformance.reference.kinds import DType

_DEFAULTS = {"i": "integral", "f": "real floating", "c": "complex floating"}


class Settings:
    """The dtypes and the device that a reference models."""

    def __init__(self, dtypes: Sequence[str], defaults: Mapping[str, str], device: Any) -> None:
        self.dtypes = {name: kinds.NAMED[name] for name in dtypes}
        self.default = {
            letter: kinds.NAMED[defaults[kind]]
            for letter, kind in _DEFAULTS.items()
            if kind in defaults
        }
        self.index = kinds.NAMED[defaults.get("indexing", defaults["integral"])]
        self.device = device
        self._available = frozenset(self.dtypes.values())

    def has(self, dtype: DType) -> bool:
        """Return whether the device has a dtype."""
        return dtype in self._available

    def available(self, dtype: DType) -> DType:
        """Return a dtype that the device has; an error for others."""
        if not self.has(dtype):
            raise kinds.DTypeNotSupportedError(f"the device does not support {dtype}")
        return dtype

    def dtype(self, dtype: Any) -> DType:
        """Return the dtype that a caller named."""
        return self.available(kinds.canonical(dtype))

    def default_of(self, kind: str) -> DType:
        """Return the default dtype of a kind."""
        default = self.default.get(kind)
        if default is None:
            raise kinds.DTypeNotSupportedError(f"the device has no dtype of kind {kind!r}")
        return default

    def check_device(self, device: Any) -> None:
        """Check a ``device=``."""
        if device is None or device == self.device:
            return
        if isinstance(device, str):
            raise kinds.UnknownDeviceError(f"{device!r} does not name a device")
        raise TypeError(f"device={device!r} is not a device")

    def with_scalar(self, dtype: DType, value: Any) -> DType:
        """Return the dtype that an array's dtype and a Python number promote to."""
        order = kinds.ORDER[kinds.letter(dtype)]
        if isinstance(value, bool):
            return dtype
        if isinstance(value, int):
            return dtype if order >= 1 else self.default_of("i")
        if isinstance(value, float):
            return dtype if order >= 2 else self.default_of("f")
        if order == 3:
            return dtype
        return self.default_of("c") if order < 2 else kinds.COMPLEX[dtype]
