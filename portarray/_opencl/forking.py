"""Errors for devices used after a fork.

Drivers compute in threads, which a forked process does not have: commands enqueued there never run.
Devices opened before the fork therefore raise errors. Without forks this costs nothing.
"""

from __future__ import annotations

import atexit
import os
from typing import Any, NoReturn

from portarray._opencl.device import Device, opened
from portarray._opencl.errors import DeviceNotFunctionalError


class ForkedDevice(Device):
    """A device in a forked process, without its driver; finished arrays can still be read."""

    def __getattribute__(self, name: str) -> Any:
        """Raise an error for attributes that use the driver."""
        if name in ("context", "queue", "lock"):  # enqueueing takes the lock first
            object.__getattribute__(self, "_refuse")()
        return object.__getattribute__(self, name)

    def finish(self) -> None:
        """Raise an error if there are pending commands."""
        if self.pending:
            self._refuse()

    def retire(self, owner: object) -> None:
        """Release immediately: no kernel runs here."""

    def _refuse(self) -> NoReturn:
        raise DeviceNotFunctionalError(
            f"{self} was opened before this process was forked, and OpenCL drivers do not survive "
            f"a fork\nHint: start processes with multiprocessing.get_context('spawn'), or let each "
            f"process use clarray for the first time after the fork"
        )


def install() -> None:
    """Make devices raise errors in processes forked from now on."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)


def _after_fork() -> None:
    for device in opened:
        # Waiting at exit would not end.
        atexit.unregister(device.finish)
        device.__class__ = ForkedDevice
