"""Gradients as arrays of their own, which share memory with nothing that a caller holds."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from portarray._array.array import Array
from portarray._array.results import wrapped
from portarray._namespace import pa
from portarray._transforms.tracer import Tracer

__all__ = ["memory_of", "separated"]


def separated(
    gradients: Sequence[Array | None], cotangents: Iterable[Array], lent: Iterable[Hashable] = ()
) -> list[Array | None]:
    """Return gradients that share memory with neither each other nor cotangents, nor lent memory.

    A rule returns new memory, or the cotangent itself, a view or a broadcast of it. Only the latter
    are copied, so that ``g *= 0.1`` changes one gradient and nothing else.
    """
    taken: set[Hashable | None] = set(lent)
    for x in cotangents:
        taken.add(memory_of(x))
    separate = list(gradients)
    for n, g in enumerate(gradients):
        if g is None:
            continue
        native, backend = g._native, g._dispatch.device._backend
        # As memory_of, whose call would take as long as the rest.
        memory: Hashable | None
        if backend.immutable:
            memory = id(native if native.__class__ is Tracer else g)
        else:
            memory = backend.allocation(native)
        if memory is None or memory in taken or backend.is_broadcast(native):
            is_constant = backend.immutable and native.__class__ is not Tracer
            copy = wrapped(native, g._dispatch) if is_constant else pa.asarray(g, copy=True)
            separate[n] = copy
            memory = memory_of(copy)
        taken.add(memory)
    return separate


def memory_of(x: Array) -> Hashable | None:
    """Return a key of the memory that an assignment to an array changes, None if unknown."""
    native, backend = x._native, x._dispatch.device._backend
    if not backend.immutable:
        return backend.allocation(native)
    # Assignments change the Array: it gets another native array.
    return id(native if native.__class__ is Tracer else x)
