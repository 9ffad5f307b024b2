"""A loaded backend, with every hook that a backend should or may have.

What it must have says :mod:`portarray.backends.protocol`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray.backends.protocol import MemoryFigures

if TYPE_CHECKING:
    from types import ModuleType

    from portarray.backends.protocol import BackendInfo, Devices, Transfer, TunedKernel

__all__ = ["Backend"]


class Backend:
    """A loaded backend: its modules, and every optional hook with its default.

    Parameters
    ----------
    info : BackendInfo
        The backend's declaration.
    devices, transfer : module
        Its files of these names.
    namespace : module
        Its functions; see :mod:`portarray.backends.protocol`.
    tuned : module or None
        Its core kernels, where it has some.
    """

    __slots__ = ("devices", "info", "namespace", "transfer", "tuned")

    def __init__(
        self,
        info: BackendInfo,
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

    @property
    def chapters(self) -> str:
        """The package with the chapter files."""
        return self.namespace.__name__

    @property
    def standard(self) -> Any:
        """The library's own namespace of the standard, None where it has none."""
        return getattr(self.namespace, "STANDARD", self.namespace)

    @property
    def takes_scalars(self) -> bool:
        """Whether all functions take a Python scalar in the place of an operand."""
        return getattr(self.namespace, "TAKES_SCALARS", True)

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

    def converts(self) -> bool:
        """Tell whether :meth:`converted` writes converted values straight into host memory."""
        return "converted" in self.transfer.__dict__

    @np.errstate(all="ignore")  # of what the dtype cannot hold
    def converted(self, array: np.ndarray[Any, Any], dtype: np.dtype[Any], device: Any) -> Any:
        """Make a native array of another dtype from a NumPy array's values.

        **May**, where ``from_host`` copies whatever host memory it is given: values are converted
        while they are copied, as NumPy does it. By default NumPy converts, and the result is kept.
        """
        hook = self.transfer.__dict__.get("converted")
        if hook is None:
            return self.keep(array.astype(dtype), device)
        return hook(array, dtype, device)

    def staged(self, x: Any) -> np.ndarray[Any, Any] | None:
        """Return a copy in page-locked host memory, from where other GPUs read it fastest.

        **May**; None means that the library has no such memory, and ``to_host`` is taken.
        """
        hook = self.transfer.__dict__.get("staged")
        return None if hook is None else hook(x)

    def adopt(self, x: Any, *, copy: bool | None) -> Any:
        """Return a native array that a program made itself as the backend's functions take it.

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
