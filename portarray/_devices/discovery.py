"""Which libraries are installed, which devices function, and why the rest do not.

*Supported*: portarray has a backend for the library. *Installed*: its module is found.
*Functional*: a probe computed on the device. Asking for a device imports only its library, and
results are cached until :func:`forget`.
"""

from __future__ import annotations

import copyreg
import importlib
import importlib.util
import operator
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from portarray._devices import device as device_module
from portarray._devices.device import Device
from portarray.backends import registry
from portarray.backends.types import PLATFORMS, BackendInfo
from portarray.errors import DeviceNotFunctionalError, UnknownDeviceError

if TYPE_CHECKING:
    from portarray._devices import probe

__all__ = [
    "LibraryStatus",
    "by_rank",
    "change",
    "count",
    "devices",
    "existing",
    "forget",
    "get_device",
    "install_command",
    "is_fault",
    "is_installed",
    "order",
    "refuse",
    "sees",
    "status",
    "version",
]

T = TypeVar("T")

Key = tuple[str, str, int | None]
"""Library, platform and index; None for all devices of the platform."""

KINDS = ("gpu", "accelerator", "cpu")
"""Kinds of devices in the order of automatic choice."""

_lock = threading.RLock()
_device_cache: dict[Key, Device] = {}  # one object for each device, never removed
_functional: dict[Key, Device] = {}  # those whose probe passed since the last `forget`
_counts: dict[Key, int] = {}
_refused: dict[Key, _Refusal] = {}
_versions: dict[str, str | None] = {}


