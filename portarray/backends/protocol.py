"""What a room (one array library behind portarray) must, should and may have.

A room is a package with the files below. Rooms know nothing of :class:`portarray.Array`: they take
and return *native* arrays, dtypes and devices of their library.

``__init__.py``
    **must** define ``INFO``, a :class:`RoomInfo`, and import nothing of the library: discovery
    reads it for libraries that are not installed.
``devices.py``
    **must** satisfy :class:`Devices`; **should** and **may** hooks stand in
    :class:`Room` with their defaults.
``namespace/``
    the standard on native arrays: a function under its standard name, with the standard's
    signature, in a file named for its chapter; ``linalg`` and ``fft`` are submodules. Only what is
    native or must be corrected stands here. What is missing is filled from
    ``backends/composed`` (built from other standard functions, on the device) and then from
    ``backends/host``. A function made from several native calls may say so with :func:`composed`.
``transfer.py``
    **must** satisfy :class:`Transfer`.
``tuned.py``
    **may** hold core kernels for this library: ``TUNED``, a mapping of a kernel's name to its
    :class:`TunedKernel` versions, in the order in which they are tried.

What a room's function may rely on when portarray calls it (`portarray/_array/call.py` sees to it):
operands have one dtype, or one operand is a Python scalar of a kind that dtype can hold; dtypes are
native dtypes that the device has; devices are native devices; integers given to a floating-point
function were converted. Called directly, through ``pa.namespace(device)``, it **must** do the
standard's own promotions itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

__all__ = [
    "PLATFORMS",
    "Description",
    "Devices",
    "MemoryFigures",
    "Room",
    "RoomInfo",
    "Served",
    "Transfer",
    "TunedKernel",
    "composed",
    "served_by",
]

PLATFORMS = ("cuda", "rocm", "metal", "oneapi", "opencl", "tpu", "cpu")
"""Every platform, in the order of automatic choice."""

Served = Literal["native", "composed", "host"]
"""How a function is served on a device."""

Kind = Literal["cpu", "gpu", "accelerator"]

F = TypeVar("F", bound=Callable[..., Any])


class RoomInfo(NamedTuple):
    """What a room says about itself before its library is imported.

    Parameters
    ----------
    library : str
        Name in device texts: ``"torch"``.
    title : str
        Name in prose: ``"PyTorch"``.
    module : str
        The import whose presence means *installed*.
    ranks : mapping of str to int
        Each platform the library can drive to its rank there; lower is preferred.
    install : mapping of str to str
        What ``pip install`` needs, for each platform; the key ``""`` serves the rest.
    distributions : tuple of str
        Distributions that may provide the module, for the version figure; empty means ``module``.
    oldest : str
        Oldest version that the room works with: ``"0.29"``; empty where any does.
    pending : str
        Why portarray cannot drive the library yet, or an empty string.
    """

    library: str
    title: str
    module: str
    ranks: Mapping[str, int]
    install: Mapping[str, str]
    distributions: tuple[str, ...] = ()
    oldest: str = ""
    pending: str = ""

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
    """One version of a core kernel that is made for a library.

    Parameters
    ----------
    function : callable
        Takes what the generic version takes behind its namespace: native arrays and every keyword,
        all of them checked. Returns a native array of the dtype that the generic version would.
    name : str
        What it is made of, for people: ``"torch.nn.functional.softmax"``.
    dtypes : frozenset of str
        NumPy's names of the dtypes that it takes, of the array that leads.
    wins : str
        The row of ``benchmarks/kernels.py`` in which it beats the generic version.
    refuses : callable, optional
        Called with the same arguments; returns why the version cannot take them or would lose, as
        a clause, and an empty string where it can. None takes everything.
    """

    function: Callable[..., Any]
    name: str
    dtypes: frozenset[str]
    wins: str
    refuses: Callable[..., str] | None = None


class Devices(Protocol):
    """What ``devices.py`` of a room must have."""

    @property
    def ARRAY_TYPE(self) -> type:  # noqa: N802
        """The concrete class of the library's arrays."""

    def version(self) -> str:
        """Return the library's version."""

    def count(self, platform: str) -> int:
        """Return how many devices of a platform this installation sees; 0 where none."""

    def why_not(self, platform: str) -> str:
        """Return why :func:`count` is 0, as a clause: ``"this build has no CUDA"``."""

    def native_device(self, platform: str, index: int) -> Any:
        """Return the library's own device object."""

    def describe(self, platform: str, index: int) -> Description:
        """Return name and kind of a device."""

    def dtypes(self, platform: str, index: int) -> Mapping[np.dtype[Any], Any]:
        """Return every dtype the device has, NumPy's to native, float16 and bfloat16 included."""

    def recognize(self, device: object) -> tuple[str, int] | None:
        """Return platform and index of one of the library's device objects; None for all else."""

    def locate(self, x: Any) -> tuple[str, int]:
        """Return platform and index of the device that holds a native array."""

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Tell whether an error of the library means that memory ran out."""


class Transfer(Protocol):
    """What ``transfer.py`` of a room must have."""

    def on_host(self, device: Any) -> bool:
        """Tell whether the device's memory is host memory, readable by NumPy without a copy."""

    def from_host(
        self,
        array: np.ndarray[Any, Any],
        device: Any,
        *,
        copy: bool | None,
        non_blocking: bool = False,
    ) -> Any:
        """Make a native array on a device from a NumPy array of a dtype the device has.

        ``copy=None`` shares memory where it can, ``True`` always copies, ``False`` raises
        ValueError where it cannot share. Read-only or negatively strided input is copied where the
        library needs that.

        What is copied was read when this returns, so that the NumPy array may change. With
        ``non_blocking`` it may return before, and work on the device comes after the copy.
        """

    def to_host(self, x: Any, *, copy: bool | None) -> np.ndarray[Any, Any]:
        """Return a native array as NumPy array, ``copy`` as in :meth:`from_host`.

        Its values are computed when this returns: it waits for the work that makes x, and for no
        more than the library needs for that. ``copy=False`` gives memory to read on the spot
        wherever that is host memory; ``copy=None`` copies where others cannot keep that.
        """

    def move(self, x: Any, device: Any, *, copy: bool | None, non_blocking: bool = False) -> Any:
        """Return a native array on another device of the same library, ``copy`` as above.

        On the same device, ``copy=None`` and ``False`` return the array itself.
        """

    def from_dlpack(self, x: Any, device: Any, *, copy: bool | None) -> Any:
        """Make a native array on a device from an object with ``__dlpack__``."""

    def to_dlpack(
        self,
        x: Any,
        *,
        stream: Any,
        max_version: tuple[int, int] | None,
        dl_device: tuple[int, int] | None,
        copy: bool | None,
    ) -> Any:
        """Return a DLPack capsule of a native array."""

    def dlpack_device(self, x: Any) -> tuple[int, int]:
        """Return DLPack's device type and index of a native array."""


