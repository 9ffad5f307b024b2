"""What a backend (one array library behind portarray) must, should and may have.

A backend is a package with the files below. Backends know nothing of :class:`portarray.Array`: they
take and return *native* arrays, dtypes and devices of their library.

``__init__.py``
    **must** define ``INFO``, a :class:`BackendInfo`, and import nothing of the library: discovery
    reads it for libraries that are not installed.
``devices.py``
    **must** satisfy :class:`Devices`; **should** and **may** hooks stand in
    :class:`portarray.backends.base.Backend` with their defaults.
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

What a backend's function may rely on when portarray calls it (`portarray/_array/call.py` sees to
it): operands have one dtype, or one operand is a Python scalar of a kind that dtype can hold;
dtypes are native dtypes that the device has; devices are native devices; integers given to a
floating-point function were converted. Called directly, it **must** do the
standard's own promotions itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

__all__ = [
    "PLATFORMS",
    "Description",
    "Devices",
    "MemoryFigures",
    "BackendInfo",
    "Rows",
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

Rows = Mapping[str, Mapping[str, Callable[..., Any]]]
"""Functions of a chapter file: name to function by kinds and names of dtypes; see assembly.row."""


class BackendInfo(NamedTuple):
    """What a backend says about itself before its library is imported.

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
        Oldest version that the backend works with: ``"0.29"``; empty where any does.
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
    wraps_generic : bool, optional
        Whether `function` makes the version of the generic one, which it is called with once.
    """

    function: Callable[..., Any]
    name: str
    dtypes: frozenset[str]
    wins: str
    refuses: Callable[..., str] | None = None
    wraps_generic: bool = False


class Devices(Protocol):
    """What ``devices.py`` of a backend must have."""

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
    """What ``transfer.py`` of a backend must have."""

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


def composed(function: F) -> F:
    """Mark a backend's function as made from several native calls, on the device."""
    function.__portarray_served__ = "composed"  # type: ignore[attr-defined]
    return function


def served_by(function: Callable[..., Any]) -> Served:
    """Return how a backend's function is served: as marked, else ``"native"``."""
    served: Served = getattr(function, "__portarray_served__", "native")
    return served
