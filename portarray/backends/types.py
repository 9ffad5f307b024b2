"""Types of the interface between portarray and backends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

__all__ = [
    "GUARDS",
    "PLATFORMS",
    "Arrays",
    "BackendInfo",
    "ChangedInPlaceError",
    "Description",
    "Kind",
    "MemoryFigures",
    "NoOwnGradientError",
    "PlatformFacts",
    "Rows",
    "Served",
    "TunedKernel",
    "composed",
    "served_by",
]

PLATFORMS = ("cuda", "rocm", "metal", "oneapi", "opencl", "tpu", "cpu")
"""Every platform, in the order of automatic choice."""

GUARDS: set[Callable[[], Any]] = set()
"""Functions that return what is called before the memory of arrays is written, or None.

Writers check that there are none. A weak reference is such a function.
"""

Served = Literal["native", "composed", "host"]
"""How a function is served on a device."""

Kind = Literal["cpu", "gpu", "accelerator"]

F = TypeVar("F", bound=Callable[..., Any])

Rows = Mapping[str, Mapping[str, Callable[..., Any]]]
"""Functions by name and by kinds or dtype names; see portarray._dispatch.categories.row."""


class NoOwnGradientError(BaseException):
    """A library's own gradients do not reach through a function; the calls are recorded instead.

    ``except Exception`` in the function does not catch it.
    """


class ChangedInPlaceError(Exception):
    """The library's own functions changed an array that it keeps for the backward pass."""


class Arrays(NamedTuple):
    """portarray's arrays and functions, for the transformations of a backend's library.

    Attributes
    ----------
    array_type : type
        The class of arrays.
    unwrap : callable
        Returns the native array of an array; TypeError if it is another library's.
    wrap : callable
        Returns a native array, or whatever a transformation has in its place, as an array.
    bare, stored, put : callable
        Attributes alone: the native array of an array; an array of a native one and its table; and
        another native array for an array.
    tables : callable
        The tables of a native device by native dtype.
    functions, others : callable
        The public functions of the standard and the kernels, and the methods, by name; and the
        other public functions.
    after_import : callable
        Takes the name of a module and a function: calls the function with the module once it is
        imported, at once if it is already.
    """

    array_type: type
    unwrap: Callable[[Any], Any]
    wrap: Callable[[Any], Any]
    bare: Callable[[Any], Any]
    stored: Callable[[Any, Any], Any]
    put: Callable[[Any, Any], None]
    tables: Callable[[Any], Mapping[Any, Any]]
    functions: Callable[[], Mapping[str, Callable[..., Any]]]
    others: Callable[[], Iterable[Callable[..., Any]]]
    after_import: Callable[[str, Callable[[Any], None]], None]


class PlatformFacts(NamedTuple):
    """What a library's arrays are like on a platform; virtual devices are made from it.

    Parameters
    ----------
    lacks : tuple of str
        Dtypes of the standard that devices lack, with the library's default settings.
    immutable : bool
        Whether arrays are immutable.
    on_host : bool
        Whether device memory is host memory.
    current : bool
        Whether one of several devices is current, and functions need that of their arrays.
    dlpack : int
        DLPack's type of device memory.
    host_functions : tuple of str
        Functions of the standard that are computed on the host.
    kind : {"cpu", "gpu", "accelerator"}
        What devices are.
    """

    lacks: tuple[str, ...] = ()
    immutable: bool = False
    on_host: bool = False
    current: bool = False
    dlpack: int = 1
    host_functions: tuple[str, ...] = ()
    kind: Kind = "gpu"


class BackendInfo(NamedTuple):
    """The declaration of a backend, available without importing its library.

    Parameters
    ----------
    library : str
        Name in device texts: ``"torch"``.
    title : str
        Name in prose: ``"PyTorch"``.
    module : str
        The import whose presence means *installed*.
    ranks : mapping of str to int
        Rank of the library for each platform that it drives; lower is preferred.
    install : mapping of str to str
        What ``pip install`` needs, for each platform; the key ``""`` serves the rest.
    distributions : tuple of str
        Distributions that may provide the module, for the version; empty means ``module``.
    oldest : str
        Oldest version that the backend works with: ``"0.29"``; empty where any does.
    pending : str
        Why portarray does not support the library yet, or an empty string.
    facts : mapping of str to PlatformFacts
        What arrays are like on the platforms that virtual devices may stand for.
    virtual : bool
        Whether devices are simulated: only texts that name the library mean them.
    """

    library: str
    title: str
    module: str
    ranks: Mapping[str, int]
    install: Mapping[str, str]
    distributions: tuple[str, ...] = ()
    oldest: str = ""
    pending: str = ""
    facts: Mapping[str, PlatformFacts] = MappingProxyType({})
    virtual: bool = False

    def requirement(self, platform: str = "") -> str:
        """Return what ``pip install`` needs for a platform."""
        return self.install.get(platform, self.install.get("", ""))


class Description(NamedTuple):
    """Name and kind of one device.

    Parameters
    ----------
    name : str
        What people call the hardware: ``"NVIDIA H100 80GB HBM3"``.
    kind : {"cpu", "gpu", "accelerator"}
        What it is.
    """

    name: str
    kind: Kind


class MemoryFigures(NamedTuple):
    """Memory of one device in bytes; None where the library cannot say.

    Parameters
    ----------
    total, free : int or None
        Memory of the device, and what is unused by anyone.
    used : int or None
        In use by arrays of this library in this process.
    pooled : int or None
        Held by the library's pool beyond ``used``.
    """

    total: int | None = None
    free: int | None = None
    used: int | None = None
    pooled: int | None = None


class TunedKernel(NamedTuple):
    """A library's tuned version of a core kernel.

    Parameters
    ----------
    function : callable
        Takes the arguments of the generic version except the namespace: native arrays and all
        keywords, already checked. Returns an array of the same dtype as the generic version.
    name : str
        Description of the implementation: ``"torch.nn.functional.softmax"``.
    dtypes : frozenset of str
        NumPy names of the dtypes that it accepts for the array that selects the version.
    wins : str
        The row of ``benchmarks/kernels.py`` in which it is faster than the generic version.
    refuses : callable, optional
        Called with the same arguments; returns why the version cannot take them or would be slower,
        as a clause, or an empty string. None accepts everything.
    wraps_generic : bool, optional
        Whether `function` is a decorator that takes the generic version, called once.
    is_valid : callable, optional
        Called with the result and the arguments; returns whether the result is right. Otherwise the
        next version computes the call. None means that all results are.
    """

    function: Callable[..., Any]
    name: str
    dtypes: frozenset[str]
    wins: str
    refuses: Callable[..., str] | None = None
    wraps_generic: bool = False
    is_valid: Callable[..., bool] | None = None


def composed(function: F) -> F:
    """Mark a backend's function as composed of several native calls."""
    function.__portarray_served__ = "composed"  # type: ignore[attr-defined]
    return function


def served_by(function: Callable[..., Any]) -> Served:
    """Return how a backend's function is served: as marked, else ``"native"``."""
    served: Served = getattr(function, "__portarray_served__", "native")
    return served
