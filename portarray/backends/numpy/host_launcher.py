"""The launcher of programs in NumPy's memory; imported where a kernel is run."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portarray._launchers.host import OverHost, host_launcher
from portarray.backends.common.copying import copied

__all__ = ["launcher"]


Array = np.ndarray[Any, Any]


@cache
def launcher() -> OverHost | str:
    """Return the host's launcher for NumPy arrays, or why there is none."""
    host = host_launcher()
    return host if isinstance(host, str) else _Launcher(host)


class _Launcher(OverHost):
    """Runs programs in NumPy's memory and waits for them."""

    def writable(self, x: Array) -> Array:
        """Return the array, or a copy of a read-only one, as assignments do."""
        return x if x.flags.writeable else copied(x, order="C")

    def copied(self, x: Array, *, written: bool) -> str:
        return "it is read-only" if written and not x.flags.writeable else ""
