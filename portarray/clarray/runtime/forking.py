"""After a fork: drivers compute in threads of their own, and a forked process has none of them.

What is enqueued there is never done. So devices that were open before say so when they are used;
it costs nothing where nobody forks.
"""

from __future__ import annotations

import atexit
import copyreg
import os
from typing import Any, NoReturn

from portarray.clarray.errors import DeviceNotFunctionalError
from portarray.clarray.runtime.device import Device, opened
from portarray.clarray.runtime.registry import reduced


class _Left(Device):
    """A device whose driver stayed behind. What was computed before can still be read."""

    def __getattribute__(self, name: str) -> Any:
        """Refuse what leads to the driver."""
        if name in ("context", "queue", "lock"):  # whoever enqueues takes the lock first
            object.__getattribute__(self, "_refuse")()
        return object.__getattribute__(self, name)

    def finish(self) -> None:
        """Refuse to wait for what was still under way."""
        if self.pending:
            self._refuse()

    def retire(self, kept: object) -> None:
        """Let go of memory: nothing uses it here."""

    def _refuse(self) -> NoReturn:
        raise DeviceNotFunctionalError(
            f"{self} was opened before this process was forked, and OpenCL's drivers do not "
            f"survive that. Start processes with multiprocessing.get_context('spawn'), or let "
            f"each process use clarray for the first time after the fork"
        )


copyreg.pickle(_Left, reduced)


def watch() -> None:
    """From now on let devices say what is wrong when they are used in a forked process."""
    if hasattr(os, "register_at_fork"):  # where there are forks
        os.register_at_fork(after_in_child=_after_fork)


def _after_fork() -> None:
    for device in opened:
        # Python waits for devices when it ends, and nothing comes from this one any more.
        atexit.unregister(device.finish)
        device.__class__ = _Left
