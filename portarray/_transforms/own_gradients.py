"""Functions whose gradients are not those of their calls: stopped, computed again, or given."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from portarray._array.array import Array
from portarray._transforms import pulling, tracing, trees
from portarray._transforms.compiling.graph import Capture
from portarray._transforms.gradient_arguments import (
    check_cotangent,
    check_function,
    described,
    is_floating,
)
from portarray._transforms.tape import GradientTrace, ValueTrace
from portarray._transforms.tracing import Tracer, untraced
from portarray.backends.types import NoOwnGradientError

__all__ = ["checkpoint", "custom_vjp", "stop_gradient"]

Function = Callable[..., Any]


def stop_gradient(x: Any, /) -> Any:
    """Return arrays as constants, of which no derivative is taken.

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
        native = leaf._native
        while native.__class__ is Tracer and not isinstance(native.trace, Capture):
            native = native.value
        if native.__class__ is Tracer:  # a program computes it, of which there are no gradients
            return untraced(native, leaf.device)
        return untraced(leaf.device._backend.stopped(native), leaf.device)

    return trees.mapped(stopped, x)


def _recorded(name: str, run: Function, args: tuple[Any, ...], backward: Function) -> Any:
    """Call a function of trees and have the innermost trace among its arguments record it whole.

    ``run`` returns the output and what ``backward`` needs of it, which returns a cotangent for each
    array of the arguments.
    """
    leaves = trees.leaves(args)
    trace = tracing.innermost([x._native for x in leaves])
    if trace is None and any(x.device._backend.pulls(x._native) for x in leaves):
        raise NoOwnGradientError(f"{name} has a rule of its own")
    if not isinstance(trace, GradientTrace):  # others record the calls within
        return run(*args)[0]

    def lower(x: Any) -> Any:
        native = x._native if type(x) is Array else None
        if native.__class__ is Tracer and native.trace is trace:
            return untraced(native.value, native.home)
        return x

    inner = tuple(trees.mapped(lower, tree) for tree in args)
    output, kept = run(*inner)
    return trace.record_whole(name, leaves, output, lambda g: backward(kept, g, inner))


def _is_followed(args: Sequence[Any]) -> bool:
    """Tell whether a gradient is taken of one of the arguments."""
    natives = [x._native for x in trees.leaves(tuple(args))]
    return isinstance(tracing.innermost(natives), GradientTrace)


def _unchanged(function: Function, args: tuple[Any, ...]) -> Any:
    """Call a function of trees whose assignments do not reach its arguments."""
    trace = ValueTrace()
    follow = trace.follow
    output = function(*trees.mapped(lambda x: follow(x) if is_floating(x) else x, args))
    trace.ended = _ENDED
    return trees.mapped(lambda x: trace.value(x) if type(x) is Array else x, output)


def checkpoint(function: Function, /) -> Function:
    """Return a function that keeps nothing for its gradient but its arguments.

    What a gradient needs of the calls within is computed again on the way back: memory is traded
    for time.

    Parameters
    ----------
    function : callable
        Takes arrays, and trees of them, as positional arguments; those that it takes from outside
        have no gradient, and are refused.

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

    @functools.wraps(function)
    def kept(*args: Any) -> Any:
        def run(*inner: Any) -> tuple[Any, Any]:
            if _is_followed(inner):
                # Another wrapper, since a function that calls itself holds itself.
                return checkpoint(function)(*inner), None
            return _unchanged(function, inner), None

        def backward(_: Any, g: Any, inner: tuple[Any, ...]) -> Sequence[Any]:
            def of_arrays(arrays: Sequence[Array]) -> list[Array]:
                each = iter(arrays)
                again = trees.mapped(lambda x: next(each) if is_floating(x) else x, inner)
                return trees.leaves(function(*again))

            leaves = trees.leaves(inner)
            floating = [x for x in leaves if is_floating(x)]
            pulled = pulling.called(of_arrays, floating, _ENDED, once=True)
            parts = iter(pulled.pull(trees.leaves(g)))
            return [next(parts) if is_floating(x) else None for x in leaves]

        return _recorded("checkpoint", run, args, backward)

    return kept


_ENDED = "an array that checkpoint traced is used afterwards: return it from the function"


class custom_vjp:  # noqa: N801  (used as a decorator, as in JAX)
    """A function with a derivative that its author gives.

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
    ... def _(kept, g):  # the gradient passes through
    ...     return (g,)
    >>> pa.grad(lambda x: pa.sum(clipped(x)))(pa.asarray([0.5, 3.0]))
    Array([1., 1.], dtype=float64, device='numpy:cpu:0')
    """

    def __init__(self, function: Function) -> None:
        check_function("custom_vjp", function)
        self._function = function
        self._forward: Function | None = None
        self._backward: Function | None = None
        functools.update_wrapper(self, function)

    def defvjp(self, *functions: Function) -> Any:
        """Give the derivative.

        Parameters
        ----------
        *functions : callable
            ``backward(kept, cotangents)`` returns a tuple with the cotangent of each argument,
            None where there is none. By default ``kept`` are the arguments; ``defvjp(forward,
            backward)`` takes a function before it that is called instead of the function itself and
            returns ``(output, kept)``.

        Returns
        -------
        callable
            The last function.
        """
        if not 1 <= len(functions) <= 2:
            raise TypeError(f"defvjp takes (backward) or (forward, backward), got {len(functions)}")
        for one in functions:
            check_function("defvjp", one)
        self._forward = functions[0] if len(functions) == 2 else None
        self._backward = functions[-1]
        return functions[-1]

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        if self._backward is None:
            raise TypeError(
                f"{self._function.__name__} is a custom_vjp without a derivative; give it one with "
                f"@{self._function.__name__}.defvjp"
            )
        derivative = self._backward

        def run(*inner: Any) -> tuple[Any, Any]:
            if self._forward is not None:
                return self._forward(*inner)  # type: ignore[no-any-return]
            return (self if _is_followed(inner) else self._function)(*inner), inner

        def backward(kept: Any, g: Any, inner: tuple[Any, ...]) -> Sequence[Any]:
            found = derivative(kept, g)
            if not isinstance(found, tuple) or len(found) != len(inner):
                raise TypeError(
                    f"the derivative of {self._function.__name__} returned {described(found)}; it "
                    f"is a tuple with one cotangent, or None, for each of {len(inner)} arguments"
                )
            return [g for tree, part in zip(inner, found, strict=True) for g in leaves(tree, part)]

        def leaves(tree: Any, part: Any) -> list[Any]:
            own = trees.leaves(tree)
            if part is None:
                return [None] * len(own)
            given = [g for _, g in trees.arrays(part)]
            if len(given) != len(own):
                raise ValueError(
                    f"the derivative of {self._function.__name__} returned {len(given)} cotangents "
                    f"for an argument of {len(own)} arrays; return a tree like the argument"
                )
            for x, g in zip(own, given, strict=True):
                name = f"the cotangent of an argument of {self._function.__name__}"
                check_cotangent(name, x, g, "argument")
            return given

        return _recorded(self._function.__name__, run, args, backward)
