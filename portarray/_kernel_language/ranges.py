"""The ndrange of a call and its groups."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence

from portarray._kernel_language.setting import MAX_AXES
from portarray._launchers.launcher import Launcher

Range = tuple[int, ...]
_GROUP = 64
"""Work-items in a group of the interpreter, where a device runs no kernels."""
_AT_ONCE = 256
"""Work-items of a group with barriers: a CPU keeps the variables of all of them on its stack."""
_LARGEST = 2**31
_MOST = 2**30
"""Work-items of one launch, where an ndrange is split into several."""

_TOO_MANY = 2**48
"""Work-items that take hours on any device."""

Part = tuple[Range, Range]
"""The origin and the size of a launch in an ndrange."""


def checked(value: int | Sequence[int], name: str) -> Range:
    """Return an ndrange or a group as a tuple; raise for invalid ones."""
    values = (value,) if isinstance(value, int) and not isinstance(value, bool) else value
    try:
        sizes = tuple(map(operator.index, values))  # type: ignore[arg-type, unused-ignore]
    except TypeError:
        raise TypeError(
            f"{name} is {value!r}; it must be an integer or a tuple of integers"
        ) from None
    if not sizes or any(n < 1 for n in sizes):
        raise ValueError(f"{name} is {value!r}; its sizes must be positive")
    if math.prod(sizes) >= _TOO_MANY:
        raise ValueError(f"{name} is {value!r}; it must have fewer than 2**48 work-items")
    return sizes


def launch_ranges(
    launcher: Launcher | str, sizes: Range, group: Range | None, *, barriers: bool
) -> tuple[Range, Range]:
    """Return the rounded ndrange and the group, of at most three axes."""
    total = math.prod(sizes)
    ndrange = sizes or (1,)
    if group is not None and len(group) != len(ndrange):
        raise ValueError(f"group {group} and ndrange {ndrange} must have as many axes")
    if len(ndrange) > MAX_AXES:
        if group is not None and math.prod(group[:-1]) > 1:
            raise ValueError(
                f"group {group}: in an ndrange of more than three axes, a group must lie "
                f"along the last axis"
            )
        ndrange = (total,)
        group = None if group is None else (group[-1],)
    if group is None:
        if isinstance(launcher, str):  # for the interpreter
            group = (*(1,) * (len(ndrange) - 1), min(ndrange[-1], _GROUP))
        else:
            group = fitted(ndrange, launcher.group(ndrange), launcher)
        if barriers:
            group = tuple(math.gcd(n, g) for n, g in zip(ndrange, group, strict=True))
            while math.prod(group) > _AT_ONCE:
                axis = next(n for n, size in enumerate(group) if size > 1)
                group = (*group[:axis], group[axis] // 2, *group[axis + 1 :])
    rounded = _rounded(ndrange, group)
    if barriers and rounded != ndrange:
        raise ValueError(
            f"ndrange {ndrange} is not a multiple of the group {group}, which a kernel with "
            f"barriers needs\nHint: round the ndrange up to {rounded}, and test the index in the "
            f"kernel"
        )
    if not isinstance(launcher, str):
        _check(ndrange, group, launcher)
    return rounded, group


def launch_parts(launcher: Launcher, ndrange: Range, rounded: Range, group: Range) -> list[Part]:
    """Return the launches of a call: one, or several if its ndrange is too large for one."""
    if not is_split(ndrange):
        return [((0,) * len(rounded), rounded)]
    groups = max(_MOST // math.prod(group), 1)
    steps: list[int] = []
    limits = launcher.max_groups[-len(rounded) :]
    for n, size, limit in zip(rounded[::-1], group[::-1], limits[::-1], strict=True):
        count = max(min(n // size, limit, groups), 1)
        groups = max(groups // count, 1)
        steps.insert(0, count * size)
    axes = [range(0, n, step) for n, step in zip(rounded, steps, strict=True)]
    return [
        (origin, tuple([min(s, n - o) for s, n, o in zip(steps, rounded, origin, strict=True)]))
        for origin in itertools.product(*axes)
    ]


def is_split(ndrange: Sequence[int]) -> bool:
    """Return whether an ndrange may take several launches: if its indices take 64 bits."""
    return math.prod(ndrange) >= _MOST


def fitted(ndrange: Range, group: Range, launcher: Launcher) -> Range:
    """Shrink a group to powers of two that the device supports, if possible."""
    axes = len(ndrange)
    limits = zip(ndrange, launcher.max_groups[-axes:], strict=True)
    if is_split(ndrange):
        needed = [1] * axes
    else:
        needed = [1 << (-(-n // limit) - 1).bit_length() for n, limit in limits]
    largest = [1 << (size.bit_length() - 1) for size in launcher.max_sizes[-axes:]]
    sizes = [max(min(g, m), n) for g, m, n in zip(group, largest, needed, strict=True)]
    while True:
        rounded = _rounded(ndrange, sizes)
        if math.prod(sizes) > launcher.max_group:
            excess: Sequence[float] = sizes
        elif math.prod(rounded) > _LARGEST and not is_split(ndrange):
            excess = [whole / n for whole, n in zip(rounded, ndrange, strict=True)]
        else:
            return tuple(sizes)
        spare = [axis for axis in range(axes) if sizes[axis] > needed[axis]]
        if not spare:
            return group  # the check says what is too large
        sizes[max(spare, key=excess.__getitem__)] //= 2


def _check(ndrange: Range, group: Range, launcher: Launcher) -> None:
    """Refuse ranges that the device does not support."""
    axes = len(ndrange)
    total = math.prod(group)
    if total > launcher.max_group:
        raise ValueError(
            f"group {group} has {total} work-items; the device takes up to {launcher.max_group}"
        )
    sizes = launcher.max_sizes[-axes:]
    if any(size > most for size, most in zip(group, sizes, strict=True)):
        raise ValueError(
            f"group {group} is too large; along its axes the device takes up to {sizes}"
        )
    if is_split(ndrange):
        return
    rounded = _rounded(ndrange, group)
    counts = tuple(n // size for n, size in zip(rounded, group, strict=True))
    limits = launcher.max_groups[-axes:]
    if any(count > limit for count, limit in zip(counts, limits, strict=True)):
        raise ValueError(
            f"ndrange {ndrange} has {counts} groups of {group}; along its axes the device takes "
            f"up to {limits}\nHint: make the longest axis the last one, or the group larger"
        )
    if math.prod(rounded) > _LARGEST:
        raise ValueError(
            f"ndrange {ndrange} is rounded up to {rounded} in groups of {group}, which are "
            f"{math.prod(rounded)} work-items; a launch has at most 2**31"
            f"\nHint: pass a smaller group"
        )


def _rounded(ndrange: Sequence[int], group: Sequence[int]) -> Range:
    return tuple([-(-n // g) * g for n, g in zip(ndrange, group, strict=True)])
