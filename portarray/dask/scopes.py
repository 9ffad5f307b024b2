"""Scopes limit tasks to workers and devices: ``with portarray.dask.scope(platform="cuda"):``.

A scope is an annotation of the layers that are made in its block, under the name ``portarray``.
Dask fuses no layers that differ in it, nor does :mod:`portarray.dask.fusing` fuse their tasks. The
plugin of the scheduler (:mod:`portarray.dask.scheduling`) finds the workers that meet a scope.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import dask
from dask._task_spec import NestedContainer, Task, _execute_subgraph

import portarray as pa
from portarray.dask.narrowing import COMPOSE

__all__ = [
    "ANNOTATION",
    "LISTENERS",
    "Belongs",
    "Placed",
    "Scope",
    "ScopeError",
    "Scoped",
    "allowed",
    "copied",
    "devices_of",
    "listed",
    "names_of",
    "on_device",
    "owned",
    "owner",
    "placed",
    "scope",
    "scoped",
    "worker",
]

ANNOTATION = "portarray"
LISTENERS: list[Callable[[], None]] = []
"""Called before a scope is entered."""

_DEVICE = re.compile(r"\w+:\w+:\d+")
_PLATFORMS = {"cpu", "cuda", "rocm", "oneapi", "metal", "opencl", "tpu"}
_NAMES = ("platform", "library", "index", "worker")


class ScopeError(RuntimeError):
    """No worker meets a scope, or scopes in each other share nothing.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> pd.scope(platform="cuda") & pd.scope(platform="metal")
    Traceback (most recent call last):
        ...
    portarray.dask.scopes.ScopeError: scope: no device or worker meets both ...
    >>> with pd.scope(device="numpy:cpu:7"):
    ...     x = pd.ones(4, chunks=2)
    >>> x.compute()
    Traceback (most recent call last):
        ...
    portarray.dask.scopes.ScopeError: compute: no device of this process meets ...
    """


@dataclass(frozen=True)
class Way:
    """One way to meet a scope; None allows every value."""

    platform: frozenset[str] | None = None
    library: frozenset[str] | None = None
    index: frozenset[int] | None = None
    worker: frozenset[str] | None = None

    def limits_devices(self) -> bool:
        """Return whether some devices are not allowed."""
        return self.values()[:3] != (None, None, None)

    def accepts(self, device: str) -> bool:
        """Return whether a device, given by its full name, is allowed."""
        library, platform, index = device.split(":")
        return all(
            options is None or value in options
            for options, value in zip(self.values(), (platform, library, int(index)), strict=False)
        )

    def device(self) -> str | None:
        """Return the full name of the only device that is allowed, or None."""
        platform, library, index, _ = self.values()
        parts = (library, platform, index)
        if any(part is None or len(part) != 1 for part in parts):
            return None
        return ":".join(str(next(iter(part))) for part in parts if part is not None)

    def values(self) -> tuple[frozenset[Any] | None, ...]:
        """Return the allowed values in the order of the arguments of :func:`scope`."""
        return self.platform, self.library, self.index, self.worker

    def __str__(self) -> str:
        parts = []
        for name, options in zip(_NAMES, self.values(), strict=True):
            if options is not None:
                ordered = sorted(options, key=str)
                parts.append(f"{name}={ordered[0]!r}" if len(ordered) == 1 else f"{name}={ordered}")
        return f"scope({', '.join(parts)})"


class Scope:
    """Workers and devices that tasks may run on, as :func:`scope` returns it; a context manager.

    ``a | b`` is met where `a` or `b` is, and ``a & b``, or one in the block of the other, where
    both are.

    Parameters
    ----------
    ways : iterable of Way
        Ways to meet it.
    placed : bool
        Whether it only follows where a block is; workers that declare no devices then meet it.
    owner : str or None
        The device to which tasks move operands from other devices, "" for that of the largest
        operand; None if they move none.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> gpu = pd.scope(platform={"cuda", "rocm"})
    >>> gpu & pd.scope(library="torch", platform="cuda")
    scope(platform='cuda', library='torch')
    >>> with gpu | pd.scope(library="clarray"):
    ...     x = pd.ones(4, chunks=2)  # computed on such devices, wherever they are then
    """

    __slots__ = ("owner", "placed", "ways")

    ways: tuple[Way, ...]
    placed: bool
    owner: str | None

    def __init__(self, ways: Iterable[Way], placed: bool = False, owner: str | None = None) -> None:
        self.ways = tuple(dict.fromkeys(ways))
        self.placed = placed
        self.owner = owner

    def _values(self) -> tuple[Any, ...]:
        return self.ways, self.placed, self.owner

    def __eq__(self, other: object) -> bool:
        return type(other) is Scope and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return " | ".join(map(str, self.ways))

    def __dask_tokenize__(self) -> tuple[str, bool, str | None]:
        return repr(self), self.placed, self.owner

    def __or__(self, other: Scope) -> Scope:
        return Scope((*self.ways, *other.ways))

    def __and__(self, other: Scope) -> Scope:
        ways = [both for a in self.ways for b in other.ways if (both := _both(a, b))]
        if not ways:
            raise ScopeError(
                f"scope: no device or worker meets both {self!r} and {other!r}\n"
                f"Hint: combine them with | to allow either"
            )
        return Scope(ways, self.placed and other.placed, other.owner)

    def __enter__(self) -> Scope:
        outer = dask.get_annotations().get(ANNOTATION)
        inner = self if outer is None else outer & self
        for listener in LISTENERS:
            listener()
        block = dask.annotate(**{ANNOTATION: inner})
        block.__enter__()
        _blocks.set((*_blocks.get(), block))
        return inner

    def __exit__(self, *error: Any) -> None:
        *outer, block = _blocks.get()
        _blocks.set(tuple(outer))
        block.__exit__(*error)

    def devices(self, names: Iterable[str], devices: Iterable[str]) -> tuple[str, ...] | None:
        """Return which devices of a worker meet the scope; None if the worker does not.

        Parameters
        ----------
        names : iterable of str
            What the worker is called: its name, address and host.
        devices : iterable of str
            The devices that it has.
        """
        names, devices = set(names), tuple(devices)
        ways = [
            alternative
            for alternative in self.ways
            if alternative.worker is None or alternative.worker & names
        ]
        if any(not alternative.limits_devices() for alternative in ways):
            return devices
        return (
            tuple(
                device
                for device in devices
                if any(alternative.accepts(device) for alternative in ways)
            )
            or None
        )

    @property
    def device(self) -> str | None:
        """The only device that is allowed, by its full name; None if there may be several."""
        names = {alternative.device() for alternative in self.ways}
        return names.pop() if len(names) == 1 else None

    def accepts(self, device: str) -> bool:
        """Return whether a device, given by its full name, is allowed on some worker."""
        return any(alternative.accepts(device) for alternative in self.ways)

    def followed(self) -> Scope | None:
        """Return the scope of results of these blocks: the same devices on any worker."""
        if self.placed and all(alternative.worker is None for alternative in self.ways):
            return self
        ways = [replace(alternative, worker=None) for alternative in self.ways]
        return (
            Scope(ways, True, self.owner)
            if all(alternative.limits_devices() for alternative in ways)
            else None
        )


_blocks: ContextVar[tuple[Any, ...]] = ContextVar("portarray_scopes", default=())
_allowed: ContextVar[tuple[str, ...]] = ContextVar("portarray_allowed", default=())
_owner: ContextVar[str | None] = ContextVar("portarray_owner", default=None)


def scope(
    *,
    platform: Any = None,
    library: Any = None,
    index: Any = None,
    device: Any = None,
    worker: Any = None,
) -> Scope:
    """Return a block in which tasks are made for certain workers and devices.

    Each argument is one value, or a set or list of which one must be met.

    Parameters
    ----------
    platform : str or set of str, optional
        Such as ``"cuda"``.
    library : str or set of str, optional
        Such as ``"torch"``.
    index : int or set of int, optional
        Index of the device.
    device : device-like or set of device-like, optional
        Parts of a device's text: ``"torch:cuda:1"``, ``"cuda:1"``, ``"clarray"``. It need not be
        there where the scope is made.
    worker : str or set of str, optional
        Name, address or host of a worker.

    Returns
    -------
    Scope
        A context manager. Scopes in each other must all be met; ``scope(...) | scope(...)`` is met
        where one of the two is.

    Raises
    ------
    ValueError
        If no argument is passed.
    ScopeError
        If nothing can meet both a scope and the one around it; when computed, if no worker meets
        it.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> with pd.scope(platform="cpu"):
    ...     x = pd.ones((4, 4), chunks=2)
    >>> pd.scope(device="cuda:1") | pd.scope(library={"clarray"}, worker="node1")
    scope(platform='cuda', index=1) | scope(library='clarray', worker='node1')
    """
    alternative = Way(*map(_values, (platform, library, index, worker)))
    if device is None:
        if alternative == Way():
            raise ValueError(
                "scope: no limit was passed\nHint: pass platform, library, index, device or worker"
            )
        return Scope([alternative])
    several = device if isinstance(device, (set, frozenset, list, tuple)) else [device]
    combined = Scope(_way_of(str(text)) for text in several)
    return combined & Scope([alternative])


def _values(value: Any) -> frozenset[Any] | None:
    if value is None:
        return None
    return frozenset(value if isinstance(value, (set, frozenset, list, tuple)) else [value])


def _way_of(text: str) -> Way:
    """Return the limits that a device's name describes."""
    parts: dict[str, frozenset[Any]] = {}
    for part in text.split(":"):
        if part.isdecimal():
            parts["index"] = frozenset([int(part)])
        else:
            parts["platform" if part in _PLATFORMS else "library"] = frozenset([part])
    return Way(**parts)


