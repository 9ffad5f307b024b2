"""Routes between devices: the cheapest honest one.

Within a library its own copy; else a shared view where both sides are host memory; else a copy
through the host.
"""

from __future__ import annotations

from typing import Any

from portarray._devices.device import Device

__all__ = ["move"]


def move(x: Any, source: Device, target: Device, *, copy: bool | None) -> Any:
    """Return a native array of one device as native array of another.

    Parameters
    ----------
    x : native array
        On ``source``, of a dtype that ``target`` has.
    source, target : Device
        From where to where.
    copy : bool or None
        None shares memory where it can, True always copies, False raises ValueError where a copy
        is needed.
    """
    if source.room is target.room:
        return source.room.transfer.move(x, target.native, copy=copy)
    shared = source.room.transfer.on_host(source.native) and target.room.transfer.on_host(
        target.native
    )
    if copy is False and not shared:
        raise ValueError(f"copy=False, but {source} and {target} share no memory; pass copy=None")
    # The consumer must never see unfinished work.
    source.room.synchronize(source.native)
    values = source.room.transfer.to_host(x, copy=False if copy is False else None)
    return target.room.transfer.from_host(values, target.native, copy=copy if shared else None)
