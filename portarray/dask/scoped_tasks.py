"""Tasks in scopes: the devices that a scope allows, while its task runs on a worker."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from dask._task_spec import NestedContainer, Task, _execute_subgraph

import portarray as pa
from portarray.dask.narrowing import COMPOSE
from portarray.dask.scopes import Scope, ScopeError

_DEVICE = re.compile(r"\w+:\w+:\d+")
_allowed: ContextVar[tuple[str, ...]] = ContextVar("portarray_allowed", default=())
_owner: ContextVar[str | None] = ContextVar("portarray_owner", default=None)


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
    if type(node) is not Task and type(node).__slots__:  # `distributed` looks into these
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
    if any(alternative.worker is not None for alternative in within.alternatives):
        return (
            f"compute: {within!r} names workers, but threads or processes without workers compute "
            f"this graph\nHint: create a distributed.Client, or omit worker"
        )
    return f"compute: no device of this process meets {within!r}; there are {has}"
