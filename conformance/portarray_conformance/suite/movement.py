"""Moving data between a target's device and every other device of its namespace."""

from __future__ import annotations

from functools import partial
from typing import Any

from portarray_conformance import draw, pairs
from portarray_conformance.cases import Draw, case
from portarray_conformance.target import Target

SHOWN = 5

# One dtype of each size and kind: the other methods use the same copies as ``to_device``.
FEW = ("bool", "int16", "bfloat16", "float32", "complex64", "float64", "complex128")


def _both_ways(method: str, names: tuple[str, ...] | None, target: Target, data: Draw) -> None:
    """Check that every bit of every dtype and layout arrives on another device and comes back."""
    device, devices = _devices(target)
    second = devices[draw.pick(data, tuple(devices), "device")]
    faults: list[str] = []
    for source, destination in ((device, second), (second, device)):
        # The standard does not say that a copy keeps signaling NaNs signaling.
        unlike = pairs.wrong(target, source, destination, method, exact=False, names=names)
        faults += [f"{source} to {destination}, {text}" for text in unlike]
        if device == second:
            break
    if faults:
        more = len(faults) - SHOWN
        raise AssertionError(
            f"{method}, {len(faults)} faults:\n"
            + "\n".join(faults[:SHOWN])
            + (f"\nand {more} more" if more > 0 else "")
        )


for _name, _names in (("array.to_device", None), ("asarray", FEW), ("from_dlpack", FEW)):
    case(_name, "movement")(partial(_both_ways, _name, _names))


def _devices(target: Target) -> tuple[Any, dict[str, Any]]:
    """Return the device of the target's arrays, and all devices by their texts."""
    default = target.xp.ones((1,), **target.creation_keywords()).device
    readable = {str(default): default}
    for device in target.xp.__array_namespace_info__().devices():
        if device is None:
            continue
        probe = target.xp.ones((1,), device=device)
        if _is_readable(target, probe):
            readable[str(probe.device)] = probe.device
    return default, readable


def _is_readable(target: Target, x: Any) -> bool:
    """Return whether values can be read; PyTorch lists a device "meta" without values."""
    try:
        target.get(x)
    except (TypeError, ValueError, RuntimeError, BufferError):
        return False
    return True
