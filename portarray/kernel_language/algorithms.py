"""Algorithms that take a user's function, on every device that runs kernels.

A function is one of the kernel language: written with ``def`` or as a lambda, marked with
``@pa.kernel.function`` or not, or a function of :mod:`operator`, NumPy or portarray. Operations
that a library provides, such as the sum, use the library's function.
"""

from __future__ import annotations

import math
import operator as python
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from portarray._array import dtypes
from portarray._kernel_language import user_functions
from portarray._kernel_language.intrinsics import Helper
from portarray._namespace import pa
from portarray.errors import DeviceMismatchError
from portarray.kernel_language import _kernels
from portarray.typing import DType, DTypeLike

__all__ = ["accumulate", "map_kernel", "reduce", "sort_by_key"]

Function = Callable[..., Any]


class _Builtin(NamedTuple):
    """The library's functions for an operator."""

    reduce: Function
    scan: Function | None  # with which the reduction takes a dtype
    combine: Function
    neutral: bool = True  # whether no elements are reduced to a neutral one


def _named(*rows: tuple[tuple[Function, ...], _Builtin]) -> dict[Function, _Builtin]:
    return {
        function: implementation for functions, implementation in rows for function in functions
    }


_ALL, _ANY = _Builtin(pa.all, None, pa.logical_and), _Builtin(pa.any, None, pa.logical_or)
_OF_NUMBERS = _named(
    ((python.add, np.add, pa.add), _Builtin(pa.sum, pa.cumulative_sum, pa.add)),
    ((python.mul, np.multiply, pa.multiply), _Builtin(pa.prod, pa.cumulative_prod, pa.multiply)),
    ((min, np.minimum, pa.minimum), _Builtin(pa.min, None, pa.minimum, neutral=False)),
    ((max, np.maximum, pa.maximum), _Builtin(pa.max, None, pa.maximum, neutral=False)),
)
_OF_TRUTHS = _named(
    ((python.and_, np.logical_and, np.bitwise_and, pa.logical_and, pa.bitwise_and), _ALL),
    ((python.or_, np.logical_or, np.bitwise_or, pa.logical_or, pa.bitwise_or), _ANY),
    ((min, np.minimum), _ALL),
    ((max, np.maximum), _ANY),
)
_LESS: dict[Function, bool] = {  # whether the other way round
    **dict.fromkeys((python.lt, np.less, pa.less), False),
    **dict.fromkeys((python.gt, np.greater, pa.greater), True),
}


def map_kernel(function: Function, /, *arrays: Any, dtype: DTypeLike | None = None) -> pa.Array:
    """Apply a function to each element of arrays.

    Parameters
    ----------
    function : callable
        A function of as many numbers as there are `arrays`, which returns a number.
    *arrays : Array or scalar
        Arrays of one device, which are broadcast, and numbers. At least one is an array.
    dtype : DType, optional
        The dtype of the result; by default that of what the function returns, as in a kernel:
        literals take the dtype of what they meet.

    Returns
    -------
    Array
        The values, of the broadcast shape.

    Raises
    ------
    TypeError
        If `function` is not a function of so many numbers that kernels can call, or its result does
        not fit the dtype.
    KernelSyntaxError
        If its body is not in the kernel language.

    See Also
    --------
    portarray.kernel : For what is not elementwise, or writes into an array that is there.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.kernel_language.algorithms import map_kernel
    >>> map_kernel(lambda x, y: x if x * x > y else 0.0, pa.asarray([1.0, -2.0, 3.0]), 3.0)
    Array([ 0., -2.,  3.], dtype=float64, device='numpy:cpu:0')
    """
    device = _device_of("map_kernel", [x for x in arrays if isinstance(x, pa.Array)], arrays)
    for x in arrays:
        if not isinstance(x, (pa.Array, int, float, complex, np.number, np.bool_)):
            kind = f"{type(x).__module__}.{type(x).__qualname__}"
            raise TypeError(f"map_kernel: {kind} is not an array of portarray or a number")
    helper = user_functions.helper_of("map_kernel", function, len(arrays))
    kinds = [x.dtype if isinstance(x, pa.Array) else x for x in arrays]
    requested = None if dtype is None else dtypes.canonical(dtype)
    result_dtype = user_functions.result_dtype("map_kernel", helper, kinds, device, requested)
    several = [x for x in arrays if isinstance(x, pa.Array)]
    if any(x.shape != several[0].shape for x in several):
        several = list(pa.broadcast_arrays(*several))
    shape = several[0].shape
    out = pa.empty(shape, dtype=result_dtype, device=device)
    if not out.size:
        return out
    axes = len(shape)
    if not 1 <= axes <= 3:
        several = [pa.reshape(x, (-1,)) for x in several]
        out = pa.reshape(out, (-1,))
    remaining = iter(several)
    passed = [next(remaining) if isinstance(x, pa.Array) else x for x in arrays]
    run = _kernels.mapped(tuple([isinstance(x, pa.Array) for x in arrays]))
    out = run(out, helper, result_dtype, *passed)
    return pa.reshape(out, shape) if out.shape != shape else out


