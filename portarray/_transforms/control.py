"""Branches and loops that depend on values, in functions that are compiled too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from portarray._array.array import Array
from portarray._transforms import tracing, trees
from portarray._transforms.compiling.graph import Capture
from portarray._transforms.compiling.program import replay
from portarray._transforms.gradient_arguments import described
from portarray._transforms.standard import pa
from portarray._transforms.tracing import Tracer
from portarray.errors import TracedArrayError

__all__ = ["cond", "scan", "while_loop"]

Function = Callable[..., Any]


def cond(predicate: Any, true: Function, false: Function, /, *operands: Any) -> Any:
    """Call one of two functions.

    Parameters
    ----------
    predicate : bool or Array
        A truth value; an array has no axes.
    true, false : callable
        Take `operands`; they return trees of the same structure, with arrays of the same shapes and
        dtypes.
    *operands : Array or tree of Array
        What the functions take.

    Returns
    -------
    Array or tree of Array
        What the function returns that `predicate` chooses.

    Raises
    ------
    TypeError, ValueError
        If `predicate` is no truth value, or the outputs of a compiled function differ.

    See Also
    --------
    where : Chooses element by element.

    Notes
    -----
    Where :func:`compile` traces the predicate, both functions are computed and one of the results
    is chosen; elsewhere one is called.

    Examples
    --------
    >>> import portarray as pa
    >>> f = pa.compile(lambda x: pa.cond(pa.sum(x) > 0, pa.exp, pa.abs, x))
    >>> f(pa.asarray([-4.0, 1.0]))
    Array([4., 1.], dtype=float64, device='numpy:cpu:0')
    """
    if type(predicate) is not Array:
        return (true if bool(predicate) else false)(*operands)
    if predicate.shape != () or predicate.dtype != bool:
        raise TypeError(
            f"cond takes a truth value; the predicate has shape {predicate.shape} and dtype "
            f"{predicate.dtype}: reduce it with pa.any or pa.all, or compare it with 0"
        )
    if _capture_of([predicate]) is None:
        return (true if bool(predicate) else false)(*operands)
    yes, no = true(*operands), false(*operands)
    _check_alike("cond", yes, no, "true", "false")
    others = iter([x for _, x in trees.arrays(no)])

    def chosen(x: Any) -> Any:
        other = next(others)
        return pa.where(predicate, x, other) if type(x) is Array else x

    return trees.mapped(chosen, yes)


def while_loop(condition: Function, body: Function, initial: Any, /) -> Any:
    """Call a function again and again, as long as a condition holds.

    Parameters
    ----------
    condition : callable
        Takes the state and returns a truth value.
    body : callable
        Takes the state and returns the next one: a tree of the same structure, with arrays of the
        same shapes and dtypes.
    initial : Array or tree of Array
        The first state.

    Returns
    -------
    Array or tree of Array
        The state for which the condition does not hold.

    Raises
    ------
    TypeError, ValueError
        If the body of a compiled function returns another kind of state.

    Notes
    -----
    Gradients of it are taken where the loop itself is not compiled: how often it runs is known
    there.

    Examples
    --------
    >>> import portarray as pa
    >>> double = pa.compile(lambda x: pa.while_loop(lambda x: x < 100, lambda x: x * 2, x))
    >>> double(pa.asarray(3.0))
    Array(192., dtype=float64, device='numpy:cpu:0')
    """
    leaves = trees.leaves(initial)
    outer = _capture_of(leaves)
    if outer is None:
        state = initial
        while bool(condition(state)):
            state = body(state)
        return state
    if any(x._native.__class__ is Tracer and x._native.trace is not outer for x in leaves):
        raise TracedArrayError(
            "a gradient is being taken through pa.while_loop in a compiled function, and how often "
            "it runs is not known there: take the gradient outside of the compiled function, or "
            "use pa.scan with a number of steps"
        )
    return _looped(condition, body, initial, leaves)


def _looped(condition: Function, body: Function, initial: Any, leaves: Sequence[Array]) -> Any:
    """Record a loop as one call of the trace around."""
    test, outer_of_test = _subprogram("condition", condition, initial, is_state=False)
    step, outer_of_step = _subprogram("body", body, initial, is_state=True)
    home = leaves[0].device._seen
    read, native = home._backend.read_host, home.native
    count, split = len(leaves), len(leaves) + len(outer_of_test)

    def loop(initial: Sequence[Any], others: Sequence[Any]) -> tuple[Any, ...]:
        state = tuple(initial)
        of_test, of_step = others[: split - count], others[split - count :]
        while read(test(*state, *of_test)[0], native):
            state = step(*state, *of_step)
        return state

    if any(x.device._seen is not home for x in leaves):
        raise ValueError("while_loop in a compiled function takes a state on one device")
    recorded = tracing.recording("while_loop", loop, home)
    found = recorded([x._native for x in leaves], [*outer_of_test, *outer_of_step])
    each = iter(found)
    return trees.mapped(
        lambda x: tracing.untraced(next(each), home) if type(x) is Array else x, initial
    )


def _subprogram(what: str, function: Function, state: Any, *, is_state: bool) -> tuple[Any, Any]:
    """Return a function of native arrays, and the traced ones that it takes from outside."""
    capture = Capture()

    def follow(x: Any) -> Any:
        return capture.argument(x) if type(x) is Array else x

    try:
        output = function(trees.mapped(follow, state))
    finally:
        capture.ended = f"an array of the {what} of while_loop is used outside of it"
    if is_state:
        _check_alike("while_loop", output, state, what, "initial")
    elif type(output) is not Array or output.shape != () or output.dtype != bool:
        raise TypeError(
            f"while_loop: the condition returned {described(output)}; it is a truth value, an "
            f"array of shape () and dtype bool"
        )
    leaves = [x._native for x in trees.leaves(output)]
    graph = capture.graph(leaves)
    return replay(graph, graph.nodes), capture.borrowed


def scan(function: Function, initial: Any, xs: Any, /) -> tuple[Any, Any]:
    """Call a function for each element of arrays, and pass a state on.

    Parameters
    ----------
    function : callable
        Takes the state and the elements of `xs` at one place of their first axis; returns the next
        state and a tree of arrays.
    initial : Array or tree of Array
        The first state.
    xs : Array or tree of Array
        Arrays whose first axes have one length, at least 1.

    Returns
    -------
    tuple
        The last state, and the second values, stacked along a new first axis.

    Raises
    ------
    ValueError
        If the lengths differ or are 0.

    Notes
    -----
    A compiled function holds the calls of each step.

    Examples
    --------
    >>> import portarray as pa
    >>> last, sums = pa.scan(lambda s, x: (s + x, s + x), pa.asarray(0.0), pa.asarray([1.0, 2, 3]))
    >>> sums
    Array([1., 3., 6.], dtype=float64, device='numpy:cpu:0')
    """
    leaves = trees.leaves(xs)
    lengths = {x.shape[0] if x.ndim else 0 for x in leaves}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            f"scan goes over arrays whose first axes have one length, at least 1; it got "
            f"{', '.join(str(x.shape) for x in leaves) or 'no arrays'}"
        )
    state = initial
    found = []
    for n in range(lengths.pop()):
        state, value = function(state, trees.mapped(partial(_place, n), xs))
        found.append(value)
    columns = zip(*([x for _, x in trees.arrays(one)] for one in found), strict=True)
    stacked = iter([pa.stack(list(column)) for column in columns])
    return state, trees.mapped(lambda _: next(stacked), found[0])


def _place(n: int, x: Any) -> Any:
    return x[n, ...] if type(x) is Array else x


def _capture_of(arrays: Sequence[Any]) -> Capture | None:
    """Return the compilation that traces arrays, None if there is none."""
    for x in arrays:
        native = x._native
        while native.__class__ is Tracer:
            if isinstance(native.trace, Capture):
                return native.trace
            native = native.value
    return None


def _check_alike(what: str, one: Any, other: Any, name: str, other_name: str) -> None:
    first = [(path, x) for path, x in trees.arrays(one) if type(x) is Array]
    second = [(path, x) for path, x in trees.arrays(other) if type(x) is Array]
    if [path for path, _ in first] != [path for path, _ in second]:
        raise ValueError(
            f"{what}: {name} and {other_name} must be trees of one structure; they have arrays at "
            f"{[path for path, _ in first]} and {[path for path, _ in second]}"
        )
    for (path, x), (_, y) in zip(first, second, strict=True):
        if x.shape != y.shape or x.dtype != y.dtype:
            raise ValueError(
                f"{what}: the array{path} of {name} has shape {x.shape} and dtype {x.dtype}, that "
                f"of {other_name} {y.shape} and {y.dtype}; they must be equal"
            )
