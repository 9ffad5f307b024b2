"""``grad``, ``value_and_grad``, ``vjp``, ``jvp``, ``jacobian`` and ``hvp``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from portarray._array import call
from portarray._array.array import Array
from portarray._hashing import hashable
from portarray._namespace import pa
from portarray._transforms.batching import PLANNED
from portarray._transforms.gradient_arguments import (
    check_cotangent,
    check_directions,
    check_function,
    described,
    name_of,
    normalize_argnums,
    pair,
    parameters,
)
from portarray._transforms.planning import Plans
from portarray._transforms.vjp import compute_vjp
from portarray._transforms.vmap import vmap
from portarray._trees import array_trees
from portarray.backends.base import Backend
from portarray.errors import TracedArrayError

__all__ = ["grad", "hvp", "jacobian", "jvp", "value_and_grad", "vjp"]

Function = Callable[..., Any]

SMALL = 100_000
"""Elements of the arguments up to which gradients have plans."""

_KNOWN = PLANNED | {
    *("kernels.gelu", "kernels.layer_norm", "kernels.linear", "kernels.log_softmax"),
    *("kernels.relu", "kernels.rms_norm", "kernels.silu", "kernels.softmax"),
    "linalg.vector_norm",
}
"""Calls that plans repeat: they check no values."""


class _VJPCall:
    """A call of a function of trees, with its output and VJP.

    ``ended`` is the message of :func:`_ended`, which a function that is called often makes once.
    """

    __slots__ = ("_function", "_has_trees", "_leaves", "_vjp", "aux", "inputs", "output")

    def __init__(
        self, caller: str, function: Function, args: Sequence[Any], named: dict[str, Any],
        argnums: Sequence[int], ended: str, *, has_aux: bool = False, once: bool = False,
    ) -> None:  # fmt: skip
        self._function = function
        self.inputs = inputs = tuple(map(args.__getitem__, argnums))
        leaves: list[Array] = []
        has_trees = False
        for n, tree in zip(argnums, inputs, strict=True):
            if tree.__class__ is Array and tree._dispatch.kind in "fc":
                leaves.append(tree)
            else:
                leaves += parameters(caller, function, n, tree)
                has_trees = True
        self._leaves = leaves
        self._has_trees = has_trees
        returned: dict[str, Any] = {}  # not self: that would be a reference cycle

        def of_arrays(arrays: Sequence[Array]) -> list[Array]:
            traced_args = list(args)
            trees = array_trees.refilled(inputs, iter(arrays)) if has_trees else arrays
            for n, tree in zip(argnums, trees, strict=True):
                traced_args[n] = tree
            output = function(*traced_args, **named)
            if has_aux:
                output, returned["aux"] = pair(caller, name_of(function), output)
            returned["output"] = output
            return [output] if output.__class__ is Array else array_trees.leaves(output)

        self._vjp = computed = compute_vjp(of_arrays, leaves, ended, once=once)
        output = returned["output"]
        if not computed.outputs and caller != "grad":  # grad raises a more specific error
            raise TypeError(
                f"{caller}: {self.name} must return arrays; it returned {described(output)}"
            )
        outputs = iter(computed.outputs)
        is_leaf = output.__class__ is Array
        self.output = next(outputs) if is_leaf else array_trees.refilled(output, outputs)
        self.aux: Any = None
        if has_aux:
            value = computed.value
            self.aux = array_trees.mapped(
                lambda x: value(x) if type(x) is Array else x, returned["aux"]
            )

    @property
    def name(self) -> str:
        """The name of the function."""
        return name_of(self._function)

    def vjp_fun(self, cotangents: Any) -> tuple[Any, ...]:
        """Return the cotangents of the differentiated arguments."""
        leaves = array_trees.leaves(cotangents)
        if len(self._vjp.outputs) != len(leaves):
            raise ValueError(
                f"vjp: {self.name} returned {len(self._vjp.outputs)} arrays, but there are "
                f"{len(leaves)} cotangents\nHint: pass a tree like the output"
            )
        for y, g in zip(self._vjp.outputs, leaves, strict=True):
            check_cotangent(f"vjp: the cotangent of {self.name}", y, g)
        return self.unchecked_vjp(leaves)

    def unchecked_vjp(self, cotangents: Sequence[Array]) -> tuple[Any, ...]:
        """Return the same for cotangents with the outputs' shapes and dtypes."""
        parts: list[Any] = list(self._vjp.vjp_fun(cotangents))
        for n, part in enumerate(parts):
            if part is None:
                parts[n] = pa.zeros_like(self._leaves[n])
        if not self._has_trees:
            return tuple(parts)
        gradients: tuple[Any, ...] = array_trees.refilled(self.inputs, iter(parts))
        return gradients


def _ended(caller: str, function: Function) -> str:
    """Return the message for traced arrays that are used after a function has returned."""
    name = name_of(function)
    return (
        f"{caller}: an array traced in {name} is used after {name} has returned\n"
        f"Hint: return it from the function with has_aux=True"
    )


