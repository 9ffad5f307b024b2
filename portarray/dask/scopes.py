"""Scopes limit tasks to workers and devices: ``with portarray.dask.scope(platform="cuda"):``.

A scope is an annotation of the layers that are made in its block, under the name ``portarray``.
Dask fuses no layers that differ in it, nor does :mod:`portarray.dask.fusing` fuse their tasks. The
plugin of the scheduler (:mod:`portarray.dask.scheduling`) finds the workers that meet a scope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import dask

ANNOTATION = "portarray"
LISTENERS: list[Callable[[], None]] = []
"""Called before a scope is entered."""
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
class Alternative:
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
    alternatives : iterable of Alternative
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

    __slots__ = ("alternatives", "owner", "placed")

    alternatives: tuple[Alternative, ...]
    placed: bool
    owner: str | None

    def __init__(
        self, alternatives: Iterable[Alternative], placed: bool = False, owner: str | None = None
    ) -> None:
        self.alternatives = tuple(dict.fromkeys(alternatives))
        self.placed = placed
        self.owner = owner

    def _values(self) -> tuple[Any, ...]:
        return self.alternatives, self.placed, self.owner

    def __eq__(self, other: object) -> bool:
        return type(other) is Scope and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return " | ".join(map(str, self.alternatives))

    def __dask_tokenize__(self) -> tuple[str, bool, str | None]:
        return repr(self), self.placed, self.owner

    def __or__(self, other: Scope) -> Scope:
        return Scope((*self.alternatives, *other.alternatives))

    def __and__(self, other: Scope) -> Scope:
        alternatives = [
            both
            for a in self.alternatives
            for b in other.alternatives
            if (both := _intersection(a, b))
        ]
        if not alternatives:
            raise ScopeError(
                f"scope: no device or worker meets both {self!r} and {other!r}\n"
                f"Hint: combine them with | to allow either"
            )
        return Scope(alternatives, self.placed and other.placed, other.owner)

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
        alternatives = [
            alternative
            for alternative in self.alternatives
            if alternative.worker is None or alternative.worker & names
        ]
        if any(not alternative.limits_devices() for alternative in alternatives):
            return devices
        return (
            tuple(
                device
                for device in devices
                if any(alternative.accepts(device) for alternative in alternatives)
            )
            or None
        )

    @property
    def device(self) -> str | None:
        """The only device that is allowed, by its full name; None if there may be several."""
        names = {alternative.device() for alternative in self.alternatives}
        return names.pop() if len(names) == 1 else None

    def accepts(self, device: str) -> bool:
        """Return whether a device, given by its full name, is allowed on some worker."""
        return any(alternative.accepts(device) for alternative in self.alternatives)

    def for_results(self) -> Scope | None:
        """Return the scope of results of these blocks: the same devices on any worker."""
        if self.placed and all(alternative.worker is None for alternative in self.alternatives):
            return self
        alternatives = [replace(alternative, worker=None) for alternative in self.alternatives]
        return (
            Scope(alternatives, True, self.owner)
            if all(alternative.limits_devices() for alternative in alternatives)
            else None
        )


_blocks: ContextVar[tuple[Any, ...]] = ContextVar("portarray_scopes", default=())


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
    alternative = Alternative(*map(_values, (platform, library, index, worker)))
    if device is None:
        if alternative == Alternative():
            raise ValueError(
                "scope: no limit was passed\nHint: pass platform, library, index, device or worker"
            )
        return Scope([alternative])
    several = device if isinstance(device, (set, frozenset, list, tuple)) else [device]
    combined = Scope(_alternative_of(str(text)) for text in several)
    return combined & Scope([alternative])


def _values(value: Any) -> frozenset[Any] | None:
    if value is None:
        return None
    return frozenset(value if isinstance(value, (set, frozenset, list, tuple)) else [value])


def _alternative_of(text: str) -> Alternative:
    """Return the limits that a device's name describes."""
    parts: dict[str, frozenset[Any]] = {}
    for part in text.split(":"):
        if part.isdecimal():
            parts["index"] = frozenset([int(part)])
        else:
            parts["platform" if part in _PLATFORMS else "library"] = frozenset([part])
    return Alternative(**parts)


def _intersection(a: Alternative, b: Alternative) -> Alternative | None:
    values: list[Any] = []
    for first, second in zip(a.values(), b.values(), strict=True):
        both = first & second if first is not None and second is not None else first or second
        if both is not None and not both:
            return None
        values.append(both)
    return Alternative(*values)


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
    block_scope = Scope([_alternative_of(device) if device else Alternative()], True, owner)
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
