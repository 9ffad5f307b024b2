"""OpenCL devices of all platforms, and reasons why others are missing."""

from __future__ import annotations

import threading

import pyopencl as cl

from portarray._opencl import loader

_lock = threading.Lock()
_reasons: dict[str, str] = {}


def candidates() -> list[cl.Device]:
    """Return the devices of every platform, best first; nothing has run on them yet.

    GPUs come before CPUs. Among CPU drivers, Intel's, which is tested most, comes first, PoCL last.
    """
    loader.prepare()
    natives = [native for platform in _platforms() for native in _devices_of(platform)]
    return sorted(natives, key=_rank)


def refusals() -> dict[str, str]:
    """Return why platforms, devices and driver entries cannot be used, by name."""
    return dict(_reasons)


def refuse(name: str, reason: str) -> None:
    """Record why something cannot be used."""
    with _lock:
        while name in _reasons and _reasons[name] != reason:
            name += "'"  # two have the same name
        _reasons[name] = reason


def title(native: cl.Device) -> str:
    """Return a device's name in reasons."""
    return f"{native.name.strip()} ({native.platform.name.strip()})"


def _platforms() -> list[cl.Platform]:
    for name, reason in loader.wrong_entries().items():
        refuse(name, reason)
    try:
        platforms = list(cl.get_platforms())
    except cl.Error as error:
        refuse("OpenCL", f"the loader finds no driver ({error}); {_HELP}")
        return []
    if not platforms:
        refuse("OpenCL", f"the loader finds no driver; {_HELP}")
    return platforms


_HELP = (
    "install one, such as Intel's for CPUs: pip install intel-opencl-rt. If another library used "
    "the loader before, import clarray first"
)


def _devices_of(platform: cl.Platform) -> list[cl.Device]:
    name = platform.name.strip()
    if "FPGA Emulation" in name:
        refuse(name, "it emulates FPGAs, for programs that will run on one")
        return []
    try:
        natives = list(platform.get_devices())
    except cl.Error as error:  # DEVICE_NOT_FOUND among others
        refuse(name, f"the platform has no device ({error})")
        return []
    if not natives:
        refuse(name, "the platform has no device")
    return natives


def _rank(native: cl.Device) -> tuple[int, int]:
    kind = native.type
    # Accelerators are chosen only if there is no other device.
    kind_rank = 0 if kind & cl.device_type.GPU else 1 if kind & cl.device_type.CPU else 2
    platform = native.platform.name
    return kind_rank, 0 if "Intel" in platform else 2 if "Portable Computing" in platform else 1
