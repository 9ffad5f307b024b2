"""What a kernel is compiled for, in addition to the types of its arguments."""

from __future__ import annotations

from dataclasses import dataclass

from portarray._kernel_language import types
from portarray._kernel_language.types import DType

MAX_AXES = 3
"""Axes that devices count; of more, places are computed from a linear one."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Properties of a device and an ndrange that programs depend on."""

    default: DType
    dtypes: frozenset[DType]
    ndim: int
    index_bits: int = types.INDEX_BITS
    atomics64: bool = True
    device: str = ""
