"""Draws that take several attempts: the same numbers on every device, in whole or in parts.

Attempt ``i`` at a position takes the random words at that position of key ``i`` of
``split(key, n)``: they depend on nothing that other positions needed. So any part of a draw may be
computed separately, and attempts may be made one by one, for the positions that still need one, or
all at once in a function that is traced, along a first axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from portarray._api.creation.filled import empty
from portarray._api.creation.ranges import arange
from portarray._api.creation.values import asarray
from portarray._api.data_type import astype
from portarray._api.indexing import take, take_along_axis
from portarray._api.manipulation.joining import concat
from portarray._api.manipulation.shapes import broadcast_to, reshape
from portarray._api.searching import argmax, where
from portarray._api.utility import any
from portarray._array import dispatch, dtypes, slow_path
from portarray._array.array import Array
from portarray.random import distributions, drawing, parameters
from portarray.random.distributions import U32
from portarray.random.drawing import Block
from portarray.random.keys import WORDS
from portarray.random.threefry import threefry

if TYPE_CHECKING:
    from portarray._devices.device import Device

I32 = dtypes.STANDARD["int32"]

_HOST = ("cpu",)
"""Platforms whose numbers NumPy makes: other libraries take longer for many small calls."""

Step = Callable[..., tuple[tuple[Array, ...], Array]]


class Law(NamedTuple):
    """Random numbers that are made in at most ``attempts`` steps.

    A step takes the words of one attempt or more, along a first axis, the state and the parameters.
    It returns the next state, and whether it is the last one.
    """

    step: Step
    attempts: int
    counters: int  # of two words each, in an attempt


def accepting(attempt: Callable[..., tuple[Array, Array]], attempts: int, counters: int) -> Law:
    """Return the law of a rejection method.

    An attempt takes words and parameters, and returns a number and whether it is accepted.
    """

    def step(
        words: tuple[Array, ...], state: tuple[Array, ...], *values: Array
    ) -> tuple[tuple[Array, ...], Array]:
        numbers, accepted = attempt(*words, *values)
        if accepted.shape[0] == 1:
            draw, done = numbers[0, ...], accepted[0, ...]
        else:
            first = argmax(astype(accepted, I32), axis=0, keepdims=True)
            draw = take_along_axis(numbers, first, axis=0)[0, ...]
            done = any(accepted, axis=0)
        return (where(done, draw, state[0]),), done

    return Law(step, attempts, counters)


def at(
    law: Law, key: Array, part: Block, values: tuple[Array, ...], initial: tuple[Array, ...]
) -> Array:
    """Return the numbers of a part of an array, in the part's shape.

    Parameters and the initial state are broadcast to it. The first array of the last state has the
    numbers. Where no attempt was the last one, which does not happen in practice, it has those of
    the initial state.
    """
    if not math.prod(part.shape):
        return empty(part.shape, dtype=initial[0].dtype, device=key.device)
    values, initial = (tuple(_flat(x, part) for x in arrays) for arrays in (values, initial))
    return reshape(_along_one_axis(law, key, part, values, initial), part.shape)


def _flat(x: Array, part: Block) -> Array:
    """Return a parameter of a block along one axis: one for all positions, or one for each."""
    if math.prod(x.shape) == 1:
        return reshape(x, (1,))
    return reshape(broadcast_to(x, part.shape), (-1,))


def _along_one_axis(
    law: Law, key: Array, part: Block, values: tuple[Array, ...], initial: tuple[Array, ...]
) -> Array:
    if parameters.is_traced(key, *values, *initial):
        keys = drawing.at(WORDS, key, 0, law.attempts)
        count = math.prod(part.shape)
        words = _words(law, keys, *_counters(part, 0, count, key.device))
        state, _ = law.step(words, tuple(broadcast_to(x, (count,)) for x in initial), *values)
        return state[0]
    if key.device.platform in _HOST:
        host = "numpy"
        arrays = [tuple(x.to_device(host) for x in arrays) for arrays in (values, initial)]
        return _in_blocks(law, key.to_device(host), part, *arrays).to_device(key.device)
    return _in_blocks(law, key, part, values, initial)


def _in_blocks(
    law: Law, key: Array, part: Block, values: tuple[Array, ...], initial: tuple[Array, ...]
) -> Array:
    keys = drawing.at(WORDS, key, 0, law.attempts)
    count = math.prod(part.shape)
    size = min(drawing.BLOCK, count) if key.device.platform == "cpu" else count
    parts = [
        _attempted(
            law,
            keys,
            *_counters(part, first, min(size, count - first), key.device),
            tuple(_sliced(x, first, size) for x in values),
            tuple(_sliced(x, first, size) for x in initial),
        )
        for first in range(0, count, size)
    ]
    return parts[0] if len(parts) == 1 else concat(parts, axis=0)


def _sliced(x: Array, first: int, size: int) -> Array:
    return x if x.shape[0] == 1 else x[first : first + size]


def _attempted(
    law: Law,
    keys: Array,
    c0: Array,
    c1: Array,
    values: tuple[Array, ...],
    state: tuple[Array, ...],
) -> Array:
    """Return the numbers for counters, by one attempt after another for those that need it.

    Arrays of those have a power of eight of elements, the last of which may be repeated: libraries
    that compile their functions do so for each size.
    """
    count = c1.shape[0]
    device = c1.device
    index = dispatch.default_dtype(device, "i")
    picked = chosen = np.arange(count)  # positions of the counters that need an attempt
    source = np.zeros(count, np.int64)  # where the numbers of all positions are in the results
    results: list[Array] = []
    accepted_count = 0
    for attempt in range(law.attempts):
        if attempt:
            indices = asarray(picked, dtype=index, device=device)
            c0, c1 = take(c0, indices, axis=0), take(c1, indices, axis=0)
            values, state = (
                tuple(x if x.shape[0] == 1 else take(x, indices, axis=0) for x in arrays)
                for arrays in (values, state)
            )
        words = _words(law, keys[attempt : attempt + 1, ...], c0, c1)
        state, done = law.step(words, state, *values)
        results.append(state[0])
        source[chosen] = accepted_count + np.arange(chosen.size)
        accepted_count += chosen.size
        remaining = np.flatnonzero(~slow_path.read(done))
        if not remaining.size:
            break
        picked = _padded(remaining)
        chosen = chosen[picked]
    if len(results) == 1:
        return results[0]
    return take(concat(results, axis=0), asarray(source, dtype=index, device=device), axis=0)


def _padded(indices: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Repeat the last index up to a power of eight of them."""
    size = 1
    while size < indices.size:
        size *= 8
    return np.pad(indices, (0, size - indices.size), mode="edge")


