"""How each function is served where: the table that errors, docs and tests read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module

from portarray._array import dispatch, dtypes
from portarray._devices import discovery, selection
from portarray._devices.device import Device
from portarray.backends.assembly import CHAPTERS
from portarray.backends.protocol import Served

__all__ = ["Row", "functions", "support"]

# Functions of dtypes and shapes alone, which no device serves; and logspace, which is not in the
# standard and made of functions that are.
_NOT_ON_DEVICES = frozenset(
    {"broadcast_shapes", "can_cast", "finfo", "iinfo", "isdtype", "logspace", "result_type"}
)


@dataclass(frozen=True, slots=True)
class Row:
    """One function on one device.

    Attributes
    ----------
    device : str
        Text of the device.
    chapter : str
        The standard's chapter.
    function : str
        Standard name: ``"sin"``, ``"linalg.svd"``.
    served : {"native", "composed", "host"}
        By the library's own function, by a composition of them on the device, or on the host.
    dtypes : tuple of str
        Dtypes that it takes, those converted first included.
    """

    device: str
    chapter: str
    function: str
    served: Served
    dtypes: tuple[str, ...]


def support(device: object = None) -> list[Row]:
    """Return how every function of the standard is served.

    Parameters
    ----------
    device : device-like, optional
        One device; None takes every functional device.

    Returns
    -------
    list of Row
        Device by device, in the order of the standard's chapters.
    """
    where = discovery.devices() if device is None else [selection.resolve(device)]
    return [
        Row(str(d), chapter, name, dispatch.served(d, name), _taken(d, name))
        for d in where
        for chapter, name in functions()
    ]


def functions() -> Iterator[tuple[str, str]]:
    """Yield chapter and name of every function of the standard that runs on devices."""
    for chapter in CHAPTERS:
        extension = chapter in ("linalg", "fft")
        module = import_module(f"portarray.{chapter}" if extension else f"portarray._api.{chapter}")
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and not isinstance(value, type) and name not in _NOT_ON_DEVICES:
                yield chapter, f"{chapter}.{name}" if extension else name


def _taken(device: Device, name: str) -> tuple[str, ...]:
    """Return the dtypes that a function takes on a device."""
    rule = dtypes.ACCEPTED.get(name)
    kinds = "biufc" if rule is None else rule.split(">")[0]
    return tuple(
        dtype.name for dtype in dispatch.dtypes_of(device) if dtypes.kind_of(dtype) in kinds
    )
