"""The ndrange of a call and its groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

from portarray._kernel_language.setting import MAX_AXES
from portarray.backends.launching import Launcher

Range = tuple[int, ...]
_GROUP = 64
"""Work-items in a group of the interpreter, where a device runs no kernels."""
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
            limits = launcher.max_groups[-len(own) :]
            asked = fitted(own, launcher.group(own), launcher.max_group, limits)
        if barriers:
            asked = tuple(math.gcd(n, g) for n, g in zip(own, asked, strict=True))
    rounded = _rounded(own, asked)
    if barriers and rounded != own:
        raise ValueError(
            f"ndrange {own} is no multiple of the group {asked}, as a kernel with barriers "
            f"needs it; round the ndrange up to {rounded}, and test the index in the kernel"
        )
    if not isinstance(launcher, str):
        _check(own, asked, launcher.max_group, launcher.max_groups[-len(own) :])
    return rounded, asked


def fitted(own: Range, group: Range, most: int, limits: Range) -> Range:
    """Return a group like this one with which the device can run an ndrange, if there is one.

    Parameters
    ----------
    own, group
        The ndrange, and a group of powers of two.
    most
        The largest number of work-items in a group.
    limits
        The largest number of groups along each axis.
    """
    needed = [_power(-(-n // limit)) for n, limit in zip(own, limits, strict=True)]
    found = [max(g, least) for g, least in zip(group, needed, strict=True)]
    while math.prod(found) > most or math.prod(_rounded(own, found)) > _LARGEST:
        spare = [axis for axis, least in enumerate(needed) if found[axis] > least]
        if not spare:
            break  # the check says what is too large
        if math.prod(found) > most:
            axis = max(spare, key=lambda axis: found[axis])
        else:
            axis = max(spare, key=lambda axis: _rounded(own, found)[axis] / own[axis])
        found[axis] //= 2
    return tuple(found)


def _check(own: Range, group: Range, most: int, limits: Range) -> None:
    """Refuse what the device cannot run."""
    if math.prod(group) > most:
        raise ValueError(
            f"group {group} has {math.prod(group)} work-items; the device takes up to {most}"
        )
    rounded = _rounded(own, group)
    for axis, (n, g, limit) in enumerate(zip(rounded, group, limits, strict=True)):
        if n // g > limit:
            raise ValueError(
                f"ndrange {own} has {n // g} groups of {group} along axis {axis}, where the device "
                f"takes up to {limit}; make the longest axis the last one, or the group larger"
            )
    if math.prod(rounded) > _LARGEST:
        raise ValueError(
            f"ndrange {own} is rounded up to {rounded} in groups of {group}, which are "
            f"{math.prod(rounded)} work-items; a launch has at most 2**31, so take a smaller group"
        )


def _rounded(own: Sequence[int], group: Sequence[int]) -> Range:
    return tuple([-(-n // g) * g for n, g in zip(own, group, strict=True)])


def _power(n: int) -> int:
    """Return the least power of two that is no less."""
    return 1 << (n - 1).bit_length()
