"""User kernels in NumPy's memory."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._launchers.launcher import layout_of
from portarray.backends.base import Backend
from portarray.backends.common.host_memory import owner_of

if TYPE_CHECKING:
    from portarray._launchers.host import OverHost
    from portarray._opencl.recording import Recorder

__all__ = ["Launching"]


class Launching(Backend):
    """The launcher of programs in NumPy's memory."""

    def launcher(self, device: str) -> OverHost | str:
        from portarray.backends.numpy.host_launcher import launcher  # for kernels only

        return launcher()

    def recorder(self, device: str) -> Recorder | None:
        launcher = self.launcher(device)
        if isinstance(launcher, str):
            return None
        return launcher.recorder(self.layout, np.ndarray, np.empty_like)

    layout = staticmethod(layout_of)  # called for each array of each launch

    @staticmethod
    def layout_key(x: Any) -> Hashable:
        return x.shape, x.strides

    allocation = staticmethod(owner_of)

    def is_broadcast(self, x: np.ndarray[Any, Any]) -> bool:
        return x.base is not None and (not x.flags.writeable or 0 in x.strides)
