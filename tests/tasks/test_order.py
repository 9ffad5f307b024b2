"""Regions equal sequential calls, for drawn programs on overlapping views.

``PORTARRAY_TASKS_EXAMPLES`` is how many programs are drawn for each set of devices.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from drawn_programs import Step, in_a_region, run_sequentially, steps
from hypothesis import given, settings
from hypothesis import strategies as st

import portarray as pa
from portarray._array.extents import extent_of
from portarray.tasks.memory import meet
from portarray.testing import virtual_devices

EXAMPLES = int(os.environ.get("PORTARRAY_TASKS_EXAMPLES", "60"))


@pytest.fixture(scope="module", params=["libraries", "virtual", "immutable"])
def three(request: pytest.FixtureRequest) -> Iterator[list[Any]]:
    with ExitStack() as stack:
        if request.param == "virtual":
            yield list(stack.enter_context(virtual_devices("cuda", count=3)))
        elif request.param == "immutable":  # and one that is not
            first, second = stack.enter_context(virtual_devices("tpu", count=2, int64=True))
            yield [first, second, pa.device("numpy")]
        else:
            names = [name for name in ("numpy:cpu", "torch:cpu", "clarray") if pa.functional(name)]
            yield [pa.device((names * 3)[k]) for k in range(3)]


@settings(max_examples=EXAMPLES)
@given(st.lists(steps, min_size=2, max_size=14), st.integers(1, 3))
def test_drawn_programs(three: list[Any], program: list[Step], workers: int) -> None:
    if any(device.platform == "tpu" for device in three):  # whose views are copies
        program = [
            step._replace(target=(step.target[0], ...), source=(step.source[0], ...))
            for step in program
        ]
    expected, read = run_sequentially(program)
    arrays, values = in_a_region(program, three, workers=workers)
    for actual, serial in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(actual, serial, strict=True)
    assert values == read


axes = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 4), st.integers(-3, 3)), min_size=3, max_size=3
)


@given(axes, axes)
def test_extents_that_do_not_meet_share_nothing(first: Any, second: Any) -> None:
    whole = np.zeros((6, 7, 8))

    def view(parts: Any) -> Any:
        return whole[tuple(slice(b, b + n, abs(s) or None) for b, n, s in parts)]

    first_view, second_view = view(first), view(second)
    a, b = extent_of(first_view), extent_of(second_view)
    if a is None or b is None:
        assert not (first_view.size and second_view.size)
    elif not meet(a, b):
        assert not np.shares_memory(first_view, second_view)
        assert not meet(b, a)


@pytest.mark.parametrize(
    ("first_key", "second_key", "overlaps"),
    [
        (np.s_[0:2, 0:2], np.s_[0:2, 2:4], False),  # tiles of a row, of a column, and beyond
        (np.s_[0:2, 0:2], np.s_[2:4, 0:2], False),
        (np.s_[2:4, 0:2], np.s_[0:4, 2:4], False),
        (np.s_[:, 0], np.s_[:, 5], False),
        (np.s_[::2], np.s_[1::2], False),
        (np.s_[:, ::2], np.s_[:, 1::2], False),
        (np.s_[0:3, 0:3], np.s_[2:4, 2:4], True),
        (np.s_[:], np.s_[3, 3:4], True),
        (np.s_[::-1], np.s_[5], True),
    ],
)
def test_views_of_a_matrix(first_key: Any, second_key: Any, overlaps: bool) -> None:
    whole = np.zeros((6, 6))
    first, second = extent_of(whole[first_key]), extent_of(whole[second_key])
    assert first is not None
    assert second is not None
    assert meet(first, second) is overlaps is np.shares_memory(whole[first_key], whole[second_key])


def test_memory_of_every_device(device: str) -> None:
    """A view overlaps its array; separate arrays do not overlap."""
    x, y = pa.ones((4, 6), device=device), pa.ones((4, 6), device=device)
    whole, part, separate = extent_of(x), extent_of(x[1:3, ::2]), extent_of(y)
    assert whole is not None
    assert part is not None
    assert whole == extent_of(x) != separate
    if whole.memory == ("array", id(x)):
        assert pa.device(device).library in ("jax", "mlx")
    else:
        assert (whole.dense, whole.end - whole.start) == (True, x.nbytes)
        assert part.start == whole.start + 6 * x.dtype.itemsize
        assert (part.dense, part.end <= whole.end) == (False, True)
        assert extent_of(x[:0]) is None
