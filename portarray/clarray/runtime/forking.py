"""Errors for devices used after a fork.

Drivers compute in threads, which a forked process does not have: what it enqueues never runs.
Therefore devices opened before raise errors there; without forks this costs nothing.
"""

from __future__ import annotations

import atexit
import copyreg
import os
from typing import Any, NoReturn

from portarray.clarray.errors import DeviceNotFunctionalError
from portarray.clarray.runtime.device import Device, opened
from portarray.clarray.runtime.registry import reduced


class _Forked(Device):
    """A device in a forked process, without its driver; finished arrays can still be read."""

    def __getattribute__(self, name: str) -> Any:
        """Refuse what would use the driver."""
        if name in ("context", "queue", "lock"):  # enqueueing takes the lock first
            object.__getattribute__(self, "_refuse")()
        return object.__getattribute__(self, name)

    def finish(self) -> None:
        """Refuse to wait for pending commands."""
        if self.pending:
            self._refuse()

    def retire(self, owner: object) -> None:
        """Release at once: no kernel runs here."""

    def _refuse(self) -> NoReturn:
        raise DeviceNotFunctionalError(
            f"{self} was opened before this process was forked, and OpenCL's drivers do not "
            f"survive that. Start processes with multiprocessing.get_context('spawn'), or let "
            f"each process use clarray for the first time after the fork"
        )


copyreg.pickle(_Forked, reduced)


def watch() -> None:
    """Let devices raise errors in forked processes from now on."""
    if hasattr(os, "register_at_fork"):  # where there are forks
        os.register_at_fork(after_in_child=_after_fork)


def _after_fork() -> None:
    for device in opened:
        # Waiting at exit would not end.
        atexit.unregister(device.finish)
        device.__class__ = _Forked