def reduce(
    operator: Function,
    x: pa.Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    initial: Any = None,
    dtype: DTypeLike | None = None,
) -> pa.Array:
    """Reduce the elements along axes with an associative function.

    Parameters
    ----------
    operator : callable
        An associative function of two numbers: how they are put in brackets is not defined, but the
        same in every call. They stay in order, row by row, so it need not commute.
    x : Array
        The elements.
    axis : int or tuple of int, optional
        The axes that are reduced; by default all.
    keepdims : bool, optional
        Whether the reduced axes stay, with length 1.
    initial : scalar, optional
        What the result begins with: the result of no elements.
    dtype : DType, optional
        What elements are converted to before, and the dtype of the result; by default that of `x`,
        also where the library's own function has another one.

    Returns
    -------
    Array
        The reduced elements. Of addition, multiplication, minimum and maximum, and of "and" and
        "or" of truth values, the library's own reduction.

    Raises
    ------
    TypeError
        If `operator` is not a function of two numbers that kernels can call, or does not return
        their dtype.
    ValueError
        If there are no elements, and no `initial`.
    KernelSyntaxError
        If the operator's body is not in the kernel language.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.kernel_language.algorithms import reduce
    >>> x = pa.asarray([[1.0, -5.0, 2.0], [3.0, 4.0, -1.0]])
    >>> reduce(lambda a, b: a if abs(a) >= abs(b) else b, x, axis=1)
    Array([-5.,  4.], dtype=float64, device='numpy:cpu:0')
    """
    device = _device_of("reduce", [x], [x])
    out_dtype = x.dtype if dtype is None else dtypes.canonical(dtype)
    builtin = _builtin(operator, out_dtype)
    if builtin is not None and initial is None and (x.size or builtin.neutral):
        return _reduced_by(builtin, x, out_dtype, axis=axis, keepdims=keepdims)
    axes = _axes("reduce", axis, x.ndim)
    shape = tuple([n for k, n in enumerate(x.shape) if k not in axes])
    count = math.prod([x.shape[k] for k in axes])
    if not count:
        if initial is None:
            raise ValueError(
                f"reduce: an array of shape {x.shape} has no elements along {_axis_text(axis)}"
                f"\nHint: pass initial="
            )
        out = pa.full(shape, initial, dtype=out_dtype, device=device)
    elif builtin is not None:
        out = _reduced_by(builtin, x, out_dtype, axis=axis)
        out = builtin.combine(pa.asarray(initial, dtype=out_dtype, device=device), out)
    else:
        helper = user_functions.helper_of("reduce", operator, 2)
        user_functions.require_same_dtype("reduce", helper, out_dtype, device)
        out = pa.reshape(_reduced(helper, _around(x, axes), out_dtype), shape)
        if initial is not None:
            first = pa.full(shape, initial, dtype=out_dtype, device=device)
            out = map_kernel(helper, first, out, dtype=out_dtype)
    if keepdims:
        out = pa.reshape(out, tuple([1 if k in axes else n for k, n in enumerate(x.shape)]))
    return out