def _both(a: Way, b: Way) -> Way | None:
    values: list[Any] = []
    for first, second in zip(a.values(), b.values(), strict=True):
        both = first & second if first is not None and second is not None else first or second
        if both is not None and not both:
            return None
        values.append(both)
    return Way(*values)


# --- devices of blocks ----------------------------------------------------------------------------


class Belongs(dict[tuple[int, ...], "str | None"]):
    """The devices of blocks, and the devices that were listed for them."""

    def __init__(self, devices: Any, names: Iterable[str] = ()) -> None:
        super().__init__(devices)
        self.names = frozenset(names)


def listed(belongs: Mapping[tuple[int, ...], str | None]) -> frozenset[str]:
    """Return the devices that were listed for blocks, which may be fewer than the devices."""
    names: frozenset[str] = getattr(belongs, "names", frozenset())
    return names or frozenset(text for text in belongs.values() if text is not None)


class Placed(dict[tuple[int, ...], "Scope | None"]):
    """The annotation of a layer whose blocks were each put on a device."""

    def __call__(self, key: Any) -> Scope | None:
        """Return the scope of a block's task."""
        return self.get(key[1:])


def on_device(device: str, outer: Scope | None, owner: str | None) -> Scope:
    """Return the scope of tasks on a device, in an outer scope; "" is any device."""
    block_scope = Scope([_way_of(device) if device else Way()], True, owner)
    return block_scope if outer is None else outer & block_scope


