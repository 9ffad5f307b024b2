"""Selection of the device: from a text or object, a ``with`` block, a setting or a preference.

The default device of the running code is the innermost ``with device:`` block's, else the one of
:func:`set_default_device`, else the preference's, else the best functional one.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, SupportsIndex

from portarray._devices import discovery, notices
from portarray._devices.choice import Choice
from portarray._devices.device import MARKED, SCOPES, WATCHES, WORDS, Device, parse
from portarray.backends import registry
from portarray.backends.types import PLATFORMS
from portarray.errors import (
    DeviceNotFunctionalError,
    PreferenceError,
    UnknownDeviceError,
)

if TYPE_CHECKING:
    from portarray._devices.preferences import Preference, Scope
    from portarray.typing import DeviceLike

# `preferences` is imported lazily: its imports (pathlib, re) would slow down `import portarray`.

__all__ = [
    "cpu_device",
    "current",
    "device",
    "devices",
    "forget_device",
    "functional",
    "judge_preference",
    "gpu_device",
    "preferred",
    "recommended",
    "reset_gpu_device",
    "resolve",
    "set_default_device",
    "set_preference",
    "supported_backends",
]

_fixed: Device | None = None  # by set_default_device
_automatic: Device | None = None  # the remembered choice of creation functions
_gpu: Device | None = None  # the remembered choice of gpu_device
_resolved_texts: dict[str, Device] = {}  # resolved texts, without "auto" and "gpu"


def current() -> Device:
    """Return the default device of the running code. Called by every creation function."""
    stack = SCOPES.get()
    if stack:
        return MARKED[stack[-1]]
    return _fixed or _automatic or _choose()


@contextmanager
def watch_default() -> Iterator[set[Device | None]]:
    """Collect the default devices that the code of a ``with`` block uses or sets."""
    stack, fixed, mark = SCOPES.get(), _fixed, chr(sys.maxunicode - len(WATCHES))
    used: set[Device | None] = set()

    def resolved() -> Device:
        device = MARKED[stack[-1]] if stack else _fixed or _automatic or _choose()
        used.add(device)
        return device

    WATCHES[mark] = resolved
    token = SCOPES.set(stack + mark)
    try:
        yield used
    finally:
        SCOPES.reset(token)
        del WATCHES[mark]
        if _fixed is not fixed:
            used.update((_fixed, fixed))


def resolve(obj: Any) -> Device:
    """Return the device for a ``device=`` argument; None is the default device."""
    if obj is None:
        return current()
    if type(obj) is Device:
        return obj
    return device(obj)


def device(obj: DeviceLike, *, memory: SupportsIndex | None = None) -> Device:
    """Return the device that a text or a library's device object names.

    Parameters
    ----------
    obj : str, Device or native device object
        A text ``[library:][platform][:index]``: ``"cuda"`` is the first functional library's
        device on that platform, ``"torch"`` the best device of that library, ``"torch:cuda:1"``
        exactly that one. ``"auto"`` is the preferred device, else the best one; ``"gpu"`` the
        preferred or best GPU. Device objects of a library (``torch.device("cpu")``) are accepted
        once the library is imported.
    memory : int, optional
        Bytes that must be free on it. Where ``obj`` leaves a choice, devices with less are passed
        over with a :class:`~portarray.errors.DeviceSelectionWarning`. A device whose free memory
        is not known is taken.

    Returns
    -------
    Device
        A functional device.

    Raises
    ------
    UnknownDeviceError
        If the text names nothing, with the nearest texts.
    DeviceNotFunctionalError
        If nothing that it names functions or has the memory, with the reason for each candidate.
    TypeError
        If ``obj`` is nothing that names a device.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.device("numpy")
    Device('numpy:cpu:0')
    """
    needed = None if memory is None else _bytes(memory)
    if isinstance(obj, str):
        cached = _resolved_texts.get(obj) if needed is None else None
        return cached if cached is not None else _from_text(obj, needed)
    cached = obj if isinstance(obj, Device) else _from_native(obj)
    if needed is not None:
        choice = Choice(str(cached), needed)
        if not choice.fits(cached):
            raise choice.error()
    return cached


def devices() -> list[Device]:
    """Return every functional device, best first.

    Imports and probes every installed library; :func:`device` only what it needs.

    Examples
    --------
    >>> import portarray as pa
    >>> [device for device in pa.devices() if device.library == "numpy"]
    [Device('numpy:cpu:0')]
    >>> free = {str(device): pa.memory(device).free for device in pa.devices()}
    >>> "numpy:cpu:0" in free
    True
    """
    return discovery.devices()


def supported_backends() -> tuple[str, ...]:
    """Return the libraries that portarray knows, plugins included, whether installed or not.

    Examples
    --------
    >>> import portarray as pa
    >>> known = pa.supported_backends()
    >>> "numpy" in known, "cupy" in known
    (True, True)
    """
    libraries = dict.fromkeys(
        lib for platform in PLATFORMS for lib in discovery.by_rank(platform, virtual=True)
    )
    return tuple(libraries)


def functional(obj: DeviceLike) -> bool:
    """Return whether a library, platform or device can be used here.

    Parameters
    ----------
    obj : str, Device or native device object
        As for :func:`device`: ``"cuda"``, ``"torch"``, ``"torch:cuda:1"``, ``"gpu"``.

    Raises
    ------
    UnknownDeviceError
        If the name is unknown: a typing error must not read as "not functional".

    Examples
    --------
    >>> import portarray as pa
    >>> pa.functional("numpy"), pa.functional("numpy:cpu:7")
    (True, False)
    >>> pa.functional("nump")
    Traceback (most recent call last):
        ...
    portarray.errors.UnknownDeviceError: device: unknown device 'nump': ...
    Hint: use 'numpy'
    """
    if isinstance(obj, Device):
        obj = str(obj)
    try:
        device(obj)
    except DeviceNotFunctionalError:
        return False
    return True


def cpu_device() -> Device:
    """Return the CPU through its preferred library; it is always there.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.cpu_device()
    Device('numpy:cpu:0')
    """
    return device("cpu")


def gpu_device(*, required: bool = False) -> Device:
    """Return the best GPU, or the CPU where there is none.

    The preferred device comes first, then the platforms in order. The choice is remembered until
    :func:`reset_gpu_device` or a change of the preference.

    Parameters
    ----------
    required : bool
        Raise instead of returning something else than a GPU.

    Raises
    ------
    DeviceNotFunctionalError
        If ``required`` and there is no GPU, with the reason for each rejected candidate.

    Examples
    --------
    >>> import portarray as pa
    >>> device = pa.gpu_device()  # code that runs with or without a GPU
    >>> x = pa.ones(3, device=device)
    >>> x.device is pa.gpu_device()
    True
    """
    global _gpu
    remembered_gpu = _gpu  # other threads may forget choices at any time
    if remembered_gpu is not None and (remembered_gpu.kind == "gpu" or not required):
        return remembered_gpu
    if required:
        _gpu = remembered_gpu = device("gpu")
        return remembered_gpu
    chosen = preferred()
    if chosen is None:
        try:
            choice = Choice("gpu")
            chosen = choice.best()
            choice.tell(chosen)
        except DeviceNotFunctionalError:
            chosen = cpu_device()
    _gpu = chosen
    return chosen


def reset_gpu_device() -> None:
    """Forget what was chosen and found out about devices, so that the next choice probes again.

    Crashes of probes in earlier processes are forgotten as well. Devices and arrays stay valid, and
    so does :func:`set_default_device`.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.ones(3, device=pa.gpu_device())
    >>> pa.reset_gpu_device()  # after a driver was installed, or the environment changed
    >>> device = pa.gpu_device()  # chosen again
    >>> pa.sum(x).tolist()  # arrays stay valid
    3.0
    """
    discovery.forget()
    _forget_choices()


def set_default_device(obj: DeviceLike | None) -> Device | None:
    """Set the device where creation functions put arrays, for the whole process.

    ``with device:`` blocks override it.

    Parameters
    ----------
    obj : str, Device, native device object or None
        As for :func:`device`; None goes back to the preference or the automatic choice.

    Returns
    -------
    Device or None
        The new setting. An error leaves the old one in place.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.set_default_device("numpy")
    Device('numpy:cpu:0')
    >>> x = pa.ones(3)  # there, in every thread
    >>> pa.set_default_device(None)  # the automatic choice again
    """
    global _fixed
    _fixed = None if obj is None else device(obj)
    return _fixed


def set_preference(text: str | None, *, scope: Scope = "user") -> None:
    """Save the device to prefer where none is requested.

    Parameters
    ----------
    text : str or None
        A device text, also ``"gpu"`` or ``"auto"``; None deletes the preference.
    scope : {"user", "project"}
        The user's preferences file, or ``portarray.toml`` in the project (the nearest one above the
        working directory, else a new one in it). The project's wins, and the environment variable
        ``PORTARRAY_DEVICE`` over both.

    Raises
    ------
    UnknownDeviceError
        If the text names nothing; nothing is saved.
    PreferenceError
        If the file cannot be read or written; it is unchanged.

    Warns
    -----
    DeviceSelectionWarning
        If the device does not function here and now, or something else overrides the preference;
        it is saved nevertheless.

    Examples
    --------
    >>> import contextlib
    >>> import pathlib
    >>> import tempfile
    >>> import portarray as pa
    >>> with tempfile.TemporaryDirectory() as project, contextlib.chdir(project):
    ...     pa.set_preference("numpy", scope="project")
    ...     print(pathlib.Path("portarray.toml").read_text())
    device = "numpy"
    """
    from portarray._devices import preferences

    if text is not None:
        preferences.check(text)
    path = preferences.save(text, scope)
    _forget_choices()
    if text is None:
        return
    effective = preferences.read()
    if effective is not None and effective.source != str(path):
        notices.warn(f"{path} now prefers {text!r}, but {effective.source} overrides it")
    if text != "auto" and not functional(text):
        notices.warn(
            f"{path} now prefers {text!r}, which does not work here: {_reason_unusable(text)}"
        )


def preferred() -> Device | None:
    """Return the device of the preference; None where there is none or it cannot be met.

    Warns
    -----
    DeviceSelectionWarning
        Once for each preference that cannot be read or met, with the reason.
    """
    return _preferred(None)


def judge_preference(
    needed: int | None = None,
) -> tuple[Preference | None, Device | None, str]:
    """Return the preference that holds, the device that it means, and why it cannot be met."""
    from portarray._devices import preferences

    try:
        preference = preferences.read()
    except PreferenceError as error:
        return None, None, str(error)
    if preference is None or preference.device == "auto":
        return preference, None, ""
    try:
        if preference.device == "gpu":
            return preference, Choice("gpu", needed).best(), ""
        return preference, _from_text(preference.device, needed), ""
    except (UnknownDeviceError, DeviceNotFunctionalError) as error:
        return preference, None, f"{preference.source} prefers {preference.device!r}, but {error}"


def recommended() -> Device:
    """Return what ``"auto"`` means, without warnings."""
    return judge_preference()[1] or Choice("auto").best()


def _preferred(needed: int | None) -> Device | None:
    _, chosen, problem = judge_preference(needed)
    if problem:
        notices.warn(f"{problem}\nThe device is chosen automatically instead")
    return chosen


def _choose() -> Device:
    """Choose and remember the default device."""
    global _automatic
    _automatic = chosen = _from_text("auto", None)
    return chosen  # other threads may forget choices at any time


def _forget_choices() -> None:
    global _automatic, _gpu
    _automatic = _gpu = None
    _resolved_texts.clear()
    notices.forget()


def forget_device(gone: Device) -> None:
    """Forget the choices of a device that is gone."""
    global _automatic, _gpu
    if gone in (_automatic, _gpu):
        _automatic = _gpu = None
    for text, cached in list(_resolved_texts.items()):
        if cached is gone:
            _resolved_texts.pop(text, None)


def _from_text(text: str, needed: int | None) -> Device:
    choice = Choice(text, needed)
    if text in WORDS:
        chosen = _preferred(needed)
        if chosen is not None and (text == "auto" or chosen.kind == "gpu"):
            return chosen
        best = choice.best()
        choice.tell(best)
        return best
    library, platform, index = parse(text)
    if platform is None:
        assert library is not None  # a text has a platform or a library
        info = registry.find_info(library)
        assert info is not None
        platforms = sorted(info.ranks, key=PLATFORMS.index)
        best = choice.first(choice.walk(_default_platforms(library, platforms, index), index))
    else:
        libraries = discovery.by_rank(platform) if library is None else [library]
        best = choice.first(choice.walk(((name, platform) for name in libraries), index))
    if needed is None:
        _resolved_texts[text] = best
    return best


def _default_platforms(
    library: str, platforms: list[str], index: int | None
) -> Iterator[tuple[str, str]]:
    """Yield the platforms of a library; with an index only up to the first that has devices."""
    for platform in platforms:
        yield library, platform
        if index is not None and discovery.sees(library, platform):
            return


def _from_native(obj: object) -> Device:
    """Return the device of a library's own device object."""
    # The object's library must be imported already.
    for backend in registry.imported_backends():
        location = backend.device_of_native(obj)
        if location is not None:
            return discovery.get_device(backend.info.library, *location)
    name = f"{type(obj).__module__}.{type(obj).__qualname__}"
    # Arrays passed by mistake would have long reprs.
    said = f"an array ({name})" if hasattr(obj, "__array__") else f"{obj!r} ({name})"
    raise TypeError(
        f"device: {said} does not name a device\nHint: pass a text such as 'cpu', 'cuda:1' or "
        f"'torch:cuda:1', a portarray.Device, a device object of an imported library, or x.device "
        f"of an array"
    )


def _bytes(memory: SupportsIndex) -> int:
    try:
        needed = operator.index(memory)
    except TypeError:
        raise TypeError(
            f"device: memory must be an integer number of bytes, not {memory!r}"
        ) from None
    if needed < 0:
        raise ValueError(f"device: memory must not be negative, got {needed}")
    return needed


def _reason_unusable(text: str) -> str:
    try:
        device(text)
    except DeviceNotFunctionalError as error:
        return "; ".join(f"{name}: {why}" for name, why in error.reasons.items())
    return ""
