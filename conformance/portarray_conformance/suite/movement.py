"""Moving data between a target's device and every other device of its namespace."""

from __future__ import annotations

from typing import Any

from portarray_conformance import draw, pairs
from portarray_conformance.cases import Draw, case
from portarray_conformance.target import Target

SHOWN = 5

# Of each size and kind one: the other ways lead through the same copies as ``to_device``.
FEW = ("bool", "int16", "bfloat16", "float32", "complex64", "float64", "complex128")


@case("array.to_device", "movement", chapter="array_object")
def to_device(target: Target, data: Draw) -> None:
    """Every bit of every dtype and layout arrives on another device, and comes back."""
    _both_ways(target, data, "array.to_device")


@case("asarray", "movement", chapter="creation")
def asarray(target: Target, data: Draw) -> None:
    """The same with ``asarray(x, device=...)``, for a few dtypes."""
    _both_ways(target, data, "asarray", FEW)


@case("from_dlpack", "movement", chapter="dlpack")
def from_dlpack(target: Target, data: Draw) -> None:
    """The same with ``from_dlpack(x, device=...)``, for a few dtypes."""
    _both_ways(target, data, "from_dlpack", FEW)


def _both_ways(target: Target, data: Draw, way: str, names: tuple[str, ...] | None = None) -> None:
    """Draw a device of the namespace, the target's own too, and move from and to it."""
    own, devices = _devices(target)
    other = devices[draw.pick(data, tuple(devices), "device")]
    found: list[str] = []
    for source, destination in ((own, other), (other, own)):
        # The standard does not say that a copy keeps signaling NaNs signaling.
        unlike = pairs.wrong(target, source, destination, way, exact=False, names=names)
        found += [f"{source} to {destination}, {text}" for text in unlike]
        if own == other:
            break
    if found:
        more = len(found) - SHOWN
        raise AssertionError(
            f"{way}, {len(found)} faults:\n"
            + "\n".join(found[:SHOWN])
            + (f"\nand {more} more" if more > 0 else "")
        )


def _devices(target: Target) -> tuple[Any, dict[str, Any]]:
    """Return the device that the target's arrays say they are on, and all by their texts."""
    own = target.xp.ones((1,), **target.creation_keywords()).device
    found = {str(own): own}
    for device in target.xp.__array_namespace_info__().devices():
        if device is None:
            continue
        made = target.xp.ones((1,), device=device)
        if _is_readable(target, made):
            found[str(made.device)] = made.device
    return own, found


def _is_readable(target: Target, x: Any) -> bool:
    """Tell whether values can be looked at; PyTorch lists a device "meta" that holds none."""
    try:
        target.get(x)
    except (TypeError, ValueError, RuntimeError, BufferError):
        return False
    return True
