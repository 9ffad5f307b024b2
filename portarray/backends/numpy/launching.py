"""User kernels in NumPy's memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portarray._launchers.host import OverHost, host_launcher
from portarray._launchers.launcher import Launcher, layout_of
from portarray.backends.base import Backend
from portarray.backends.common.copying import copied

__all__ = ["Launching"]


class Launching(Backend):
    """The launcher of programs in NumPy's memory."""

    def launcher(self, device: str) -> Launcher | str:
        return _launcher()

    layout = staticmethod(layout_of)  # called for each array of each launch

    def allocation(self, x: Any) -> int:
        while (base := getattr(x, "base", None)) is not None:
            x = base
        return id(x)

    def is_broadcast(self, x: np.ndarray[Any, Any]) -> bool:
        return x.base is not None and (not x.flags.writeable or 0 in x.strides)


@cache
def _launcher() -> Launcher | str:
    host = host_launcher()
    return host if isinstance(host, str) else _Launcher(host)


class _Launcher(OverHost):
    """Runs programs in NumPy's memory and waits for them."""

    def writable(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the array, or a copy of a read-only one, as assignments do."""
        return x if x.flags.writeable else copied(x, order="C")

    def copied(self, x: np.ndarray[Any, Any], *, written: bool) -> str:
        return "it is read-only" if written and not x.flags.writeable else ""
