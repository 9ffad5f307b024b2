"""The devices and sizes of blocks that the layers of a graph record, before they are optimized."""

from __future__ import annotations

import math
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

import portarray as pa
from portarray.dask.scopes import ANNOTATION

__all__ = ["Layers", "Size", "mark_layer"]


class Size(NamedTuple):
    """The shape of a value, and the bytes of one element."""

    shape: list[int]
    itemsize: int

    def nbytes(self) -> int:
        """Return the bytes of the value."""
        return int(math.prod(self.shape)) * self.itemsize


class Layers:
    """What the layers of a graph say about keys, before the layers are optimized."""

    def __init__(self, dsk: Any) -> None:
        self._layers: dict[Any, Any] = getattr(dsk, "layers", {})

    def _of(self, key: Any) -> Any:
        return self._layers.get(key[0] if isinstance(key, tuple) and key else key)

    def listed(self, key: Any) -> frozenset[str]:
        """Return the devices that the array of a key was made on; empty if unknown."""
        listed: frozenset[str] = getattr(self._of(key), "_portarray_listed", frozenset())
        return listed

    def device(self, key: Any) -> str | None:
        """Return the device that the block of a key was put on."""
        belongs: Any = getattr(self._of(key), "_portarray_belongs", None)
        return belongs.get(key[1:]) if belongs and isinstance(key, tuple) else None

    def made_on(self, key: Any) -> str | None:
        """Return the device of a block that is made without operands: that of the meta."""
        layer = self._of(key)
        kind = getattr(layer, "_portarray", "")
        has_devices = getattr(layer, "_portarray_belongs", None) is not None
        is_scoped = ANNOTATION in (getattr(layer, "annotations", None) or {})
        return None if has_devices or is_scoped or kind in ("", "other") else str(kind)

    def size(self, key: Any) -> Size | None:
        """Return the shape and the item size of a block; None if they are unknown."""
        about = getattr(self._of(key), "collection_annotations", None) or {}
        chunks, dtype = about.get("chunks"), about.get("dtype")
        if not isinstance(key, tuple) or chunks is None or dtype is None:
            return None
        position = key[1:]
        if len(position) != len(chunks):
            return None
        try:
            shape = [axis[i] for axis, i in zip(chunks, position, strict=True)]
        except (TypeError, IndexError):
            return None
        return None if any(map(math.isnan, shape)) else Size(shape, np.dtype(dtype).itemsize)

    def devices(self) -> frozenset[str]:
        """Return the devices of all layers."""
        return frozenset().union(
            *(getattr(layer, "_portarray_listed", ()) for layer in self._layers.values())
        )

    def rule(self) -> str:
        """Return the strictest rule about moves among the layers and the current setting."""
        rules = {getattr(layer, "_portarray_moves", "allow") for layer in self._layers.values()}
        rules.add(pa.config.block_moves)
        return next(rule for rule in ("error", "warn", "allow") if rule in rules)


_LAYERS: WeakValueDictionary[str, Any] = WeakValueDictionary()
"""Layers with known devices by the names of their collections, for what is persisted."""


def mark_layer(graph: Any, name: str) -> None:
    """Set the devices and the rule of the layer of a new collection."""
    layer = graph.layers[name]
    belongs: Any = getattr(layer, "_portarray_belongs", None)
    persisted = _LAYERS.get(name)
    if persisted is not None and belongs is None:
        belongs = getattr(persisted, "_portarray_belongs", None)
        layer._portarray_belongs, layer._portarray_listed = belongs, persisted._portarray_listed
    else:
        operands = [graph.layers.get(operand) for operand in graph.dependencies.get(name, ())]
        origins: set[frozenset[str]] = {
            getattr(operand, "_portarray_listed", frozenset()) for operand in operands
        }
        origins.discard(frozenset())
        layer._portarray_listed = origins.pop() if len(origins) == 1 else frozenset()
    if pa.config.block_moves != "allow":
        layer._portarray_moves = pa.config.block_moves
    _LAYERS[name] = layer
