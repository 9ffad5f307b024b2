"""Recorded parts of programs: kernels that later calls launch without the calls around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from portarray._devices.device import Device
from portarray._transforms.user_kernels import Launch

__all__ = ["Recorded"]

FIRST = 2
"""The call that is recorded first: an earlier one compiles kernels and fills caches."""

MOST_ATTEMPTS = 8
"""Calls that are recorded at most."""

MOST_RECORDINGS = 4
"""Recordings, for arguments of several strides and offsets."""


class Recorded:
    """A function of native arrays whose launches are recorded in an early call, then replayed.

    Parameters
    ----------
    run : callable
        The function; returns a tuple.
    device : Device
        The device of all its arrays.
    launches : sequence of Launch
        The user kernels that it launches, which may read names anew.
    constants : sequence
        Native arrays that it uses and does not change.
    """

    def __init__(
        self,
        run: Callable[..., tuple[Any, ...]],
        device: Device,
        launches: Sequence[Launch],
        constants: Sequence[Any],
    ) -> None:
        self._run, self._device = run, device
        self._launches, self._constants = launches, constants
        self._calls = 0
        self._recordings: list[Any] = []

    def __call__(self, *natives: Any) -> tuple[Any, ...]:
        """Return the function's results."""
        if self._recordings and all(launch.is_current() for launch in self._launches):
            for recording in self._recordings:
                outputs: tuple[Any, ...] | None = recording(natives)
                if outputs is not None:
                    return outputs
        self._calls += 1
        is_early = FIRST <= self._calls < FIRST + MOST_ATTEMPTS
        if is_early and len(self._recordings) < MOST_RECORDINGS:
            return self._record(natives)
        return self._run(*natives)

    def _record(self, natives: Sequence[Any]) -> tuple[Any, ...]:
        """Run the function and record its launches."""
        recorder = self._device._backend.recorder(self._device.native)
        if recorder is None:
            return self._run(*natives)
        with recorder.launches():
            outputs = self._run(*natives)
        if all(launch.is_current() for launch in self._launches):
            recording = recorder.recording(natives, outputs, self._constants)
            if recording is not None:
                self._recordings.append(recording)
        return outputs