def _counters(part: Block, first: int, count: int, device: Device) -> tuple[Array, Array]:
    """Return the halves of the positions in a part of an array, from one of its elements on."""
    if part.shape == part.whole and first + count <= 2**32:
        c1 = arange(first, first + count, dtype=U32, device=device)
        return broadcast_to(asarray(0, dtype=U32, device=device), (count,)), c1
    index = np.unravel_index(np.arange(first, first + count), part.shape) if part.shape else ()
    positions = np.zeros(count, np.uint64)
    stride = 1
    for axis in reversed(range(len(part.shape))):
        positions += (index[axis].astype(np.uint64) + np.uint64(part.start[axis])) * np.uint64(
            stride
        )
        stride *= part.whole[axis]
    halves = (positions >> np.uint64(32), positions & np.uint64(2**32 - 1))
    c0, c1 = (asarray(half.astype(np.uint32), device=device) for half in halves)
    return c0, c1


def _words(law: Law, keys: Array, c0: Array, c1: Array) -> tuple[Array, ...]:
    """Return the words of attempts along a first axis."""
    k0, k1 = keys[:, :1], keys[:, 1:]
    words: tuple[Array, ...] = threefry(k0, k1, c0, c1)
    if law.counters == 2:
        words = (*words, *threefry(k0, k1, c0 | distributions.SECOND, c1))
    return words
