"""Functions that run a call and record it in the trace of its operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from portarray._devices.device import Device
from portarray._transforms.tracer import Tracer, any_may_hold, innermost, may_hold
from portarray.errors import TracedArrayError

if TYPE_CHECKING:
    from portarray._transforms.tracing import Trace

__all__ = ["recording"]

Function = Callable[..., Any]


def recording(name: str, function: Function, device: Device) -> Function:
    """Return a function that runs a call and records it in the innermost trace of its operands."""

    def recorded(*args: Any, **options: Any) -> Any:
        # Fast path: tracers of one trace, with untraced values.
        only: Trace | None = None
        plain: list[Any] = []
        for x in args:
            kind = x.__class__
            if kind is Tracer:
                if x.trace is not only:
                    if only is not None:
                        break
                    only = x.trace
                    if name in only.direct:
                        result = only.call_directly(name, function, device, args, options)
                        if result is not None:
                            return result
                if x.is_stale:
                    break
                x = x.value
                if x.__class__ is Tracer:
                    break
            elif (kind is list or kind is tuple) and may_hold(x):
                break
            plain.append(x)
        else:
            if only is not None and not only.ended and not (options and any_may_hold((), options)):
                result = function(*plain, **options)
                return only.record_call(name, function, device, args, options, plain, result)
        return _recorded(args, options)

    def _recorded(args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        trace = innermost(args)
        if options:
            trace = innermost(options.values(), trace)
        if trace is None:
            return function(*args, **options)
        if trace.ended and not trace.is_of_another_thread(args, options):
            raise TracedArrayError(trace.ended)
        again = False
        values: list[Any] = []
        for x in args:
            kind = x.__class__
            if kind is Tracer:
                if x.trace is trace:
                    x = x.value
                again = again or x.__class__ is Tracer
            elif kind is list or kind is tuple:
                x = _values(x, trace)
                again = again or innermost(x, None) is not None
            values.append(x)
        inner = {key: _value(x, trace) for key, x in options.items()} if options else options
        if again or (inner and innermost(inner.values(), None) is not None):
            result = recorded(*values, **inner)
        else:
            result = function(*values, **inner)
        return trace.record_call(name, function, device, args, options, values, result)

    return recorded


def _value(x: Any, trace: Trace) -> Any:
    if x.__class__ is Tracer and x.trace is trace:
        return x.value
    return _values(x, trace) if x.__class__ is list or x.__class__ is tuple else x


def _values(items: Any, trace: Trace) -> Any:
    return items.__class__([_value(x, trace) for x in items])
