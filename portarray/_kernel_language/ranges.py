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
            asked = launcher.group(own)
        if barriers:
            asked = tuple(math.gcd(n, g) for n, g in zip(own, asked, strict=True))
    if not isinstance(launcher, str) and math.prod(asked) > launcher.max_group:
        raise ValueError(
            f"group {asked} has {math.prod(asked)} work-items; the device takes up to "
            f"{launcher.max_group}"
        )
    rounded = tuple(-(-n // g) * g for n, g in zip(own, asked, strict=True))
    if barriers and rounded != own:
        raise ValueError(
            f"ndrange {own} is no multiple of the group {asked}, as a kernel with barriers "
            f"needs it; round the ndrange up to {rounded}, and test the index in the kernel"
        )
    return rounded, asked
