"""Routes between devices: of those that are safe, the one with the fewest copies.

Each backend says where its devices' memory is for DLPack (``dlpack_device_of``), which other memory
they read (``readable_dlpack_types``), and why data is copied on import or export
(``why_copied_in`` and its kin). From that follows one of five routes, see :data:`Kind`.
:func:`move` takes it and :func:`plan` describes it; both ask the same functions what is copied and
why.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from portarray._devices.device import Device

if TYPE_CHECKING:
    from portarray.backends.base import Backend

Kind = Literal["library", "memory", "dlpack", "staged", "host"]
"""How data goes from one device to another:

- ``"library"``: both devices are of one library, which moves the array itself;
- ``"memory"``: both compute in host memory, and the target may alias the source's;
- ``"dlpack"``: both compute in the memory of one GPU, which is exported by DLPack;
- ``"staged"``: from one GPU to another through page-locked host memory;
- ``"host"``: through host memory, one of the two having memory of its own.
"""

HOST = (1, 0)
"""DLPack's kDLCPU, always index 0."""


@cache  # devices are few, and live as long as the process
def kind_of(source: Device, target: Device) -> Kind:
    """Return the kind of route from one device to another."""
    backend, onto = source._backend, target._backend
    if backend is onto:
        return "library"
    here, there = backend.dlpack_device_of(source.native), onto.dlpack_device_of(target.native)
    if here == HOST and there == HOST:
        return "memory"
    if here is not None and here == there and here[0] in onto.readable_dlpack_types(target.native):
        return "dlpack"
    if here != HOST and there != HOST:
        return "staged"
    return "host"


def _kind_for(x: Any, source: Device, target: Device) -> Kind:
    """Return the kind of route that a native array takes from one device to another."""
    kind = kind_of(source, target)
    if kind == "dlpack":
        # A single array may be in another type of memory, such as CUDA's managed.
        its, _ = source._backend.dlpack_device(x)
        if its not in target._backend.readable_dlpack_types(target.native):
            return "staged"
    return kind


def move(
    x: Any,
    source: Device,
    target: Device,
    *,
    copy: bool | None,
    non_blocking: bool = False,
    exclusive: bool = False,
) -> Any:
    """Return a native array of one device as native array of another, of a dtype that both have.

    With ``exclusive``, nothing else references x or its memory, and the target may take it over;
    ``copy`` is None then.
    """
    kind = _kind_for(x, source, target)
    onto = target._backend
    if kind == "library":
        return onto.move(x, target.native, copy=copy, non_blocking=non_blocking)
    if kind == "dlpack":
        return _over_dlpack(x, source, target, copy)
    if copy is False:
        if kind != "memory":
            raise ValueError(
                f"copy=False, but {source} and {target} do not share memory\nHint: pass copy=None"
            )
        # Each side raises, with the reason, where it cannot share.
        values = source._backend.to_host(x, copy=False)
        return onto.from_host(values, target.native, copy=False)
    exported = _export(x, source, target, kind, copy, exclusive=exclusive)
    if exported.memory == "borrowed":
        return onto.from_host(exported.values, target.native, copy=True)
    early = non_blocking and kind != "memory" and not exported.pinned
    if exported.memory == "new":
        return target._backend.from_owned_host(exported.values, target.native, non_blocking=early)
    return onto.from_host(exported.values, target.native, copy=copy, non_blocking=early)


def converts(source: Device, target: Device) -> bool:
    """Return whether the target converts dtypes while it copies from the source."""
    return kind_of(source, target) == "memory" and target._backend.converts_on_copy


def convert(
    x: Any,
    source: Device,
    target: Device,
    dtype: np.dtype[Any],
    cast: Callable[[Any], Any],
    *,
    non_blocking: bool = False,
) -> Any:
    """Return a native array of one device as native array of another, in a dtype that both have.

    ``cast`` converts x on its device. It is not called where :func:`converts`.
    """
    if converts(source, target):
        values = _export(x, source, target, "memory", True).values
        with np.errstate(all="ignore"):  # of what the dtype cannot hold
            return target._backend.from_host_converted(values, dtype, target.native)
    return move(cast(x), source, target, copy=None, non_blocking=non_blocking, exclusive=True)


class _Exported(NamedTuple):
    """An array in host memory, on its way from the source to the target."""

    values: np.ndarray[Any, Any]
    why: str
    """Why the target cannot alias the source's memory; empty where it can."""
    memory: Literal["shared", "borrowed", "new"]
    """The source's memory, which the target may alias ("shared") or has to copy at once
    ("borrowed"); or memory that nothing else references."""
    pinned: bool = False
    """Whether a new copy is in page-locked memory."""


