"""``pa.grad`` and its relatives."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from portarray._array.array import Array
from portarray._array.operands import refused
from portarray._transforms import pulling, tracing, trees
from portarray._transforms.compiling.graph import Capture
from portarray._transforms.standard import pa
from portarray._transforms.tape import GradientTrace, ValueTrace
from portarray._transforms.tracing import Tracer, untraced
from portarray.backends.types import NoOwnGradientError

__all__ = [
    "checkpoint",
    "custom_vjp",
    "grad",
    "hvp",
    "jacobian",
    "jvp",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]

Function = Callable[..., Any]


class _Pulled:
    """A function that was called with some arguments followed, ready to be run backwards."""

    def __init__(
        self, what: str, function: Function, args: Sequence[Any], named: dict[str, Any],
        followed: Sequence[int], *, has_aux: bool = False, once: bool = False,
    ) -> None:  # fmt: skip
        self.name = getattr(function, "__name__", repr(function))
        self.inputs = [args[n] for n in followed]
        for n in followed:
            _check_parameters(what, function, n, args[n])

        name = self.name
        returned: dict[str, Any] = {}  # not self, which keeps what keeps of_arrays

        def of_arrays(arrays: Sequence[Array]) -> list[Array]:
            each = iter(arrays)
            given = list(args)
            for n in followed:
                given[n] = trees.mapped(lambda _: next(each), args[n])
            output = function(*given, **named)
            returned["aux"] = None
            if has_aux:
                output, returned["aux"] = _pair(what, name, output)
            returned["output"] = output
            return _arrays(output)

        leaves = [x for tree in self.inputs for x in _arrays(tree)]
        self._called = pulling.called(
            of_arrays,
            leaves,
            f"an array that {what} traced in {self.name} is used after {what} has ended: return it "
            f"from the function (has_aux=True) instead of keeping it",
            once=once,
        )
        if not self._called.outputs and what != "grad":  # which says what it got
            raise TypeError(
                f"{what} needs a function that returns arrays; {self.name} returned "
                f"{_described(returned['output'])}"
            )
        outputs = iter(self._called.outputs)
        self.output = trees.mapped(
            lambda x: next(outputs) if type(x) is Array else x, returned["output"]
        )
        value = self._called.value
        self.aux = trees.mapped(lambda x: value(x) if type(x) is Array else x, returned["aux"])

    def pull(self, cotangents: Any) -> tuple[Any, ...]:
        """Return the cotangents of the followed arguments."""
        given = _arrays(cotangents)
        if len(self._called.outputs) != len(given):
            raise ValueError(
                f"{self.name} returned {len(self._called.outputs)} arrays, and there are "
                f"{len(given)} cotangents; pass a tree like the output"
            )
        for y, g in zip(self._called.outputs, given, strict=True):
            _check_cotangent(f"the cotangent of {self.name}", y, g)
        each = iter(self._called.pull(given))

        def cotangent(x: Array) -> Array:
            part = next(each)
            return pa.zeros_like(x) if part is None else part

        return tuple(trees.mapped(cotangent, tree) for tree in self.inputs)


def _arrays(tree: Any) -> list[Array]:
    return trees.leaves(tree)


def _pair(what: str, name: str, output: Any) -> tuple[Any, Any]:
    if isinstance(output, tuple) and len(output) == 2:
        return output
    raise TypeError(
        f"{what} with has_aux=True needs a function that returns a pair, its value and anything "
        f"else; {name} returned {_described(output)}"
    )


def _described(x: Any) -> str:
    if type(x) is Array:
        return f"an array of shape {x.shape} and dtype {x.dtype}"
    return f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")


def _parameter(function: Function, n: int) -> str:
    try:
        return list(inspect.signature(function).parameters)[n]
    except (TypeError, ValueError, IndexError):  # no signature, or *args
        return f"argument {n}"


def _check_parameters(what: str, function: Function, n: int, tree: Any) -> None:
    """Raise if a followed argument holds something else than arrays of floating-point dtypes."""
    if type(tree) is Array and _is_floating(tree):
        return
    leaves = list(trees.arrays(tree))
    for path, x in leaves:
        if _is_floating(x):
            continue
        where = f"{_parameter(function, n)}{path}"
        fix = (
            f"derivatives need a floating-point dtype: pa.astype({where}, pa.float32)"
            if type(x) is Array
            else "derivatives are taken with respect to arrays: make one with pa.asarray, or pass "
            "it as another argument"
        )
        name = getattr(function, "__name__", repr(function))
        raise TypeError(f"{what} of {name}: {where} is {_described(x)}; {fix}")
    if not leaves:
        raise TypeError(f"{what}: {_parameter(function, n)} holds no arrays")


def _check_cotangent(what: str, y: Array, g: Any, of: str = "output") -> None:
    if type(g) is not Array:
        raise refused(g, what, scalars=False)
    if g.shape != y.shape or g.dtype != y.dtype:
        raise ValueError(
            f"{what} has shape {g.shape} and dtype {g.dtype}; the {of} has shape {y.shape} and "
            f"dtype {y.dtype}, and they must be equal"
        )


def _check_directions(what: str, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Return both as tuples; raise if the second are no trees like the first."""
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(
                f"{what} takes {name} as a tuple with one entry for each argument, (x,), and got "
                f"{_described(given)}"
            )
    ours, theirs = ([*trees.arrays(tuple(tree))] for tree in (primals, tangents))
    if [path for path, _ in ours] != [path for path, _ in theirs]:
        raise ValueError(
            f"{what}: there are {len(ours)} arrays in primals and {len(theirs)} in tangents; "
            f"tangents are trees like primals"
        )
    for (path, x), (_, v) in zip(ours, theirs, strict=True):
        if type(x) is Array:  # others are refused as arguments
            _check_cotangent(f"{what}: tangents{path}", x, v, "argument")
    return tuple(primals), tuple(tangents)


