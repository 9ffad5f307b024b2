"""Routes between devices: the cheapest honest one.

Each room says what its devices' memory is for DLPack (``place``), what they read of others
(``reads``), and why data is copied on its way in or out (``why_copied_in`` and its kin). From that
follows one of four routes, see :data:`Kind`. :func:`move` takes it, :func:`plan` only says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from portarray._devices.device import Device

if TYPE_CHECKING:
    from portarray.backends.protocol import Room

__all__ = ["HOST", "Kind", "Plan", "kind_of", "move", "plan"]

Kind = Literal["library", "memory", "dlpack", "staged", "host"]
"""How data goes from one device to another:

- ``"library"``: both are of one library, which moves by itself;
- ``"memory"``: both compute in host memory, where each may take the other's as it is;
- ``"dlpack"``: both compute in the memory of one GPU, which goes from one to the other by DLPack;
- ``"staged"``: through page-locked memory of the host, from one GPU to another;
- ``"host"``: through the host.
"""

HOST = (1, 0)
"""DLPack's kDLCPU, of which there is one."""


def kind_of(source: Device, target: Device) -> Kind:
    """Return the kind of route from one device to another."""
    room, onto = source.room, target.room
    if room is onto:
        return "library"
    here, there = room.place(source.native), onto.place(target.native)
    if here == HOST and there == HOST:
        return "memory"
    if here is not None and here == there and here[0] in onto.reads(target.native):
        return "dlpack"
    if here != HOST and there != HOST:
        return "staged"
    return "host"


def move(
    x: Any, source: Device, target: Device, *, copy: bool | None, non_blocking: bool = False
) -> Any:
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
    non_blocking : bool
        Whether it may return before data has arrived on a device with memory of its own.
    """
    room, onto = source.room, target.room
    if room is onto:
        return onto.transfer.move(x, target.native, copy=copy, non_blocking=non_blocking)
    kind = kind_of(source, target)
    if kind == "dlpack":
        return onto.transfer.from_dlpack(_Offered(x, room), target.native, copy=copy)
    if copy is False:
        if kind != "memory":
            raise ValueError(
                f"copy=False, but {source} and {target} share no memory; pass copy=None"
            )
        values = room.transfer.to_host(x, copy=False)
        return onto.transfer.from_host(values, target.native, copy=False)
    if kind != "memory":
        staged = room.staged(x) if kind == "staged" else None
        values = room.transfer.to_host(x, copy=None) if staged is None else staged
        return onto.transfer.from_host(
            values, target.native, copy=None, non_blocking=non_blocking and staged is None
        )
    values, must = _lent(x, room, copy)
    return onto.transfer.from_host(values, target.native, copy=must)


def _lent(x: Any, room: Room, copy: bool | None) -> tuple[np.ndarray[Any, Any], bool | None]:
    """Return values in host memory, and the ``copy`` with which another library may take them."""
    if not room.why_copied_out(x):
        return room.transfer.to_host(x, copy=None), copy
    try:
        # To read on the spot is enough for one who copies: that is one copy and not two.
        return room.transfer.to_host(x, copy=False), True
    except ValueError:
        return room.transfer.to_host(x, copy=None), None  # a copy that nobody else has


class _Offered:
    """A room's array as a DLPack producer, exported as its room exports it."""

    __slots__ = ("_room", "_x")

    def __init__(self, x: Any, room: Room) -> None:
        self._x = x
        self._room = room

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a capsule, ordered before what comes next on the consumer's stream."""
        return self._room.transfer.to_dlpack(
            self._x, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's device type and index."""
        return self._room.transfer.dlpack_device(self._x)


@dataclass(frozen=True, slots=True)
class Plan:
    """How an array would go from one device to another.

    Parameters
    ----------
    source, target : Device
        From where to where.
    route : {"library", "memory", "dlpack", "staged", "host"}
        Through what: the library that both devices are of, the host memory in which both compute,
        the memory of one GPU by DLPack, page-locked memory between two GPUs, or the host.
    dtype : numpy.dtype
        On the target.
    copies : int
        How often the data is copied; 0 where the target takes the memory as it is.
    nbytes : int
        Bytes that are written for that, all copies together.
    why : str
        Why it does not go without a copy, or with one; empty where it goes without.
    """

    source: Device
    target: Device
    route: Kind
    dtype: np.dtype[Any]
    copies: int
    nbytes: int
    why: str

    def __str__(self) -> str:
        how = {0: "without a copy", 1: "with one copy"}.get(self.copies, f"{self.copies} copies")
        text = f"{self.source} → {self.target}: {self.route}, {how}"
        return f"{text} ({self.nbytes:,} bytes): {self.why}" if self.copies else text


def plan(x: Any, source: Device, target: Device, *, dtype: np.dtype[Any]) -> Plan:
    """Return the route that :func:`move` takes with ``copy=None``; waits until x is computed.

    Parameters
    ----------
    x : native array
        On ``source``.
    source, target : Device
        From where to where.
    dtype : numpy.dtype
        Of x.
    """
    kind = kind_of(source, target)
    reasons = _reasons(x, source, target, kind, dtype)
    nbytes = dtype.itemsize
    for length in x.shape:
        nbytes *= length
    return Plan(
        source, target, kind, dtype, len(reasons), nbytes * len(reasons), "; ".join(reasons)
    )


def _reasons(x: Any, source: Device, target: Device, kind: Kind, dtype: np.dtype[Any]) -> list[str]:
    """Return why each copy on a route is made."""
    room, onto = source.room, target.room
    if kind == "dlpack":
        return []
    if kind == "library":
        inside = room.why_copied(x, target.native)
        return [inside] if inside else []
    out = room.why_copied_out(x)
    if not out:
        values = room.transfer.to_host(x, copy=None)
    elif kind == "memory" and _lends(x, room):
        return [out]
    else:
        values = np.empty(x.shape, dtype)  # as the copy on the host will be; never written
    inward = onto.why_copied_in(values, target.native)
    return [reason for reason in (out, inward) if reason]


def _lends(x: Any, room: Room) -> bool:
    """Tell whether an array that others cannot keep can be read on the spot."""
    try:
        room.transfer.to_host(x, copy=False)
    except ValueError:
        return False
    return True
