"""Vector-Jacobian products of functions of arrays: by a tape, or by the library's autodiff."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from portarray._array.array import Array
from portarray._array.base import GUARDS
from portarray._array.results import wrapped_like
from portarray._transforms import memory_errors
from portarray._transforms.ownership import separated
from portarray._transforms.saved_values import (
    Guard,
    SavedValues,
    Slot,
    WriteLog,
    add_guard,
    remove_guard,
)
from portarray._transforms.tape import Call, GradientTrace
from portarray._transforms.tracer import Tracer, current
from portarray._transforms.tracing import untraced
from portarray.backends.base import Backend
from portarray.backends.types import ChangedInPlaceError, NoOwnGradientError
from portarray.errors import TracedArrayError

__all__ = ["VJP", "compute_vjp"]

Arrays = Sequence[Array]
Function = Callable[[Arrays], Arrays]


class VJP(NamedTuple):
    """The outputs of a function of arrays and a function that computes the VJP.

    Attributes
    ----------
    outputs : sequence of Array
        The outputs.
    vjp_fun : callable
        Takes the cotangents of the outputs and returns those of the inputs, None for zeros. They
        share memory with neither each other nor the inputs, outputs and cotangents.
    value : callable
        Returns an array of the function's body as an array outside it.
    guard : Guard or None
        Protects what `vjp_fun` reads from writes, as long as it exists.
    """

    outputs: Arrays
    vjp_fun: Callable[[Arrays], Sequence[Array | None]]
    value: Callable[[Array], Array]
    guard: Guard | None


class _Tapes(threading.local):
    """The number of tapes that are being recorded in this thread."""

    active = 0


_tapes = _Tapes()


def compute_vjp(function: Function, inputs: Arrays, ended: str, *, once: bool) -> VJP:
    """Call a function of arrays and return its outputs and VJP.

    Parameters
    ----------
    function : callable
        Takes and returns arrays.
    inputs : sequence of Array
        Its arguments.
    ended : str
        The error message when a traced array is used after the function has returned.
    once : bool
        Whether the VJP is computed at most once.
    """
    # A tape watches arrays of all libraries, a library's autodiff only its own arrays.
    backend = inputs[0]._dispatch.device._backend
    is_traced = inputs[0]._native.__class__ is Tracer
    if backend.__class__.vjp is not Backend.vjp and not is_traced and not _tapes.active:
        for x in inputs:
            if x._dispatch.device._backend is not backend:
                break
        else:
            try:
                vjp = _vjp_by_library(function, inputs, ended, once=once)
            except NoOwnGradientError:
                vjp = None
            if vjp is not None:
                return vjp
    return _vjp_by_tape(function, inputs, ended, once=once)


def _vjp_by_tape(function: Function, inputs: Arrays, ended: str, *, once: bool) -> VJP:
    trace = GradientTrace()
    watched = list(map(trace.watch, inputs))
    GUARDS.add(trace.guard)
    _tapes.active += 1
    guard: Guard | None = None
    try:
        outputs = function(watched)
        if not once:
            add_guard(guard := trace.guard())
    finally:
        calls = trace.end(ended)
        _tapes.active -= 1
        GUARDS.discard(trace.guard)

    def value(x: Array) -> Array:
        native = x._native
        if native.__class__ is Tracer and native.trace is trace:
            return untraced(current(native).value, native.home)
        return x

    def named(error: MemoryError, call: Call, index: int) -> MemoryError:
        if once:
            calls.clear()
        return memory_errors.named(error, call, index, function, inputs)

    def vjp_fun(cotangents: Arrays) -> Sequence[Array | None]:
        by_slot: dict[int, Array] = {}
        for y, g in zip(outputs, cotangents, strict=True):
            native = y._native
            if native.__class__ is Tracer and native.trace is trace:
                previous = by_slot.get(native.slot)
                by_slot[native.slot] = g if previous is None else previous + g
        with np.errstate(all="ignore"):  # infinite derivatives are valid, such as of sqrt at 0
            by_slot = trace.backward(calls, by_slot, named, once=once)
        gradients = list(map(by_slot.get, range(1, len(inputs) + 1)))
        return separated(gradients, cotangents, trace.lent)

    return VJP([value(y) for y in outputs], vjp_fun, value, guard)


def _vjp_by_library(function: Function, inputs: Arrays, ended: str, *, once: bool) -> VJP | None:
    backend = inputs[0]._dispatch.device._backend
    outputs: Arrays = ()

    def native_function(natives: Sequence[Any]) -> Sequence[Any]:
        nonlocal outputs
        outputs = function(wrapped_like(natives, inputs))
        results = [y._native for y in outputs]
        if any(y.__class__ is Tracer for y in results):  # by arrays of an enclosing function
            raise NoOwnGradientError("an output is traced")
        return results

    natives = [x._native for x in inputs]
    saved: list[list[Any]] | None = None if once else []
    writes = WriteLog()
    add_guard(writes)
    try:
        native_vjp = backend.vjp(native_function, natives, saved=saved)
    except NoOwnGradientError:  # the caller calls the function again, with a tape
        writes.undo()
        raise
    finally:
        remove_guard(writes)
    if native_vjp is None:
        return None
    results, native_vjp_fun, released = native_vjp
    guard: Guard | None = None
    if saved is not None:
        device = inputs[0].device
        saved.append(natives)
        guard = SavedValues(
            saved, lambda values: [Slot(values, n, device) for n in range(len(values))]
        )
        add_guard(guard)

    def value(x: Array) -> Array:
        if not backend.owns(x._native):
            return x
        result: Array = untraced(released(x._native), x.device)
        return result

    def vjp_fun(cotangents: Arrays) -> Sequence[Array | None]:
        nonlocal native_vjp_fun
        cotangent_natives = [g._native for g in cotangents]
        if not any(g.__class__ is Tracer for g in cotangent_natives):
            try:
                gradients = wrapped_like(native_vjp_fun(cotangent_natives), inputs)
                return separated(gradients, cotangents)
            except (Exception, NoOwnGradientError) as error:
                # Only the backward pass shows it: run again with a tape, as does an enclosing
                # gradient, which keeps the values of this one. Out of memory, the tape names the
                # call.
                is_changed = isinstance(error, ChangedInPlaceError)
                is_exhausted = backend.is_out_of_memory(error)
                if not (is_changed or is_exhausted or isinstance(error, NoOwnGradientError)):
                    raise
                if is_changed and not once:
                    raise TracedArrayError(_CHANGED) from error
                if any(map(backend.is_watched, (*cotangent_natives, *natives))):
                    if is_changed:
                        raise NoOwnGradientError("a saved tensor was changed in place") from error
                    if is_exhausted:
                        raise NoOwnGradientError("the backward pass ran out of memory") from error
                    raise
                if is_exhausted and once:
                    del native_vjp_fun  # which holds what was computed
        if once:
            writes.undo()
        originals = wrapped_like(natives, inputs)
        return _vjp_by_tape(function, originals, ended, once=once).vjp_fun(cotangents)

    return VJP(wrapped_like(results, outputs), vjp_fun, value, guard)


_CHANGED = (
    "vjp: an array whose values the derivative needs was changed through the library itself\n"
    "Hint: change a copy, x.copy(), or change the array after the last call of the vjp function"
)
