"""The contract of backends: what portarray asks of an array library, and what it takes.

A backend is a package of these files. It knows nothing of :class:`portarray.Array`: it takes and
returns *native* arrays, dtypes and devices of its library.

``__init__.py``
    **must** define ``INFO``, a :class:`~portarray.backends.types.BackendInfo`, and import nothing
    of the library: discovery reads it for libraries that are not installed.
``backend.py``
    **must** define ``BACKEND``, a subclass of :class:`Backend`. The built-in backends inherit it
    from several files: ``devices.py``, ``transfer.py``.
``namespace/``
    **may** hold the standard on native arrays: a function under its standard name, with the
    standard's signature, in a file named for its chapter; ``linalg`` and ``fft`` are submodules.
    Only what is native or must be corrected stands here. What is missing is taken from the
    library's own namespace of the standard (:attr:`Backend.standard`), then from
    ``backends/composed`` (built from other standard functions, on the device) and then from
    ``backends/host``. A function made from several native calls may say so with
    :func:`~portarray.backends.types.composed`.

A chapter file has functions under their standard name, with the standard's signature, and tables of
them, ``name -> {kinds: function}`` (:data:`~portarray.backends.types.Rows`), all optional:

``ROWS``
    complete functions, for the dtypes of their key: letters of kinds (``"iuf"``) and NumPy's names
    of dtypes (``"uint16 uint32"``), apart by blanks; a name goes before a kind;
``PLAIN``
    the library's own functions for arrays alone, called by position: they do right on every value
    of the dtype. ``"getitem"`` may be among them, for keys that are integers, slices or tuples of
    these, None and one Ellipsis: where it raises, the key is checked and given to the general one;
``WITH_SCALAR``
    functions of an array and a Python scalar that its dtype holds, in either order. What one
    refuses by raising, the general function is asked for, with a 0-d array;
``INPLACE``
    functions that do ``x1 op= x2`` in x1's memory. Without one the result is computed and assigned.

What a function may rely on, since `portarray/backends/assembly.py` sees to it: operands that are
promoted together have one dtype, of a kind in :data:`portarray.backends.kinds.ACCEPTED`;
dtypes are native dtypes that the device has; devices are native devices.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np

from portarray.backends.types import BackendInfo, Description, MemoryFigures, TunedKernel

__all__ = ["Backend"]


class Backend(ABC):
    """One array library behind portarray: every hook, with its default where it has one.

    What is abstract, and ``array_type``, a backend **must** define; other hooks it **should** or
    **may**. Names that begin with an underscore are the backend's own; any other name that is not
    a hook is refused when the backend is loaded.

    Parameters
    ----------
    info : BackendInfo
        The backend's declaration.
    chapters : str
        The package of its chapter files; empty where it has none.
    """

    array_type: ClassVar[type]
    """The concrete class of the library's arrays. **Must**."""

    standard: ClassVar[Any] = None
    """The library's own implementation of the standard. **May**: it serves every name that no file
    of ``namespace/`` corrects."""

    takes_scalars: ClassVar[bool] = False
    """Whether every function takes a Python scalar that the dtype holds in the place of an operand.
    **May**; by default a 0-d array is made of it, where no row of ``WITH_SCALAR`` serves."""

    immutable: ClassVar[bool] = False
    """Whether arrays never change, so that their memory is for others only to read. **May**: what
    DLPack brings is then copied where the memory goes to or comes from a library whose arrays
    change. On the host NumPy's arrays say that themselves: ``to_host`` returns them read-only."""

    converts_on_copy: ClassVar[bool] = False
    """Whether :meth:`from_host_converted` writes converted values straight into memory. **May**."""

    tuned_kernels: ClassVar[Mapping[str, tuple[TunedKernel, ...]]] = {}
    """The versions of core kernels that are made for the library, by the kernel's name, in the
    order in which they are tried. **May**."""

    def __init__(self, info: BackendInfo, chapters: str = "") -> None:
        self.info = info
        self.chapters = chapters

    # Devices and dtypes

    @abstractmethod
    def version(self) -> str:
        """Return the library's version. **Must**."""

    @abstractmethod
    def count(self, platform: str) -> int:
        """Return how many devices of a platform this installation sees; 0 where none. **Must**."""

    @abstractmethod
    def why_not(self, platform: str) -> str:
        """Return why :meth:`count` is 0, as a clause: ``"this build has no CUDA"``. **Must**."""

    @abstractmethod
    def native_device(self, platform: str, index: int) -> Any:
        """Return the library's own device object. **Must**."""

    @abstractmethod
    def describe(self, platform: str, index: int) -> Description:
        """Return name and kind of a device. **Must**."""

    @abstractmethod
    def dtypes(self, platform: str, index: int) -> Mapping[np.dtype[Any], Any]:
        """Return every dtype of a device, NumPy's to native, float16 and bfloat16 too. **Must**."""

    @abstractmethod
    def device_of_native(self, device: object) -> tuple[str, int] | None:
        """Return platform and index of a native device; None for all other objects. **Must**."""

    @abstractmethod
    def device_of_array(self, x: Any) -> tuple[str, int]:
        """Return platform and index of the device that holds a native array. **Must**."""

    def owns(self, x: object) -> bool:
        """Tell whether an object is a native array of the library.

        **May**; by default those of ``array_type`` and its subclasses are. For libraries that have
        arrays of other classes too, such as JAX with its tracers.
        """
        return isinstance(x, self.array_type)

    def configuration(self) -> object:
        """Return the user's settings of the library that decide which dtypes devices have.

        **May**; None means that nothing does. Otherwise it is asked before each call that could
        turn out differently, and ``dtypes`` whenever the answer is a new one. The dtype of what a
        function of ``PLAIN`` or ``WITH_SCALAR`` returns may not depend on it.
        """
        return None

    def setting_for(self, dtype: np.dtype[Any]) -> str:
        """Return what the user sets so that devices get a dtype that they lack now, as a clause.

        **May**, where :meth:`configuration` decides; by default nothing does. Errors say it.
        """
        return ""

    def has_fixed_dtype(self, dtype: Any) -> bool:
        """Tell whether devices have a native dtype whatever the user's settings are.

        **May**; by default all dtypes are where :meth:`configuration` is None, and none elsewhere.
        Calls on other dtypes ask for the settings each time.
        """
        return self.configuration() is None

    def scope(self, device: Any) -> AbstractContextManager[Any] | None:
        """Make a native device current. **May**; None means the library needs no current device.

        Entered around every function of the namespace and left in a ``finally``. Hooks that are
        told a device enter it themselves.
        """
        return None

    def eager(self) -> AbstractContextManager[Any]:
        """Return a context in which arrays are computed on at once, for probes.

        **May**, where a function of the user that is running can keep a library from doing so, as
        those do that JAX traces; the default does nothing.
        """
        return nullcontext()

    def synchronize(self, device: Any) -> None:  # noqa: B027 - optional
        """Wait for all work on a native device. **Should** where calls return early."""

    def driver(self, platform: str) -> str:
        """Return the driver's version. **Should**; it keys the markers of crashed probes."""
        return ""

    # Memory and errors

    def memory(self, device: Any) -> MemoryFigures:
        """Return the memory of a native device. **Should**; the default knows nothing."""
        return MemoryFigures()

    def reclaim(self, device: Any) -> None:  # noqa: B027 - optional
        """Give pooled memory back. **Should** where the library pools."""

    @abstractmethod
    def is_out_of_memory(self, error: BaseException) -> bool:
        """Tell whether an error of the library means that memory ran out. **Must**."""

    def requested_bytes(self, error: BaseException) -> int | None:
        """Return how many bytes could not be had, of an error that means memory ran out.

        **May**; the default reads the error's attribute ``asked``, or what NumPy's errors tell.
        """
        found: int | None = getattr(error, "asked", None)
        if found is None and isinstance(error, MemoryError) and hasattr(error, "shape"):
            found = math.prod(error.shape) * np.dtype(getattr(error, "dtype", "u1")).itemsize
        return found

    def guard_memory(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of the namespace that raises MemoryError where memory runs out.

        **May**; by default functions do that themselves. For libraries that end the process.
        """
        return function

    def is_device_failure(self, error: BaseException) -> bool:
        """Tell whether an error means that a device or its driver failed, not that input is wrong.

        **May**; by default none does, and every RuntimeError is taken for a complaint about input.
        """
        return False

    def translate_error(self, error: Exception) -> Exception | None:
        """Return the error of the class that other libraries raise in this one's place.

        **May**; None, the default, means that the error is right as it is: TypeError for wrong
        types, ValueError for wrong shapes and values, IndexError for indices.
        """
        return None

    # Host memory and other devices

    @abstractmethod
    def on_host(self, device: Any) -> bool:
        """Tell whether a device's memory is the host's, read by NumPy without a copy. **Must**."""

    @abstractmethod
    def from_host(
        self,
        array: np.ndarray[Any, Any],
        device: Any,
        *,
        copy: bool | None,
        non_blocking: bool = False,
    ) -> Any:
        """Make a native array on a device from a NumPy array of a dtype the device has. **Must**.

        ``copy=None`` shares memory where it can, ``True`` always copies, ``False`` raises
        ValueError where it cannot share. Read-only or negatively strided input is copied where the
        library needs that.

        What is copied was read when this returns, so that the NumPy array may change. With
        ``non_blocking`` it may return before, and work on the device comes after the copy.
        """

    def from_owned_host(
        self, array: np.ndarray[Any, Any], device: Any, *, non_blocking: bool = False
    ) -> Any:
        """Make a native array from a NumPy array that nobody else has, in its memory or not.

        **May**, where memory that NumPy sees costs something; by default ``from_host`` shares it.
        """
        return self.from_host(array, device, copy=None, non_blocking=non_blocking)

    def from_host_converted(
        self, array: np.ndarray[Any, Any], dtype: np.dtype[Any], device: Any
    ) -> Any:
        """Make a native array of another dtype from a NumPy array's values.

        **May**, where ``from_host`` copies whatever host memory it is given: values are converted
        while they are copied, as NumPy does it. By default NumPy converts, and the result is owned.
        NumPy's warnings of what the dtype cannot hold are off.
        """
        return self.from_owned_host(array.astype(dtype), device)

    @abstractmethod
    def to_host(self, x: Any, *, copy: bool | None) -> np.ndarray[Any, Any]:
        """Return a native array as NumPy array, ``copy`` as in :meth:`from_host`. **Must**.

        Its values are computed when this returns: it waits for the work that makes x, and for no
        more than the library needs for that. ``copy=False`` gives memory to read on the spot
        wherever that is host memory; ``copy=None`` copies where others cannot keep that.
        """

    def borrow_host_view(self, x: Any) -> np.ndarray[Any, Any] | None:
        """Return an array's memory to read on the spot, where ``to_host`` marks it as shared.

        **May**, where that mark costs something; None means that ``to_host`` leaves none. Asked
        only where :meth:`why_copied_out` has no reason.
        """
        return None

    def read_host(self, x: Any, device: Any) -> np.ndarray[Any, Any]:
        """Return the values of a device's array as NumPy array to read on the spot, not to keep."""
        lent = None if self.why_copied_out(x, device) else self.borrow_host_view(x)
        return self.to_host(x, copy=None) if lent is None else lent

    def printable(self, x: Any, device: Any) -> np.ndarray[Any, Any]:
        """Return the values of a device's array for printing.

        **May**, where ``to_host`` can refuse them.
        """
        return self.read_host(x, device)

    def pinned_copy(self, x: Any) -> np.ndarray[Any, Any] | None:
        """Return a copy in page-locked host memory, from where other GPUs read it fastest.

        **May**; None means that the library has no such memory, and ``to_host`` is taken.
        """
        return None

    @abstractmethod
    def move(self, x: Any, device: Any, *, copy: bool | None, non_blocking: bool = False) -> Any:
        """Return a native array on another device of the same library, ``copy`` as above. **Must**.

        On the same device, ``copy=None`` and ``False`` return the array itself.
        """

    def normalize(self, x: Any, *, copy: bool | None) -> Any:
        """Return a native array that a program made itself as the backend's functions take it.

        **May**; by default it is that already. For libraries whose arrays do not all meet in one
        call, such as SYCL arrays of several queues. ``copy`` as in :meth:`from_host`.
        """
        return x

    def why_copied_in(self, array: np.ndarray[Any, Any], device: Any) -> str:
        """Return why ``from_host(array, device, copy=None)`` copies; empty where it does not.

        **Should** where the default is wrong: memory that is host memory is not copied.
        """
        return "" if self.on_host(device) else f"{device} has memory of its own"

    def why_copied_out(self, x: Any, device: Any) -> str:
        """Return why ``to_host(x, copy=None)`` copies, as a clause; empty where it does not.

        **Should** where the default is wrong: memory that is host memory is not copied.
        """
        return "" if self.on_host(device) else f"{device} has memory of its own"

    def why_copied(self, x: Any, device: Any) -> str:
        """Return why ``move(x, device, copy=None)`` copies; empty where it does not.

        **Should** where the default is wrong: two devices have two memories.
        """
        here = self.native_device(*self.device_of_array(x))
        return "" if here == device else f"{here} and {device} have memories of their own"

    # DLPack

    @abstractmethod
    def from_dlpack(self, x: Any, device: Any, *, copy: bool | None) -> Any:
        """Make a native array on a device from an object with ``__dlpack__``. **Must**."""

    @abstractmethod
    def to_dlpack(
        self,
        x: Any,
        *,
        stream: Any,
        max_version: tuple[int, int] | None,
        dl_device: tuple[int, int] | None,
        copy: bool | None,
    ) -> Any:
        """Return a DLPack capsule of a native array. **Must**."""

    @abstractmethod
    def dlpack_device(self, x: Any) -> tuple[int, int]:
        """Return DLPack's device type and index of a native array. **Must**."""

    def dlpack_device_of(self, device: Any) -> tuple[int, int] | None:
        """Return DLPack's type and index of a native device's memory; None where it has none.

        **Should** on devices with memory of their own, so that libraries which share such a device
        share its memory; the default knows host memory only. It must be what ``dlpack_device``
        says of arrays there; an array of another type (CUDA's managed memory) goes by the host
        where the other library does not read that.
        """
        return (1, 0) if self.on_host(device) else None

    def readable_dlpack_types(self, device: Any) -> frozenset[int]:
        """Return DLPack's types of memory that ``from_dlpack`` uses on a device as it is.

        **Should**, as :meth:`dlpack_device_of`; the default is none: host memory comes by
        ``from_host``.
        """
        return frozenset()

    def why_copied_over(self, x: Any) -> str:
        """Return why ``from_dlpack(x, device, copy=None)`` copies, as a clause; empty where not.

        **May**; by default it never does. Asked of producers whose memory
        :meth:`readable_dlpack_types` names.
        """
        return ""

    def why_copied_on_export(self, x: Any) -> str:
        """Return why ``to_dlpack(x, copy=None)`` copies, as a clause; empty where it does not.

        **May**; by default it never does. Asked of arrays in memory that is not the host's.
        """
        return ""
