"""Selection among candidate devices where a text names more than one."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from portarray._devices import discovery, hardware, notices
from portarray._devices.device import Device
from portarray.backends import registry
from portarray.backends.types import PLATFORMS, Kind
from portarray.errors import DeviceNotFunctionalError

__all__ = ["Choice"]

_HARDWARE = tuple(platform for platform in PLATFORMS if platform != "cpu")


class Choice:
    """One selection: the candidates refused, with reasons, and the warnings due."""

    def __init__(self, requested: str, needed: int | None = None) -> None:
        self.requested = requested
        self.needed = needed
        self.reasons: dict[str, str] = {}
        self.passed_over: dict[str, str] = {}

    def walk(self, pairs: Iterable[tuple[str, str]], index: int | None) -> Iterator[Device]:
        """Yield functional devices of libraries and platforms; record why the others are not."""
        for library, platform in pairs:
            sign = self._reason_missing(library, platform)
            if sign:
                self.reasons[f"{library}:{platform}"] = sign
                continue
            try:
                count = discovery.count(library, platform)
            except DeviceNotFunctionalError as error:
                self._note(error, fault=discovery.is_fault(library, platform))
                continue
            for device_index in range(count) if index is None else (index,):
                try:
                    yield discovery.get_device(library, platform, device_index)
                except DeviceNotFunctionalError as error:
                    self._note(error, fault=discovery.is_fault(library, platform, device_index))

    def _reason_missing(self, library: str, platform: str) -> str:
        """Return why ``"auto"`` skips a platform without importing the library."""
        info = registry.find_info(library)
        if self.requested != "auto" or info is None or info.module in sys.modules:
            return ""
        return hardware.reason_missing(platform)

    def best(self) -> Device:
        """Return the best GPU; for ``"auto"`` without a GPU, the best device."""
        rounds: list[tuple[Kind, tuple[str, ...]]] = [("gpu", _HARDWARE)]
        if self.requested == "auto":
            # The platform "cpu" is preferred to CPUs under OpenCL or oneAPI.
            rounds += [("accelerator", _HARDWARE), ("cpu", ("cpu", *_HARDWARE))]
        for kind, platforms in rounds:
            pairs = ((library, p) for p in platforms for library in discovery.by_rank(p))
            device = next((d for d in self.walk(pairs, None) if self.accepts(d, kind)), None)
            if device is not None:
                return device
        raise self.error()

    def first(self, candidates: Iterator[Device]) -> Device:
        """Return the first device with enough memory, or raise with every reason."""
        for candidate in candidates:
            if self.fits(candidate):
                self.tell(candidate)
                return candidate
        raise self.error()

    def accepts(self, candidate: Device, kind: Kind) -> bool:
        """Return whether a device is of a kind and has enough memory."""
        if candidate.kind != kind:
            if self.requested == "gpu":
                self.reasons[str(candidate)] = f"not a GPU: {candidate.name} ({candidate.kind})"
            return False
        return self.fits(candidate)

    def fits(self, candidate: Device) -> bool:
        """Return whether a device has enough free memory; record the figures if not."""
        if self.needed is None:
            return True
        free = candidate._backend.memory(candidate.native).free
        if free is None or free >= self.needed:
            return True
        reason = (
            f"{free:,} bytes ({_gib(free)}) are free, "
            f"{self.needed:,} bytes ({_gib(self.needed)}) are needed"
        )
        self.reasons[str(candidate)] = self.passed_over[str(candidate)] = reason
        return False

    def tell(self, taken: Device) -> None:
        """Warn of the candidates that were passed over."""
        if self.passed_over:
            reasons = "; ".join(f"{name}: {why}" for name, why in self.passed_over.items())
            notices.warn(f"{self.requested!r} resolves to {taken}; skipped {reasons}")

    def error(self) -> DeviceNotFunctionalError:
        """Return the error that nothing was found."""
        lacking_memory = (
            set(self.reasons) & set(self.passed_over) if self.needed is not None else set()
        )
        fix = (
            "ask for less memory, free some with pa.reclaim(device), or name another device"
            if lacking_memory
            else "run `portarray devices` to see which devices work here"
        )
        # Functional devices that lack memory come first: the fix is about them.
        first = {name: why for name, why in self.reasons.items() if name in lacking_memory}
        return DeviceNotFunctionalError(self.requested, {**first, **self.reasons}, fix)

    def _note(self, error: DeviceNotFunctionalError, *, fault: bool) -> None:
        self.reasons.update(error.reasons)
        if fault:
            self.passed_over.update(error.reasons)


def _gib(nbytes: int) -> str:
    return f"{nbytes / 2**30:.2f} GiB"
