"""``cond``, ``while_loop`` and ``scan``: control flow that depends on values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from portarray._array.array import Array
from portarray._namespace import pa
from portarray._transforms import tracing
from portarray._transforms.compiling.codegen import replay
from portarray._transforms.compiling.graph import Capture
from portarray._transforms.gradient_arguments import described
from portarray._transforms.recording import recording
from portarray._transforms.tracer import Tracer
from portarray._transforms.tracing import Trace
from portarray._trees import array_trees
from portarray.errors import TracedArrayError

__all__ = ["cond", "scan", "while_loop"]

Function = Callable[..., Any]


def cond(predicate: Any, true: Function, false: Function, /, *operands: Any) -> Any:
    """Call one of two functions, as a predicate chooses.

    Parameters
    ----------
    predicate : bool or Array
        A truth value; an array must be 0-d.
    true, false : callable
        Take `operands`; they return trees of the same structure, with arrays of the same shapes and
        dtypes.
    *operands : Array or tree of Array
        Their arguments.

    Returns
    -------
    Array or tree of Array
        The output of `true` or `false`.

    Raises
    ------
    TypeError, ValueError
        If `predicate` is not a truth value, or the outputs in a compiled function differ in
        structure, shapes or dtypes.

    See Also
    --------
    where : Choose element by element.

    Notes
    -----
    If :func:`compile` traces the predicate, or it is one of the examples of :func:`vmap`, both
    functions run and one of the results is chosen. Otherwise only one function runs.

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
            f"cond: the predicate has shape {predicate.shape} and dtype {predicate.dtype}, not () "
            f"and bool\nHint: reduce it with pa.any or pa.all, or compare it with 0"
        )
    if _undecided([predicate]) is None:
        return (true if bool(predicate) else false)(*operands)
    yes, no = true(*operands), false(*operands)
    _check_alike("cond", yes, no, "true", "false")
    alternatives = iter([x for _, x in array_trees.arrays(no)])

    def chosen(x: Any) -> Any:
        alternative = next(alternatives)
        return pa.where(predicate, x, alternative) if type(x) is Array else x

    return array_trees.mapped(chosen, yes)


def while_loop(condition: Function, body: Function, initial: Any, /) -> Any:
    """Call a function repeatedly, as long as a condition holds.

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
        If the body in a compiled function returns a state of another structure, shape or dtype.

    Notes
    -----
    Gradients need a loop that is not compiled, because its number of steps must be known.

    Examples
    --------
    >>> import portarray as pa
    >>> double = pa.compile(lambda x: pa.while_loop(lambda x: x < 100, lambda x: x * 2, x))
    >>> double(pa.asarray(3.0))
    Array(192., dtype=float64, device='numpy:cpu:0')
    """
    leaves = array_trees.leaves(initial)
    outer = _undecided(leaves)
    if outer is None:
        state = initial
        while bool(condition(state)):
            state = body(state)
        return state
    if any(x._native.__class__ is Tracer and x._native.trace is not outer for x in leaves):
        raise TracedArrayError(
            "while_loop: a gradient through it in a compiled function needs a known number of "
            "steps\nHint: take the gradient outside the compiled function, or use pa.scan"
        )
    return _looped(condition, body, initial, leaves)


def _looped(condition: Function, body: Function, initial: Any, leaves: Sequence[Array]) -> Any:
    """Record a loop as one call of the surrounding trace."""
    test, outer_of_test = _subprogram("condition", condition, initial, is_state=False)
    step, outer_of_step = _subprogram("body", body, initial, is_state=True)
    home = leaves[0].device._home
    read, native = home._backend.read_host, home.native
    count, split = len(leaves), len(leaves) + len(outer_of_test)

    def loop(initial: Sequence[Any], others: Sequence[Any]) -> tuple[Any, ...]:
        state = tuple(initial)
        of_test, of_step = others[: split - count], others[split - count :]
        while read(test(*state, *of_test)[0], native):
            state = step(*state, *of_step)
        return state

    if any(x.device._home is not home for x in leaves):
        devices = sorted({str(x.device) for x in leaves})
        raise ValueError(
            f"while_loop: the state of a compiled loop must be on one device, not on "
            f"{' and '.join(devices)}"
        )
    recorded = recording("while_loop", loop, home)
    outputs = recorded([x._native for x in leaves], [*outer_of_test, *outer_of_step])
    natives = iter(outputs)
    return array_trees.mapped(
        lambda x: tracing.untraced(next(natives), home) if type(x) is Array else x, initial
    )


