"""The groups of launches, by arithmetic: within what a device takes, GPUs that are not here too."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import portarray as pa
from portarray._kernel_language.ranges import launch_parts, launch_ranges
from portarray._launchers.launcher import ANY_GROUPS, GPU_GROUPS, group_for


def launcher(groups: tuple[int, ...], sizes: tuple[int, ...] = (64, 1024, 1024)) -> Any:
    return SimpleNamespace(
        max_group=1024,
        max_sizes=sizes,
        max_groups=groups,
        group=lambda shape: group_for(shape, 256),
    )


CUDA, OPENCL = launcher(GPU_GROUPS), launcher(ANY_GROUPS, (8192,) * 3)
SIZES = st.one_of(st.integers(1, 300), st.integers(1, 2**31 - 1), st.just(2**31 - 1))


def fits(shape: tuple[int, ...], group: tuple[int, ...], device: Any) -> bool:
    counts = [-(-n // size) for n, size in zip(shape, group, strict=True)]
    return (
        math.prod(group) <= device.max_group
        and all(a <= b for a, b in zip(group, device.max_sizes[-len(shape) :], strict=True))
        and all(a <= b for a, b in zip(counts, device.max_groups[-len(shape) :], strict=True))
        and math.prod(counts) * math.prod(group) <= 2**31
    )


@given(st.sampled_from([CUDA, OPENCL]), st.lists(SIZES, min_size=1, max_size=3).map(tuple))
@example(CUDA, (1_000_000, 256))
@example(CUDA, (70_000_000, 4))
@example(CUDA, (1000, 1, 2))
@example(OPENCL, (2**31 - 1,))
@example(OPENCL, (3, 715_827_882))
@example(OPENCL, (65_537, 32_767))
def test_chosen_groups_are_what_a_device_takes(device: Any, shape: tuple[int, ...]) -> None:
    if math.prod(shape) >= 2**38:
        return
    if math.prod(shape) >= 2**30:
        rounded, group = launch_ranges(device, shape, None, barriers=False)
        parts = launch_parts(device, shape, rounded, group)
        sizes = {size for _, size in parts} if len(parts) < 1000 else {parts[0][1], parts[-1][1]}
        assert all(fits(size, group, device) for size in sizes)
        return
    flat = shape if len(shape) <= 3 else (math.prod(shape),)
    powers = [2**n for n in range(11)]
    if not any(
        fits(flat, candidate, device) for candidate in itertools.product(powers, repeat=len(flat))
    ):
        with pytest.raises(ValueError, match="along its axes the device takes up to"):
            launch_ranges(device, shape, None, barriers=False)
        return
    rounded, group = launch_ranges(device, shape, None, barriers=False)
    assert fits(flat, group, device)
    assert rounded == tuple(-(-n // size) * size for n, size in zip(flat, group, strict=True))


@pytest.mark.parametrize(
    ("shape", "group", "message"),
    [
        ((70_000, 4), (1, 4), r"\(70000, 1\) groups of \(1, 4\).* up to \(65535, "),
        ((8, 8, 8), (128, 1, 1), r"up to \(64, 1024, 1024\)"),
        ((8, 2048), (2, 1024), "2048 work-items; the device takes up to 1024"),
        ((3, 350_000_000), (512, 2), "a launch has at most 2"),
    ],
)
def test_given_groups_are_refused_with_the_limit(shape: Any, group: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        launch_ranges(CUDA, shape, group, barriers=False)


def test_devices_here_say_what_they_take(device: str) -> None:
    target = pa.device(device)
    result = target._backend.launcher(target.native)
    if isinstance(result, str):
        pytest.skip(result)
    assert len(result.max_sizes) == len(result.max_groups) == 3
    assert all(size >= 1 for size in (*result.max_sizes, *result.max_groups))
    for shape in ((1000, 1, 2), (7, 3, 5), (1, 2**20)):
        _, group = launch_ranges(result, shape, None, barriers=False)
        assert fits(shape, group, result)
