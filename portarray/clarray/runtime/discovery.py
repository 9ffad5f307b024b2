"""The OpenCL devices of all platforms, and the reasons why others are missing."""

from __future__ import annotations

import threading

import pyopencl as cl

from portarray._opencl import loader

_lock = threading.Lock()
_reasons: dict[str, str] = {}


def candidates() -> list[cl.Device]:
    """Return the devices of every platform, best first; nothing has run on them yet.

    GPUs come before CPUs; of the drivers of a CPU Intel's, which is tested most, first, PoCL last.
    """
    loader.prepare()
    found = [device for platform in _platforms() for device in _devices_of(platform)]
    return sorted(found, key=_rank)


def refusals() -> dict[str, str]:
    """Return why what :func:`candidates` found cannot be used, by name."""
    return dict(_reasons)


def refuse(name: str, reason: str) -> None:
    """Record why something cannot be used."""
    with _lock:
        while name in _reasons and _reasons[name] != reason:
            name += "'"  # another of that name
        _reasons[name] = reason


def title(native: cl.Device) -> str:
    """Return what a device is called in reasons."""
    return f"{native.name.strip()} ({native.platform.name.strip()})"


def _platforms() -> list[cl.Platform]:
    for name, reason in loader.wrong_entries().items():
        refuse(name, reason)
    try:
        found = list(cl.get_platforms())
    except cl.Error as error:
        refuse("OpenCL", f"the loader finds no driver ({error}); {_HELP}")
        return []
    if not found:
        refuse("OpenCL", f"the loader finds no driver; {_HELP}")
    return found


_HELP = (
    "install one, such as Intel's for CPUs: pip install intel-opencl-rt. Where another library "
    "asked the loader before, import clarray first"
)


def _devices_of(platform: cl.Platform) -> list[cl.Device]:
    name = platform.name.strip()
    if "FPGA Emulation" in name:
        refuse(name, "it emulates FPGAs, for programs that are to run on one")
        return []
    try:
        found = list(platform.get_devices())
    except cl.Error as error:  # DEVICE_NOT_FOUND among others
        refuse(name, f"the platform has no device ({error})")
        return []
    if not found:
        refuse(name, "the platform has no device")
    return found


def _rank(native: cl.Device) -> tuple[int, int]:
    kind = native.type
    # Accelerators are chosen only if nothing else is there.
    what = 0 if kind & cl.device_type.GPU else 1 if kind & cl.device_type.CPU else 2
    platform = native.platform.name
    return what, 0 if "Intel" in platform else 2 if "Portable Computing" in platform else 1
