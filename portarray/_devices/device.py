"""``Device`` and its text form ``[library:][platform][:index]``."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import nullcontext
from contextvars import ContextVar
from functools import partial
from itertools import count, repeat
from operator import attrgetter, itemgetter, methodcaller
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

from portarray.backends import registry
from portarray.backends.base import Backend
from portarray.backends.types import PLATFORMS, BackendInfo, Kind
from portarray.errors import UnknownDeviceError

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["MARKED", "SCOPES", "WATCHES", "WORDS", "Device", "DeviceText", "make", "parse"]

WORDS = ("auto", "gpu")
"""Texts that ask for a choice instead of naming a device."""

SCOPES: ContextVar[str] = ContextVar("portarray_device_scopes", default="")
"""Devices of the ``with`` blocks around the running code, outermost first, by their marks.

An immutable stack: threads start with an empty one, asyncio tasks with that of their creator.
"""


class _Marked(dict[str, "Device"]):
    """Devices by mark; any other mark calls its watch."""

    def __missing__(self, mark: str) -> Device:
        return WATCHES[mark]()


MARKED = _Marked()
"""Devices by mark, the character that represents each on the stack."""

WATCHES: dict[str, Callable[[], Device]] = {}
"""Functions that resolve a mark when it is used: see ``selection.watch_default``."""

_marks = map(chr, count())


def _uninterrupted(*steps: Callable[[Any], Any], result: object) -> Callable[[], Any]:
    """Return a function that passes the stack through functions written in C, one after another.

    Python raises KeyboardInterrupt, and whatever a signal's handler raises, between two steps of
    Python code, never in C code. An ``__enter__`` in Python could be interrupted after it has
    changed the stack, an ``__exit__`` before: the device would stay the default one. So the steps
    are in iterators, which ``next`` runs without any Python code.
    """
    scopes: Any = iter(SCOPES.get, None)  # never None: it has no end
    for step in steps:
        scopes = map(step, scopes)
    return partial(next, map(itemgetter(1), zip(scopes, repeat(result))))


class _Exit(io.IOBase):
    """Its ``__exit__``, written in C, drops the arguments that ``with`` passes and calls close."""

    closed = True  # else `close` would be called once more when it is deleted

    def __init__(self, close: Callable[[], None]) -> None:
        self.close = close  # type: ignore[method-assign]


class _Method(property):
    """A method that is kept in a slot, so that ``with`` finds the function in C."""

    def __call__(self, device: Device, *args: object) -> Any:
        """Call the method where it was taken from the class, as ``contextlib.ExitStack`` does."""
        return self.__get__(device)(*args)


class Device:
    """A piece of hardware and the library that drives it.

    Devices are made by :func:`portarray.device` and are values: there is one object for each
    device, so compare them with ``is``. They are immutable, hashable, can be copied and pickled
    (unpickling where the device does not function raises
    :class:`~portarray.errors.DeviceNotFunctionalError`), and ``with device:`` makes one the default
    device of the block, for the running thread or asyncio task.

    Attributes
    ----------
    library : str
        The array library: ``"torch"``.
    platform : str
        What drives the hardware: ``"cpu"``, ``"cuda"``, ``"rocm"``, ``"oneapi"``, ``"metal"``,
        ``"opencl"`` or ``"tpu"``.
    index : int
        Which of the platform's devices, counted from 0.
    name : str
        What people call the hardware.
    kind : {"cpu", "gpu", "accelerator"}
        What it is.
    native : Any
        The library's own device object.

    Examples
    --------
    >>> import portarray as pa
    >>> cpu = pa.device("numpy")
    >>> cpu
    Device('numpy:cpu:0')
    >>> with cpu:
    ...     x = pa.ones(3)
    >>> x.device is cpu
    True
    """

    __slots__ = (
        "__weakref__",
        "_backend",
        "_by_dtype",
        "_by_setting",
        "_creation",
        "_enter",
        "_exit",
        "_functions",
        "_home",
        "_tables",
        "_text",
        "index",
        "kind",
        "library",
        "name",
        "native",
        "platform",
    )

    library: str
    platform: str
    index: int
    name: str
    kind: Kind
    _backend: Backend
    native: Any
    _tables: Any
    _by_dtype: Any
    _functions: Any
    _by_setting: Any
    _creation: Any
    _home: Device
    _text: str

    def __init__(self) -> None:
        raise TypeError(
            "Device: the class is not callable\n"
            "Hint: use portarray.device(text), for example pa.device('cpu')"
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"Device: cannot set {name!r} of {self._text}: devices are immutable\n"
            f"Hint: get another one with portarray.device(...)"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"Device: cannot delete {name!r} of {self._text}: devices are immutable"
        )

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Device({self._text!r})"

    def _repr_html_(self) -> str:
        from portarray import _html  # only notebooks need it

        with self._backend.scope(self.native) or nullcontext():
            memory = self._backend.memory(self.native)
        rows = [("library", self.library), ("name", self.name), ("kind", self.kind)]
        if memory.total is not None and memory.free is not None:
            free = f"{memory.free / 2**30:.1f} of {memory.total / 2**30:.1f} GiB free"
            rows.append(("memory", free))
        return _html.table(rows, caption=f"Device {self}")

    if TYPE_CHECKING:

        def __enter__(self) -> Self: ...

        def __exit__(
            self,
            kind: type[BaseException] | None,
            error: BaseException | None,
            trace: TracebackType | None,
        ) -> None: ...

    else:
        __enter__ = _Method(attrgetter("_enter"))
        __exit__ = _Method(attrgetter("_exit"))


def make(
    backend: Backend, platform: str, index: int, *, name: str, kind: Kind, native: Any
) -> Device:
    """Make a device object; called by ``discovery`` once for each device."""
    library = backend.info.library
    device = object.__new__(Device)
    mark = next(_marks)
    MARKED[mark] = device
    leave = _uninterrupted(
        # Generators may leave their blocks out of order: remove this device's last entry.
        methodcaller("rpartition", mark),
        itemgetter(slice(None, None, 2)),
        "".join,
        SCOPES.set,
        result=None,
    )
    values = {
        "library": library,
        "platform": platform,
        "index": index,
        "name": name,
        "kind": kind,
        "_backend": backend,
        "native": native,
        "_text": f"{library}:{platform}:{index}",
        "_enter": _uninterrupted(methodcaller("__add__", mark), SCOPES.set, result=device),
        "_exit": _Exit(leave).__exit__,
    }
    for slot, value in values.items():
        object.__setattr__(device, slot, value)
    object.__setattr__(device, "_home", device)  # of a traced device, the one it traces
    return device


class DeviceText(NamedTuple):
    """A parsed device text; None for omitted parts."""

    library: str | None
    platform: str | None
    ordinal: int | None  # the index; tuples have a method of that name


def parse(text: str) -> DeviceText:
    """Parse a device text.

    Parameters
    ----------
    text : str
        ``[library:][platform][:index]`` with a library or a platform; not ``"auto"`` or ``"gpu"``.

    Returns
    -------
    DeviceText
        A known library, a platform that it drives, an index; each may be None.

    Raises
    ------
    UnknownDeviceError
        If the text names nothing known; with the nearest texts that do.
    """
    head, *parts = text.split(":")
    if not text:
        raise UnknownDeviceError(text, "the text is empty", ("auto", "cpu"))
    if head in WORDS:
        raise UnknownDeviceError(
            text, f"{head!r} chooses a device and must not be followed by anything", (head,)
        )
    if len(parts) > 2 or (len(parts) == 2 and head in PLATFORMS):
        raise UnknownDeviceError(
            text,
            "a device text is [library:][platform][:index], for example 'torch:cuda:1'",
            tuple(_nearest(text)),
        )
    if head in PLATFORMS:
        return DeviceText(None, head, _index(text, head, parts[0]) if parts else None)
    info = registry.find_info(head)
    if info is None:
        raise UnknownDeviceError(text, _unknown(head), tuple(_nearest(text)))
    if not parts:
        return DeviceText(head, None, None)
    if len(parts) == 1 and _looks_like_index(parts[0]):
        return DeviceText(head, None, _index(text, head, parts[0]))
    platform = parts[0]
    if platform not in info.ranks:
        raise UnknownDeviceError(text, *_undriven(info, platform))
    index = _index(text, f"{head}:{platform}", parts[1]) if len(parts) == 2 else None
    return DeviceText(head, platform, index)


def _looks_like_index(part: str) -> bool:
    return part.lstrip("+-").isdigit()


def _index(text: str, prefix: str, part: str) -> int:
    """Return the index at the end of a text, or raise with the rule it breaks."""
    if part.isascii() and part.isdigit() and (part == "0" or part[0] != "0"):
        return int(part)
    if not part:
        rule = "the index after the last ':' is missing"
    elif part[0] == "-" and part[1:].isdigit():
        rule = f"the index {part} is negative; devices are numbered from 0"
    else:
        rule = f"the index {part!r} is not a whole number from 0"
    raise UnknownDeviceError(text, rule, (prefix, f"{prefix}:0"))


def _undriven(info: BackendInfo, platform: str) -> tuple[str, tuple[str, ...]]:
    """Return the error's rule and nearest texts for a platform that a library does not drive."""
    drives = ", ".join(info.ranks)
    if not platform:
        rule = f"the platform after ':' is missing ({info.library} drives {drives})"
        return rule, (info.library,)
    accelerators = [p for p in info.ranks if p != "cpu"] if platform == "gpu" else []
    near = accelerators or _resembling(platform, list(info.ranks)) or list(info.ranks)
    others = [i.library for i in registry.backend_infos().values() if platform in i.ranks]
    suggestions = [f"{info.library}:{p}" for p in near] + [
        f"{library}:{platform}" for library in others
    ]
    return f"{info.library} drives {drives}, not {platform!r}", tuple(suggestions[:3])


