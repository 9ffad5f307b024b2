"""Calls of functions of arrays that can be run backwards: by a record, or by the library's own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from portarray._array.array import Array
from portarray._array.results import wrapped_like
from portarray._transforms.tape import GradientTrace
from portarray._transforms.tracing import Tracer, current, untraced
from portarray.backends.base import Backend
from portarray.backends.types import NoOwnGradientError

__all__ = ["Pulled", "called"]

Arrays = Sequence[Array]
Function = Callable[[Arrays], Arrays]


class Pulled(NamedTuple):
    """What a function of arrays returned, and what runs it backwards.

    Attributes
    ----------
    outputs : sequence of Array
        What it returned.
    pull : callable
        Takes the cotangents of the outputs and returns those of the inputs, None for zeros.
    value : callable
        Returns an array that the function kept as one outside of it.
    """

    outputs: Arrays
    pull: Callable[[Arrays], Sequence[Array | None]]
    value: Callable[[Array], Array]


class _Records(threading.local):
    """How many functions are being called whose calls are recorded."""

    now = 0


_records = _Records()


def called(function: Function, inputs: Arrays, ended: str, *, once: bool) -> Pulled:
    """Call a function of arrays.

    Parameters
    ----------
    function : callable
        Takes and returns arrays.
    inputs : sequence of Array
        What it takes.
    ended : str
        What the error says if an array that it kept is used afterwards.
    once : bool
        Whether cotangents are pulled back at most once.
    """
    # A record follows arrays of all libraries, a library's own gradients its arrays alone.
    backend = inputs[0]._table.device._backend
    is_traced = inputs[0]._native.__class__ is Tracer
    if backend.__class__.pulled is not Backend.pulled and not is_traced and not _records.now:
        for x in inputs:
            if x._table.device._backend is not backend:
                break
        else:
            try:
                found = _by_library(function, inputs, ended, once=once)
            except NoOwnGradientError:
                found = None
            if found is not None:
                return found
    return _by_record(function, inputs, ended, once=once)


def _by_record(function: Function, inputs: Arrays, ended: str, *, once: bool) -> Pulled:
    trace = GradientTrace()
    followed = [trace.follow(x) for x in inputs]
    _records.now += 1
    try:
        outputs = function([x for x, _ in followed])
    finally:
        calls = trace.end(ended)
        _records.now -= 1

    def value(x: Array) -> Array:
        native = x._native
        if native.__class__ is Tracer and native.trace is trace:
            return untraced(current(native).value, native.home)
        return x

    def pull(cotangents: Arrays) -> Sequence[Array | None]:
        given: dict[int, Array] = {}
        for y, g in zip(outputs, cotangents, strict=True):
            native = y._native
            if native.__class__ is Tracer and native.trace is trace:
                known = given.get(native.place)
                given[native.place] = g if known is None else known + g
        with np.errstate(all="ignore"):  # infinite derivatives are answers, as of sqrt at 0
            found = trace.backward(calls, given, once=once)
        return [found.get(place) for _, place in followed]

    return Pulled([value(y) for y in outputs], pull, value)


def _by_library(function: Function, inputs: Arrays, ended: str, *, once: bool) -> Pulled | None:
    backend = inputs[0]._table.device._backend
    outputs: Arrays = ()

    def of_natives(natives: Sequence[Any]) -> Sequence[Any]:
        nonlocal outputs
        outputs = function(wrapped_like(natives, inputs))
        return [y._native for y in outputs]

    found = backend.pulled(of_natives, [x._native for x in inputs], once=once)
    if found is None:
        return None
    results, pull_natives = found

    def value(x: Array) -> Array:
        if not backend.owns(x._native):
            return x
        stopped: Array = untraced(backend.stopped(x._native), x.device)
        return stopped

    def pull(cotangents: Arrays) -> Sequence[Array | None]:
        try:
            parts = pull_natives([g._native for g in cotangents])
        except NoOwnGradientError:  # found out on the way back: once more, recorded
            return _by_record(function, inputs, ended, once=once).pull(cotangents)
        return wrapped_like(parts, inputs)

    return Pulled(wrapped_like(results, outputs), pull, value)
