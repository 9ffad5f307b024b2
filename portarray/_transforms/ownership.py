"""Gradients as arrays of their own, which share memory with nothing that a caller holds."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from portarray._array import base
from portarray._array.array import Array
from portarray._namespace import pa
from portarray._transforms.tracing import Tracer

__all__ = ["memory_of", "separated"]


def separated(
    gradients: Sequence[Array | None], arrays: Iterable[Array], lent: Iterable[Hashable] = ()
) -> list[Array | None]:
    """Return gradients that share memory with neither each other nor arrays, nor lent memory.

    A rule may return the cotangent itself, a view or a broadcast of it. Only such results are
    copied, so that ``g *= 0.1`` changes one gradient and nothing else.
    """
    taken = {memory_of(x) for x in arrays}
    taken.update(lent)
    separate: list[Array | None] = []
    for g in gradients:
        if g is not None:
            memory = memory_of(g)
            if memory is None or memory in taken or _is_broadcast(g):
                g = _copied(g)
                memory = memory_of(g)
            taken.add(memory)
        separate.append(g)
    return separate


def memory_of(x: Array) -> Hashable | None:
    """Return a key of the memory that an assignment to an array changes, None if unknown."""
    native, backend = x._native, x._dispatch.device._backend
    if native.__class__ is Tracer:  # assignments to traced arrays make new ones
        return id(x) if native.sharing is None else None
    # Where native arrays are immutable, assignments change the Array.
    return id(x) if backend.immutable else backend.allocation(native)


def _is_broadcast(x: Array) -> bool:
    native, backend = x._native, x._dispatch.device._backend
    return native.__class__ is not Tracer and backend.is_broadcast(native)


def _copied(x: Array) -> Array:
    native, backend = x._native, x._dispatch.device._backend
    if native.__class__ is not Tracer and backend.immutable:
        copy = base.new_uninitialized()
        copy._native = native
        copy._dispatch = x._dispatch
        return copy
    return pa.asarray(x, copy=True)
