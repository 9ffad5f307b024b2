"""Blocks of launches in host memory, which wait once for all of their kernels.

A launch in the memory of other libraries waits for its kernel, since these libraries read the
result without asking. Waiting and starting the next kernel takes longer than many kernels do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from portarray._opencl.recording import Recorder

__all__ = ["LaunchBlock", "current"]


class _Current(threading.local):
    block: LaunchBlock | None = None
    recorder: Recorder | None = None


current = _Current()
"""The block of this thread, if it is in one, and what records its launches."""


class LaunchBlock:
    """Launches whose results are not read before the end of the ``with`` statement.

    They run in order.
    """

    __slots__ = ("_arrays", "_outer", "_wait")

    def __enter__(self) -> None:
        self._wait: Callable[[], None] | None = None
        self._arrays: list[Any] = []
        self._outer = current.block  # of a function whose memory is collected here
        current.block = self

    def add(self, arrays: Any, wait: Callable[[], None]) -> None:
        """Keep the arrays of a launch until the end; ``wait`` waits for it and those before it."""
        self._arrays.append(arrays)
        self._wait = wait

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        current.block = self._outer
        try:
            if self._wait is not None:
                self._wait()
        finally:
            self._arrays.clear()
