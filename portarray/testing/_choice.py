"""The devices and dtypes that tests run on, from options and marks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple, get_args

import numpy as np

from portarray._api import data_type
from portarray._array import dispatch, dtypes
from portarray._array.info import NamespaceInfo
from portarray._devices import discovery, selection
from portarray._devices.device import WORDS, Device, parse
from portarray.errors import DeviceNotFunctionalError
from portarray.testing import _virtual
from portarray.typing.aliases import KindName

__all__ = [
    "DEFAULT",
    "FLOATS",
    "Chosen",
    "check_texts",
    "dtype",
    "check_dtypes",
    "choose",
    "dtypes_of",
    "matches",
    "one_line",
    "others",
    "split",
    "test_id",
    "yield_namespace_device_dtype_combinations",
]

DEFAULT = "cpu,virtual:cuda,virtual:metal,virtual:tpu"
"""Default of ``--devices``."""

FLOATS = ("float32", "float64")
"""Default of ``--dtypes``."""

KINDS = ("cpu", "gpu", "accelerator")

DTYPE_KINDS: tuple[Any, ...] = get_args(KindName)


class Chosen(NamedTuple):
    """Devices that tests run on, and why others do not."""

    devices: tuple[Device, ...]
    not_run: dict[str, str]


def split(text: str) -> list[str]:
    """Return the words of an option."""
    return [word for part in text.split(",") if (word := part.strip())]


def check_texts(requests: Iterable[str]) -> None:
    """Raise UnknownDeviceError if the text of an option or mark does not name a device."""
    for text in requests:
        if not isinstance(text, str):
            raise TypeError(f"{text!r} is not a device text such as 'cuda' or 'torch:cpu'")
        if text not in (*KINDS, _virtual.LIBRARY, "all"):
            _virtual.parsed(text)


def matches(device: Device, text: str) -> bool:
    """Return whether a device matches a text: ``"torch"``, ``"cuda"``, ``"gpu"``, ``"cupy:0"``."""
    if text in KINDS:
        return device.kind == text or device.platform == text
    if text in (_virtual.LIBRARY, "all"):
        return text == "all" or device.library == text
    library, platform, index = _virtual.parsed(text)
    return (
        library in (None, device.library)
        and platform in (None, device.platform)
        and index in (None, device.index)
    )


def choose(text: str, stack: ExitStack) -> Chosen:
    """Return the devices that an option names, without duplicates.

    Virtual devices are created for it and last until the stack is closed.

    Raises
    ------
    PortarrayError
        If a text names an unknown device, or one that does not function here.
    """
    devices: dict[Device, None] = {}
    not_run: dict[str, str] = {}
    for word in split(text):
        if word == "cpu":
            devices |= dict.fromkeys(d for d in _functional_devices(not_run) if d.kind == "cpu")
        elif word == "all":
            devices |= dict.fromkeys(_functional_devices(not_run))
            devices |= dict.fromkeys(_virtual.devices(_virtual.presets(), stack))
        elif word.partition(":")[0] == _virtual.LIBRARY:  # one, or all of them
            devices |= dict.fromkeys(_virtual.devices([word], stack))
        else:
            devices |= dict.fromkeys(_named(word))
    return Chosen(tuple(devices), not_run)


def _functional_devices(not_run: dict[str, str]) -> list[Device]:
    """Return every functional device, CPUs first; note why libraries have none."""
    functional: list[Device] = []
    for library in selection.supported_backends():
        if library == _virtual.LIBRARY:
            continue
        status = discovery.status(library)
        functional += status.devices
        if not status.devices:
            # A machine without a GPU can install what the CPU needs.
            reason = status.reasons.get(f"{library}:cpu") or next(iter(status.reasons.values()), "")
            not_run[library] = reason.partition("\n")[0]
    return sorted(functional, key=lambda device: (device.kind != "cpu", discovery.order(device)))


def _named(word: str) -> list[Device]:
    """Return the devices of a text: all of a library's or platform's without an index."""
    first = selection.device(word)
    if word in WORDS or parse(word).ordinal is not None:
        return [first]
    try:
        count = discovery.count(first.library, first.platform)
    except DeviceNotFunctionalError:
        return [first]
    # Only the first library's devices of a platform such as "cuda".
    return [discovery.get_device(first.library, first.platform, i) for i in range(count)]


def others() -> Iterator[Device]:
    """Yield functional devices other than NumPy's, without importing libraries."""
    cpu = selection.cpu_device()
    yield from (device for device in discovery.existing() if device is not cpu)


def test_id(device: Device) -> str:
    """Return a device's text for test ids, without index 0."""
    return str(device).removesuffix(":0")


def dtypes_of(device: Device | None, names: Iterable[str]) -> list[str]:
    """Return the named dtypes that a device has; names may be kinds of the standard.

    Raises
    ------
    ValueError
        If a name is neither a dtype nor a kind.
    """
    where = selection.device("cpu") if device is None else device
    has = {dtype.name: dtype for dtype in dispatch.dtypes_of(where)}
    standard = NamespaceInfo().dtypes(device=selection.device("cpu"))
    chosen: dict[str, None] = {}
    for name in names:
        if name in DTYPE_KINDS:
            kind: Any = name
            of_kind = (n for n in has if data_type.isdtype(has[n], kind))
            chosen |= dict.fromkeys(of_kind)
        elif name in standard or name == "bfloat16":
            chosen |= {name: None} if name in has else {}
        else:
            raise ValueError(
                f"{name!r} is neither a dtype ({', '.join(standard)}, bfloat16) nor a kind of the "
                f"standard ({', '.join(DTYPE_KINDS)})"
            )
    return list(chosen)


def dtype(name: str) -> np.dtype[Any]:
    """Return the dtype of a valid name."""
    return dtypes.canonical(name)


def check_dtypes(names: Iterable[str]) -> None:
    """Raise ValueError if a name is neither a dtype nor a kind."""
    dtypes_of(None, names)


_entered = ExitStack()  # virtual devices that last as long as the process


def yield_namespace_device_dtype_combinations(
    devices: str = DEFAULT, dtypes: Iterable[str] = FLOATS
) -> Iterator[tuple[str, str, str]]:
    """Yield ``("portarray", device, dtype)`` for ``pytest.mark.parametrize``, as scikit-learn does.

    Parameters
    ----------
    devices : str
        Device texts as for the plugin's option ``--devices``.
    dtypes : iterable of str
        Names of dtypes; each device skips those it does not have.

    Yields
    ------
    tuple of str
        The importable name of the namespace, the text of a device and the name of a dtype, for
        scikit-learn's ``_array_api_for_tests`` or for ``pa.asarray(x, device=..., dtype=...)``.

    Examples
    --------
    >>> from portarray.testing import yield_namespace_device_dtype_combinations
    >>> list(yield_namespace_device_dtype_combinations("numpy"))
    [('portarray', 'numpy:cpu:0', 'float32'), ('portarray', 'numpy:cpu:0', 'float64')]
    """
    names = list(dtypes)
    for device in choose(devices, _entered).devices:
        for name in dtypes_of(device, names):
            yield "portarray", str(device), name


def one_line(error: Exception) -> str:
    """Return an error's message in one line."""
    return " ".join(str(error).split())
