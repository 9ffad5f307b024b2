"""The devices and sizes of blocks that the layers of a graph record, before they are optimized."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

import portarray as pa
from portarray.dask.scopes import ANNOTATION

__all__ = ["LayerRecord", "Layers", "Size", "mark_layer"]


class Size(NamedTuple):
    """The shape of a value, and the bytes of one element."""

    shape: list[int]
    itemsize: int

    def nbytes(self) -> int:
        """Return the bytes of the value."""
        return int(math.prod(self.shape)) * self.itemsize


class LayerRecord(NamedTuple):
    """What a layer records about its keys; see :class:`Layers`."""

    listed: frozenset[str] = frozenset()
    belongs: Mapping[tuple[int, ...], str | None] | None = None
    made_on: str | None = None
    chunks: tuple[tuple[int, ...], ...] | None = None
    itemsize: int = 0
    has_unknown_chunks: bool = False

    @classmethod
    def of(cls, layer: Any) -> LayerRecord:
        """Return the record of a layer."""
        kind = getattr(layer, "_portarray", "")
        belongs = getattr(layer, "_portarray_belongs", None)
        is_scoped = ANNOTATION in (layer.annotations or {})
        made_on = None if belongs is not None or is_scoped or kind in ("", "other") else str(kind)
        about = layer.collection_annotations or {}
        chunks, dtype = about.get("chunks"), about.get("dtype")
        return cls(
            getattr(layer, "_portarray_listed", frozenset()),
            belongs,
            made_on,
            chunks if dtype is not None else None,
            np.dtype(dtype).itemsize if dtype is not None else 0,
            any(math.isnan(size) for axis in chunks or () for size in axis),
        )

    def device(self, key: Any) -> str | None:
        """Return the device that a block was put on."""
        return self.belongs.get(key[1:]) if self.belongs and type(key) is tuple else None

    def size(self, key: Any) -> Size | None:
        """Return the shape and the item size of a block; None if they are unknown."""
        if self.chunks is None or type(key) is not tuple or len(key) - 1 != len(self.chunks):
            return None
        try:
            shape = [axis[i] for axis, i in zip(self.chunks, key[1:], strict=True)]
        except (TypeError, IndexError):
            return None
        is_unknown = self.has_unknown_chunks and any(map(math.isnan, shape))
        return None if is_unknown else Size(shape, self.itemsize)


_NO_RECORD = LayerRecord()


class Layers:
    """What the layers of a graph say about keys, before the layers are optimized."""

    def __init__(self, dsk: Any) -> None:
        self._layers: dict[Any, Any] = getattr(dsk, "layers", {})
        self._records: dict[Any, LayerRecord] = {}

    def record(self, key: Any) -> LayerRecord:
        """Return the record of the layer of a key."""
        name = key[0] if type(key) is tuple and key else key
        record = self._records.get(name)
        if record is None:
            layer = self._layers.get(name)
            if layer is None:
                return _NO_RECORD
            record = self._records[name] = LayerRecord.of(layer)
        return record

    def listed(self, key: Any) -> frozenset[str]:
        """Return the devices that the array of a key was made on; empty if unknown."""
        return self.record(key).listed

    def device(self, key: Any) -> str | None:
        """Return the device that the block of a key was put on."""
        return self.record(key).device(key)

    def made_on(self, key: Any) -> str | None:
        """Return the device of a block that is made without operands: that of the meta."""
        return self.record(key).made_on

    def size(self, key: Any) -> Size | None:
        """Return the shape and the item size of a block; None if they are unknown."""
        return self.record(key).size(key)

    def devices(self) -> frozenset[str]:
        """Return the devices of all layers."""
        return frozenset().union(
            *(getattr(layer, "_portarray_listed", ()) for layer in self._layers.values())
        )

    def listed_with(self, device: str) -> frozenset[str]:
        """Return the only list of devices that has a device; empty if several lists have it.

        Dask puts the graph of an index into the layer of an assignment, without its layers.
        """
        lists: set[frozenset[str]] = {
            getattr(layer, "_portarray_listed", frozenset()) for layer in self._layers.values()
        }
        with_device = [listed for listed in lists if device in listed]
        return with_device[0] if len(with_device) == 1 else frozenset()

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
