"""Calls of user kernels for a batch of examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from portarray._array.array import Array
from portarray._namespace import pa
from portarray._transforms.tracing import Trace, traced, untraced
from portarray._transforms.user_kernels import KernelCall, is_array, returned, traced_array_error

if TYPE_CHECKING:
    from portarray._kernel_language.kernel import KernelFunction

__all__ = ["call"]


def call(
    trace: Trace,
    size: int,
    kernel: KernelFunction,
    args: Sequence[Any],
    ndrange: Any,
    group: Any,
) -> Any:
    """Call a kernel for several examples: in one launch, or one for each if groups would change.

    The slots of the trace are the batches of its tracers, 0 for constants.
    """
    kernel_call = KernelCall(trace, kernel, args, ndrange, group)
    kernel_call.check_apart(traced_array_error)
    batches: dict[int, Array] = {}
    for n, x in enumerate(args):
        tracer: Any = x._native if is_array(x) else None
        if getattr(tracer, "trace", None) is trace and tracer.slot.__class__ is not int:
            batches[n] = untraced(tracer.slot, tracer.home)
    if not batches:
        return kernel_call.finish([traced(x, trace, 0) for x in kernel_call.run()])
    written = {
        n: _whole(kernel_call.operands[n], batches.get(n), size) for n in kernel_call.written
    }
    outputs: Sequence[Array] = list(written.values())
    sizes = kernel_call.spec.sizes(kernel_call.written) or (1,)
    if size and 0 not in sizes:
        outputs = _batched(kernel_call, {**batches, **written}, (size, *sizes))
    examples = [x[0, ...] if size else pa.zeros_like(kernel_call.operands[n])
                for n, x in zip(written, outputs, strict=True)]  # fmt: skip
    pairs = zip(examples, outputs, strict=True)
    return kernel_call.finish([traced(example, trace, x._native) for example, x in pairs])


def _whole(example: Array, batch: Array | None, size: int) -> Array:
    """Return a new batch, of the same example if there is none."""
    if batch is None:
        batch = pa.broadcast_to(pa.expand_dims(example, axis=0), (size, *example.shape))
    whole: Array = pa.asarray(batch, copy=True)
    return whole


def _batched(
    call: KernelCall, batches: Mapping[int, Array], ndrange: tuple[int, ...]
) -> Sequence[Array]:
    """Run a kernel for the examples of a batch."""
    from portarray._kernel_language.batching import uses_groups
    from portarray._kernel_language.setting import MAX_AXES

    kernel = call.kernel
    groups_change = call.spec.group is None or len(ndrange) > MAX_AXES
    if not (groups_change and uses_groups(kernel._adjoints.function(call.spec))):
        passed = [batches.get(n, x) for n, x in enumerate(call.operands)]
        names = frozenset([call.names[n] for n in batches])
        group = None if call.spec.group is None else (1, *call.spec.group)
        return returned(kernel._batched(names)(*passed, ndrange=ndrange, group=group))
    rows = []
    for n in range(ndrange[0]):
        passed = list(call.operands)
        for m, batch in batches.items():
            passed[m] = pa.asarray(batch[n, ...], copy=True) if m in call.written else batch[n, ...]
        rows.append(returned(kernel(*passed, ndrange=call.ndrange, group=call.group)))
    return [pa.stack(list(column)) for column in zip(*rows, strict=True)]
