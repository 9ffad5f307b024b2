"""CuPy's devices: how many GPUs it sees, and why none."""

from __future__ import annotations

import cupy

__all__ = ["count", "driver", "version", "why_not"]


def version() -> str:
    """Return CuPy's version."""
    text: str = cupy.__version__
    return text


def driver(platform: str) -> str:
    """Return the driver's version as the runtime writes it, or an empty string."""
    try:
        return str(cupy.cuda.runtime.driverGetVersion())
    except cupy.cuda.runtime.CUDARuntimeError:
        return ""


def count(platform: str) -> int:
    """Return how many GPUs of a platform CuPy sees."""
    return _seen()[0] if platform == _built_for() else 0


def why_not(platform: str) -> str:
    """Return why CuPy sees no GPU of a platform."""
    built = _built_for()
    if platform != built:
        return f"this CuPy {version()} was built for {built}, not for {platform}"
    return _seen()[1]


def _built_for() -> str:
    return "rocm" if cupy.cuda.runtime.is_hip else "cuda"


def _seen() -> tuple[int, str]:
    """Return the number of GPUs, and the reason where it is 0."""
    try:
        number: int = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        # The runtime raises instead of answering 0. Driver version 0 means that there is none.
        loaded = driver("")
        if loaded in ("", "0"):
            maker = "AMD" if _built_for() == "rocm" else "NVIDIA"
            return 0, f"CuPy {version()} finds no {maker} driver ({error})"
        return 0, f"CuPy {version()} finds driver {loaded}, but no GPU that it can use ({error})"
    return number, "" if number else f"CuPy {version()} finds a driver, but no GPU"
