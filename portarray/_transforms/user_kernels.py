"""Calls of user kernels with traced arrays.

A traced call leaves its arguments unchanged: it runs on copies of the arrays that the kernel
writes. The arguments that the kernel changes in place then get the results.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from portarray._array import dispatch
from portarray._array.array import Array
from portarray._namespace import pa
from portarray._transforms.tracer import Tracer, current, lowered
from portarray._transforms.tracing import Trace, untraced
from portarray.errors import TracedArrayError

if TYPE_CHECKING:
    from portarray._devices.device import Device
    from portarray._kernel_language.arguments import CallSpec
    from portarray._kernel_language.kernel import KernelFunction
    from portarray._kernel_language.launch_cache import BoundLaunch

__all__ = ["KernelCall", "Launch", "is_array", "returned", "traced_array_error"]


class KernelCall:
    """A call of a kernel with arrays of a trace.

    Parameters
    ----------
    trace : Trace
        The innermost trace of the arguments.
    kernel : KernelFunction
        The kernel.
    args : sequence
        All arguments, in the order of the parameters.
    ndrange, group : int, sequence of int or None
        As in the call.
    """

    def __init__(
        self, trace: Trace, kernel: KernelFunction, args: Sequence[Any], ndrange: Any, group: Any
    ) -> None:
        from portarray._kernel_language import arguments

        if trace.ended:
            raise TracedArrayError(trace.ended)
        self.trace, self.kernel, self.args = trace, kernel, args
        self.ndrange, self.group = ndrange, group
        self.names = kernel._definition.names
        values = [untraced(lowered(x._native), x.device) if is_array(x) else x for x in args]
        self.spec: CallSpec = arguments.call_spec(
            kernel._definition, tuple(values), {}, ndrange, group
        )
        self.written = kernel._adjoints.written(self.spec)
        self.fills = int(kernel._fills)
        self.operands = [self._without_trace(x) for x in args]

    def _without_trace(self, x: Any) -> Any:
        """Return an array as the trace's callers see it: a new one, as the original may change."""
        if not is_array(x):
            return x
        native = x._native
        if native.__class__ is Tracer:
            current(native)
            if native.trace is self.trace:
                native = native.value
        return untraced(native, x.device)

    def check_apart(self, error: Callable[[str, str], Exception]) -> None:
        """Raise an error of the kernel's name and the reason if a written array overlaps another.

        Traced calls take them for separate ones.
        """
        from portarray._kernel_language.host_copies import overlapping

        device = self.spec.device
        pair = overlapping(self.spec, device._backend.launcher(device.native), self.written)
        if pair is not None:
            first, second = (self.names[position] for position in pair)
            raise error(
                self.kernel.__name__,
                f"{first} and {second} share memory\nHint: pass a copy of one of them",
            )

    def run(self) -> Sequence[Array]:
        """Run the kernel without the trace; return new arrays instead of the written ones."""
        passed = list(self.operands)
        for position in self.written[self.fills :]:
            passed[position] = pa.asarray(passed[position], copy=True)
        return returned(self.kernel(*passed, ndrange=self.ndrange, group=self.group))

    def record(self) -> Any:
        """Run the kernel, record it as a call of a native function and finish the call."""
        self.check_apart(traced_array_error)
        order = [
            *self.written[self.fills :],
            *[n for n, x in enumerate(self.args) if is_array(x) and n not in self.written],
        ]
        launch = Launch(self, order)
        natives = tuple([self.args[n]._native for n in order])
        values = [self.operands[n]._native for n in order]
        results = [x._native for x in self.run()]
        recorded = self.trace.record_call(
            f"user kernel {self.kernel.__name__}", launch, self.spec.device, natives, {}, values,
            results[0] if len(results) == 1 else tuple(results),
        )  # fmt: skip
        tracers = recorded if isinstance(recorded, tuple) else (recorded,)
        return self.finish([untraced(x, self.spec.device) for x in tracers])

    def finish(self, outputs: Sequence[Array]) -> Any:
        """Return what the call returns, after changing the arguments that it changes."""
        device = self.spec.device
        launcher = device._backend.launcher(device.native)
        assert not isinstance(launcher, str)  # the kernel has run
        results = []
        for position, output in zip(self.written, outputs, strict=True):
            if not launcher.copied(self.spec.args[position].native, written=True):
                _overwrite(self.args[position], output)
                output = self.args[position]
            results.append(output)
        return results[0] if len(results) == 1 else tuple(results)


