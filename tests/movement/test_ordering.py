"""Moves of pending results, and writes to and reuse of memory right after a move.

MLX is lazy, and dpnp, clarray and JAX return before they have computed. The work here takes several
milliseconds, so a move that does not wait reads other values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import portarray as pa

DEVICES = [str(device) for device in pa.devices()]
LIBRARY = {text: text.partition(":")[0] for text in DEVICES}
PAIRS = list(itertools.permutations(DEVICES, 2))
LENGTH = 2**19
STEPS = 8

WAYS: dict[str, Callable[[pa.Array, str], pa.Array]] = {
    "to_device": lambda x, target: x.to_device(target),
    "copy": lambda x, target: x.to_device(target, copy=True),
    "from_dlpack": lambda x, target: pa.from_dlpack(x.native, device=target),
    "asarray": lambda x, target: pa.asarray(x.native, device=target, copy=True),
}


def under_way(x: pa.Array) -> pa.Array:
    """Return ``x + STEPS``, which the device may still be computing."""
    for _ in range(STEPS):
        x = x + 1.0
    return x


def zeros(device: str) -> pa.Array:
    """Return zeros, enough for work on them to take a while."""
    return pa.zeros((LENGTH,), dtype=pa.float32, device=device)


def holds(x: pa.Array, value: float) -> bool:
    """Return whether every element of a computed array equals a value."""
    values = x.device._backend.to_host(x.native, copy=True)
    return bool((values == value).all())


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_work_is_done_when_another_library_reads(source: str, target: str) -> None:
    start = zeros(source)
    for function, move in WAYS.items():
        # Looked at without a further look at the source.
        assert holds(move(under_way(start), target), STEPS), function
    # And what the target does with it at once is right too.
    assert holds(under_way(start).to_device(target) + 1.0, STEPS + 1)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_source_that_changes_right_after(source: str, target: str) -> None:
    start = zeros(source)
    pa.synchronize(source)
    for copy in (True, None):
        if copy is None and not pa.transfer_plan(start, target).copies:
            continue
        x = under_way(start)
        y = x.to_device(target, copy=copy)
        x[...] = pa.asarray(-1.0, dtype=pa.float32, device=source)
        z = y + 1.0
        x += 5.0
        assert holds(y, STEPS), copy
        assert holds(z, STEPS + 1), copy
        assert holds(x, 4.0), copy


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_source_that_is_freed_right_after(source: str, target: str) -> None:
    start = zeros(source)
    for copy in (None, True):
        x = under_way(start)
        y = x.to_device(target, copy=copy)
        del x
        # What takes the freed memory is written at once.
        fillers = [start - 1.0 for _ in range(3)]
        assert holds(y, STEPS), copy
        assert all(holds(filler, -1.0) for filler in fillers)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_target_that_changes_right_after(source: str, target: str) -> None:
    """Writes to a copy never reach the source or pending work on it."""
    start = zeros(source)
    x = under_way(start)
    z = x + 1.0
    y = x.to_device(target, copy=True)
    y[...] = pa.asarray(-1.0, dtype=pa.float32, device=target)
    y += 3.0
    assert holds(y, 2.0)
    assert holds(x, STEPS)
    assert holds(z, STEPS + 1)


def test_numpy_memory_that_changes_while_a_device_works(device: str) -> None:
    """Pending work sees the values of the time of the call, shared or not."""
    for copy in (None, True):
        values = np.zeros(LENGTH, dtype=np.float32)
        x = pa.asarray(values, device=device, copy=copy)
        y = under_way(x)
        values[...] = -1.0
        assert holds(y, STEPS), copy
        assert copy is None or holds(x, 0.0)
        values = np.zeros(LENGTH, dtype=np.float32)
        x = pa.from_dlpack(values, device=device, copy=copy)
        x += 1.0
        y = under_way(x)
        values[...] = -1.0
        assert holds(y, STEPS + 1), copy


def test_numpy_reads_what_a_device_writes(device: str) -> None:
    pa_device = pa.device(device)
    if not pa_device._backend.on_host(pa_device.native):
        pytest.skip(f"{device} has its own memory")
    x = zeros(device)
    host_view: np.ndarray[Any, Any] = np.asarray(under_way(x))
    assert (host_view == STEPS).all()
    x = under_way(x)
    host_view = np.asarray(x)
    z = under_way(x)
    if host_view.flags.writeable:
        host_view[...] = -1.0  # shared or not, what was asked for before is not changed by it
    assert holds(z, 2 * STEPS)
    x = under_way(zeros(device))
    host_view = np.asarray(x)
    x += 1.0
    if np.shares_memory(host_view, np.asarray(x)):
        assert (host_view == STEPS + 1).all()
    else:
        assert (host_view == STEPS).all()
        assert (np.asarray(x) == STEPS + 1).all()


def test_large_copies_have_read_their_source(device: str) -> None:
    """Large copies have read their source before it is overwritten."""
    values = np.arange(2**22, dtype=np.int32)
    for x in (values.copy(), pa.asarray(values.copy(), device="numpy")):
        y = pa.asarray(x, device=device, copy=True)
        x[...] = -1
        result = y.device._backend.to_host(y.native, copy=None)
        np.testing.assert_array_equal(result, values)