def _subprogram(role: str, function: Function, state: Any, *, is_state: bool) -> tuple[Any, Any]:
    """Return a function of native arrays, and the tracers of outer traces that it uses."""
    capture = Capture()

    try:
        output = function(
            array_trees.mapped(lambda x: capture.argument(x) if type(x) is Array else x, state)
        )
    finally:
        capture.ended = f"while_loop: an array of the {role} is used outside it"
    if is_state:
        _check_alike("while_loop", output, state, role, "initial")
    elif type(output) is not Array or output.shape != () or output.dtype != bool:
        raise TypeError(
            f"while_loop: the condition returned {described(output)}, not an array of shape () "
            f"and dtype bool"
        )
    graph = capture.graph([_as_tracer(x, capture) for x in array_trees.leaves(output)])
    return replay(graph, graph.nodes), capture.borrowed


def _as_tracer(x: Array, capture: Capture) -> Tracer:
    """Return an output as a tracer, also if it does not depend on the state."""
    native = x._native
    return native if native.__class__ is Tracer else Tracer(native, capture, 0, x.device)


def scan(function: Function, initial: Any, xs: Any, /) -> tuple[Any, Any]:
    """Call a function for each element of arrays, passing on a state.

    Parameters
    ----------
    function : callable
        Takes the state and the elements of `xs` at one index of their first axis; returns the next
        state and a tree of arrays.
    initial : Array or tree of Array
        The first state.
    xs : Array or tree of Array
        Arrays whose first axes have the same length, at least 1.

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
    A compiled function contains the calls of every step.

    Examples
    --------
    >>> import portarray as pa
    >>> last, sums = pa.scan(lambda s, x: (s + x, s + x), pa.asarray(0.0), pa.asarray([1.0, 2, 3]))
    >>> sums
    Array([1., 3., 6.], dtype=float64, device='numpy:cpu:0')
    """
    leaves = array_trees.leaves(xs)
    lengths = {x.shape[0] if x.ndim else 0 for x in leaves}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            f"scan: the first axes of the arrays must have the same length, at least 1; the shapes "
            f"are {', '.join(str(x.shape) for x in leaves) or 'none'}"
        )
    state = initial
    values = []
    for n in range(lengths.pop()):
        state, value = function(state, array_trees.mapped(partial(_element, n), xs))
        values.append(value)
    columns = zip(
        *([x for _, x in array_trees.arrays(step_value)] for step_value in values), strict=True
    )
    stacked = iter([pa.stack(list(column)) for column in columns])
    return state, array_trees.mapped(lambda _: next(stacked), values[0])


def _element(n: int, x: Any) -> Any:
    return x[n, ...] if type(x) is Array else x


def _undecided(arrays: Sequence[Any]) -> Trace | None:
    """Return the trace among arrays that cannot follow values, None if there is none."""
    for x in arrays:
        native = x._native
        while native.__class__ is Tracer:
            if not native.trace.follows_values:
                return native.trace
            native = native.value
    return None


def _check_alike(
    caller: str, first_tree: Any, second_tree: Any, first_name: str, second_name: str
) -> None:
    first = [(path, x) for path, x in array_trees.arrays(first_tree) if type(x) is Array]
    second = [(path, x) for path, x in array_trees.arrays(second_tree) if type(x) is Array]
    if [path for path, _ in first] != [path for path, _ in second]:
        raise ValueError(
            f"{caller}: {first_name} and {second_name} have different structures, with arrays at "
            f"{[path for path, _ in first]} and {[path for path, _ in second]}"
        )
    for (path, x), (_, y) in zip(first, second, strict=True):
        if x.shape != y.shape or x.dtype != y.dtype:
            raise ValueError(
                f"{caller}: the array{path} of {first_name} has shape {x.shape} and dtype "
                f"{x.dtype}, but that of {second_name} has {y.shape} and {y.dtype}"
            )