def value_and_grad(
    function: Function, /, argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Function:
    """Return a function that computes the value of a function and its gradient.

    Parameters
    ----------
    function : callable
        Returns one real number: an array of shape ``()`` and a real floating-point dtype.
    argnums : int or sequence of int, default: 0
        The positional arguments to differentiate: arrays of floating-point dtypes, or trees with
        such arrays. Other leaves of a tree (numbers, strings, functions) are constants, and are in
        the gradient unchanged.
    has_aux : bool, default: False
        Whether `function` returns a pair ``(value, aux)``; ``aux`` is returned unchanged.

    Returns
    -------
    callable
        Takes the arguments of `function` and returns ``(value, gradient)``, the gradient a tree
        like the argument, or a tuple of them for a sequence `argnums`. With `has_aux` it returns
        ``((value, aux), gradient)``.

    Raises
    ------
    TypeError
        If an argument does not consist of floating-point arrays, or `function` does not return
        one real number.

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
    return _derivative(function, argnums, has_aux=has_aux, with_value=True)


def _derivative(
    function: Function, argnums: int | Sequence[int], *, has_aux: bool, with_value: bool
) -> Function:
    """Return the function that ``grad`` returns, or ``value_and_grad``."""
    ended = _ended("grad", function)
    is_planned = hashable(argnums) and not has_aux  # a list may change

    def planned(function: Function) -> Function:
        return lambda *args: _differentiated(function, args, {}, argnums, ended, False, with_value)

    plans = Plans(function, planned, _KNOWN, _gain_from_plans)

    @functools.wraps(function)
    def derivative(*args: Any, **named: Any) -> Any:
        if plans.ready and not named:
            with np.errstate(all="ignore"):  # as in the way back of a tape
                output = plans.run(args)
            if output is not plans.other:
                return output
        output = _differentiated(function, args, named, argnums, ended, has_aux, with_value)
        if is_planned and not named:
            plans.count(args)
        return output

    return derivative


def _gain_from_plans(arrays: list[Array]) -> bool:
    """Return whether the calls of a tape take longer than what they compute."""
    for x in arrays:
        if x._dispatch.device._backend.__class__.vjp is not Backend.vjp:
            return False
    return sum(x.size for x in arrays) <= SMALL


def _differentiated(
    function: Function, args: tuple[Any, ...], named: dict[str, Any],
    argnums: int | Sequence[int], ended: str, has_aux: bool, with_value: bool,
) -> Any:  # fmt: skip
    """Return the gradient of a function, with its value if asked for."""
    indices = normalize_argnums("grad", argnums, args)
    vjp_call = _VJPCall("grad", function, args, named, indices, ended, has_aux=has_aux, once=True)
    y = vjp_call.output
    if type(y) is not Array or y._dispatch.kind != "f" or y._native.shape:
        raise TypeError(
            f"grad: {vjp_call.name} must return one real number, an array of shape () and a "
            f"floating-point dtype; it returned {described(y)}\n"
            f"Hint: sum the result, or use pa.vjp or pa.jacobian"
        )
    gradients = vjp_call.unchecked_vjp([call.options("ones_like", y)])
    gradient = gradients[0] if isinstance(argnums, int) else gradients
    if with_value:
        return ((y, vjp_call.aux) if has_aux else y), gradient
    return (gradient, vjp_call.aux) if has_aux else gradient


def grad(
    function: Function, /, argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Function:
    """Return a function that computes the gradient of a function.

    The function runs once, and its calls are recorded on a tape that is then run backwards. It may
    branch on values, use loops and change arrays in place. Gradients of gradients work.

    Parameters
    ----------
    function : callable
        Returns one real number: an array of shape ``()`` and a real floating-point dtype.
    argnums : int or sequence of int, default: 0
        The positional arguments to differentiate: arrays of floating-point dtypes, or trees with
        such arrays. Other leaves of a tree (numbers, strings, functions) are constants, and are in
        the gradient unchanged.
    has_aux : bool, default: False
        Whether `function` returns a pair ``(value, aux)``; ``aux`` is returned unchanged.

    Returns
    -------
    callable
        Takes the arguments of `function` and returns the gradient, a tree like the argument, or a
        tuple of them for a sequence `argnums`. With `has_aux` it returns ``(gradient, aux)``.

    Raises
    ------
    TypeError
        If an argument does not consist of floating-point arrays, or `function` does not return
        one real number.

    Notes
    -----
    The gradient for a complex argument ``z = a + bj`` is ``dL/da + 1j * dL/db``, the direction in
    which L grows fastest, as in PyTorch; JAX returns its conjugate. Equal extremes (``max``,
    ``maximum``) share the gradient. The gradient of ``abs``, ``sign`` and norms at 0 is 0.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.grad(lambda x: pa.sum(x**3))(pa.asarray([1.0, 2.0]))
    Array([ 3., 12.], dtype=float64, device='numpy:cpu:0')
    """
    check_function("grad", function)
    return _derivative(function, argnums, has_aux=has_aux, with_value=False)


def vjp(function: Function, /, *primals: Any, has_aux: bool = False) -> Any:
    """Return the output of a function and a function that computes the vector-Jacobian product.

    Parameters
    ----------
    function : callable
        Takes `primals` and returns a tree of arrays.
    *primals : Array or tree of Array
        Arrays of floating-point dtypes.
    has_aux : bool, default: False
        Whether `function` returns a pair ``(value, aux)``; ``aux`` is returned unchanged.

    Returns
    -------
    tuple
        ``(output, vjp_fun)``, with `has_aux` ``(output, vjp_fun, aux)``. ``vjp_fun(cotangents)``
        takes a tree like the output and returns a tuple of trees like `primals`: the products of
        the cotangents with the Jacobians. It may be called several times.

    Examples
    --------
    >>> import portarray as pa
    >>> y, vjp_fun = pa.vjp(lambda x: x**2, pa.asarray([1.0, 3.0]))
    >>> vjp_fun(pa.asarray([1.0, 10.0]))
    (Array([ 2., 60.], dtype=float64, device='numpy:cpu:0'),)
    """
    check_function("vjp", function)
    every = range(len(primals))
    vjp_call = _VJPCall(
        "vjp", function, primals, {}, every, _ended("vjp", function), has_aux=has_aux
    )
    if has_aux:
        return vjp_call.output, vjp_call.vjp_fun, vjp_call.aux
    return vjp_call.output, vjp_call.vjp_fun


def jvp(function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Return the output of a function and its derivative in a direction.

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
        tree like the output. Computed as the VJP of a VJP, which costs about twice a gradient.

    Examples
    --------
    >>> import portarray as pa
    >>> x, v = pa.asarray([1.0, 3.0]), pa.asarray([1.0, 10.0])
    >>> pa.jvp(lambda x: x**2, (x,), (v,))[1]
    Array([ 2., 60.], dtype=float64, device='numpy:cpu:0')
    """
    check_function("jvp", function)
    primals, tangents = check_directions("jvp", primals, tangents)
    every = range(len(primals))
    vjp_call = _VJPCall("jvp", function, primals, {}, every, _ended("jvp", function))
    y = vjp_call.output
    zeros = array_trees.refilled(y, map(pa.zeros_like, array_trees.leaves(y)))
    _, push = vjp(vjp_call.vjp_fun, zeros)
    return vjp_call.output, push(tangents)[0]


def jacobian(function: Function, /, argnums: int | Sequence[int] = 0) -> Function:
    """Return a function that computes the Jacobian of a function.

    Parameters
    ----------
    function : callable
        Returns one array of a real floating-point dtype.
    argnums : int or sequence of int, default: 0
        The positional arguments to differentiate: arrays of real floating-point dtypes, or trees
        of them.

    Returns
    -------
    callable
        Takes the arguments of `function` and returns, for each array of the argument, an array of
        shape ``output.shape + argument.shape``; computed by one pass backwards for all elements of
        the output, or one for each where :func:`vmap` cannot do that.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.jacobian(lambda x: x * x[0])(pa.asarray([2.0, 3.0])).tolist()
    [[4.0, 0.0], [3.0, 2.0]]
    """
    check_function("jacobian", function)
    ended = _ended("jacobian", function)

    @functools.wraps(function)
    def rows(*args: Any, **named: Any) -> Any:
        indices = normalize_argnums("jacobian", argnums, args)
        vjp_call = _VJPCall("jacobian", function, args, named, indices, ended)
        y = vjp_call.output
        if type(y) is not Array or not pa.isdtype(y.dtype, "real floating"):
            raise TypeError(
                f"jacobian: {vjp_call.name} must return one array of a real floating-point dtype; "
                f"it returned {described(y)}"
            )
        for tree in vjp_call.inputs:
            for path, x in array_trees.arrays(tree):
                if type(x) is Array and not pa.isdtype(x.dtype, "real floating"):
                    raise TypeError(
                        f"jacobian: the argument{path} of {vjp_call.name} is {described(x)}, not "
                        f"a real array\nHint: use pa.vjp for complex arrays"
                    )
        basis = pa.reshape(pa.eye(y.size, dtype=y.dtype, device=y.device), (y.size, *y.shape))
        try:
            rows_of = vmap(vjp_call.vjp_fun)(basis)
        except TracedArrayError:  # from a user kernel, or a custom rule that reads values
            passes = [vjp_call.vjp_fun(basis[n, ...]) for n in range(y.size)]
            columns = zip(*map(array_trees.leaves, passes), strict=True)
            rows_of = array_trees.refilled(passes[0], map(pa.stack, map(list, columns)))

        def shaped(rows: Any) -> Any:
            is_array = type(rows) is Array  # other leaves are constants
            return pa.reshape(rows, (*y.shape, *rows.shape[1:])) if is_array else rows

        out = [array_trees.mapped(shaped, tree) for tree in rows_of]
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
        pairs = zip(array_trees.leaves(gradient(*args)), array_trees.leaves(tangents), strict=True)
        for g, v in pairs:
            is_complex = pa.isdtype(g.dtype, "complex floating")
            products.append(pa.sum(pa.real(g * pa.conj(v)) if is_complex else g * v))
        return sum(products[1:], start=products[0])

    return grad(slope, every)(*primals)
