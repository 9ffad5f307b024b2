"""Calls of a region on a worker: arrays from versions, and versions of what was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from distributed.protocol import pickle

import portarray as pa
from portarray._array import extents, native_arrays
from portarray._array.layouts import Image, Layout, Values
from portarray._devices.device import Device
from portarray.dask import faults
from portarray.tasks import arguments

__all__ = ["Piece", "Plan", "Slot", "View", "initial_version", "run", "select_output"]


@dataclass(frozen=True, slots=True)
class Slot:
    """Placeholder in a call's arguments for a ``"view"``, a ``"result"`` or a ``"value"``."""

    kind: str
    index: int


class Piece(NamedTuple):
    """Elements of a view: the input that has them, the slot in that input, and their layout."""

    source: int
    slot: int
    layout: Layout | None


class View(NamedTuple):
    """An array of a call: a version, or made of pieces in the order they were written.

    Views of one ``image``, a number, share memory: the first of them has the pieces of all.
    """

    pieces: tuple[Piece, ...]
    layout: Layout | None
    shape: tuple[int, ...]
    dtype: Any
    bare: bool  # a native array
    writes: bool
    image: int | None


class Plan(NamedTuple):
    """A call without the values of its inputs."""

    function: bytes
    args: Sequence[Any]
    kwargs: dict[str, Any]
    views: Sequence[View]


def initial_version(values: Values) -> tuple[None, Values]:
    """Return the first version of an array in the format of a call's result."""
    return None, values


def select_output(outcome: tuple[Any, ...], slot: int) -> tuple[Any, ...]:
    """Return only a call's result or one version, so that the others are not kept or sent."""
    return (outcome[0],) if slot == 0 else (None, outcome[slot])


def run(packed: bytes, device: str, *inputs: Any) -> tuple[Any, ...]:
    """Call a function; return its result and the version of each view that it writes."""
    try:
        return _ran(packed, device, inputs)
    except Exception as error:
        faults.note(error, "call of a region", [device])
        raise


def _ran(packed: bytes, device: str, inputs: Sequence[Any]) -> tuple[Any, ...]:
    plan: Plan = pickle.loads(packed)
    where = pa.device(device)
    arrays = _arrays(plan.views, inputs, where)

    def value(argument: Any) -> Any:
        if not isinstance(argument, Slot):
            return argument
        if argument.kind == "view":
            x = arrays[argument.index]
            return native_arrays.native_of(x) if plan.views[argument.index].bare else x
        return inputs[argument.index][0] if argument.kind == "result" else inputs[argument.index]

    args = [arguments.mapped(arg, value) for arg in plan.args]
    kwargs = {key: arguments.mapped(arg, value) for key, arg in plan.kwargs.items()}
    function = _function(plan.function)
    with where:
        result = function(*args, **kwargs)
        extents.evaluate(result)
    written = [x for x, view in zip(arrays, plan.views, strict=True) if view.writes]
    return result, *map(Values.of, written)


_function = lru_cache(256)(pickle.loads)


def _arrays(views: Sequence[View], inputs: Sequence[Any], device: Device) -> list[Any]:
    """Return the arrays of a call; it owns those that it writes."""
    images: dict[int, Image] = {}
    for image_index in {view.image for view in views if view.image is not None}:
        shared = [view for view in views if view.image == image_index]
        images[image_index] = image = Image([view.layout for view in shared if view.layout])
        for view in shared:
            _fill(image, view, inputs)
    arrays = []
    for view in views:
        if view.image is not None:
            assert view.layout is not None
            x = images[view.image].get(view.layout, device, share=True)
        elif not view.pieces:
            x = pa.empty(view.shape, dtype=view.dtype, device=device)
        elif len(view.pieces) == 1 and view.pieces[0].layout == view.layout:
            source, slot, _ = view.pieces[0]
            x = inputs[source][slot].on(device, copy=view.writes)
        else:
            assert view.layout is not None
            image = Image([view.layout])
            _fill(image, view, inputs)
            x = image.get(view.layout, device, share=False)
        arrays.append(x)
    return arrays


def _fill(image: Image, view: View, inputs: Sequence[Any]) -> None:
    for source, slot, layout in view.pieces:
        assert layout is not None
        image.put(layout, inputs[source][slot])
