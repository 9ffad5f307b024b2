"""How each function is served where: the table that errors, docs and tests read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from portarray._array import base, dispatch, dtypes
from portarray._devices import discovery, selection
from portarray._devices.device import Device
from portarray._dispatch import categories
from portarray.backends import registry
from portarray.backends.types import Served

if TYPE_CHECKING:
    from portarray.typing import DeviceLike

State = Literal["functional", "declared", "not run"]
"""Whether a place's functions can run here, are known from its files alone, or neither."""

SERVED: tuple[Served, ...] = get_args(Served)
"""How functions are served, the library's own first."""

# Functions of dtypes and shapes alone, which no device serves; and logspace, which is not in the
# standard and made of functions that are.
_NOT_ON_DEVICES = frozenset(
    {"broadcast_shapes", "can_cast", "finfo", "iinfo", "isdtype", "logspace", "result_type"}
)


class Row(NamedTuple):
    """One function on one device.

    Attributes
    ----------
    device : str
        Text of the device; of a library without functional devices here, its name.
    category : str
        The standard's category.
    function : str
        Standard name: ``"sin"``, ``"linalg.svd"``.
    served : {"native", "composed", "host"}
        By the library's own function, by a composition of them on the device, or on the host.
    dtypes : tuple of str
        Dtypes that it takes, those converted first included; empty where no device could be asked.
    """

    device: str
    category: str
    function: str
    served: Served
    dtypes: tuple[str, ...]


class Place(NamedTuple):
    """Where functions are served: a device, or what is not here."""

    # "torch:cpu:0"; "torch:cuda" for a platform without devices here, "cupy" for a library without
    device: str
    state: State
    reason: str  # why it is not functional, or an empty string
    # How many functions are served in each of the three ways; empty for what is not run
    totals: Mapping[Served, int]


class Overview(NamedTuple):
    """The whole support table."""

    # Functional devices, best first, then what is declared, then what is not run
    places: list[Place]
    rows: list[Row]  # every function on each place that is functional or declared


def support(device: DeviceLike | None = None) -> list[Row]:
    """Return how every function of the standard is served.

    Parameters
    ----------
    device : device-like, optional
        One device; None takes every functional device.

    Returns
    -------
    list of Row
        Device by device, in the order of the standard's categories.

    Examples
    --------
    >>> import portarray as pa
    >>> rows = pa.support("numpy")
    >>> row = next(row for row in rows if row.function == "linalg.svd")
    >>> row.category, row.served
    ('linalg', 'native')
    """
    where = discovery.devices() if device is None else [selection.resolve(device)]
    return [
        Row(str(d), category, name, dispatch.functions_of(d).served(name), _taken(d, name))
        for d in where
        for category, name in functions()
    ]


def overview(devices: Iterable[DeviceLike] = ()) -> Overview:
    """Return the support table with totals, and with what is not on this machine.

    A library that is installed but has no device here, such as CuPy without a GPU, is read from its
    backend's files: how it serves functions is *declared*, and nothing of it was run.
    """
    rows = [row for device in devices for row in support(device)]
    if rows:
        return Overview(_counted(rows, "functional"), rows)
    rows = support()
    places = _counted(rows, "functional")
    missing: list[Place] = []
    for library in selection.supported_backends():
        status = discovery.status(library)
        declared = [] if status.devices else _declared(library)
        rows += declared
        reasons = "; ".join(dict.fromkeys(status.reasons.values()))
        places += _counted(declared, "declared", reasons)
        if not declared:
            missing += [
                Place(name, "not run", reason, {}) for name, reason in status.reasons.items()
            ]
    return Overview([*places, *missing], rows)


def functions() -> Iterator[tuple[str, str]]:
    """Yield category and name of every function of the standard that runs on devices."""
    main: Any = base.NAMESPACE[0]
    for category in categories.CATEGORIES:
        extension = getattr(main, category, None)  # linalg and fft
        if extension is not None:
            for name in extension.__all__:
                if not isinstance(getattr(extension, name), type):  # errors
                    yield category, f"{category}.{name}"
            continue
        for name in main.__all__:
            module = getattr(getattr(main, name), "__module__", "")
            in_category = f"{module}.".startswith(f"portarray._api.{category}.")
            if in_category and name not in _NOT_ON_DEVICES:
                yield category, name


def _counted(rows: list[Row], state: State, reason: str = "") -> list[Place]:
    """Return the places of rows with their totals, in the rows' order."""
    counts: dict[str, Counter[Served]] = {}
    for row in rows:
        counts.setdefault(row.device, Counter())[row.served] += 1
    return [
        Place(device, state, reason, {served: totals[served] for served in SERVED})
        for device, totals in counts.items()
    ]


def _declared(library: str) -> list[Row]:
    """Return the rows of a library without devices, where its backend can be imported."""
    backend = registry.loaded(library)  # None where the library is missing or broken
    if backend is None:
        return []
    return [
        Row(library, category, name, categories.served(backend, name), ())
        for category, name in functions()
    ]


def _taken(device: Device, name: str) -> tuple[str, ...]:
    """Return the dtypes that a function takes on a device."""
    rule = categories.accepted(name)
    return tuple(
        dtype.name
        for dtype in dispatch.dtypes_of(device)
        if rule is None or rule.accepts(dtypes.kind_of(dtype))
    )
