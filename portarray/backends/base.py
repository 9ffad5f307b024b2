"""The contract of backends: the hooks that portarray calls and their defaults.

A backend is a package of the files below. It takes and returns *native* arrays, dtypes and devices
of its library, never :class:`portarray.Array`.

``__init__.py``
    **must** define ``INFO``, a :class:`~portarray.backends.types.BackendInfo`, and import nothing
    of the library: discovery reads it for libraries that are not installed.
``backend.py``
    **must** define ``BACKEND``, a subclass of :class:`Backend`. The built-in backends combine base
    classes from ``devices.py`` and ``transfer.py``.
``namespace/``
    **may** implement functions of the standard on native arrays, under their standard names and
    with the standard's signatures, in a file named for the category; ``linalg`` and ``fft`` are
    submodules. Only native or corrected functions belong here. Missing ones are taken from the
    library's own standard namespace (:attr:`Backend.standard`), then from ``backends/composed``
    (built from other standard functions, on the device) and then from ``backends/host``. Mark
    functions made of several native calls with :func:`~portarray.backends.types.composed`.

Besides functions, a category file may have these tables, ``name -> {kinds: function}``
(:data:`~portarray.backends.types.Rows`):

``BY_DTYPE``
    complete functions, for the dtypes of their key: kind letters (``"iuf"``) or NumPy dtype names
    (``"uint16 uint32"``), separated by blanks; a name takes precedence over a kind;
``DIRECT``
    the library's own functions for arrays alone, called by position; they must be correct for all
    values of the dtype. ``"getitem"`` here is for basic keys (integers, slices, None, Ellipsis and
    tuples of them); if it raises, the key is checked and passed to the general one.
    ``"setitem"`` takes tuples of these, and a scalar or an array of the dtype; it returns what
    takes the array's place, and must not write anything if it raises;
``WITH_PYTHON_SCALAR``
    functions of an array and a Python scalar that its dtype holds, in either order. If one raises,
    the general function is called with a 0-d array;
``IN_PLACE``
    functions that compute ``x1 op= x2`` in x1's memory. Without one the result is computed and
    assigned.

:mod:`portarray._dispatch.native_functions` guarantees that operands that are promoted together
have one dtype, of a kind in :data:`portarray._dtypes.accepted.ACCEPTED`; that dtypes are native
dtypes of the device; and that devices are native devices.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from portarray.backends.types import (
    Arrays,
    BackendInfo,
    Description,
    MemoryFigures,
    TunedKernel,
)

if TYPE_CHECKING:
    from portarray._launchers.launcher import Launcher, Layout
    from portarray._opencl.recording import Recorder

__all__ = ["Backend"]


class Backend(ABC):
    """Base class of backends: all hooks, with defaults where possible.

    A backend **must** define abstract hooks and ``array_type``; it **should** or **may** define the
    others. Private names are the backend's own; any other name that is not a hook is refused when
    the backend is loaded.

    Parameters
    ----------
    info : BackendInfo
        The backend's declaration.
    category_package : str
        The package of its category files; empty if there are none.
    """

    array_type: ClassVar[type]
    """The concrete class of the library's arrays. **Must**."""

    unchecked_linalg: ClassVar[frozenset[str]] = frozenset()
    """Functions that leave infinities or NaN where a matrix is singular or indefinite: any of
    ``linalg.cholesky``, ``linalg.inv``, ``linalg.matrix_power``, ``linalg.solve``. **Should**."""

    linalg_ignores_nonfinite: ClassVar[frozenset[str]] = frozenset(
        ("linalg.eigh", "linalg.eigvalsh", "linalg.matrix_norm", "linalg.matrix_rank")
    ) | frozenset(("linalg.pinv", "linalg.svd", "linalg.svdvals"))
    """Functions of ``linalg`` that may answer with finite numbers, or never, where a matrix has NaN
    or infinity, as LAPACK's eigenvalues and singular values do. Norms only where they need singular
    values. **Should**."""

    standard: ClassVar[Any] = None
    """The library's own implementation of the standard. **May**. It serves every name that no file
    of ``namespace/`` defines."""

    accepts_scalars: ClassVar[bool] = False
    """Whether every function accepts Python scalars that the dtype holds as operands. **May**; by
    default they become 0-d arrays unless a row of ``WITH_PYTHON_SCALAR`` serves."""

    immutable: ClassVar[bool] = False
    """Whether arrays are immutable. **May**: DLPack import from and export to libraries with
    mutable arrays then copies. On the host, ``to_host`` returns read-only NumPy arrays instead."""

    converts_on_copy: ClassVar[bool] = False
    """Whether :meth:`from_host_converted` converts without a temporary copy. **May**."""

    folds_zeros: ClassVar[bool] = False
    """Whether the library's compiler may drop the sign of a zero that it knows. **May**; zeros are
    then inputs of compiled functions."""

    launch_cost: ClassVar[int] = 0
    """Elements times calls up to which the library's own calls cost less than the launch of a
    kernel that computes them all. **May**."""

    records_calls: ClassVar[bool] = False
    """Whether what :meth:`recorder` records are all calls, not the launches of user kernels alone.
    **May**."""

    tuned_kernels: ClassVar[Mapping[str, tuple[TunedKernel, ...]]] = {}
    """The library's tuned versions of core kernels, by kernel name, in the order in which they are
    tried. **May**."""

    def __init__(self, info: BackendInfo, category_package: str = "") -> None:
        self.info = info
        self.category_package = category_package

    # Devices and dtypes

    @abstractmethod
    def version(self) -> str:
        """Return the library's version. **Must**."""

    @abstractmethod
    def count(self, platform: str) -> int:
        """Return the number of devices of a platform that this installation sees. **Must**."""

    @abstractmethod
    def reason_unsupported(self, platform: str) -> str:
        """Return why :meth:`count` is 0, as a clause: ``"this build has no CUDA"``. **Must**."""

    @abstractmethod
    def native_device(self, platform: str, index: int) -> Any:
        """Return the library's own device object. **Must**."""

    @abstractmethod
    def describe(self, platform: str, index: int) -> Description:
        """Return name and kind of a device. **Must**."""

    @abstractmethod
    def dtypes(self, platform: str, index: int) -> Mapping[np.dtype[Any], Any]:
        """Return all dtypes of a device, NumPy's to native, float16 and bfloat16 too. **Must**."""

    @abstractmethod
    def device_of_native(self, device: object) -> tuple[str, int] | None:
        """Return platform and index of a native device; None for all other objects. **Must**."""

    @abstractmethod
    def device_of_array(self, x: Any) -> tuple[str, int]:
        """Return platform and index of the device that holds a native array. **Must**."""

    def owns(self, x: object) -> bool:
        """Return whether an object is a native array of the library.

        **May**; the default is ``isinstance`` of ``array_type``. For libraries with other array
        classes, such as JAX's tracers.
        """
        return isinstance(x, self.array_type)

    def configuration(self) -> object:
        """Return the user's settings of the library that affect which dtypes devices have.

        **May**; None means that nothing does. Otherwise it is queried before each call that could
        turn out differently, and ``dtypes`` whenever the answer is a new one. The dtype of what a
        function of ``DIRECT`` or ``WITH_PYTHON_SCALAR`` returns may not depend on it.
        """
        return None

    def setting_for(self, dtype: np.dtype[Any]) -> str:
        """Return the setting that enables a missing dtype, as a clause for errors.

        **May**, with :meth:`configuration`; by default there is no setting.
        """
        return ""

    def has_fixed_dtype(self, dtype: Any) -> bool:
        """Return whether devices have a native dtype under all of the user's settings.

        **May**; by default True if :meth:`configuration` returns None. Calls on other dtypes check
        the settings each time.
        """
        return self.configuration() is None

    def scope(self, device: Any) -> AbstractContextManager[Any] | None:
        """Return a context that makes a device current. **May**; None means that none is needed.

        Entered around every function of the namespace. Hooks with a device parameter enter it
        themselves.
        """
        return None

    def eager(self) -> AbstractContextManager[Any]:
        """Return a context in which arrays are computed eagerly, for probes.

        **May**, for libraries with transformations, such as JAX's tracing; the default does
        nothing.
        """
        return nullcontext()

    def is_traced(self, x: Any) -> bool:
        """Return whether a native array has no values yet: the library is tracing a function.

        **Should** for libraries with transformations; by default none has.
        """
        return False

    def synchronize(self, device: Any) -> None:  # noqa: B027 - optional
        """Wait for all work on a native device. **Should** if calls are asynchronous."""

    def driver(self, platform: str) -> str:
        """Return the driver's version. **Should**; crash markers of probes include it."""
        return ""

    # Memory and errors

    def memory(self, device: Any) -> MemoryFigures:
        """Return the memory figures of a native device. **Should**; all None by default."""
        return MemoryFigures()

    def reclaim(self, device: Any) -> None:  # noqa: B027 - optional
        """Release pooled memory. **Should** if the library has a memory pool."""

    @abstractmethod
    def is_out_of_memory(self, error: BaseException) -> bool:
        """Return whether an error of the library means that memory ran out. **Must**."""

    def requested_bytes(self, error: BaseException) -> int | None:
        """Return the size in bytes of the failed allocation of an out-of-memory error, if known.

        **May**; the default reads the error's attribute ``requested``, or NumPy's errors.
        """
        nbytes: int | None = getattr(error, "requested", None)
        if nbytes is None and isinstance(error, MemoryError) and hasattr(error, "shape"):
            nbytes = math.prod(error.shape) * np.dtype(getattr(error, "dtype", "u1")).itemsize
        return nbytes

    def wrap_function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of the namespace with what each call of it needs around it.

        **May**; for libraries that abort the process where they should raise MemoryError, or that
        warn of infinities and NaN. The default returns the function.
        """
        return function

    def serves(self, device: Any, name: str) -> bool:
        """Return whether the backend's own function of a name serves a device.

        **May**; by default it serves all. Where it does not, the name is looked for among the
        shared compositions and then on the host.
        """
        return True

    def linalg_errors(self) -> tuple[type[Exception], ...]:
        """Return the library's errors for singular, indefinite or unsuitable matrices.

        **Should** if they are not NumPy's.
        """
        return (np.linalg.LinAlgError,)

    def is_device_failure(self, error: BaseException) -> bool:
        """Return whether an error means that a device or its driver failed.

        **May**; by default no error does, and every RuntimeError is treated as an argument error.
        """
        return False

    def translate_error(self, error: Exception) -> Exception | None:
        """Return the error to raise instead, with the class that other libraries raise.

        **May**; None, the default, keeps the error. TypeError is for wrong types, ValueError for
        wrong shapes and values, IndexError for indices.
        """
        return None

    def caster(self, dtype: Any, target: Any) -> Callable[[Any], Any] | None:
        """Return a function that casts native arrays of a native dtype to another, or None.

        **May**, where it takes less time than ``astype``, which serves for None, the default.
        """
        return None

    # Gradients

    def vjp(
        self,
        function: Callable[[Sequence[Any]], Sequence[Any]],
        primals: Sequence[Any],
        *,
        saved: list[list[Any]] | None,
    ) -> (
        tuple[Sequence[Any], Callable[[Sequence[Any]], Sequence[Any]], Callable[[Any], Any]] | None
    ):
        """Call a function of native arrays and return its results and what pulls cotangents back.

        The third is a function that returns a native array of the function's body as one outside
        it: without this gradient, with that of enclosing functions.

        **May**, for libraries whose own gradients cost less than a record of the calls; None, the
        default, has the calls recorded. The caller copies gradients that share memory.
        Cotangents are pulled back at most once if ``saved`` is None. Otherwise the backend appends
        lists of the native arrays that are read then; they are replaced in these lists before
        their memory is written.
        Raises :class:`~portarray.backends.types.NoOwnGradientError` where the library refuses, and
        :class:`~portarray.backends.types.ChangedInPlaceError` where such an array has changed.
        """
        return None

    def is_watched(self, x: Any) -> bool:
        """Return whether an array depends on what a running :meth:`vjp` takes derivatives of.

        **Must**, with :meth:`vjp`.
        """
        return False

    def stop_gradient(self, x: Any) -> Any:
        """Return a native array as a constant for the library's own gradients. **May**."""
        return x

    def refuse_gradient(self, x: Any, error: Exception) -> Any:
        """Return a native array through which the library's own gradients raise. **May**."""
        return x

    def compilable(
        self, name: str, function: Callable[..., Any], dtype: np.dtype[Any]
    ) -> Callable[..., Any]:
        """Return the function of native arrays to compile in place of a function of the standard.

        **May**, where the compiler computes something else than the function. ``dtype`` is that of
        the result.
        """
        return function

    def compiled(
        self,
        function: Callable[..., Any],
        natives: Sequence[Any],
        names: Collection[str],
        *,
        dynamic: bool = False,
    ) -> Any:
        """Return a function of native arrays, which returns a tuple of them, compiled.

        **May**, for libraries with a compiler; None, the default, has portarray fuse what it can.
        ``natives`` are arguments of a call, ``names`` the functions of the standard that it calls.
        What is raised here, or in the first call, is the reason why the function is not compiled.
        ``dynamic`` asks for one that takes other sizes, too: a result with an attribute
        ``serves(natives)``, which tells for which; without it the function is for these shapes.
        """
        return None

    # The library's own transformations

    def register_arrays(self, arrays: Arrays) -> None:  # noqa: B027 - optional
        """Make portarray's arrays known to the library's transformations of functions.

        **Should** for libraries that have any; called once, when the backend is loaded.
        """

    # User kernels

    def launcher(self, device: Any) -> Launcher | str:
        """Return what runs programs on a native device, or why nothing does, as a clause.

        **Should**; the same object each time.
        """
        return f"{self.info.title} does not run user kernels"

    def recorder(self, device: Any) -> Recorder | None:
        """Return a new recorder of launches on a native device, None if nothing records them.

        **May**, with :meth:`launcher`: compiled functions replay what it records.
        """
        return None

    def layout(self, x: Any) -> Layout:
        """Return shape, strides and offset of an array in elements, for its launcher's programs.

        **Should**, with :meth:`launcher`, and from attributes only. The offset is 0 unless the
        launcher's pointers are to memory blocks (``offsets``). By default that of a contiguous
        array: the interpreter of kernels needs no other.
        """
        shape = tuple(x.shape)
        return shape, tuple([math.prod(shape[axis + 1 :]) for axis in range(len(shape))]), 0

    def layout_key(self, x: Any) -> Hashable:
        """Return what tells an array's layout from those of other arrays of its dtype.

        **May**, where it takes less time than :meth:`layout`, the default.
        """
        return self.layout(x)

    # Order of tasks

    def extent(self, x: Any) -> tuple[Hashable, int, tuple[int, ...] | None] | None:
        """Return the memory of an array, the address of its first element, and strides in bytes.

        **Should** if the default is wrong, which reads NumPy's or CUDA's array interface and else
        says that the array may be anywhere in its device's memory, by the address -1. Addresses
        compare where memories are equal, which are None for pointers. Without strides the array is
        C-contiguous. None is for arrays that do not share memory that changes, as in immutable
        libraries.
        """
        if self.immutable:
            return None
        for name in ("__array_interface__", "__cuda_array_interface__"):
            value = getattr(x, name, None)
            if value is not None:
                strides = value.get("strides")
                return None, value["data"][0], None if strides is None else tuple(strides)
        return self.device_of_array(x), -1, None

    def allocation(self, x: Any) -> Hashable | None:
        """Return a key of the block of memory that an array is in; equal for arrays of one block.

        **Should** for mutable libraries, from attributes only: each gradient calls it. With None,
        the default, every gradient is copied.
        """
        return None

    def is_broadcast(self, x: Any) -> bool:
        """Return whether an array is read-only, or has elements that share memory.

        **Should**, with :meth:`allocation`.
        """
        return False

    def evaluate(self, x: Any) -> None:  # noqa: B027 - optional
        """Compute an array's values in this thread. **Should** for libraries that compute late."""

    # Host memory and other devices

    @abstractmethod
    def on_host(self, device: Any) -> bool:
        """Return whether a device's memory is host memory, readable without a copy. **Must**."""

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

        ``copy=None`` shares memory if possible, ``True`` always copies, ``False`` raises ValueError
        if sharing is impossible. Read-only or negatively strided input is copied if the library
        needs that.

        The copy is complete when this returns, so that the NumPy array may change. With
        ``non_blocking`` it may return earlier; later work on the device is ordered after the copy.
        """

    def from_owned_host(
        self, array: np.ndarray[Any, Any], device: Any, *, non_blocking: bool = False
    ) -> Any:
        """Make a native array from a NumPy array whose memory the caller gives up.

        **May**; by default ``from_host(..., copy=None)``.
        """
        return self.from_host(array, device, copy=None, non_blocking=non_blocking)

    def from_host_converted(
        self, array: np.ndarray[Any, Any], dtype: np.dtype[Any], device: Any
    ) -> Any:
        """Make a native array of another dtype from a NumPy array's values.

        **May**, for libraries whose ``from_host`` always copies: convert while copying, with
        NumPy's casting rules. By default NumPy converts. NumPy's overflow warnings are disabled.
        """
        return self.from_owned_host(array.astype(dtype), device)

    @abstractmethod
    def to_host(self, x: Any, *, copy: bool | None) -> np.ndarray[Any, Any]:
        """Return a native array as a NumPy array, ``copy`` as in :meth:`from_host`. **Must**.

        Waits until the values are computed, but if possible not for other work. ``copy=False``
        returns a view for immediate reading of any host memory; ``copy=None`` copies if it is
        unsafe to keep that view.
        """

    def borrow_host_view(self, x: Any) -> np.ndarray[Any, Any] | None:
        """Return a temporary view of an array's memory without tracking it as exported.

        **May**, if ``to_host`` tracks exported views; None means that it does not. Called only if
        :meth:`why_copied_out` returns no reason.
        """
        return None

    def read_host(self, x: Any, device: Any) -> np.ndarray[Any, Any]:
        """Return an array's values as a temporary NumPy array, for reading only."""
        lent = None if self.why_copied_out(x, device) else self.borrow_host_view(x)
        return self.to_host(x, copy=None) if lent is None else lent

    def printable(self, x: Any, device: Any) -> np.ndarray[Any, Any]:
        """Return an array's values for printing.

        **May**, if ``to_host`` may raise.
        """
        return self.read_host(x, device)

    def pinned_copy(self, x: Any) -> np.ndarray[Any, Any] | None:
        """Return a copy in pinned host memory, which GPUs read fastest.

        **May**; None means that the library has none, and ``to_host`` is used.
        """
        return None

    @abstractmethod
    def move(self, x: Any, device: Any, *, copy: bool | None, non_blocking: bool = False) -> Any:
        """Return a native array on another device of the library, ``copy`` as above. **Must**.

        On the same device, ``copy=None`` and ``False`` return the array itself.
        """

    def normalize(self, x: Any, *, copy: bool | None) -> Any:
        """Return a native array that the user made in the form that the backend's functions accept.

        **May**; by default unchanged. For libraries whose arrays cannot all be combined in one
        call, such as SYCL arrays of several queues. ``copy`` as in :meth:`from_host`.
        """
        return x

    def why_copied_in(self, array: np.ndarray[Any, Any], device: Any) -> str:
        """Return why ``from_host(array, device, copy=None)`` copies, or an empty string.

        **Should** if the default is wrong, which is that host memory is shared.
        """
        return "" if self.on_host(device) else f"{device} has its own memory"

    def why_copied_out(self, x: Any, device: Any) -> str:
        """Return why ``to_host(x, copy=None)`` copies, as a clause, or an empty string.

        **Should** if the default is wrong, which is that host memory is shared.
        """
        return "" if self.on_host(device) else f"{device} has its own memory"

    def why_copied(self, x: Any, device: Any) -> str:
        """Return why ``move(x, device, copy=None)`` copies, or an empty string.

        **Should** if the default is wrong: separate memories.
        """
        here = self.native_device(*self.device_of_array(x))
        return "" if here == device else f"{here} and {device} do not share memory"

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
        """Return DLPack's type and index of a native device's memory, or None.

        **Should** on devices with their own memory, so that libraries that drive the same device
        share it; by default host memory only. Must match ``dlpack_device`` of arrays there. Arrays
        of another type (CUDA managed memory) are moved through host memory if the other library
        cannot read them.
        """
        return (1, 0) if self.on_host(device) else None

    def readable_dlpack_types(self, device: Any) -> frozenset[int]:
        """Return DLPack's types of memory that ``from_dlpack`` on a device imports without a copy.

        **Should**, as :meth:`dlpack_device_of`; none by default: host memory uses ``from_host``.
        """
        return frozenset()

    def why_copied_over(self, x: Any) -> str:
        """Return why ``from_dlpack(x, device, copy=None)`` copies, as a clause, or an empty string.

        **May**; by default it never does. Called for producers in :meth:`readable_dlpack_types`.
        """
        return ""

    def why_copied_on_export(self, x: Any) -> str:
        """Return why ``to_dlpack(x, copy=None)`` copies, as a clause, or an empty string.

        **May**; by default it never does. Called for arrays in device memory.
        """
        return ""
