"""``vmap``: a function of one example, applied to a batch of them at once."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from portarray._array import dispatch
from portarray._array.array import Array
from portarray._devices.device import Device
from portarray._hashing import hashable
from portarray._namespace import pa
from portarray._transforms import tracing, user_kernel_batches
from portarray._transforms.batching import DIRECT, PLANNED, RULES, Call, Direct, looped
from portarray._transforms.gradient_arguments import check_function, described, name_of, parameter
from portarray._transforms.ownership import separated
from portarray._transforms.planning import CALL_ERRORS, Plans
from portarray._transforms.tracer import Tracer, any_may_hold, current, detached
from portarray._transforms.tracing import Trace
from portarray._trees import array_trees
from portarray.errors import TracedArrayError

__all__ = ["vmap"]

Function = Callable[..., Any]
Axes = list[int | None]
_ARRAYS = {Array}
_AXES = {int, type(None)}


def vmap(function: Function, /, in_axes: Any = 0, out_axes: Any = 0) -> Function:
    """Return a function that applies a function to each example of a batch, all at once.

    Parameters
    ----------
    function : callable
        Takes and returns trees of arrays, those of one example.
    in_axes : int, None, sequence or tree, default: 0
        The axis of the arguments that counts the examples; None for arguments that all examples
        share. A tuple or list has one entry for each positional argument, and an entry may be a
        tree like the argument. Keyword arguments have the axis 0.
    out_axes : int, None or tree, default: 0
        The axis of the results that counts the examples; None for results that are the same for
        all. A tree gives an axis for each part of the result.

    Returns
    -------
    callable
        Takes the arguments with one more axis and returns the results with one more. Leaves that
        are not arrays, such as numbers, are the same for all examples. Results that depend on no
        batched argument are repeated.

    Raises
    ------
    TypeError
        If an argument contains arrays of other libraries, or `in_axes` does not fit the arguments.
    ValueError
        If batched arguments have different numbers of examples, or none is batched.
    portarray.errors.TracedArrayError
        If the function reads values of an example (``if x > 0``), writes them into an argument or
        another array from outside, or calls a function whose result has a shape that depends on
        values.

    Notes
    -----
    Each call of the function is made for the whole batch, by a rule that says which axes its
    operands get. Some are made for the first example too, whose shapes the function sees. Functions
    without a rule, such as ``tensordot`` of two batched arrays, are called for each example. It
    nests, in itself and in gradients and compiled functions:
    ``pa.vmap(pa.grad(f), (None, 0))(params, x)`` are the gradients of each example. An error that
    depends on values, such as that of a singular matrix, is raised if one example has it.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> pa.vmap(lambda row: row / pa.sum(row))(pa.asarray([[1.0, 3.0], [2.0, 2.0]])).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    >>> pa.vmap(pa.grad(lambda w, row: pa.sum(w * row) ** 2), (None, 0))(x[0], x).tolist()
    [[10.0, 20.0], [66.0, 88.0]]
    """
    check_function("vmap", function)
    is_fixed = hashable((in_axes, out_axes))  # else they may change

    def planned(function: Function) -> Function:
        return lambda *args: _called(function, args, {}, in_axes, out_axes)

    plans = Plans(function, planned, PLANNED)

    @functools.wraps(function)
    def batched(*args: Any, **named: Any) -> Any:
        if plans.ready and not named:
            output = plans.run(args)
            if output is not plans.other:
                return output
        output = _called(function, args, named, in_axes, out_axes)
        if is_fixed and not named:
            plans.count(args)
        return output

    return batched


def _called(function: Function, args: Any, named: Any, in_axes: Any, out_axes: Any) -> Any:
    """Return the results of a function for a batch of arguments."""
    name = name_of(function)
    is_flat = not named and {x.__class__ for x in args} == _ARRAYS
    each = [in_axes] * len(args) if in_axes.__class__ is int else in_axes
    if is_flat and _are_axes(each, len(args)):  # as below, in a third of its time
        arrays: list[Array] = list(args)
        axes: Axes = list(each)
    else:
        is_flat = False
        axes = list(_argument_axes(function, args, in_axes))
        arrays = array_trees.leaves(args)
    if named:
        _check_arrays(named, function, "a keyword argument")
        arrays += array_trees.leaves(named)
        axes += [0] * (len(arrays) - len(axes))
    trace = _BatchTrace(_size(name, arrays, axes))
    pairs = zip(arrays, axes, strict=True)
    traced = [x if axis is None else trace.watch(x, axis) for x, axis in pairs]
    natives = [x._native for x in traced]
    try:
        if is_flat:
            example = function(*traced)
        else:
            remaining = iter(traced)
            positional = array_trees.refilled(args, remaining)
            example = function(*positional, **array_trees.refilled(named, remaining))
        for x, native, axis in zip(traced, natives, axes, strict=True):
            if axis is not None and (x._native is not native or native.is_stale):
                raise TracedArrayError(
                    f"vmap: {name} changes an argument in place\n"
                    f"Hint: change a copy, x.copy(), and return it"
                )
        outputs = array_trees.leaves(example)
        trace.check_assigned(outputs, name)
        if out_axes.__class__ is int:
            ends: Axes = [out_axes] * len(outputs)
        else:
            ends = _tree_axes("out_axes", example, out_axes)
        results = [trace.result(x, axis, name) for x, axis in zip(outputs, ends, strict=True)]
    finally:
        trace.ended = (
            f"vmap: an array of one example of {name} is used after {name} has returned\n"
            f"Hint: return it from the function"
        )
    owned = separated(results, arrays)
    if example.__class__ is Array:
        return owned[0]
    return array_trees.refilled(example, iter([x for x in owned if x is not None]))


def _are_axes(in_axes: Any, count: int) -> bool:
    """Return whether `in_axes` has one axis for each of `count` arrays."""
    is_sequence = isinstance(in_axes, (tuple, list)) and len(in_axes) == count
    return is_sequence and _AXES.issuperset([axis.__class__ for axis in in_axes])


def _argument_axes(function: Function, args: tuple[Any, ...], in_axes: Any) -> Iterator[int | None]:
    """Yield the axis of each array of the positional arguments."""
    if isinstance(in_axes, (tuple, list)):
        if len(in_axes) != len(args):
            raise TypeError(
                f"vmap: in_axes={in_axes!r} has {len(in_axes)} entries for {len(args)} positional "
                f"arguments of {name_of(function)}\nHint: give one entry for each"
            )
    else:
        in_axes = [in_axes] * len(args)
    for n, (tree, entry) in enumerate(zip(args, in_axes, strict=True)):
        if entry is not None:
            _check_arrays(tree, function, n)
        yield from _tree_axes(f"in_axes of argument {n}", tree, entry)


def _check_arrays(tree: Any, function: Function, argument: int | str) -> None:
    """Raise if a batched argument contains arrays of other libraries."""
    if type(tree) is Array:
        return
    for x in array_trees.leaves(tree, others=True):
        if type(x) is not Array and hasattr(x, "shape") and x.shape:
            where = argument if isinstance(argument, str) else parameter(function, argument)
            raise TypeError(
                f"vmap: {where} of {name_of(function)} contains {described(x)}, whose examples it "
                f"does not see\nHint: make an array of it with pa.asarray, or give it the axis None"
            )


def _tree_axes(argument: str, tree: Any, axes: Any) -> Axes:
    """Return the axis of each array of a tree, given one for all or a tree of them."""
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        return [axes] * (1 if type(tree) is Array else len(array_trees.leaves(tree)))
    if isinstance(axes, dict) and isinstance(tree, dict) and axes.keys() == tree.keys():
        parts = [(tree[key], axes[key]) for key in tree]
    elif (
        isinstance(axes, (list, tuple))
        and isinstance(tree, (list, tuple))
        and len(axes) == len(tree)
    ):
        parts = list(zip(tree, axes, strict=True))
    else:
        raise TypeError(
            f"vmap: {argument} is {axes!r}, which does not fit {described(tree)}\n"
            f"Hint: give an int, None, or a tree like the value"
        )
    return [axis for part, entry in parts for axis in _tree_axes(argument, part, entry)]


def _size(name: str, arrays: Sequence[Array], axes: Sequence[int | None]) -> int:
    sizes: list[int] = []
    for x, axis in zip(arrays, axes, strict=True):
        if axis is None:
            continue
        shape = x._native.shape
        if not -len(shape) <= axis < len(shape):
            raise ValueError(
                f"vmap: an argument of {name} has shape {x.shape}, without axis {axis}\n"
                f"Hint: give the arguments that all examples share the axis None in in_axes"
            )
        sizes.append(shape[axis])
    if not sizes:
        raise ValueError(
            f"vmap: no argument of {name} is a batched array\nHint: give one an axis in in_axes"
        )
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: the arguments of {name} have different numbers of examples, "
            f"{', '.join(map(str, dict.fromkeys(sizes)))}\n"
            f"Hint: give the arguments that all examples share the axis None in in_axes"
        )
    return sizes[0]


class _BatchTrace(Trace):
    """A trace whose tracers are the first example; their slots are the batches, 0 for constants."""

    unreadable = (
        "pa.vmap calls the function once for all examples, whose values differ\n"
        "Hint: use pa.where to choose between values, pa.cond between calls, pa.while_loop to "
        "repeat them"
    )
    shared = (
        "an array that shares memory with this one was modified in a function of pa.vmap\n"
        "Hint: assign to a copy, pa.asarray(x, copy=True), or make the view after the assignment"
    )
    follows_values = False
    direct = DIRECT

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size
        self._assigned: list[tuple[weakref.ref[Array], Any]] = []

    def watch(self, x: Array, axis: int) -> Array:
        """Return the first example of an array as a traced array."""
        batch = pa.moveaxis(x, axis, 0) if axis else x
        if self._size and batch._native.__class__ is not Tracer:
            return tracing.traced_native(self._example(batch._native, x.device._home), batch)
        if self._size:
            example = batch[0, ...]
        else:
            example = pa.zeros(batch.shape[1:], dtype=x.dtype, device=x.device)
        return tracing.traced(example, self, batch._native)

    def _example(self, batch: Any, device: Device) -> Tracer:
        """Return the first example of an untraced batch, which is read when it is needed."""
        x = Tracer.__new__(Tracer)
        x.trace = self
        x.slot = batch
        x.home = device
        x.sharing = x.origin = None
        x.is_stale = False
        return x

    def first_value(self, x: Tracer) -> Any:
        """Return the first example of a batch."""
        return tracing.namespace_of(x.slot, x.home).getitem(x.slot, (0, ...))

    def note_assignment(self, x: Array, original: Any) -> None:
        """Take note of an array that an assignment made one of the examples."""
        self._assigned.append((weakref.ref(x), original))

    def check_assigned(self, outputs: Sequence[Array], name: str) -> None:
        """Raise if the function wrote examples into an array that it neither made nor returns.

        Arrays that it made are not referred to any more.
        """
        if not self._assigned:
            return
        returned = {id(x) for x in outputs}

        def outside() -> list[tuple[Array, Any]]:
            pairs = [(ref(), original) for ref, original in self._assigned]
            return [
                (x, original) for x, original in pairs if x is not None and id(x) not in returned
            ]

        if not outside():
            return
        gc.collect()  # arrays that only cycles refer to
        if remaining := outside():
            for x, original in remaining:
                x._dispatch = tracing.untraced(original, x.device)._dispatch
                x._native = original
            raise TracedArrayError(
                f"vmap: {name} writes into an array that was made outside it\n"
                f"Hint: write into a copy, x.copy(), and return it"
            )

    def detached(self, x: Tracer) -> Any:
        """Return a tracer without gradients of the example and of the batch."""
        batch = x.slot if x.slot.__class__ is int else detached(x.slot, x.home)
        return Tracer(detached(x.value, x.home), self, batch, x.home)

    def call_kernel(self, kernel: Any, args: Sequence[Any], ndrange: Any, group: Any) -> Any:
        """Call a user kernel for all examples."""
        return user_kernel_batches.call(self, self._size, kernel, args, ndrange, group)

    def record_call(
        self,
        name: str,
        function: Function,
        device: Device,
        args: tuple[Any, ...],
        options: Mapping[str, Any],
        values: Sequence[Any],
        result: Any,
    ) -> Any:
        """Return the result as tracers, made of a call for the whole batch."""
        rule = RULES.get(name, looped)
        several = isinstance(result, (tuple, list))
        examples = tuple(result) if several else (result,)
        call = Call(self, self._size, name, function, device, examples)
        first = args[0] if args else None
        is_batched = (
            first.__class__ is Tracer
            and first.trace is self
            and first.slot.__class__ is not int
            and not any_may_hold(args[1:], options)
        )
        if not is_batched:
            args = call.plain(args)
            options = {key: call.plain(x) for key, x in options.items()}
            is_batched = call.is_batched([*args, *options.values()])
        if is_batched and not several and hasattr(result, "shape") and hasattr(result, "dtype"):
            batch = rule(call, args, options)
            if isinstance(batch, (list, tuple)):
                (batch,) = batch
            if not call.is_result(batch):
                (batch,) = looped(call, args, options)
            return Tracer(result, self, batch, device)
        batches: Sequence[Any] = [0] * len(examples)
        if not all(hasattr(x, "shape") and hasattr(x, "dtype") for x in examples):
            if is_batched:
                raise TracedArrayError(self.unreadable)
            return result
        if is_batched:
            outputs = rule(call, args, options)
            batches = outputs if isinstance(outputs, (tuple, list)) else [outputs]
            expected = [((self._size, *x.shape), x.dtype) for x in examples]
            if [(tuple(y.shape), y.dtype) for y in batches] != expected:
                batches = looped(call, args, options)
        pairs = zip(examples, batches, strict=True)
        tracers = [Tracer(x, self, batch, device) for x, batch in pairs]
        return tuple(tracers) if several else tracers[0]

    def call_directly(
        self,
        name: str,
        function: Function,
        device: Device,
        args: Sequence[Any],
        options: Mapping[str, Any],
    ) -> Tracer | None:
        """Return the result of a call for the batch alone, None if the call needs the example.

        Outer traces record their calls in :meth:`record_call`, and errors have its shapes.
        """
        if self.ended or not self._size or (options and any_may_hold((), options)):
            return None
        natives = []
        batched = []
        for x in args:
            is_example = False
            if x.__class__ is Tracer:
                if x.trace is not self or x.is_stale:
                    return None
                is_example = x.slot.__class__ is not int
                x = x.slot if is_example else x.value
                if x.__class__ is Tracer:
                    return None
            natives.append(x)
            batched.append(is_example)
        if True not in batched:
            return None
        xp = dispatch.functions_of(device._home).namespace
        try:
            batch = DIRECT[name](Direct(name, function, xp, natives, batched, options))
        except CALL_ERRORS:  # the call for the first example raises with its shapes
            return None
        if batch is None or not batch.shape or batch.shape[0] != self._size:
            return None
        return self._example(batch, device)

    def result(self, x: Array, axis: int | None, name: str) -> Array:
        """Return an output of the function for all examples."""
        native = x._native
        if native.__class__ is Tracer and native.trace is self:
            batch = current(native).slot
            if batch.__class__ is not int:
                if axis is None:
                    raise ValueError(
                        f"vmap: out_axes is None for a result of {name} that differs between "
                        f"examples\nHint: give it an axis"
                    )
                return _moved(tracing.untraced_like(batch, x), axis)
            x = tracing.untraced(native.value, native.home)
        if axis is None:
            return x
        return _moved(pa.broadcast_to(pa.expand_dims(x, axis=0), (self._size, *x.shape)), axis)


def _moved(batch: Array, axis: int) -> Array:
    moved: Array = pa.moveaxis(batch, 0, axis) if axis else batch
    return moved