class _Refusal(Exception):  # noqa: N818 - it becomes a DeviceNotFunctionalError
    """Why devices cannot be used; ``fault`` if something is broken rather than absent."""

    def __init__(self, reason: str, *, fault: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fault = fault


def get_device(library: str, platform: str, index: int) -> Device:
    """Return a device, after loading its library and probing the device.

    Raises
    ------
    UnknownDeviceError
        If the library is not known or does not drive the platform.
    DeviceNotFunctionalError
        If it cannot be used, with the reason.
    """
    device = _functional.get((library, platform, index))
    if device is not None:
        return device
    with _lock:
        device = _functional.get((library, platform, index))
        if device is not None:  # another thread has probed it meanwhile
            return device
        count(library, platform)
        device = _with_refusal_cache(
            (library, platform, index), lambda: _find(library, platform, index)
        )
        _functional[library, platform, index] = device
        return device


def _reduce(device: Device) -> tuple[Any, ...]:
    return get_device, (device.library, device.platform, device.index)


# Unpickling and copying a device return the one object for it, probing it if necessary.
copyreg.pickle(Device, _reduce)


def count(library: str, platform: str) -> int:
    """Return how many devices of a platform a library sees, at least 1.

    Raises
    ------
    UnknownDeviceError, DeviceNotFunctionalError
        As :func:`get_device`; the latter also where there is none.
    """
    key = (library, platform, None)
    with _lock:
        if key not in _counts:
            _counts[key] = _with_refusal_cache(key, lambda: _count(library, platform))
        return _counts[key]


def sees(library: str, platform: str) -> bool:
    """Return whether a library sees a device of a platform, functional or not."""
    try:
        return count(library, platform) > 0
    except DeviceNotFunctionalError:
        return False


def is_fault(library: str, platform: str, index: int | None = None) -> bool:
    """Return whether devices were refused because something is broken rather than absent."""
    refusal = _refused.get((library, platform, None)) or _refused.get((library, platform, index))
    return refusal is not None and refusal.fault


def by_rank(platform: str, *, virtual: bool = False) -> list[str]:
    """Return the libraries that can drive a platform, preferred ones first, virtual ones last."""
    infos = registry.backend_infos().values()
    ranked = [
        ((info.virtual, info.ranks[platform]), info.library)
        for info in infos
        if platform in info.ranks and (virtual or not info.virtual)
    ]
    return [library for _, library in sorted(ranked)]


def order(device: Device) -> tuple[bool, int, bool, int, int, int]:
    """Return the sort key of automatic choice: GPUs first, platforms, ranks, indices."""
    return (
        device._backend.info.virtual,
        KINDS.index(device.kind),
        # The platform "cpu" is preferred to CPUs under OpenCL or oneAPI.
        device.kind == "cpu" and device.platform != "cpu",
        PLATFORMS.index(device.platform),
        device._backend.info.ranks[device.platform],
        device.index,
    )


def devices() -> list[Device]:
    """Return every functional device, best first, after probing all installed libraries."""
    functional = [device for info in registry.backend_infos() for device in status(info).devices]
    return sorted(functional, key=order)


def existing() -> list[Device]:
    """Return every device that this process has used."""
    return list(_device_cache.values())


def forget() -> None:
    """Clear all caches, markers of crashes included; existing devices stay valid."""
    from portarray._devices import markers  # late, as in `_careful`

    with _lock:
        for table in (_functional, _counts, _refused, _versions):
            table.clear()
        importlib.invalidate_caches()
        markers.forget()


def refuse(library: str, reason: str) -> None:
    """Make all devices of a library unusable, so that nothing imports it in this process."""
    with _lock:
        for platform in _info(library).ranks:
            _refused[library, platform, None] = _Refusal(reason, fault=True)


def change(
    library: str, platform: str, *, added: Iterable[Device] = (), removed: Iterable[Device] = ()
) -> None:
    """Forget how many devices a platform has: some came, of which some are known, or left."""
    with _lock:
        for counted in (_counts, _refused):
            for key in [key for key in counted if key[:2] == (library, platform)]:
                del counted[key]
        for device in removed:
            for cache in (_device_cache, _functional):
                cache.pop((device.library, device.platform, device.index), None)
        for device in added:
            key = (device.library, device.platform, device.index)
            _device_cache[key] = _functional[key] = device


class LibraryStatus(NamedTuple):
    """The status of one library on this machine.

    Parameters
    ----------
    info : BackendInfo
        The declaration of its backend.
    installed : bool
        Whether its module is found.
    version : str or None
        Its version, where installed.
    devices : list of Device
        The functional ones, best first.
    reasons : dict of str to str
        Each platform or device that does not function, with the reason.
    """

    info: BackendInfo
    installed: bool
    version: str | None
    devices: list[Device]
    reasons: dict[str, str]


def status(library: str) -> LibraryStatus:
    """Return the status of a known library, probing its devices."""
    info = _info(library)
    installed = is_installed(info)
    result = LibraryStatus(info, installed, version(info) if installed else None, [], {})
    for platform in sorted(info.ranks, key=PLATFORMS.index):
        try:
            count_found = count(library, platform)
        except DeviceNotFunctionalError as error:
            result.reasons.update(error.reasons)
            continue
        for index in range(count_found):
            try:
                result.devices.append(get_device(library, platform, index))
            except DeviceNotFunctionalError as error:
                result.reasons.update(error.reasons)
    result.devices.sort(key=order)
    return result


def is_installed(info: BackendInfo) -> bool:
    """Return whether a library's module is found, without importing it."""
    if info.module in sys.modules:
        return True
    try:
        return importlib.util.find_spec(info.module) is not None
    except (ImportError, ValueError):  # the parent of a dotted name cannot be imported
        return False


def version(info: BackendInfo) -> str | None:
    """Return the version of an installed library, without importing it; None if unknown."""
    # Lazy: takes milliseconds, and CPU devices never need it.
    from importlib import metadata

    with suppress(KeyError):
        return _versions[info.library]
    installed = None
    for distribution in info.distributions or (info.module,):
        with suppress(metadata.PackageNotFoundError):
            # The first header of that name; metadata.version parses the whole file as an e-mail.
            text = metadata.distribution(distribution).read_text("METADATA") or ""
            header = text.partition("\nVersion:")[2].partition("\n")[0].strip()
            installed = header or metadata.version(distribution)
            break
    _versions[info.library] = installed
    return installed


def install_command(info: BackendInfo, platform: str = "") -> str:
    """Return the command that installs a library for a platform."""
    from portarray._installation import pip_install  # lazy: only messages need it

    return pip_install(info.requirement(platform))


def _with_refusal_cache(key: Key, find: Callable[[], T]) -> T:
    """Return the result of ``find``; cache its refusal and raise it as an error."""
    refusal = _refused.get(key)
    if refusal is None:
        try:
            return find()
        except _Refusal as error:
            refusal = _refused[key] = error.with_traceback(None)
    name = ":".join(str(part) for part in key if part is not None)
    raise DeviceNotFunctionalError(name, {name: refusal.reason})


def _info(library: str) -> BackendInfo:
    info = registry.find_info(library)
    if info is None:
        device_module.parse(library)  # raises, with the nearest names
        raise UnknownDeviceError(library, "unknown library")
    return info


def _count(library: str, platform: str) -> int:
    info = _info(library)
    if platform not in info.ranks:
        raise UnknownDeviceError(
            f"{library}:{platform}", f"{library} drives {', '.join(info.ranks)} only"
        )
    if not is_installed(info):
        lacks = "is" if info.module == info.library else f"needs {info.module}, which is"
        reason = f"{info.title} {lacks} not installed ({install_command(info, platform)})"
        raise _Refusal(f"{reason}; {info.pending}" if info.pending else reason, fault=False)
    installed = version(info) if info.oldest else None
    if installed is not None and _numbers(installed) < _numbers(info.oldest):
        raise _Refusal(
            f"{info.title} {installed} is too old: portarray needs {info.oldest} or newer "
            f"({install_command(info, platform)} --upgrade)",
            fault=True,
        )
    if info.pending:
        raise _Refusal(info.pending, fault=False)
    with _careful(info, platform, None, "load", "its import failed"):
        backend = registry.load_backend(library)
    with _careful(info, platform, None, "count", "listing its devices failed"):
        total = operator.index(backend.count(platform))
        reason = backend.reason_unsupported(platform) if total == 0 else ""
    if reason:
        raise _Refusal(reason, fault=False)
    return total


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: those of ``"2.13.0+cpu"`` are 2, 13 and 0."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match else ()


def _find(library: str, platform: str, index: int) -> Device:
    # Lazy: runpy warns if `python -m portarray._devices.probe` is imported already.
    from portarray._devices import probe

    total = count(library, platform)
    if not 0 <= index < total:
        there = "1 device, with index 0" if total == 1 else f"{total} devices, 0 to {total - 1}"
        raise _Refusal(f"{library} sees {there} on {platform} here", fault=False)
    backend = registry.load_backend(library)
    with _careful(backend.info, platform, index, "compute", "describing it failed"):
        reason = probe.compute(backend, platform, index)
        if reason:
            raise _Refusal(f"its probe failed: {reason}", fault=True)
        key = (library, platform, index)
        if key not in _device_cache:
            about = backend.describe(platform, index)
            if about.kind not in KINDS:
                raise ValueError(f"its kind is {about.kind!r}, not one of {', '.join(KINDS)}")
            native = backend.native_device(platform, index)
            _device_cache[key] = device_module.make(
                backend, platform, index, name=about.name, kind=about.kind, native=native
            )
    return _device_cache[key]


@contextmanager
def _careful(
    info: BackendInfo, platform: str, index: int | None, step: probe.Step, failed: str
) -> Iterator[None]:
    """Run a step of a probe; exceptions and crashes become refusals."""
    from portarray._devices import probe  # late, as in `_find`

    def in_child() -> str:
        return probe.in_child(info.library, platform, index or 0, step)

    try:
        if platform == "cpu" or info.virtual:  # on the CPU nothing crashes the process
            yield
            return
        # Lazy: pathlib and others would slow down `import portarray`.
        from portarray._devices import markers

        where = "" if step == "load" else f"-{platform}-{index or 0}-{_driver(info, platform)}"
        with markers.guarded(
            f"{info.library}-{version(info) or 'unknown'}-{step}{where}", in_child
        ) as refusal:
            if refusal:
                raise _Refusal(refusal, fault=True)
            yield
    except (_Refusal, UnknownDeviceError):
        raise
    except Exception as error:  # drivers may raise anything
        raise _Refusal(f"{failed}: {probe.reason_of(error)}", fault=True) from error


def _driver(info: BackendInfo, platform: str) -> str:
    return registry.load_backend(info.library).driver(platform)
