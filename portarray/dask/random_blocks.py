"""Layers of random numbers: each block draws its own part of the whole array."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
from numpy.lib.array_utils import normalize_axis_index

import portarray as pa
from portarray.dask import block_placement, registration
from portarray.dask.creation import Layout
from portarray.random import parameters
from portarray.random.drawing import Block
from portarray.random.keys import one_key

if TYPE_CHECKING:
    from portarray.dask.block_placement import Devices


def draw_with_parameters(
    function: Callable[..., pa.Array], key: pa.Array, shape: Any, **values: Any
) -> pa.Array:
    """Return numbers of a distribution whose parameters may be NumPy arrays."""
    options = {word: _on_device(value, key.device) for word, value in values.items()}
    return function(key, shape=shape, **options)


def shape_of(name: str, values: dict[str, Any]) -> tuple[int, ...]:
    """Return the shape of the numbers for parameters: the one that they broadcast to."""
    shapes = []
    for word, value in values.items():
        if isinstance(value, np.ndarray):
            axes = list(value.shape)
            if word == "logits" and axes:
                axes.pop(normalize_axis_index(values.get("axis", -1), value.ndim))
            shapes.append(tuple(axes[: len(axes) - _POINT_AXES.get(word, 0)]))
    return parameters.broadcast(name, *shapes)


_POINT_AXES = {"alpha": 1, "cov": 2, "mean": 1}
"""How many of the last axes of a parameter belong to one number or point."""


def on_host(value: Any) -> Any:
    """Return a parameter, as a NumPy array if it is an array."""
    return np.array(registration.as_numpy(value)) if isinstance(value, pa.Array) else value


def _on_device(value: Any, device: Any) -> Any:
    is_array = isinstance(value, np.ndarray)
    return pa.asarray(value, device=device, narrow=True) if is_array else value


def draw_blocks(
    function: Callable[..., pa.Array],
    key: pa.Array,
    shape: Any,
    options: dict[str, Any],
    chunks: Any,
    devices: Devices,
    *,
    name: str = "",
    inner: tuple[int, ...] = (),
) -> da.Array:
    """Return numbers of which each block draws its part; axes ``inner`` of points are not cut."""
    name = name or function.__name__
    key_words = tuple(one_key(key, name).tolist())
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    count = len(shape)
    empty = Block(shape, (0,) * count, (0,) * count)
    whole = (*shape, *inner)
    layout = _layout(function, key_words, whole, empty, options, chunks, devices)
    options = {word: value for word, value in options.items() if word != "dtype"}

    def task(start: tuple[int, ...], size: tuple[int, ...]) -> tuple[Any, ...]:
        return _part, function, key_words, Block(shape, start[:count], size[:count]), options

    return layout.build(f"random-{name}", task, key_words, sorted(options.items()))


def _layout(
    function: Callable[..., pa.Array],
    key_words: tuple[int, ...],
    shape: tuple[int, ...],
    empty: Any,
    options: dict[str, Any],
    chunks: Any,
    devices: Devices,
) -> Layout:
    """Return the layout; raise errors about arguments here and not on a worker.

    ``empty`` is a shape, or a block, for which the function draws no numbers.
    """
    layout = Layout.of(shape, chunks, options.get("dtype") or "float64", devices, exact=True)
    first = next(iter(layout.devices.values()), None)
    sample = _part(function, key_words, empty, options, device=first)
    return layout._replace(dtype=sample.dtype)


def _part(
    function: Callable[..., pa.Array],
    key_words: tuple[int, ...],
    part: Any,
    options: dict[str, Any],
    *,
    device: str | None,
    **dtype: str,
) -> pa.Array:
    key = pa.asarray(key_words, dtype="uint32", device=device)
    return function(key, shape=part, **options, **dtype)


def draw_in_one_task(
    function: Callable[..., pa.Array],
    key: pa.Array,
    shape: Any,
    options: dict[str, Any],
    chunks: Any,
    devices: Devices,
) -> da.Array:
    """Return numbers that depend on each other: one task makes all, and blocks are cut of them."""
    key_words = tuple(one_key(key, function.__name__.strip("_")).tolist())
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    layout = _layout(function, key_words, shape, (0,), options, chunks, devices)
    first = next(iter(layout.devices.values()), None)
    whole = Layout(tuple((n,) for n in shape), layout.dtype, {(0,) * len(shape): first})
    joint = whole.build(
        f"random{function.__name__}",
        lambda start, size: (_part, function, key_words, size, options),
        function,
        key_words,
        sorted(options.items()),
    )
    return block_placement.to_device(joint.rechunk(layout.sizes), devices)