def _export(
    x: Any,
    source: Device,
    target: Device,
    kind: Kind,
    copy: bool | None,
    *,
    exclusive: bool = False,
    planned: np.dtype[Any] | None = None,
) -> _Exported:
    """Return a native array in host memory.

    With the array's dtype as ``planned`` nothing is copied, and no export is tracked: where a copy
    is needed, uninitialized memory replaces it.
    """
    backend = source._backend
    why = backend.why_copied_out(x, source.native)
    if not why:
        if exclusive:
            return _Exported(backend.to_host(x, copy=None), "", "new")
        values = backend.borrow_host_view(x)
        if values is None:
            return _Exported(backend.to_host(x, copy=None), "", "shared")
        if planned is not None:
            return _Exported(values, "", "shared")
        if copy or target._backend.why_copied_in(values, target.native):
            return _Exported(values, "", "borrowed")
        return _Exported(backend.to_host(x, copy=None), "", "shared")
    if backend.dlpack_device_of(source.native) == HOST:
        try:
            # A view is enough where the target copies at once: one copy and not two.
            return _Exported(backend.to_host(x, copy=False), why, "borrowed")
        except ValueError:
            pass
    if planned is not None:
        return _Exported(np.empty(x.shape, planned), why, "new")
    staged = backend.pinned_copy(x) if kind == "staged" else None
    if staged is not None:
        return _Exported(staged, why, "new", pinned=True)
    return _Exported(backend.to_host(x, copy=None), why, "new")


def _over_dlpack(x: Any, source: Device, target: Device, copy: bool | None) -> Any:
    """Return a native array of one device as one of another that uses the same memory."""
    backend, onto = source._backend, target._backend
    why = _why_copied_over(backend, onto)
    if why:
        if copy is False and not onto.immutable:
            raise ValueError(f"copy=False, but {why}\nHint: pass copy=None or copy=True")
        if copy is None:
            copy = True
    return onto.from_dlpack(_Offered(x, backend), target.native, copy=copy)


def _why_copied_over(backend: Backend, onto: Backend) -> str:
    """Return why the memory of one GPU is copied between two libraries; empty where it is not."""
    if onto.immutable:
        return f"arrays of {onto.info.title} are immutable, and the memory may change"
    if backend.immutable:
        return (
            f"arrays of {backend.info.title} are immutable, and those of {onto.info.title} are not"
        )
    return ""


class _Offered:
    """A backend's array as a DLPack producer, exported as its backend exports it."""

    __slots__ = ("_backend", "_x")

    def __init__(self, x: Any, backend: Backend) -> None:
        self._x = x
        self._backend = backend

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a capsule, ordered before what comes next on the consumer's stream."""
        return self._backend.to_dlpack(
            self._x, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's device type and index."""
        return self._backend.dlpack_device(self._x)


class TransferPlan(NamedTuple):
    """How an array would go from one device to another; :func:`portarray.transfer_plan` makes it.

    ``print(plan)`` says all of it in one line.

    Parameters
    ----------
    source, target : Device
        From where to where.
    route : {"library", "memory", "dlpack", "staged", "host"}
        Through what: the library that both devices are of, the host memory in which both compute,
        the memory of one GPU by DLPack, page-locked memory between two GPUs, or the host.
    dtype : numpy.dtype
        On the target.
    nbytes : int
        Bytes that are written on the way, all copies together.
    reasons : tuple of str
        Why each copy is made, in their order.

    Examples
    --------
    >>> import portarray as pa
    >>> plan = pa.transfer_plan(pa.zeros(3, device="numpy"), "numpy")
    >>> plan.route, plan.dtype, plan.copies, plan.nbytes
    ('library', dtype('float64'), 0, 0)
    """

    source: Device
    target: Device
    route: Kind
    dtype: np.dtype[Any]
    nbytes: int
    reasons: tuple[str, ...]

    @property
    def copies(self) -> int:
        """How often the data is copied; 0 where the target takes the memory as it is."""
        return len(self.reasons)

    @property
    def why(self) -> str:
        """All reasons in one text; empty where nothing is copied."""
        return "; ".join(self.reasons)

    def __str__(self) -> str:
        how = {0: "without a copy", 1: "with one copy"}.get(self.copies, f"{self.copies} copies")
        text = f"{self.source} → {self.target}: {self.route}, {how}"
        return f"{text} ({self.nbytes:,} bytes): {self.why}" if self.copies else text

    def _repr_html_(self) -> str:
        from portarray import _html  # only notebooks need it

        rows = [("route", self.route), ("dtype", self.dtype), ("bytes", f"{self.nbytes:,}")]
        rows += [(f"copy {step}", why) for step, why in enumerate(self.reasons, 1)]
        rows += [] if self.copies else [("copies", "none")]
        return _html.table(rows, caption=f"TransferPlan {self.source} → {self.target}")


def plan(x: Any, source: Device, target: Device, *, dtype: np.dtype[Any]) -> TransferPlan:
    """Return the route that :func:`move` takes with ``copy=None``; waits until x is computed."""
    kind = _kind_for(x, source, target)
    reasons = tuple(filter(None, _reasons(x, source, target, kind, dtype)))
    nbytes = math.prod(x.shape) * dtype.itemsize * len(reasons)
    return TransferPlan(source, target, kind, dtype, nbytes, reasons)


def _reasons(
    x: Any, source: Device, target: Device, kind: Kind, dtype: np.dtype[Any]
) -> tuple[str, ...]:
    """Return why each copy on a route is made; empty texts for those that are not."""
    if source is target:
        return ()
    backend, onto = source._backend, target._backend
    if kind == "library":
        return (backend.why_copied(x, target.native),)
    if kind == "dlpack":
        over = _why_copied_over(backend, onto) or onto.why_copied_over(_Offered(x, backend))
        return backend.why_copied_on_export(x), over
    exported = _export(x, source, target, kind, None, planned=dtype)
    into = onto.why_copied_in(exported.values, target.native)  # or it refuses what it cannot take
    return (exported.why,) if exported.memory == "borrowed" else (exported.why, into)