def _numbers(what: str, argnums: Any, args: Sequence[Any]) -> tuple[int, ...]:
    if not isinstance(argnums, (int, Sequence)) or not all(
        isinstance(n, int) for n in (() if isinstance(argnums, int) else argnums)
    ):
        raise TypeError(f"{what}: argnums is an int or a sequence of them, not {argnums!r}")
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise ValueError(
                f"{what}: argnums={argnums!r}, but there are {len(args)} positional arguments; "
                f"they are counted from 0"
            )
    found = tuple(n % len(args) for n in numbers)
    if not found or len(set(found)) < len(found):
        raise ValueError(f"{what}: argnums={argnums!r} names no argument, or one of them twice")
    return found


def value_and_grad(
    function: Function, /, argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Function:
    """Return a function that computes the value of a function and its gradient.

    Parameters
    ----------
    function : callable
        Returns one number: an array of shape ``()`` and a real floating-point dtype.
    argnums : int or sequence of int, default: 0
        The positional arguments with respect to which the gradient is taken: arrays of
        floating-point dtypes, or trees of them.
    has_aux : bool, default: False
        Whether `function` returns a pair, of which the second part is passed on.

    Returns
    -------
    callable
        Takes the arguments of `function` and returns ``(value, gradient)``, the gradient a tree
        like the argument, or a tuple of them for a sequence `argnums`. With `has_aux` it returns
        ``((value, aux), gradient)``.

    Raises
    ------
    TypeError
        If an argument holds something else than arrays of floating-point dtypes, or `function`
        returns something else than one number.

    See Also
    --------
    grad : The gradient alone, with the rules for complex numbers and ties.
    """
    _check_function("value_and_grad", function)

    @functools.wraps(function)
    def both(*args: Any, **named: Any) -> Any:
        numbers = _numbers("grad", argnums, args)
        pulled = _Pulled("grad", function, args, named, numbers, has_aux=has_aux, once=True)
        y = pulled.output
        if type(y) is not Array or y.shape != () or not pa.isdtype(y.dtype, "real floating"):
            raise TypeError(
                f"grad needs a function that returns one real number, an array of shape () and a "
                f"floating-point dtype; {pulled.name} returned {_described(y)}. Sum it, or use "
                f"pa.vjp or pa.jacobian"
            )
        found = pulled.pull(pa.ones_like(y))
        gradient = found[0] if isinstance(argnums, int) else found
        return ((y, pulled.aux) if has_aux else y), gradient

    return both


def grad(
    function: Function, /, argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Function:
    """Return a function that computes the gradient of a function.

    The function is run once, its calls are recorded, and run through backwards. It may branch on
    values, use loops, and change arrays in place; gradients may be taken of gradients.

    Parameters
    ----------
    function : callable
        Returns one number: an array of shape ``()`` and a real floating-point dtype.
    argnums : int or sequence of int, default: 0
        The positional arguments with respect to which the gradient is taken: arrays of
        floating-point dtypes, or trees of them.
    has_aux : bool, default: False
        Whether `function` returns a pair, of which the second part is passed on.

    Returns
    -------
    callable
        Takes the arguments of `function` and returns the gradient, a tree like the argument, or a
        tuple of them for a sequence `argnums`. With `has_aux` it returns ``(gradient, aux)``.

    Raises
    ------
    TypeError
        If an argument holds something else than arrays of floating-point dtypes, or `function`
        returns something else than one number.

    Notes
    -----
    Of a complex argument ``z = a + bj`` the gradient is ``dL/da + 1j * dL/db``, the direction in
    which L grows fastest, as in PyTorch; JAX's is its conjugate. Equal extremes (``max``,
    ``maximum``) share the gradient; ``abs``, ``sign`` and norms have 0 at 0.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.grad(lambda x: pa.sum(x**3))(pa.asarray([1.0, 2.0]))
    Array([ 3., 12.], dtype=float64, device='numpy:cpu:0')
    """
    _check_function("grad", function)
    both = value_and_grad(function, argnums, has_aux=has_aux)

    @functools.wraps(function)
    def gradient(*args: Any, **named: Any) -> Any:
        value, found = both(*args, **named)
        return (found, value[1]) if has_aux else found

    return gradient


def _check_function(what: str, function: Any) -> None:
    if not callable(function):
        raise TypeError(f"{what} takes a function, not {_described(function)}")


def vjp(function: Function, /, *primals: Any, has_aux: bool = False) -> Any:
    """Call a function and return its output with the function that pulls cotangents back.

    Parameters
    ----------
    function : callable
        Takes `primals` and returns a tree of arrays.
    *primals : Array or tree of Array
        Arrays of floating-point dtypes.
    has_aux : bool, default: False
        Whether `function` returns a pair, of which the second part is passed on.

    Returns
    -------
    tuple
        ``(output, pull)``, with `has_aux` ``(output, pull, aux)``. ``pull(cotangents)`` takes a
        tree like the output and returns a tuple of trees like `primals`: the products of the
        cotangents with the Jacobians. It may be called several times.

    Examples
    --------
    >>> import portarray as pa
    >>> y, pull = pa.vjp(lambda x: x**2, pa.asarray([1.0, 3.0]))
    >>> pull(pa.asarray([1.0, 10.0]))
    (Array([ 2., 60.], dtype=float64, device='numpy:cpu:0'),)
    """
    _check_function("vjp", function)
    pulled = _Pulled("vjp", function, primals, {}, range(len(primals)), has_aux=has_aux)
    if has_aux:
        return pulled.output, pulled.pull, pulled.aux
    return pulled.output, pulled.pull


def jvp(function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Call a function and return its output and the derivative in a direction.

    Parameters
    ----------
    function : callable
        Takes `primals` and returns a tree of arrays.
    primals : sequence
        Arrays of floating-point dtypes, or trees of them.
    tangents : sequence
        The direction: trees like `primals`.

    Returns
    -------
    tuple
        ``(output, tangents)``: the output and the product of the Jacobian with the direction, a
        tree like the output. Computed as the pull-back of a pull-back, which is linear, so that it
        costs about twice a gradient.

    Examples
    --------
    >>> import portarray as pa
    >>> x, v = pa.asarray([1.0, 3.0]), pa.asarray([1.0, 10.0])
    >>> pa.jvp(lambda x: x**2, (x,), (v,))[1]
    Array([ 2., 60.], dtype=float64, device='numpy:cpu:0')
    """
    _check_function("jvp", function)
    primals, tangents = _check_directions("jvp", primals, tangents)
    pulled = _Pulled("jvp", function, primals, {}, range(len(primals)))
    zeros = trees.mapped(pa.zeros_like, pulled.output)
    _, push = vjp(pulled.pull, zeros)
    return pulled.output, push(tangents)[0]


def jacobian(function: Function, /, argnums: int | Sequence[int] = 0) -> Function:
    """Return a function that computes the Jacobian of a function.

    Parameters
    ----------
    function : callable
        Returns one array of a real floating-point dtype.
    argnums : int or sequence of int, default: 0
        The positional arguments with respect to which derivatives are taken: arrays of real
        floating-point dtypes, or trees of them.

    Returns
    -------
    callable
        Takes the arguments of `function` and returns, for each array of the argument, an array of
        shape ``output.shape + argument.shape``; computed by one pass backwards for each element of
        the output.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.jacobian(lambda x: x * x[0])(pa.asarray([2.0, 3.0])).tolist()
    [[4.0, 0.0], [3.0, 2.0]]
    """
    _check_function("jacobian", function)

    @functools.wraps(function)
    def rows(*args: Any, **named: Any) -> Any:
        numbers = _numbers("jacobian", argnums, args)
        pulled = _Pulled("jacobian", function, args, named, numbers)
        y = pulled.output
        if type(y) is not Array or not pa.isdtype(y.dtype, "real floating"):
            raise TypeError(
                f"jacobian needs a function that returns one array of a real floating-point dtype; "
                f"{pulled.name} returned {_described(y)}"
            )
        for tree in pulled.inputs:
            for path, x in trees.arrays(tree):
                if not pa.isdtype(x.dtype, "real floating"):
                    raise TypeError(
                        f"jacobian of {pulled.name}: the argument{path} is {_described(x)}; "
                        f"jacobian takes real arrays, use pa.vjp for complex ones"
                    )
        basis = pa.reshape(pa.eye(y.size, dtype=y.dtype, device=y.device), (y.size, *y.shape))
        found = [pulled.pull(basis[n, ...]) for n in range(y.size)]
        out = []
        for n, tree in enumerate(pulled.inputs):
            each = zip(*([x for _, x in trees.arrays(row[n])] for row in found), strict=True)

            def stacked(x: Array, each: Any = each) -> Any:
                parts = list(next(each, ()))
                shape = (*y.shape, *x.shape)
                if not parts:
                    return pa.zeros(shape, dtype=x.dtype, device=x.device)
                return pa.reshape(pa.stack(parts), shape)

            out.append(trees.mapped(stacked, tree))
        return out[0] if isinstance(argnums, int) else tuple(out)

    return rows


def hvp(function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return the product of the Hessian of a function with a direction.

    Parameters
    ----------
    function : callable
        Takes `primals` and returns one real number.
    primals : sequence
        Arrays of floating-point dtypes, or trees of them.
    tangents : sequence
        The direction: trees like `primals`.

    Returns
    -------
    tuple
        Trees like `primals`.

    Examples
    --------
    >>> import portarray as pa
    >>> x, v = pa.asarray([1.0, 3.0]), pa.asarray([1.0, 10.0])
    >>> pa.hvp(lambda x: pa.sum(x**3), (x,), (v,))
    (Array([  6., 180.], dtype=float64, device='numpy:cpu:0'),)
    """
    _check_function("hvp", function)
    primals, tangents = _check_directions("hvp", primals, tangents)
    every = tuple(range(len(primals)))
    gradient = grad(function, every)

    def slope(*args: Any) -> Any:
        products = []
        pairs = zip(trees.arrays(gradient(*args)), trees.arrays(tangents), strict=True)
        for (_, g), (_, v) in pairs:
            is_complex = pa.isdtype(g.dtype, "complex floating")
            products.append(pa.sum(pa.real(g * pa.conj(v)) if is_complex else g * v))
        return sum(products[1:], start=products[0])

    return grad(slope, every)(*primals)


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


# --- functions with a rule of their own ---------------------------------------------------------


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
    output = function(*trees.mapped(lambda x: follow(x) if _is_floating(x) else x, args))
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
    _check_function("checkpoint", function)

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
                again = trees.mapped(lambda x: next(each) if _is_floating(x) else x, inner)
                return _arrays(function(*again))

            leaves = _arrays(inner)
            floating = [x for x in leaves if _is_floating(x)]
            pulled = pulling.called(of_arrays, floating, _ENDED, once=True)
            parts = iter(pulled.pull(_arrays(g)))
            return [next(parts) if _is_floating(x) else None for x in leaves]

        return _recorded("checkpoint", run, args, backward)

    return kept


def _is_floating(x: Any) -> bool:
    return type(x) is Array and x._table.kind in "fc"


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
        _check_function("custom_vjp", function)
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
            _check_function("defvjp", one)
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
                    f"the derivative of {self._function.__name__} returned {_described(found)}; it "
                    f"is a tuple with one cotangent, or None, for each of {len(inner)} arguments"
                )
            return [g for tree, part in zip(inner, found, strict=True) for g in leaves(tree, part)]

        def leaves(tree: Any, part: Any) -> list[Any]:
            own = _arrays(tree)
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
                _check_cotangent(name, x, g, "argument")
            return given

        return _recorded(self._function.__name__, run, args, backward)
