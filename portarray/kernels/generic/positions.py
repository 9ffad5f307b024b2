"""Rotary position embeddings."""

from __future__ import annotations

import math
from typing import Any

from portarray.kernels.generic.conversion import (
    as_dtype,
    cast_back,
    device_of,
    iota,
    widen,
    widest_float,
)


def rope_tables(
    xp: Any, positions: Any, /, *, dimensions: int, theta: float, dtype: Any
) -> tuple[Any, Any]:
    """Return cosines and sines of the angles ``positions * theta ** (-2 i / dimensions)``."""
    rates = [theta ** (-2 * i / dimensions) for i in range(dimensions // 2)]
    device = device_of(positions)
    wide = widest_float(xp, device)
    if wide == xp.float32:
        angles = _angles_in_float32(xp, positions, rates)
    else:
        angles = xp.astype(positions, wide)[..., None] * xp.asarray(
            rates, dtype=wide, device=device
        )
    return tuple(as_dtype(xp, f(angles), dtype) for f in (xp.cos, xp.sin))


def _angles_in_float32(xp: Any, positions: Any, rates: list[float]) -> Any:
    """Return angles less whole turns, as exact as small ones are.

    A position in the thousands times a rate leaves float32 few digits for what cosines depend on.
    So each digit of the position, in base 1024, is multiplied by the part of a turn that one of it
    makes, whose first 12 bits give products without rounding, less whole turns.
    """
    device = device_of(positions)
    remaining = xp.astype(positions, xp.int32)
    turns: Any = 0.0
    more: Any = 0.0
    for power in range(3):
        digit = (
            remaining % 1024 if power < 2 else remaining
        )  # which is negative where the position is
        remaining = remaining // 1024
        parts = [(rate / (2 * math.pi) * 1024**power) % 1.0 for rate in rates]
        upper = [math.floor(part * 4096) / 4096 for part in parts]
        lower = [part - part_up for part, part_up in zip(parts, upper, strict=True)]
        digit = xp.astype(digit, xp.float32)[..., None]
        exact = digit * xp.asarray(upper, dtype=xp.float32, device=device)
        turns = turns + (exact - xp.floor(exact))
        more = more + digit * xp.asarray(lower, dtype=xp.float32, device=device)
    turns = turns - xp.round(turns) + more
    return (turns - xp.round(turns)) * (2 * math.pi)


def rope(
    xp: Any,
    x: Any,
    positions: Any,
    /,
    *,
    tables: tuple[Any, Any] | None,
    theta: float,
    interleaved: bool,
) -> Any:
    """Rotate pairs of features by angles that grow with the position."""
    wide = widen(xp, x)
    if tables is None:
        if positions is None:
            positions = iota(xp, x.shape[-2], device_of(x))
        tables = rope_tables(xp, positions, dimensions=x.shape[-1], theta=theta, dtype=wide.dtype)
    cos, sin = (widen(xp, table) for table in tables)
    half = cos.shape[-1]
    turning = wide[..., : 2 * half]
    if interleaved:
        pairs = xp.reshape(turning, (*x.shape[:-1], half, 2))
        a, b = pairs[..., 0], pairs[..., 1]
    else:
        a, b = turning[..., :half], turning[..., half:]
    turned = [a * cos - b * sin, b * cos + a * sin]
    if interleaved:
        turned = [xp.reshape(xp.stack(turned, axis=-1), turning.shape)]
    if 2 * half < x.shape[-1]:
        turned.append(wide[..., 2 * half :])
    return cast_back(xp, turned[0] if len(turned) == 1 else xp.concat(turned, axis=-1), x)