class Room:
    """A loaded room: its modules, and every optional hook with its default.

    Parameters
    ----------
    info : RoomInfo
        The room's declaration.
    devices, transfer : module
        Its files of these names.
    namespace : module
        Its functions; see the module docstring.
    """

    __slots__ = ("devices", "info", "namespace", "transfer", "tuned")

    def __init__(
        self,
        info: RoomInfo,
        devices: Devices,
        transfer: Transfer,
        namespace: ModuleType,
        tuned: ModuleType | None = None,
    ) -> None:
        self.info = info
        self.devices = devices
        self.transfer = transfer
        self.namespace = namespace
        self.tuned = tuned

    def memory(self, device: Any) -> MemoryFigures:
        """Memory of a native device. **Should**; the default knows nothing."""
        hook = getattr(self.devices, "memory", None)
        return MemoryFigures() if hook is None else hook(device)

    def synchronize(self, device: Any) -> None:
        """Wait for all work on a native device. **Should** where calls return early."""
        hook = getattr(self.devices, "synchronize", None)
        if hook is not None:
            hook(device)

    def reclaim(self, device: Any) -> None:
        """Give pooled memory back. **Should** where the library pools."""
        hook = getattr(self.devices, "reclaim", None)
        if hook is not None:
            hook(device)

    def driver(self, platform: str) -> str:
        """Return the driver's version. **Should**; it keys the markers of crashed probes."""
        hook = getattr(self.devices, "driver", None)
        return "" if hook is None else hook(platform)

    def is_failure(self, error: BaseException) -> bool:
        """Tell whether an error means that a device or its driver failed, not that input is wrong.

        **May**; by default none does, and every RuntimeError is taken for a complaint about input.
        """
        hook = getattr(self.devices, "is_failure", None)
        return hook is not None and hook(error)

    def guarded(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of the namespace that raises MemoryError where memory runs out.

        **May**; by default functions do that themselves. For libraries that end the process.
        """
        hook = getattr(self.devices, "guarded", None)
        found: Callable[..., Any] = function if hook is None else hook(name, function)
        return found

    def asked(self, error: BaseException) -> int | None:
        """Return how many bytes could not be had, of an error that means memory ran out.

        **May**; the default reads the error's attribute ``asked``, or what NumPy's errors tell.
        """
        hook = getattr(self.devices, "asked", None)
        found: int | None = None if hook is None else hook(error)
        if found is None:
            found = getattr(error, "asked", None)
        if found is None and isinstance(error, MemoryError) and hasattr(error, "shape"):
            found = math.prod(error.shape) * np.dtype(getattr(error, "dtype", "u1")).itemsize
        return found

    def translated(self, error: Exception) -> Exception | None:
        """Return the error of the class that other libraries raise in this one's place.

        **May**; None, the default, means that the error is right as it is: TypeError for wrong
        types, ValueError for wrong shapes and values, IndexError for indices.
        """
        hook = getattr(self.devices, "translated", None)
        return None if hook is None else hook(error)

    def owns(self, x: object) -> bool:
        """Tell whether an object is a native array of the library.

        **May**; by default those of ``ARRAY_TYPE`` and its subclasses are. For libraries that have
        arrays of other classes too, such as JAX with its tracers.
        """
        hook = getattr(self.devices, "owns", None)
        found: bool = isinstance(x, self.devices.ARRAY_TYPE) if hook is None else hook(x)
        return found

    def configuration(self) -> object:
        """Return the user's settings of the library that decide which dtypes devices have.

        **May**; None means that nothing does. Otherwise it is asked before each call that could
        turn out differently, and ``dtypes`` whenever the answer is a new one. The dtype of what a
        function of :meth:`direct` returns may not depend on it.
        """
        hook = getattr(self.devices, "configuration", None)
        return None if hook is None else hook()

    def setting_for(self, dtype: np.dtype[Any]) -> str:
        """Return what the user sets so that devices get a dtype that they lack now, as a clause.

        **May**, where :meth:`configuration` decides; by default nothing does. Errors say it.
        """
        hook = getattr(self.devices, "setting_for", None)
        return "" if hook is None else str(hook(dtype))

    def settled(self, dtype: Any) -> bool:
        """Tell whether devices have a native dtype whatever the user's settings are.

        **May**; by default all dtypes are where :meth:`configuration` is None, and none elsewhere.
        Calls on other dtypes ask for the settings each time.
        """
        hook = getattr(self.devices, "settled", None)
        found: bool = self.configuration() is None if hook is None else hook(dtype)
        return found

    def scope(self, device: Any) -> AbstractContextManager[Any] | None:
        """Make a native device current. **May**; None means the library needs no current device.

        Entered around every function of the namespace and left in a ``finally``. Hooks of
        ``devices.py`` and ``transfer.py`` are told the device and enter it themselves.
        """
        hook = getattr(self.devices, "scope", None)
        return None if hook is None else hook(device)

    def at_once(self) -> AbstractContextManager[Any]:
        """Return a context in which arrays are computed on at once, for probes.

        **May**, where a function of the user that is running can keep a library from doing so, as
        those do that JAX traces; the default does nothing.
        """
        hook = getattr(self.devices, "at_once", None)
        context: AbstractContextManager[Any] = nullcontext() if hook is None else hook()
        return context

    # Every move asks for several of the hooks below. They are looked up in the module's dictionary,
    # since getattr takes half a microsecond to find that a module lacks a name.

    def why_copied_out(self, x: Any, device: Any) -> str:
        """Return why ``to_host(x, copy=None)`` copies, as a clause; empty where it does not.

        **Should** where the default is wrong: memory that is host memory is not copied. The hook
        is asked for the array alone, which is on the device.
        """
        hook = self.transfer.__dict__.get("why_copied_out")
        if hook is not None:
            reason: str = hook(x)
            return reason
        return "" if self.transfer.on_host(device) else f"{device} has memory of its own"

    def why_copied_in(self, array: np.ndarray[Any, Any], device: Any) -> str:
        """Return why ``from_host(array, device, copy=None)`` copies; empty where it does not.

        **Should** where the default is wrong: memory that is host memory is not copied.
        """
        hook = self.transfer.__dict__.get("why_copied_in")
        if hook is not None:
            reason: str = hook(array, device)
            return reason
        return "" if self.transfer.on_host(device) else f"{device} has memory of its own"

    def why_copied(self, x: Any, device: Any) -> str:
        """Return why ``move(x, device, copy=None)`` copies; empty where it does not.

        **Should** where the default is wrong: two devices have two memories.
        """
        hook = self.transfer.__dict__.get("why_copied")
        if hook is not None:
            reason: str = hook(x, device)
            return reason
        here = self.devices.native_device(*self.devices.locate(x))
        return "" if here == device else f"{here} and {device} have memories of their own"

    def why_copied_on_export(self, x: Any) -> str:
        """Return why ``to_dlpack(x, copy=None)`` copies, as a clause; empty where it does not.

        **May**; by default it never does. Asked of arrays in memory that is not the host's.
        """
        hook = self.transfer.__dict__.get("why_copied_on_export")
        reason: str = "" if hook is None else hook(x)
        return reason

    def why_copied_over(self, x: Any) -> str:
        """Return why ``from_dlpack(x, device, copy=None)`` copies, as a clause; empty where not.

        **May**; by default it never does. Asked of producers whose memory ``reads`` names.
        """
        hook = self.transfer.__dict__.get("why_copied_over")
        reason: str = "" if hook is None else hook(x)
        return reason

    def constant(self) -> bool:
        """Tell whether arrays never change, so that their memory is for others only to read.

        **May**; by default they change. What DLPack brings is then copied where the memory goes
        to or comes from a library whose arrays change. On the host NumPy's arrays say that
        themselves: ``to_host`` returns them read-only.
        """
        hook = self.transfer.__dict__.get("constant")
        found: bool = False if hook is None else hook()
        return found

    def place(self, device: Any) -> tuple[int, int] | None:
        """Return DLPack's type and index of a native device's memory; None where it has none.

        **Should** on devices with memory of their own, so that libraries which share such a device
        share its memory; the default knows host memory only. It must be what ``dlpack_device``
        says of arrays there; an array of another type (CUDA's managed memory) goes by the host
        where the other library does not read that.
        """
        hook = self.transfer.__dict__.get("place")
        if hook is not None:
            found: tuple[int, int] | None = hook(device)
            return found
        return (1, 0) if self.transfer.on_host(device) else None

    def reads(self, device: Any) -> frozenset[int]:
        """Return DLPack's types of memory that ``from_dlpack`` uses on a device as it is.

        **Should**, as :meth:`place`; the default is none: host memory comes by ``from_host``.
        """
        hook = self.transfer.__dict__.get("reads")
        found: frozenset[int] = frozenset() if hook is None else hook(device)
        return found

    def lend(self, x: Any) -> np.ndarray[Any, Any] | None:
        """Return an array's memory to read on the spot, where ``to_host`` marks it as shared.

        **May**, where that mark costs something; None means that ``to_host`` leaves none. Asked
        only where :meth:`why_copied_out` has no reason.
        """
        hook = self.transfer.__dict__.get("lend")
        return None if hook is None else hook(x)

    def read(self, x: Any, device: Any) -> np.ndarray[Any, Any]:
        """Return the values of a device's array as NumPy array to read on the spot, not to keep."""
        lent = None if self.why_copied_out(x, device) else self.lend(x)
        return self.transfer.to_host(x, copy=None) if lent is None else lent

    def keep(self, array: np.ndarray[Any, Any], device: Any, *, non_blocking: bool = False) -> Any:
        """Make a native array from a NumPy array that nobody else has, in its memory or not.

        **May**, where memory that NumPy sees costs something; by default ``from_host`` shares it.
        """
        hook = self.transfer.__dict__.get("keep")
        if hook is None:
            return self.transfer.from_host(array, device, copy=None, non_blocking=non_blocking)
        return hook(array, device, non_blocking=non_blocking)

    def staged(self, x: Any) -> np.ndarray[Any, Any] | None:
        """Return a copy in page-locked host memory, from where other GPUs read it fastest.

        **May**; None means that the library has no such memory, and ``to_host`` is taken.
        """
        hook = self.transfer.__dict__.get("staged")
        return None if hook is None else hook(x)

    def adopt(self, x: Any, *, copy: bool | None) -> Any:
        """Return a native array that a program made itself as the room's functions take it.

        **May**; by default it is that already. For libraries whose arrays do not all meet in one
        call, such as SYCL arrays of several queues. ``copy`` as in :meth:`Transfer.from_host`.
        """
        hook = self.transfer.__dict__.get("adopt")
        return x if hook is None else hook(x, copy=copy)

    def peek(self, x: Any, device: Any) -> np.ndarray[Any, Any]:
        """Return the values of a device's array for printing.

        **May**, where ``to_host`` can refuse them; the hook is asked for the array alone.
        """
        hook = self.transfer.__dict__.get("peek")
        values: np.ndarray[Any, Any] = self.read(x, device) if hook is None else hook(x)
        return values

    def tuned_kernels(self, name: str) -> tuple[TunedKernel, ...]:
        """Return the versions of a core kernel that are made for the library. **May**."""
        table: Mapping[str, tuple[TunedKernel, ...]] = getattr(self.tuned, "TUNED", {})
        return table.get(name, ())

    def direct(self, name: str, dtype: Any) -> Callable[..., Any] | None:
        """Return the library's own function that serves a name for arrays of a native dtype.

        **May**; None means that the namespace's function does. Where operands are arrays of that
        one dtype and nothing else, portarray calls it by position, so that what the namespace's
        function does for other callers (promotion, scalars, options) costs nothing. It must do
        right on every value of the dtype.

        ``"getitem"`` may be among the names, for keys as the user wrote them that are integers,
        slices or tuples of these, None and one Ellipsis: where such a function raises IndexError,
        TypeError or ValueError, the key is checked and given to the namespace's function.
        """
        hook = getattr(self.namespace, "direct", None)
        return None if hook is None else hook(name, dtype)

    def beside(self, name: str, dtype: Any) -> Callable[..., Any] | None:
        """Return the library's own function that serves a name beside a Python scalar.

        **May**, as :meth:`direct`: for one array of a native dtype and one Python scalar, either
        first, that the dtype can hold: an integer in the range of an integer dtype, an integer or
        float of a floating-point dtype, any number of a complex one, a bool of bool. What it
        refuses by raising, the namespace's function is asked for.
        """
        hook = getattr(self.namespace, "beside", None)
        return None if hook is None else hook(name, dtype)

    def inplace(self, name: str, dtype: Any) -> Callable[[Any, Any], Any] | None:
        """Return a function that does ``x1 op= x2`` in x1's memory for a native dtype.

        **May**; None means that the result is computed and then assigned.
        ``name`` is the standard function behind the operator (``"add"``).
        """
        hook = getattr(self.namespace, "inplace", None)
        return None if hook is None else hook(name, dtype)


def composed(function: F) -> F:
    """Mark a room's function as made from several native calls, on the device."""
    function.__portarray_served__ = "composed"  # type: ignore[attr-defined]
    return function


def served_by(function: Callable[..., Any]) -> Served:
    """Return how a room's function is served: as marked, else ``"native"``."""
    served: Served = getattr(function, "__portarray_served__", "native")
    return served
