"""``grad`` and its relatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import portarray as pa
from portarray._transforms import tracing
from portarray._transforms.tape import GradientTrace


def value_and_grad(function: Callable[..., Any]) -> Callable[..., Any]:
    def both(x: Any) -> Any:
        device = x.device
        trace = GradientTrace(device)
        follow, place = trace.follow(x)
        y = function(follow)
        native = y._native
        if not (native.__class__ is tracing.Tracer and native.trace is trace):
            return y, pa.zeros_like(x)
        value = tracing.untraced(native.value, device)
        found = trace.backward({native.place: pa.ones_like(value)})
        trace.ended = "ended"
        got = found.get(place)
        return value, pa.zeros_like(x) if got is None else got

    return both


def grad(function: Callable[..., Any]) -> Callable[..., Any]:
    both = value_and_grad(function)
    return lambda x: both(x)[1]
