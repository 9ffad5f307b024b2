"""What each program gives back, and the devices and dtypes that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import portarray as pa

__all__ = ["Bar", "Outcome", "common_dtype", "default_devices"]


@dataclass(frozen=True)
class Bar:
    """A task that has run: who ran it, its name, and from when to when in seconds."""

    worker: str
    name: str
    start: float
    stop: float


@dataclass(frozen=True)
class Outcome:
    """How far an answer is from another library's, where its blocks are, and what ran when."""

    reference: str
    difference: float
    allowed: float
    blocks: dict[tuple[int, ...], str]
    bars: list[Bar]
    notes: list[str] = field(default_factory=list)


def default_devices() -> list[str]:
    """Return the first devices of two libraries; one where there is no second."""
    by_library: dict[str, str] = {}
    for device in pa.devices():
        by_library.setdefault(device.library, str(device))
    return list(by_library.values())[:2]


def common_dtype(devices: Sequence[str]) -> Literal["float32", "float64"]:
    """Return float64 where all devices have it, else float32."""
    info = pa.__array_namespace_info__()
    every = all("float64" in info.dtypes(device=pa.device(name)) for name in devices)
    return "float64" if every else "float32"