def placed(belongs: Mapping[tuple[int, ...], str | None]) -> dict[str, Any]:
    """Return the annotations of a layer, from the devices of its blocks and the scope around it."""
    annotations = dict(dask.get_annotations())
    outer = annotations.get(ANNOTATION)
    several = len(listed(belongs)) > 1
    scopes = {
        text: on_device(text, outer, text if several else None)
        for text in dict.fromkeys(belongs.values())
        if text is not None
    }
    if len(scopes) == 1 and None not in belongs.values():
        annotations[ANNOTATION] = next(iter(scopes.values()))
    elif scopes:
        annotations[ANNOTATION] = Placed(
            (position, outer if text is None else scopes[text])
            for position, text in belongs.items()
        )
    return annotations


# --- while a task runs ----------------------------------------------------------------------------


class Scoped(Task):  # type: ignore[misc]
    """A task, its only argument, in a scope, its function."""

    __slots__ = ()

    def __call__(self, values: Any = ()) -> Any:
        """Compute the task where the default device is one that the scope allows."""
        with owned(self.func.owner):
            if self.func.placed:  # the task has its device as an argument
                return self.args[0](values)
            with _entered(self.func):
                return self.args[0](values)


def scoped(node: Any, within: Scope | None) -> Any:
    """Return a task of a graph in a scope."""
    if within is None or not isinstance(node, Task):
        return node
    if isinstance(node, (Scoped, NestedContainer)):
        return node
    # Composed functions are not coroutine functions; is_coro would take 0.1 ms to find that out.
    if node.func is not _execute_subgraph and not isinstance(node.func, COMPOSE) and node.is_coro:
        return node
    return copied(Scoped, node, within, (node,), {})


