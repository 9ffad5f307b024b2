"""Copies between devices and the host: told to listeners, and refused where the settings say so.

Every place that reads values into host memory for a user, or makes an array of host values, calls
:func:`tell`; nothing else pays for it. ``pa.config(host_access="error")`` refuses the implicit ones
here, and tools that count or forbid transfers append a function to :data:`LISTENERS`.
"""

from __future__ import annotations

import linecache
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from types import FunctionType
from typing import TYPE_CHECKING, NamedTuple

from portarray import _name_hints
from portarray._config import config
from portarray.errors import HostAccessError, HostAccessWarning

if TYPE_CHECKING:
    from types import FrameType

    from portarray._devices.device import Device

__all__ = [
    "LISTENERS",
    "REFUSED",
    "Line",
    "Transfer",
    "callers",
    "listening",
    "tell",
    "tell_move",
    "user_line",
]


class Transfer(NamedTuple):
    """One copy between a device and the host.

    Parameters
    ----------
    kind : str
        What copies. To the host: ``"numpy.asarray"``, ``"DLPack"`` (an export in host memory),
        ``"ufunc"`` (of another library, on a host view), ``"host fallback"``; ``"bool"``,
        ``"int"``, ``"float"``, ``"complex"``, ``"index"``, ``"item"``, ``"tolist"``, ``"print"``
        (repr and str); ``"pickle"``, ``"save"``, ``"to_device"``. From the host: ``"asarray"``,
        ``"from_dlpack"``, ``"indexing"`` (by lists or NumPy arrays), ``"unpickle"``, ``"load"``,
        ``"to_device"``.
    device : Device
        The device whose memory is read or written.
    to_host : bool
        The direction.
    name : str
        The ufunc, the function that fell back, or the other device of ``"to_device"``.
    """

    kind: str
    device: Device
    to_host: bool
    name: str


class Line(NamedTuple):
    """A line of a program that is running."""

    filename: str
    lineno: int
    function: str
    module: str = ""

    def is_library(self) -> bool:
        """Return whether it is in an installed package or Python's own library."""
        return any(folder in self.filename for folder in _LIBRARIES)

    def __str__(self) -> str:
        text = linecache.getline(self.filename, self.lineno).strip()
        return f"{self.filename}:{self.lineno}{text and f': {text}'}"


LISTENERS: list[Callable[[Transfer], None]] = []
"""Called with each transfer before it is made, in the thread that makes it; may raise."""

REFUSED = frozenset(("numpy.asarray", "DLPack", "ufunc"))
"""The kinds that ``host_access="error"`` refuses: the call does not say that it copies."""

_OWN = ("portarray.", "numpy.")
_LIBRARIES = (os.path.dirname(os.__file__), "site-packages", "dist-packages")


def tell(kind: str, device: Device, *, to_host: bool = True, name: str = "") -> None:
    """Tell the listeners of a transfer; raise if the settings refuse it.

    Raises
    ------
    HostAccessError
        Of kinds in :data:`REFUSED` while ``config.host_access`` is ``"error"``.
    """
    if LISTENERS:
        transfer = Transfer(kind, device, to_host, name)
        for listener in tuple(LISTENERS):
            listener(transfer)
    if kind in REFUSED:
        refuse_if_set(f"{kind} {name}" if name else kind, device)


def refuse_if_set(action: str, device: Device, *, to_host: bool = True) -> None:
    """Refuse an implicit copy, or warn of it, while ``config.host_access`` says so."""
    if config.host_access == "error":
        raise HostAccessError(action, str(device), user_line(), to_host=to_host)
    if config.host_access == "warn" and to_host:
        _warn(action, device)


def _warn(action: str, device: Device) -> None:
    """Warn once for each line of the program, with what to use instead of the library's function.

    That is the outermost one that has a hint, since public functions call each other.
    """
    lines = list(callers())
    user = next((i for i, line in enumerate(lines) if not line.is_library()), len(lines) - 1)
    location = lines[user].filename, lines[user].lineno
    if location in _warned:
        return
    _warned.add(location)
    names = [name for line in reversed(lines[:user]) if (name := _public_name(line))]
    function = next((x for x in names if x in _name_hints.LIBRARIES), names[0] if names else "")
    fix = _name_hints.LIBRARIES.get(function, "")
    fix = f"use {fix}" if fix else "copy it to the host explicitly: x.to_device('numpy').native"
    within = f" in {function}" if function else ""
    message = f"{action}{within}: reads an array on {device} from the host\nHint: {fix}"
    warnings.warn_explicit(message, HostAccessWarning, *location)


_warned: set[tuple[str, int]] = set()


def _public_name(line: Line) -> str:
    """Return the name by which users call a library's function, or nothing if it is private."""
    parts = takewhile(lambda part: not part.startswith("_"), line.module.split("."))
    name = ".".join((*parts, line.function))
    return "" if "<" in name or line.function.startswith("_") else name


def tell_move(source: Device, target: Device) -> None:
    """Tell of an explicit move from one device to another, where it is to or from a CPU."""
    if LISTENERS and source is not target:
        if target.kind == "cpu":
            tell("to_device", source, name=str(target))
        elif source.kind == "cpu":
            tell("to_device", target, to_host=False, name=str(source))


@contextmanager
def listening(listener: Callable[[Transfer], None]) -> Iterator[None]:
    """Tell a listener of each transfer meanwhile."""
    LISTENERS.append(listener)
    try:
        yield
    finally:
        LISTENERS.remove(listener)


def callers() -> Iterator[Line]:
    """Yield the lines that led here, innermost first, without portarray's and NumPy's own."""
    frame: FrameType | None = sys._getframe(1)
    above = frame
    while above is not None:  # beginning above tell(): a listener's own lines are not meant
        if above.f_code is tell.__code__:
            frame = above
            break
        above = above.f_back
    while frame is not None:
        if not f"{frame.f_globals.get('__name__')}.".startswith(_OWN):
            yield Line(frame.f_code.co_filename, frame.f_lineno, *_function(frame))
        frame = frame.f_back


def _function(frame: FrameType) -> tuple[str, str]:
    """Return the qualified name and module of a frame's function, or of the one it decorates."""
    code = frame.f_code
    for name in code.co_freevars if "<locals>" in code.co_qualname else ():
        decorated = frame.f_locals.get(name)
        if isinstance(decorated, FunctionType):
            return decorated.__qualname__, decorated.__module__
    return code.co_qualname, frame.f_globals.get("__name__", "")


def user_line() -> str:
    """Return the line that called portarray, and the user's own one where a library did it."""
    lines = list(callers())
    if not lines:
        return ""
    user_frame = next((line for line in lines if not line.is_library()), lines[0])
    return str(lines[0]) if user_frame is lines[0] else f"{lines[0]}, called from {user_frame}"
