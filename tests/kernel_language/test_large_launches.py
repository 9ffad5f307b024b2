"""Launches of more work-items than devices count are split into parts.

With small limits in place of 2**30, so that it takes moments.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from kernel_helpers import require_launcher

import portarray as pa
import portarray.kernel_language as kl
from portarray._kernel_language import arguments, ranges


@pa.kernel.function
def group_and_count(axis_of_first: Any) -> Any:
    return kl.group_index(0) + axis_of_first, kl.group_count(0)


@pa.kernel
def places(y: Any, total: Any) -> None:
    i, j, k = kl.index()
    group, count = group_and_count(0)
    y[kl.linear_index()] = ((i * 100 + j) * 100 + k) * 100 + group * 7 + count
    kl.atomic_add(total, 0, 1)


@pa.kernel
def four_axes(y: Any, total: Any) -> None:
    i, j, k, m = kl.index()
    y[i, j, k, m] = i * 1000 + j * 100 + k * 10 + m
    kl.atomic_add(total, 0, 1)


@pa.kernel
def reversed_groups(y: Any, x: Any) -> None:
    here = kl.local_index()
    shared = kl.local(8, kl.int32)
    shared[here] = x[kl.index()]
    kl.barrier()
    y[kl.group_index() * 8 + here] = shared[7 - here] + kl.group_count() * 1000


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "SMALL", 64)
    monkeypatch.setattr(ranges, "_MOST", 64)


def on(device: str, x: Any) -> pa.Array:
    return pa.asarray(np.asarray(x, np.int32), device=device)


def test_split_launches_run_each_work_item_once(device: str, small_limits: None) -> None:
    require_launcher(device)
    shape, group = (5, 6, 9), (1, 2, 4)
    y, total = places(
        on(device, np.zeros(math.prod(shape))), on(device, [0]), ndrange=shape, group=group
    )
    i, j, k = np.indices(shape)
    want = ((i * 100 + j) * 100 + k) * 100 + i * 7 + 5
    np.testing.assert_array_equal(np.asarray(y.to_device("numpy")), want.reshape(-1))
    assert int(total[0]) == math.prod(shape)

    for _ in range(2):  # the second call takes the fast path
        y, total = four_axes(on(device, np.zeros((2, 3, 4, 9))), on(device, [0]))
        want = sum(a * n for a, n in zip(np.indices((2, 3, 4, 9)), (1000, 100, 10, 1), strict=True))
        np.testing.assert_array_equal(np.asarray(y.to_device("numpy")), want)
        assert int(total[0]) == 216

    x = np.arange(200)
    y = reversed_groups(on(device, np.zeros(200)), on(device, x), group=8)
    want = x.reshape(-1, 8)[:, ::-1].reshape(-1) + 25_000
    np.testing.assert_array_equal(np.asarray(y.to_device("numpy")), want)


def test_parts_cover_an_ndrange_of_more_than_2_32_work_items() -> None:
    target = pa.device("numpy")
    launcher: Any = target._backend.launcher(target.native)
    if isinstance(launcher, str):
        pytest.skip(launcher)
    for sizes in ((2**32 + 5,), (3, 2**31 + 7), (70_000, 70_000), (2**33, 1, 3)):
        rounded, group = ranges.launch_ranges(launcher, sizes, None, barriers=False)
        parts = ranges.launch_parts(launcher, sizes, rounded, group)
        assert sum(math.prod(size) for _, size in parts) == math.prod(rounded)
        assert len({origin for origin, _ in parts}) == len(parts)
        assert len(parts) < 2 * math.prod(rounded) / 2**30 + 4
        for origin, size in parts:
            assert math.prod(size) <= 2**30
            numbers = zip(origin, size, group, strict=True)
            assert all(first % g == 0 and n % g == 0 for first, n, g in numbers)
