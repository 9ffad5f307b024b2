"""``pa.grad`` and its relatives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from portarray._array.array import Array
from portarray._transforms import pulling, trees
from portarray._transforms.gradient_arguments import (
    check_cotangent,
    check_directions,
    check_function,
    described,
    name_of,
    numbers_of,
    pair,
    parameters,
)
from portarray._transforms.standard import pa

__all__ = [
    "grad",
    "hvp",
    "jacobian",
    "jvp",
    "value_and_grad",
    "vjp",
]

Function = Callable[..., Any]


class _Pulled:
    """A function that was called with some arguments followed, ready to be run backwards."""

    __slots__ = ("_called", "_leaves", "aux", "inputs", "name", "output")

    def __init__(
        self, what: str, function: Function, args: Sequence[Any], named: dict[str, Any],
        followed: Sequence[int], *, has_aux: bool = False, once: bool = False,
    ) -> None:  # fmt: skip
        self.name = name = name_of(function)
        self.inputs = [args[n] for n in followed]
        leaves: list[Array] = []
        for n in followed:
            leaves += parameters(what, function, n, args[n])
        self._leaves = leaves
        returned: dict[str, Any] = {}  # not self, which keeps what keeps of_arrays

        def of_arrays(arrays: Sequence[Array]) -> list[Array]:
            each = iter(arrays)
            given = list(args)
            for n in followed:
                given[n] = trees.refilled(args[n], each)
            output = function(*given, **named)
            if has_aux:
                output, returned["aux"] = pair(what, name, output)
            returned["output"] = output
            return trees.leaves(output)

        self._called = called = pulling.called(
            of_arrays,
            leaves,
            f"an array that {what} traced in {name} is used after {what} has ended: return it "
            f"from the function (has_aux=True) instead of keeping it",
            once=once,
        )
        if not called.outputs and what != "grad":  # which says what it got
            raise TypeError(
                f"{what} needs a function that returns arrays; {self.name} returned "
                f"{described(returned['output'])}"
            )
        self.output = trees.refilled(returned["output"], iter(called.outputs))
        self.aux: Any = None
        if has_aux:
            value = called.value
            self.aux = trees.mapped(lambda x: value(x) if type(x) is Array else x, returned["aux"])

    def pull(self, cotangents: Any) -> tuple[Any, ...]:
        """Return the cotangents of the followed arguments."""
        given = trees.leaves(cotangents)
        if len(self._called.outputs) != len(given):
            raise ValueError(
                f"{self.name} returned {len(self._called.outputs)} arrays, and there are "
                f"{len(given)} cotangents; pass a tree like the output"
            )
        for y, g in zip(self._called.outputs, given, strict=True):
            check_cotangent(f"the cotangent of {self.name}", y, g)
        return self.pulled(given)

    def pulled(self, cotangents: Sequence[Array]) -> tuple[Any, ...]:
        """Do the same for cotangents that are right."""
        parts: list[Any] = list(self._called.pull(cotangents))
        for n, part in enumerate(parts):
            if part is None:
                parts[n] = pa.zeros_like(self._leaves[n])
        each = iter(parts)
        return tuple([trees.refilled(tree, each) for tree in self.inputs])


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

    Examples
    --------
    >>> import portarray as pa
    >>> def loss(w, x, y):
    ...     error = x @ w - y
    ...     return pa.sum(error * error)
    >>> w, x, y = pa.asarray([1.0, 2.0]), pa.asarray([[3.0, 0.0], [0.0, 4.0]]), pa.ones(2)
    >>> value, gradient = pa.value_and_grad(loss)(w, x, y)
    >>> float(value), gradient.tolist()
    (53.0, [12.0, 56.0])
    """
    check_function("value_and_grad", function)

    @functools.wraps(function)
    def both(*args: Any, **named: Any) -> Any:
        numbers = numbers_of("grad", argnums, args)
        pulled = _Pulled("grad", function, args, named, numbers, has_aux=has_aux, once=True)
        y = pulled.output
        if type(y) is not Array or y._table.kind != "f" or y.shape:
            raise TypeError(
                f"grad needs a function that returns one real number, an array of shape () and a "
                f"floating-point dtype; {pulled.name} returned {described(y)}. Sum it, or use "
                f"pa.vjp or pa.jacobian"
            )
        found = pulled.pulled([pa.ones_like(y)])
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
    check_function("grad", function)
    both = value_and_grad(function, argnums, has_aux=has_aux)

    @functools.wraps(function)
    def gradient(*args: Any, **named: Any) -> Any:
        value, found = both(*args, **named)
        return (found, value[1]) if has_aux else found

    return gradient


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
    check_function("vjp", function)
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
    check_function("jvp", function)
    primals, tangents = check_directions("jvp", primals, tangents)
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
    check_function("jacobian", function)

    @functools.wraps(function)
    def rows(*args: Any, **named: Any) -> Any:
        numbers = numbers_of("jacobian", argnums, args)
        pulled = _Pulled("jacobian", function, args, named, numbers)
        y = pulled.output
        if type(y) is not Array or not pa.isdtype(y.dtype, "real floating"):
            raise TypeError(
                f"jacobian needs a function that returns one array of a real floating-point dtype; "
                f"{pulled.name} returned {described(y)}"
            )
        for tree in pulled.inputs:
            for path, x in trees.arrays(tree):
                if not pa.isdtype(x.dtype, "real floating"):
                    raise TypeError(
                        f"jacobian of {pulled.name}: the argument{path} is {described(x)}; "
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
    check_function("hvp", function)
    primals, tangents = check_directions("hvp", primals, tangents)
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
