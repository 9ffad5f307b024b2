"""The ndrange of a call and its groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

from portarray._kernel_language.setting import MAX_AXES
from portarray._launchers.launcher import Launcher

Range = tuple[int, ...]
_GROUP = 64
"""Work-items in a group of the interpreter, where a device runs no kernels."""
_AT_ONCE = 256
"""Work-items of a group with barriers: a CPU keeps the variables of all of them on its stack."""
_LARGEST = 2**31


def checked(value: int | Sequence[int], name: str) -> Range:
    """Return an ndrange or a group as a tuple; an error for what is none."""
    given = (value,) if isinstance(value, int) and not isinstance(value, bool) else value
    try:
        sizes = tuple(int.__index__(one) if type(one) is int else one.__index__() for one in given)  # type: ignore[union-attr, unused-ignore]
    except (TypeError, AttributeError):
        raise TypeError(f"{name} is {value!r}; it must be an integer or a tuple of them") from None
    if not sizes or any(n < 1 for n in sizes):
        raise ValueError(f"{name} is {value!r}; its sizes must be positive")
    if any(n >= _LARGEST for n in sizes):
        raise ValueError(f"{name} is {value!r}; sizes must be less than 2**31")
    return sizes


def launch_ranges(
    launcher: Launcher | str, sizes: Range, asked: Range | None, *, barriers: bool
) -> tuple[Range, Range]:
    """Return the rounded ndrange and the group, of at most three axes."""
    total = math.prod(sizes)
    if total >= _LARGEST:
        raise ValueError(f"ndrange {sizes} has {total} work-items; a launch has fewer than 2**31")
    own = sizes or (1,)
    if asked is not None and len(asked) != len(own):
        raise ValueError(f"group {asked} and ndrange {own} must have as many axes")
    if len(own) > MAX_AXES:
        if asked is not None and math.prod(asked[:-1]) > 1:
            raise ValueError(
                f"group {asked}: groups of an ndrange of more than three axes lie along the "
                f"last one"
            )
        own = (total,)
        asked = None if asked is None else (asked[-1],)
    if asked is None:
        if isinstance(launcher, str):  # for the interpreter
            asked = (*(1,) * (len(own) - 1), min(own[-1], _GROUP))
        else:
            asked = fitted(own, launcher.group(own), launcher)
        if barriers:
            asked = tuple(math.gcd(n, g) for n, g in zip(own, asked, strict=True))
            while math.prod(asked) > _AT_ONCE:
                axis = next(n for n, size in enumerate(asked) if size > 1)
                asked = (*asked[:axis], asked[axis] // 2, *asked[axis + 1 :])
    rounded = _rounded(own, asked)
    if barriers and rounded != own:
        raise ValueError(
            f"ndrange {own} is no multiple of the group {asked}, as a kernel with barriers "
            f"needs it; round the ndrange up to {rounded}, and test the index in the kernel"
        )
    if not isinstance(launcher, str):
        _check(own, asked, launcher)
    return rounded, asked


def fitted(own: Range, group: Range, launcher: Launcher) -> Range:
    """Return a group like this one, of powers of two, that the device can run if any can."""
    axes = len(own)
    limits = zip(own, launcher.max_groups[-axes:], strict=True)
    needed = [1 << (-(-n // limit) - 1).bit_length() for n, limit in limits]
    largest = [1 << (size.bit_length() - 1) for size in launcher.max_sizes[-axes:]]
    found = [max(min(g, m), n) for g, m, n in zip(group, largest, needed, strict=True)]
    while True:
        rounded = _rounded(own, found)
        if math.prod(found) > launcher.max_group:
            excess: Sequence[float] = found
        elif math.prod(rounded) > _LARGEST:
            excess = [whole / n for whole, n in zip(rounded, own, strict=True)]
        else:
            return tuple(found)
        spare = [axis for axis in range(axes) if found[axis] > needed[axis]]
        if not spare:
            return group  # the check says what is too large
        found[max(spare, key=excess.__getitem__)] //= 2


def _check(own: Range, group: Range, launcher: Launcher) -> None:
    """Refuse what the device cannot run."""
    axes = len(own)
    total = math.prod(group)
    if total > launcher.max_group:
        raise ValueError(
            f"group {group} has {total} work-items; the device takes up to {launcher.max_group}"
        )
    sizes = launcher.max_sizes[-axes:]
    if any(size > most for size, most in zip(group, sizes, strict=True)):
        raise ValueError(
            f"group {group} is too long; along its axes the device takes up to {sizes}"
        )
    rounded = _rounded(own, group)
    counts = tuple(n // size for n, size in zip(rounded, group, strict=True))
    limits = launcher.max_groups[-axes:]
    if any(count > limit for count, limit in zip(counts, limits, strict=True)):
        raise ValueError(
            f"ndrange {own} has {counts} groups of {group}; along its axes the device takes up to "
            f"{limits}: make the longest axis the last one, or the group larger"
        )
    if math.prod(rounded) > _LARGEST:
        raise ValueError(
            f"ndrange {own} is rounded up to {rounded} in groups of {group}, which are "
            f"{math.prod(rounded)} work-items; a launch has at most 2**31, so take a smaller group"
        )


def _rounded(own: Sequence[int], group: Sequence[int]) -> Range:
    return tuple([-(-n // g) * g for n, g in zip(own, group, strict=True)])
