"""Derivatives of calls of user kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from portarray._array.array import Array
from portarray._config import config
from portarray._namespace import pa
from portarray._transforms.tracer import Tracer
from portarray._transforms.tracing import Trace
from portarray._transforms.user_kernels import KernelCall, is_array, returned
from portarray.errors import NoGradientError

if TYPE_CHECKING:
    from portarray._kernel_language.derivatives.adjoint import Adjoint
    from portarray._kernel_language.derivatives.cache import Entry
    from portarray._kernel_language.kernel import KernelFunction

__all__ = ["Recorder", "call"]

Recorder = Callable[
    [str, Sequence[Array], tuple[Array, ...], Callable[[Any], Any], list[Array]], Sequence[Array]
]
"""``record(name, inputs, outputs, rule, saved)`` returns the traced outputs of a call."""


def call(
    trace: Trace,
    kernel: KernelFunction,
    args: Sequence[Any],
    ndrange: Any,
    group: Any,
    record: Recorder,
) -> Any:
    """Call a kernel of which the trace watches arguments, and record the call."""
    kernel_call = KernelCall(trace, kernel, args, ndrange, group)
    kernel_call.check_apart(NoGradientError)
    spec, written, names = kernel_call.spec, kernel_call.written, kernel_call.names
    differentiated = frozenset(
        parameter
        for parameter, x in zip(names, args, strict=True)
        if is_array(x) and _is_watched(trace, x._native)
    )
    outputs_differ = any(args[n].dtype.kind not in "biu" for n in written)
    entry = kernel._adjoints.of(spec, differentiated) if differentiated and outputs_differ else None
    outputs = kernel_call.run()
    if entry is not None:
        sizes = spec.sizes(written) or (1,)
        operands = kernel_call.operands
        saved = [
            x for parameter, x in _arrays(names, operands) if parameter in entry.adjoint.values
        ]

        def entry_of(*, is_traced: bool) -> Entry:
            # What saves states of loops has no derivative.
            return kernel._adjoints.of(spec, differentiated, saves=not is_traced)

        if kernel._definition.differentiable and config._kernel_debug:
            kernel.verify_adjoint(*spec.args, ndrange=ndrange, group=group)
        rule = _rule(
            kernel, entry.adjoint, entry_of, operands, written, differentiated, sizes, group
        )
        inputs = [x for x in args if is_array(x)]
        outputs = record(kernel.__name__, inputs, tuple(outputs), rule, saved)
    return kernel_call.finish(outputs)


def _is_watched(trace: Trace, native: Any) -> bool:
    return native.__class__ is Tracer and native.trace is trace and native.slot > 0


def _rule(
    kernel: KernelFunction,
    adjoint: Adjoint,
    entry_of: Callable[..., Entry],
    operands: Sequence[Any],
    written: Sequence[int],
    differentiated: frozenset[str],
    sizes: tuple[int, ...],
    group: Any,
) -> Callable[[Any], Sequence[Array | None]]:
    """Return the function that runs the adjoint."""
    names = kernel._definition.names
    shapes = {name: (x.shape, x.dtype, x.device) for name, x in _arrays(names, operands)}
    inputs = {name: x for name, x in zip(names, operands, strict=True) if name in adjoint.values}
    output_names = [names[position] for position in written]

    def rule(cotangents: Sequence[Array]) -> Sequence[Array | None]:
        from portarray._kernel_language.derivatives.forward import cotangent_dtype

        by_name: dict[str, Array] = dict(zip(output_names, cotangents, strict=True))
        passed: list[Any] = []
        for name in adjoint.cotangents:
            shape, dtype, device = shapes[name]
            sum_dtype = cotangent_dtype(dtype)
            if name in by_name:
                g = by_name[name]
                is_changed = name in adjoint.written or sum_dtype != dtype
                passed.append(pa.astype(g, sum_dtype, copy=True) if is_changed else g)
            else:
                passed.append(pa.zeros(shape, dtype=sum_dtype, device=device))
        for name in adjoint.values:
            x = inputs[name]
            passed.append(pa.asarray(x, copy=True) if name in adjoint.restored else x)
        if adjoint.written and 0 not in sizes:
            is_traced = any(is_array(x) and x._native.__class__ is Tracer for x in passed)
            entry = entry_of(is_traced=is_traced)
            outputs = returned(kernel._adjoint_kernel(entry)(*passed, ndrange=sizes, group=group))
            by_name.update(zip(adjoint.written, outputs, strict=False))
        return [
            pa.astype(by_name[name], dtype) if name in by_name and name in differentiated else None
            for name, (_, dtype, _) in shapes.items()
        ]

    return rule


def _arrays(names: Sequence[str], operands: Sequence[Any]) -> list[tuple[str, Array]]:
    return [(name, x) for name, x in zip(names, operands, strict=True) if is_array(x)]