def copied(
    kind: type, task: Task, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return a task of another class that has a task's key and dependencies.

    Dask's constructor collects the dependencies again, which takes several times as long.
    """
    copy: Any = object.__new__(kind)
    copy.key, copy.func, copy.args, copy.kwargs = task.key, function, args, kwargs
    copy._dependencies, copy._data_producer = task._dependencies, task._data_producer
    copy._is_coro = copy._token = copy._repr = None
    return copy


def allowed() -> tuple[str, ...]:
    """Return the devices that the scope of the running task allows; none where it allows all."""
    return _allowed.get()


def owner() -> str | None:
    """Return the device to which the running task moves operands, as :class:`Scope` has it."""
    return _owner.get()


@contextmanager
def owned(device: str | None) -> Iterator[None]:
    """Let tasks move operands to a device in a block."""
    token = _owner.set(device)
    try:
        yield
    finally:
        _owner.reset(token)


@contextmanager
def _entered(within: Scope) -> Iterator[None]:
    names, devices = _here()
    fit = within.devices(names, devices)
    if fit is None:
        raise ScopeError(_unmet_here(within, names, devices))
    if set(fit) == set(devices):
        yield
        return
    default = str(pa.empty(0).device)
    block: AbstractContextManager[Any] = nullcontext() if default in fit else pa.device(fit[0])
    token = _allowed.set((default, *fit) if default in fit else fit)
    try:
        with block:
            yield
    finally:
        _allowed.reset(token)


def _here() -> tuple[set[str], list[str]]:
    """Return the names of the worker that runs this, none outside of one, and its devices."""
    here = worker()
    if here is None:
        return set(), [str(device) for device in pa.devices()]
    return names_of(here.name, here.contact_address), devices_of(here.state.total_resources)


def worker() -> Any:
    """Return the worker of ``distributed`` that runs this task, or None."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.get_worker()
    except ValueError:  # not in a task of a worker
        return None


def names_of(name: Any, address: str) -> set[str]:
    """Return what a worker is called: its name, address and host."""
    return {str(name), address, address.rpartition("://")[2].rpartition(":")[0]}


def devices_of(resources: Iterable[str]) -> list[str]:
    """Return the texts of devices among the names of a worker's resources."""
    return [name for name in resources if _DEVICE.fullmatch(name)]


def _unmet_here(within: Scope, names: set[str], devices: list[str]) -> str:
    has = ", ".join(devices) or "no declared devices"
    if names:
        return (
            f"compute: a task in {within!r} ran on worker {', '.join(sorted(names))} with {has}\n"
            f"Hint: create the client before you enter a scope, or start workers with "
            f"--preload portarray.dask"
        )
    if any(alternative.worker is not None for alternative in within.ways):
        return (
            f"compute: {within!r} names workers, but threads or processes without workers compute "
            f"this graph\nHint: create a distributed.Client, or omit worker"
        )
    return f"compute: no device of this process meets {within!r}; there are {has}"
