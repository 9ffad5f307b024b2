"""The devices and dtypes that tests run on: options, marks and what functions here."""

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
    "short",
    "split",
    "yield_namespace_device_dtype_combinations",
]

DEFAULT = "cpu,virtual:cuda,virtual:metal,virtual:tpu"
"""What ``--devices`` means where it is not given."""

FLOATS = ("float32", "float64")
"""What ``--dtypes`` means where it is not given."""

KINDS = ("cpu", "gpu", "accelerator")

DTYPE_KINDS: tuple[Any, ...] = get_args(KindName)


class Chosen(NamedTuple):
    """Devices that tests run on, and why others do not."""

    devices: tuple[Device, ...]
    not_run: dict[str, str]


def split(text: str) -> list[str]:
    """Return the words of an option."""
    return [word for part in text.split(",") if (word := part.strip())]


def check_texts(texts: Iterable[str]) -> None:
    """Raise UnknownDeviceError if a text, of an option or a mark, does not name a device."""
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"unknown device {text!r}; use a text such as 'cuda' or 'torch:cpu'")
        if text not in (*KINDS, _virtual.LIBRARY, "all"):
            _virtual.parsed(text)


def matches(device: Device, text: str) -> bool:
    """Tell whether a text names a device: ``"torch"``, ``"cuda"``, ``"gpu"``, ``"torch:cpu:0"``."""
    if text in KINDS:
        return device.kind == text or device.platform == text
    if text in (_virtual.LIBRARY, "all"):
        return text == "all" or device.library == text
    library, platform, number = _virtual.parsed(text)
    return (
        library in (None, device.library)
        and platform in (None, device.platform)
        and number in (None, device.index)
    )


def choose(text: str, stack: ExitStack) -> Chosen:
    """Return the devices that an option names, each once.

    Virtual devices are made, and last until the stack is closed.

    Raises
    ------
    PortarrayError
        If a text names nothing known, or nothing that functions here.
    """
    found: dict[Device, None] = {}
    not_run: dict[str, str] = {}
    for word in split(text):
        if word == "cpu":
            found |= dict.fromkeys(d for d in _each(not_run) if d.kind == "cpu")
        elif word == "all":
            found |= dict.fromkeys(_each(not_run))
            found |= dict.fromkeys(_virtual.devices(_virtual.presets(), stack))
        elif word.partition(":")[0] == _virtual.LIBRARY:  # one, or all of them
            found |= dict.fromkeys(_virtual.devices([word], stack))
        else:
            found |= dict.fromkeys(_named(word))
    return Chosen(tuple(found), not_run)


def _each(not_run: dict[str, str]) -> list[Device]:
    """Return every functional device, CPUs first; note why libraries have none."""
    found: list[Device] = []
    for library in selection.supported_backends():
        if library == _virtual.LIBRARY:
            continue
        status = discovery.status(library)
        found += status.devices
        if not status.devices:
            not_run[library] = next(iter(status.reasons.values()), "").partition("\n")[0]
    return sorted(found, key=lambda device: (device.kind != "cpu", discovery.order(device)))


def _named(word: str) -> list[Device]:
    """Return the devices of a text: all of a library's or platform's without an index."""
    first = selection.device(word)
    if word in WORDS or parse(word).number is not None:
        return [first]
    try:
        count = discovery.count(first.library, first.platform)
    except DeviceNotFunctionalError:
        return [first]
    # Never more than what was asked for: of "cuda" the first library's cards.
    return [discovery.get_device(first.library, first.platform, i) for i in range(count)]


def others() -> Iterator[Device]:
    """Yield functional devices other than NumPy's, without importing any library for it."""
    cpu = selection.cpu_device()
    yield from (device for device in discovery.made() if device is not cpu)


def short(device: Device) -> str:
    """Return a device's text in ids of tests: the index stands there from 1 on."""
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
    known = NamespaceInfo().dtypes(device=selection.device("cpu"))
    found: dict[str, None] = {}
    for name in names:
        if name in DTYPE_KINDS:
            kind: Any = name
            of_kind = (n for n in has if data_type.isdtype(has[n], kind))
            found |= dict.fromkeys(of_kind)
        elif name in known or name == "bfloat16":
            found |= {name: None} if name in has else {}
        else:
            raise ValueError(
                f"{name!r} is neither a dtype ({', '.join(known)}, bfloat16) nor a kind of the "
                f"standard ({', '.join(DTYPE_KINDS)})"
            )
    return list(found)


def dtype(name: str) -> np.dtype[Any]:
    """Return a dtype of a name that is known to be one."""
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
        As of the plugin's option ``--devices``.
    dtypes : iterable of str
        Names of dtypes; those that a device lacks are left out.

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