class Launch:
    """A kernel as a function of native arrays, the written ones first, that returns new ones.

    An array that the kernel fills is not among them.
    """

    def __init__(self, call: KernelCall, order: Sequence[int]) -> None:
        self.kernel = call.kernel
        self._args = [None if is_array(x) else x for x in call.args]
        filled = call.written[: call.fills]
        self.copies = len(call.written) - call.fills
        self._device: Device = call.spec.device
        self._ranges = call.ndrange, call.group
        functions = dispatch.functions_of(self._device)
        self.copy = functools.partial(functions.namespace.asarray, copy=True)
        self._new = [
            functools.partial(
                functions.namespace.empty,
                x.shape,
                dtype=dispatch.table_of(self._device, x.dtype).native,
                device=self._device.native,
            )
            for x in map(call.spec.args.__getitem__, filled)
        ]
        # An array that is passed twice has one layout.
        natives = {id(call.args[position]._native): position for position in reversed(order)}
        self._checked = frozenset(natives.values())
        self._written = len(call.written)
        self._positions = [*filled, *order]
        self._bound: tuple[BoundLaunch, list[int]] | None = None

    def __call__(self, *natives: Any) -> Any:
        """Launch the kernel on copies of the written arrays."""
        copies = [self.copy(x) for x in natives[: self.copies]]
        return self.in_place(*copies, *natives[self.copies :])

    def in_place(self, *natives: Any) -> Any:
        """Launch the kernel in the memory of the written arrays, which nothing else uses."""
        arrays = [*[new() for new in self._new], *natives]
        bound = self._bound
        if bound is None or not bound[0]([arrays[n] for n in bound[1]]):
            return self._launched(arrays)
        return arrays[0] if self._written == 1 else tuple(arrays[: self._written])

    def is_current(self) -> bool:
        """Return whether it is bound, and the names that the kernel reads have not changed."""
        return self._bound is not None and self._bound[0].is_current()

    def _launched(self, natives: Sequence[Any]) -> Any:
        passed = list(self._args)
        for position, native in zip(self._positions, natives, strict=True):
            passed[position] = untraced(native, self._device)
        ndrange, group = self._ranges
        results = returned(self.kernel(*passed, ndrange=ndrange, group=group))
        if all(x._native is y for x, y in zip(results, natives, strict=False)):
            bound = self.kernel._bound(self._checked, passed, ndrange, group)
            if bound is not None:
                order = [self._positions.index(position) for position in bound.positions]
                self._bound = bound, order
        new = tuple([x._native for x in results])
        return new[0] if len(new) == 1 else new


def is_array(x: Any) -> bool:
    """Return whether an argument of a kernel is an array."""
    return type(x) is Array


def returned(result: Any) -> Sequence[Array]:
    """Return what a kernel returned as a sequence."""
    return result if type(result) is tuple else (result,)


def traced_array_error(kernel: str, reason: str) -> TracedArrayError:
    """Return the error for a call of a kernel that cannot be traced."""
    return TracedArrayError(f"{kernel}: {reason}")


def _overwrite(x: Array, result: Array) -> None:
    """Compute ``x[...] = result`` for a result of the same shape and dtype, without copying it."""
    native = x._native
    is_alone = native.__class__ is not Tracer or (native.sharing is None and native.origin is None)
    if result._native.__class__ is Tracer and is_alone:
        table, x._native, x._dispatch = x._dispatch, result._native, result._dispatch
        if table is not x._dispatch:  # the array is traced from now on
            x._native.trace.note_assignment(x, native)
    else:
        x[...] = result