def accumulate(
    operator: Function,
    x: pa.Array,
    /,
    *,
    axis: int | None = None,
    initial: Any = None,
    dtype: DTypeLike | None = None,
) -> pa.Array:
    """Return the running reductions along an axis.

    Parameters
    ----------
    operator : callable
        An associative function of two numbers, as for :func:`reduce`.
    x : Array
        The elements.
    axis : int, optional
        The axis; it may be left out where there is one alone.
    initial : scalar, optional
        What comes before all elements. It is the first element of the result, which has one more
        then, as from :func:`itertools.accumulate`.
    dtype : DType, optional
        What elements are converted to before, and the dtype of the result; by default that of `x`,
        also where the library's own function has another one.

    Returns
    -------
    Array
        The running results. Of addition and multiplication the library's own cumulative function.

    Raises
    ------
    TypeError
        If `operator` is not a function of two numbers that kernels can call, or does not return
        their dtype.
    ValueError
        If `axis` is omitted and `x` does not have exactly one axis.
    KernelSyntaxError
        If the operator's body is not in the kernel language.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.kernel_language.algorithms import accumulate
    >>> accumulate(max, pa.asarray([1, 5, 2, 7, 3]), initial=2)
    Array([2, 2, 5, 5, 7, 7], dtype=int64, device='numpy:cpu:0')
    """
    device = _device_of("accumulate", [x], [x])
    if axis is None and x.ndim != 1:
        raise ValueError(f"accumulate: x has {x.ndim} axes\nHint: pass axis=")
    (along,) = _axes("accumulate", 0 if axis is None else axis, x.ndim)
    out_dtype = x.dtype if dtype is None else dtypes.canonical(dtype)
    if initial is not None:
        shape = tuple([1 if k == along else n for k, n in enumerate(x.shape)])
        first = pa.full(shape, initial, dtype=out_dtype, device=device)
        x = pa.concat([first, pa.astype(x, out_dtype, copy=False)], axis=along)
    builtin = _builtin(operator, out_dtype)
    if builtin is not None and builtin.scan is not None:
        return builtin.scan(x, axis=along, dtype=out_dtype)
    helper = user_functions.helper_of("accumulate", operator, 2)
    user_functions.require_same_dtype("accumulate", helper, out_dtype, device)
    if not x.size:
        return pa.astype(x, out_dtype)
    return pa.reshape(_scanned(helper, _around(x, (along,)), out_dtype), x.shape)


def sort_by_key(
    keys: pa.Array, /, *values: pa.Array, less: Function | None = None, descending: bool = False
) -> tuple[pa.Array, ...]:
    """Return keys in order, and values in the order of their keys.

    Parameters
    ----------
    keys : Array
        The keys, along one axis.
    *values : Array
        Arrays with as many elements along their first axis.
    less : callable, optional
        A function of two keys that returns whether the first comes before the second: a strict weak
        ordering, like ``<`` of numbers. By default the order of :func:`portarray.sort`.
    descending : bool, optional
        Whether to reverse the order.

    Returns
    -------
    tuple of Array
        The keys, and each of the values. Sorting is stable: equal keys stay in order.

    Raises
    ------
    TypeError
        If `less` is not a function of two numbers that kernels can call, or does not return a bool.
    ValueError
        If `keys` does not have exactly one axis, or values have other lengths.
    KernelSyntaxError
        If the function's body is not in the kernel language.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.kernel_language.algorithms import sort_by_key
    >>> keys, places = pa.asarray([3, -1, -4, 2]), pa.arange(4)
    >>> sort_by_key(keys, places, less=lambda a, b: abs(a) < abs(b))
    (Array([-1,  2,  3, -4], dtype=int64, device='numpy:cpu:0'),
     Array([1, 3, 0, 2], dtype=int64, device='numpy:cpu:0'))
    """
    device = _device_of("sort_by_key", [keys, *values], [keys, *values])
    if keys.ndim != 1:
        raise ValueError(f"sort_by_key: keys have shape {keys.shape}; they must have one axis")
    count = keys.shape[0]
    for x in values:
        if not x.ndim or x.shape[0] != count:
            raise ValueError(
                f"sort_by_key: values of shape {x.shape} for {count} keys; the first axis must "
                f"have length {count}"
            )
    reverses = _entry(_LESS, less)
    if reverses is not None:
        less, descending = None, descending != reverses
    if less is None:
        places = pa.argsort(keys, descending=descending, stable=True)
        return tuple([pa.take(x, places, axis=0) for x in (keys, *values)])
    helper = user_functions.helper_of("sort_by_key", less, 2)
    user_functions.require_boolean("sort_by_key", helper, keys.dtype, device)
    if descending:
        helper = user_functions.swapped(helper)
    if count < 2:
        return tuple([x.copy() for x in (keys, *values)])
    keys, places = _sorted(helper, keys)
    return (keys, *[pa.take(x, places, axis=0) for x in values])