_MADE = {
    "virtual": "there are no virtual devices\nHint: portarray.testing.virtual_devices(...) creates "
    "some for a block, PORTARRAY_VIRTUAL=cuda:2,metal for a process"
}
"""Libraries whose devices are made when they are asked for."""


def _unknown(head: str) -> str:
    if head in _MADE:
        return _MADE[head]
    libraries = sorted(registry.backend_infos())
    broken = registry.plugin_errors().get(head)
    if broken is not None:
        return f"the plugin for {head!r} does not work: {broken}"
    return (
        f"{head!r} is neither a library ({', '.join(libraries)}) "
        f"nor a platform ({', '.join(PLATFORMS)})"
    )


def _nearest(text: str) -> list[str]:
    """Return valid texts that resemble an invalid one, best first."""
    head, *parts = text.split(":")
    infos = registry.backend_infos()
    heads = _resembling(head, [*infos, *PLATFORMS, *WORDS])
    if not parts:
        return heads
    index = parts[-1] if parts[-1].isdigit() else None
    whole = [
        ":".join(part for part in (library, platform, index) if part is not None)
        for library, info in infos.items()
        for platform in info.ranks
    ]
    # Only the first word is wrong: keep the rest.
    suggestions = [":".join((head, *parts)) for head in heads if _sound(head, parts)]
    return (suggestions or _resembling(text, whole) or heads)[:3]


def _sound(head: str, parts: list[str]) -> bool:
    """Return whether a known first word and the parts after it are a valid device text."""
    *platforms, index = parts
    if not index.isdigit():
        platforms = parts
    info = registry.find_info(head)
    if info is None:
        return head in PLATFORMS and not platforms
    return len(platforms) <= 1 and all(platform in info.ranks for platform in platforms)


_ELSEWHERE = {
    "mps": "metal",
    "xpu": "oneapi",
    "sycl": "oneapi",
    "hip": "rocm",
    "host": "cpu",
    "np": "numpy",
    "jnp": "jax",
    "mx": "mlx",
}
"""Other names of platforms and libraries, to portarray's."""


def _resembling(word: str, candidates: list[str]) -> list[str]:
    import difflib  # only errors need it

    alias = _ELSEWHERE.get(word.lower())
    if alias in candidates:
        return [alias]
    return difflib.get_close_matches(word.lower(), candidates, n=3, cutoff=0.6)
