"""The phase vocoder of librosa, which changes a sound's speed but not its pitch, on any device."""

from __future__ import annotations

import math
from typing import Any


def angle(z: Any, /) -> Any:
    """Return the angles of complex numbers."""
    xp = z.__array_namespace__()
    return xp.atan2(xp.imag(z), xp.real(z))


def phase_vocoder(spectra: Any, rate: float, /, *, hop_length: int) -> Any:
    """Return short-time spectra of shape (bins, frames) at another speed.

    Flanagan and Golden, "Phase vocoder", Bell System Technical Journal 45 (1966), pages 1493
    to 1509.
    """
    xp = spectra.__array_namespace__()
    bins, frames = spectra.shape
    count = math.ceil(frames / rate)
    steps = [rate * n for n in range(count)]
    first = xp.asarray([int(step) for step in steps], dtype=xp.int32, device=spectra.device)

    ends = xp.zeros((bins, 2), dtype=spectra.dtype, device=spectra.device)
    padded = xp.concat([spectra, ends], axis=1)
    left, right = xp.take(padded, first, axis=1), xp.take(padded, first + 1, axis=1)
    real = xp.real(left).dtype
    share = xp.asarray([step % 1.0 for step in steps], dtype=real, device=spectra.device)
    magnitude = (1 - share) * xp.abs(left) + share * xp.abs(right)

    # How far each bin turns in a hop, wrapped to half a turn around what is expected.
    hops = [math.pi * hop_length * n / (bins - 1) for n in range(bins)]
    expected = xp.asarray(hops, dtype=real, device=spectra.device)[:, None]
    surplus = angle(right) - angle(left) - expected
    turns = expected + surplus - 2 * math.pi * xp.round(surplus / (2 * math.pi))
    phase = angle(spectra[:, :1]) + xp.cumulative_sum(turns, axis=1) - turns
    return magnitude * xp.cos(phase) + 1j * (magnitude * xp.sin(phase))
