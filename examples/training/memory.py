"""How much memory a program takes at most, sampled by a thread."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import Self

import portarray as pa

__all__ = ["MemoryPeak"]

INTERVAL = 0.002  # seconds between samples


class MemoryPeak:
    """The most memory in use within a ``with`` block, beyond what was in use when it began.

    Parameters
    ----------
    device : Device
        Whose arrays are counted, where its library keeps an account; else the memory of the whole
        process is taken, on Linux.

    Attributes
    ----------
    nbytes : int or None
        The peak in bytes; None where nobody can say.
    """

    def __init__(self, device: pa.Device) -> None:
        self._device = device
        self._statistics = Path("/proc/self/statm")
        self.nbytes: int | None = None

    def _used(self) -> int | None:
        used = pa.memory(self._device).used
        if used is not None or not self._statistics.exists():
            return used
        return int(self._statistics.read_text().split()[1]) * 4096

    def __enter__(self) -> Self:
        pa.reclaim(self._device)
        baseline = self._used()
        self._ended = threading.Event()

        def sample(baseline: int) -> None:
            while not self._ended.wait(INTERVAL):
                self.nbytes = max(self.nbytes or 0, (self._used() or 0) - baseline)

        if baseline is not None:
            self._thread = threading.Thread(target=sample, args=(baseline,), daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