# --- arguments --------------------------------------------------------------------------------


def _device_of(name: str, arrays: Sequence[Any], arguments: Sequence[Any]) -> pa.Device:
    """Return the arrays' common device."""
    for x in arrays:
        if not isinstance(x, pa.Array):
            raise TypeError(
                f"{name}: {type(x).__module__}.{type(x).__qualname__} is not an array of portarray"
                f"\nHint: convert it with pa.asarray"
            )
    if not arrays:
        raise TypeError(f"{name}: no argument is an array: {arguments!r}")
    device: pa.Device = arrays[0].device
    for x in arrays:
        if x.device is not device:
            raise DeviceMismatchError(name, str(device), str(x.device))
    return device


def _axes(name: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """Return nonnegative axes, sorted."""
    if axis is None:
        return tuple(range(ndim))
    axes = []
    for candidate in axis if isinstance(axis, tuple) else (axis,):
        try:
            position = python.index(candidate)
        except TypeError:
            raise TypeError(f"{name}: axis={axis!r} is not an integer") from None
        if not -ndim <= position < ndim:
            raise ValueError(f"{name}: axis {position} is out of range for an array of {ndim} axes")
        axes.append(position % ndim)
    if len(set(axes)) < len(axes):
        raise ValueError(f"{name}: axis={axis!r} repeats an axis")
    return tuple(sorted(axes))


def _axis_text(axis: Any) -> str:
    return "its axes" if axis is None else f"axis {axis}"


def _entry(table: Mapping[Any, Any], function: Any) -> Any:
    try:
        return table.get(function)
    except TypeError:  # it has no hash
        return None


def _builtin(operator: Function, dtype: DType) -> _Builtin | None:
    """Return the library's functions for an operator on a dtype."""
    functions: _Builtin | None = _entry(_OF_TRUTHS if dtype == pa.bool else _OF_NUMBERS, operator)
    return functions


def _reduced_by(builtin: _Builtin, x: pa.Array, dtype: DType, **options: Any) -> pa.Array:
    """Return the library's reduction."""
    if builtin.scan is None:
        if builtin.reduce in (pa.min, pa.max) and dtype != x.dtype:
            x = pa.astype(x, dtype)
    elif dtype != x.dtype or x.dtype.kind not in "fc":  # which are those of sums by themselves
        options["dtype"] = dtype
    return builtin.reduce(x, **options)


# --- how kernels are run ----------------------------------------------------------------------

_SHARES = 64
"""Work-items among which a CPU's cores share the work: more than cores, as some begin late."""
_MANY = 1 << 16
"""Work-items that keep other devices busy."""
_LEAST = 64
"""Elements of a part, at least."""
_FEW = 1 << 10
"""Elements up to which the work is not divided."""
_ROW = 16
"""Neighbouring results from which on lanes, or work-items, are neighbours in memory."""
_GROUP = 128
_ITEMS = 16
_RUN = 16


def _around(x: pa.Array, axes: tuple[int, ...]) -> pa.Array:
    """Return an array of three axes, of which the middle one joins the given axes."""
    if len(axes) == 1:
        (axis,) = axes
        outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
        return pa.reshape(x, (outer, x.shape[axis], inner))
    remaining = [k for k in range(x.ndim) if k not in axes]
    if remaining:
        x = pa.permute_dims(x, (*remaining, *axes))
    count = math.prod(x.shape[len(remaining) :])
    return pa.reshape(x, (math.prod(x.shape[: len(remaining)]), count, 1))


class _Plan(NamedTuple):
    """How the work along the middle axis is divided."""

    size: int  # of a part
    lanes: int = 1  # neighbours along an axis that a work-item takes at once
    axis: int = 2
    by_groups: bool = False  # whether a group takes a part


def _plan(x: pa.Array, *, twice: bool) -> _Plan:
    """Return how to divide the work; ``twice``: whether parts are read twice."""
    outer, n, inner = x.shape
    others = outer * inner
    on_cpu = x.device.kind == "cpu"
    if others * n <= _FEW:
        return _Plan(n)
    if not on_cpu and inner < _ROW and (n > _FEW or (n > _LEAST and others < _MANY)):
        return _Plan(_GROUP * _ITEMS, by_groups=True)
    lanes, axis, parts_wanted = 1, 2, _MANY // others
    if on_cpu:
        # Many streams through memory at once meet in a cache's lines: fewer where they are written.
        lanes = 4 if twice else 8
        if inner >= _ROW:
            lanes = 64 if inner >= 64 else _ROW
            parts_wanted = (_SHARES if twice else 8 * _SHARES) // (outer * -(-inner // lanes))
        elif outer >= 2 * _ROW * lanes:
            axis, parts_wanted = 0, 1
        else:
            axis, parts_wanted = 1, -(-_SHARES // others) * lanes
    parts = min(parts_wanted, n // _LEAST)
    if parts < 2 or (axis == 1 and parts < lanes):
        return _Plan(n, lanes, axis) if axis != 1 else _Plan(n)
    return _Plan(-(-n // parts), lanes, axis)


def _sizes(x: pa.Array, plan: _Plan) -> tuple[int, int | None]:
    """Return the ndrange and the group for a plan."""
    shape = [x.shape[0], -(-x.shape[1] // plan.size), x.shape[2]]
    if plan.by_groups:
        return math.prod(shape) * _GROUP, _GROUP
    shape[plan.axis] = -(-shape[plan.axis] // plan.lanes)
    # CPUs' compilers take work-items of a group for one vector, whose elements are far apart.
    return math.prod(shape), 1 if plan.lanes > 1 else None


def _totals(helper: Helper, x: pa.Array, dtype: DType, plan: _Plan) -> pa.Array:
    """Reduce each part."""
    parts = -(-x.shape[1] // plan.size)
    out = pa.empty((x.shape[0], parts, x.shape[2]), dtype=dtype, device=x.device)
    size, group = _sizes(x, plan)
    if plan.by_groups:
        return _kernels.totals_by_groups(
            out, x, helper, dtype, _GROUP, _ITEMS, ndrange=size, group=group
        )
    return _kernels.totals(
        out, x, plan.size, helper, dtype, plan.lanes, plan.axis, ndrange=size, group=group
    )


def _reduced(helper: Helper, x: pa.Array, dtype: DType) -> pa.Array:
    """Reduce the middle axis."""
    if not x.shape[0] * x.shape[2]:
        return pa.empty((x.shape[0], 1, x.shape[2]), dtype=dtype, device=x.device)
    x = _totals(helper, x, dtype, _plan(x, twice=False))
    while x.shape[1] > 1:
        x = _totals(helper, x, dtype, _plan(x, twice=False))
    return x


def _scanned(helper: Helper, x: pa.Array, dtype: DType) -> pa.Array:
    """Return the running reductions along the middle axis."""
    plan = _plan(x, twice=True)
    if plan.size >= x.shape[1]:
        shape = (x.shape[0], 1, x.shape[2])
        ends = pa.empty(shape, dtype=dtype, device=x.device)  # which is not read
    else:
        ends = _scanned(helper, _totals(helper, x, dtype, plan), dtype)
    out = pa.empty(x.shape, dtype=dtype, device=x.device)
    size, group = _sizes(x, plan)
    if plan.by_groups:
        return _kernels.scanned_by_groups(
            out, x, ends, helper, dtype, _GROUP, _ITEMS, ndrange=size, group=group
        )
    return _kernels.scanned(
        out, x, ends, plan.size, helper, dtype, plan.lanes, plan.axis, ndrange=size, group=group
    )


def _sorted(helper: Helper, x: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return sorted keys, and their previous positions."""
    n = x.shape[0]
    dtype = pa.int32 if n < 2**31 else pa.int64
    keys, places = pa.empty_like(x), pa.empty(n, dtype=dtype, device=x.device)
    others, other_places = pa.empty_like(keys), pa.empty_like(places)
    keys, places = _kernels.sorted_runs(keys, places, x, helper, _RUN, ndrange=-(-n // _RUN))
    # Sharing costs a search: on a CPU it is for its cores alone.
    most = _RUN if x.device.kind != "cpu" else max(_FEW, 1 << (n // _SHARES).bit_length())
    width = _RUN
    while width < n:
        share = min(2 * width, most)
        others, other_places = _kernels.merged(
            others, other_places, keys, places, width, share, helper,
            ndrange=-(-n // share), group=1 if share >= _FEW else None,
        )  # fmt: skip
        keys, places, others, other_places = others, other_places, keys, places
        width *= 2
    return keys, places
