"""``stop_gradient``, ``checkpoint`` and ``custom_vjp``: functions with their own gradient rules."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Sequence
from typing import Any

from portarray._array.array import Array
from portarray._array.results import refusing_gradient
from portarray._decorated import Decorated
from portarray._transforms.gradient_arguments import (
    check_cotangent,
    check_function,
    described,
    is_floating,
    name_of,
)
from portarray._transforms.tape import GradientTrace, ValueTrace
from portarray._transforms.tracer import Tracer, detached, innermost
from portarray._transforms.tracing import untraced
from portarray._transforms.vjp import compute_vjp
from portarray._trees import array_trees
from portarray.backends.types import NoOwnGradientError
from portarray.errors import NoGradientError

__all__ = ["checkpoint", "custom_vjp", "stop_gradient"]

Function = Callable[..., Any]


def stop_gradient(x: Any, /) -> Any:
    """Return arrays as constants with zero gradient.

    Parameters
    ----------
    x : Array or tree of Array
        The arrays.

    Returns
    -------
    Array or tree of Array
        The same values.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.grad(lambda x: pa.sum(x * pa.stop_gradient(x)))(pa.asarray([1.0, 3.0]))
    Array([1., 3.], dtype=float64, device='numpy:cpu:0')
    """

    def stopped(leaf: Any) -> Any:
        if type(leaf) is not Array:
            return leaf
        return untraced(detached(leaf._native, leaf.device), leaf.device)

    return array_trees.mapped(stopped, x)


def _recorded(
    name: str, run: Function, args: tuple[Any, ...], backward: Function, *, lends: bool
) -> Any:
    """Call a function of trees and record it as one call of the innermost trace.

    ``run`` returns the output and the residuals that ``backward`` takes; ``backward`` returns a
    cotangent for each array of the arguments, with ``lends`` perhaps arrays that others hold.
    """
    leaves = array_trees.leaves(args)
    trace = innermost([x._native for x in leaves])
    if trace is None and any(x.device._backend.is_watched(x._native) for x in leaves):
        raise NoOwnGradientError(f"{name} has its own gradient rule")
    if not isinstance(trace, GradientTrace):  # other traces record the calls in it
        return run(*args)[0]

    saved: list[Array] = []

    def keep(x: Any) -> Any:
        """Return an array without the trace: a new one, as the original may change."""
        if type(x) is not Array:
            return x
        native = x._native
        is_traced = native.__class__ is Tracer and native.trace is trace
        saved.append(untraced(native.value if is_traced else native, x.device))
        return saved[-1]

    inner = array_trees.mapped(keep, args)
    output, residuals = run(*inner)
    residuals = array_trees.mapped(keep, residuals)
    return trace.record_composite(
        name, leaves, output, lambda g: backward(residuals, g, inner), saved, lends=lends
    )


def _is_watched(args: Sequence[Any]) -> bool:
    """Return whether a gradient trace, or a library, watches one of the arguments."""
    leaves = array_trees.leaves(tuple(args))
    return isinstance(innermost([x._native for x in leaves]), GradientTrace) or any(
        x.device._backend.is_watched(x._native) for x in leaves
    )


def _unchanged(function: Function, args: tuple[Any, ...]) -> Any:
    """Call a function of trees so that its assignments do not change its arguments."""
    trace = ValueTrace()
    output = function(*array_trees.mapped(lambda x: trace.watch(x) if is_floating(x) else x, args))
    trace.ended = _ENDED
    return array_trees.mapped(lambda x: trace.value(x) if type(x) is Array else x, output)


def checkpoint(function: Function, /) -> Function:
    """Return a function that stores only its arguments for the gradient.

    The backward pass computes intermediate values again: memory is traded for time.

    Parameters
    ----------
    function : callable
        Takes arrays, and trees of them. Differentiated arrays that it uses from an enclosing scope
        raise an error. It is called again in the backward pass, with the default device and the
        context variables of the first call: until then, numbers, attributes and arrays that it
        reads in its scope must not change.

    Returns
    -------
    callable
        The same function.

    Examples
    --------
    >>> import portarray as pa
    >>> layer = pa.checkpoint(lambda x: pa.tanh(x))
    >>> round(float(pa.grad(layer)(pa.asarray(0.0))), 3)
    1.0
    """
    check_function("checkpoint", function)

    def call(args: Sequence[Any], named: dict[str, Any]) -> Any:
        return function(*args, **named)

    @functools.wraps(function)
    def checkpointed(*args: Any, **named: Any) -> Any:
        context = contextvars.copy_context()  # the default device, the user's own variables

        def run(*inner: Any) -> tuple[Any, Any]:
            if _is_watched(inner):
                # A new wrapper: a function that calls itself is a reference cycle.
                return checkpoint(call)(*inner), None
            return _unchanged(call, inner), None

        def backward(_: Any, g: Any, inner: tuple[Any, ...]) -> Sequence[Any]:
            def of_arrays(arrays: Sequence[Array]) -> list[Array]:
                next_arrays = iter(arrays)
                again = array_trees.mapped(
                    lambda x: next(next_arrays) if is_floating(x) else x, inner
                )
                return array_trees.leaves(context.copy().run(call, *again))

            leaves = array_trees.leaves(inner)
            floating = [x for x in leaves if is_floating(x)]
            forward = compute_vjp(of_arrays, floating, _ENDED, once=True)
            cotangents = array_trees.leaves(g)
            first, second = _types(cotangents), _types(forward.outputs)
            if first != second:
                raise ValueError(
                    f"checkpoint: {name_of(function)} returned arrays of {first} first, and of "
                    f"{second} when it was called again\n"
                    f"Hint: pass what it reads, and what has changed since, as arguments"
                )
            parts = iter(forward.vjp_fun(cotangents))
            return [next(parts) if is_floating(x) else None for x in leaves]

        return _recorded("checkpoint", run, (args, named), backward, lends=False)

    return checkpointed


def _types(arrays: Sequence[Array]) -> str:
    """Return the dtypes and shapes of arrays."""
    return f"[{', '.join([f'{x.dtype}{list(x.shape)}' for x in arrays])}]"


_ENDED = (
    "checkpoint: a traced array is used after the function has returned\n"
    "Hint: return it from the function"
)


class custom_vjp(Decorated):  # noqa: N801  (used as a decorator, as in JAX)
    """A function with a custom derivative.

    Parameters
    ----------
    function : callable
        Takes arrays, and trees of them, as positional arguments, and returns a tree of arrays. It
        must not change its arguments in place.

    Examples
    --------
    >>> import portarray as pa
    >>> @pa.custom_vjp
    ... def clipped(x):
    ...     return pa.clip(x, -1.0, 1.0)
    >>> @clipped.defvjp
    ... def _(args, g):  # the gradient passes through
    ...     return (g,)
    >>> pa.grad(lambda x: pa.sum(clipped(x)))(pa.asarray([0.5, 3.0]))
    Array([1., 1.], dtype=float64, device='numpy:cpu:0')
    """

    def __init__(self, function: Function) -> None:
        check_function("custom_vjp", function)
        functools.update_wrapper(self, function)  # first: its attributes may have these names
        self._function = function
        self._forward: Function | None = None
        self._backward: Function | None = None

    def defvjp(self, *functions: Function) -> Any:
        """Define the derivative.

        Parameters
        ----------
        *functions : callable
            ``backward(residuals, cotangents)`` returns a tuple with the cotangent of each
            argument, None for zero. By default ``residuals`` are the arguments. In
            ``defvjp(forward, backward)``, ``forward`` replaces the function and returns
            ``(output, residuals)``.

        Returns
        -------
        callable
            The last function.
        """
        if not 1 <= len(functions) <= 2:
            raise TypeError(
                f"defvjp: takes (backward) or (forward, backward), got {len(functions)} functions"
            )
        for function in functions:
            check_function("defvjp", function)
        self._forward = functions[0] if len(functions) == 2 else None
        self._backward = functions[-1]
        return functions[-1]

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        name = self._function.__name__
        if self._backward is None:
            raise TypeError(
                f"{name}: custom_vjp function without a derivative\n"
                f"Hint: define it with @{name}.defvjp"
            )
        derivative = self._backward

        def run(*inner: Any) -> tuple[Any, Any]:
            if self._forward is not None:
                return self._forward(*inner)  # type: ignore[no-any-return]
            return (self if _is_watched(inner) else self._function)(*inner), inner

        def backward(residuals: Any, g: Any, inner: tuple[Any, ...]) -> Sequence[Any]:
            cotangents = derivative(residuals, g)
            if not isinstance(cotangents, tuple) or len(cotangents) != len(inner):
                raise TypeError(
                    f"{name}: the derivative returned {described(cotangents)}, not a tuple with "
                    f"one cotangent, or None, for each of {len(inner)} arguments"
                )
            return [
                g for tree, part in zip(inner, cotangents, strict=True) for g in leaves(tree, part)
            ]

        def leaves(tree: Any, part: Any) -> list[Any]:
            arrays = array_trees.leaves(tree)
            if part is None:
                return [None] * len(arrays)
            cotangents = [g for _, g in array_trees.arrays(part)]
            if len(cotangents) != len(arrays):
                raise ValueError(
                    f"{name}: the derivative returned {len(cotangents)} cotangents for an argument "
                    f"of {len(arrays)} arrays\nHint: return a tree like the argument"
                )
            for x, g in zip(arrays, cotangents, strict=True):
                check_cotangent(f"{name}: the cotangent of an argument", x, g, "argument")
            return cotangents

        error = NoGradientError(
            name, "only portarray's derivatives use pa.custom_vjp\nHint: use pa.grad or pa.vjp"
        )
        guarded = array_trees.mapped(
            lambda x: refusing_gradient(x, error) if is_floating(x) else x, args
        )
        return _recorded(name, run, guarded, backward, lends=True)
