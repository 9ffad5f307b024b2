"""Algorithms that take a function of the user's, on every device that runs kernels.

A function is one of the kernel language: written with ``def`` or as a lambda, marked with
``@pa.kernel.function`` or not, or a function of :mod:`operator`, NumPy or portarray. What the
library has itself, such as the sum, is the library's own.
"""

from __future__ import annotations

import math
import operator as python
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import portarray as pa
from portarray._array import dtypes
from portarray._kernel_language import user_functions
from portarray._kernel_language.words import Helper
from portarray.errors import DeviceMismatchError
from portarray.kernel_language import _kernels
from portarray.typing import DType, DTypeLike

__all__ = ["accumulate", "map_kernel", "reduce", "sort_by_key"]

Function = Callable[..., Any]


class _Own(NamedTuple):
    """The library's functions for an operator."""

    reduce: Function
    scan: Function | None  # with which the reduction takes a dtype
    combine: Function
    neutral: bool = True  # whether no elements are reduced to a neutral one


def _named(*rows: tuple[tuple[Function, ...], _Own]) -> dict[Function, _Own]:
    return {function: own for functions, own in rows for function in functions}


_ALL, _ANY = _Own(pa.all, None, pa.logical_and), _Own(pa.any, None, pa.logical_or)
_OF_NUMBERS = _named(
    ((python.add, np.add, pa.add), _Own(pa.sum, pa.cumulative_sum, pa.add)),
    ((python.mul, np.multiply, pa.multiply), _Own(pa.prod, pa.cumulative_prod, pa.multiply)),
    ((min, np.minimum, pa.minimum), _Own(pa.min, None, pa.minimum, neutral=False)),
    ((max, np.maximum, pa.maximum), _Own(pa.max, None, pa.maximum, neutral=False)),
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
    """Return a function's value for each element, or for each elements of several arrays.

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
        If `function` is no function of so many numbers that kernels can call, or returns what the
        dtype does not hold.
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
        if not isinstance(x, (pa.Array, int, float, np.integer, np.floating, np.bool_)):
            kind = f"{type(x).__module__}.{type(x).__qualname__}"
            raise TypeError(f"map_kernel got {kind}; it takes portarray's arrays and real numbers")
    helper = user_functions.helper_of("map_kernel", function, len(arrays))
    kinds = [x.dtype if isinstance(x, pa.Array) else x for x in arrays]
    wanted = None if dtype is None else dtypes.canonical(dtype)
    found = user_functions.returned("map_kernel", helper, kinds, device, wanted)
    several = [x for x in arrays if isinstance(x, pa.Array)]
    if any(x.shape != several[0].shape for x in several):
        several = list(pa.broadcast_arrays(*several))
    shape = several[0].shape
    out = pa.empty(shape, dtype=found, device=device)
    if not out.size:
        return out
    axes = len(shape)
    if not 1 <= axes <= 3:
        several = [pa.reshape(x, (-1,)) for x in several]
        out = pa.reshape(out, (-1,))
    given = iter(several)
    passed = [next(given) if isinstance(x, pa.Array) else x for x in arrays]
    run = _kernels.mapped(tuple([isinstance(x, pa.Array) for x in arrays]))
    out = run(out, helper, found, *passed)
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
    """Return what the elements along axes combine to.

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
        If `operator` is no function of two numbers that kernels can call, or returns another dtype
        than it is given.
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
    kept = x.dtype if dtype is None else dtypes.canonical(dtype)
    own = _own(operator, kept)
    if own is not None and initial is None and (x.size or own.neutral):
        return _reduced_by(own, x, kept, axis=axis, keepdims=keepdims)
    axes = _axes("reduce", axis, x.ndim)
    shape = tuple([n for k, n in enumerate(x.shape) if k not in axes])
    count = math.prod([x.shape[k] for k in axes])
    if not count:
        if initial is None:
            raise ValueError(
                f"reduce: an array of shape {x.shape} has no elements along {_told(axis)}, and the "
                f"operator is not known to have a neutral one; pass initial="
            )
        out = pa.full(shape, initial, dtype=kept, device=device)
    elif own is not None:
        out = _reduced_by(own, x, kept, axis=axis)
        out = own.combine(pa.asarray(initial, dtype=kept, device=device), out)
    else:
        helper = user_functions.helper_of("reduce", operator, 2)
        user_functions.combined("reduce", helper, kept, device)
        out = pa.reshape(_reduced(helper, _around(x, axes), kept), shape)
        if initial is not None:
            first = pa.full(shape, initial, dtype=kept, device=device)
            out = map_kernel(helper, first, out, dtype=kept)
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
    """Return what the elements up to each one combine to, along an axis.

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
        If `operator` is no function of two numbers that kernels can call, or returns another dtype
        than it is given.
    ValueError
        If `axis` is left out and `x` has not one axis.
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
        raise ValueError(f"accumulate: an array of {x.ndim} axes needs axis=")
    (along,) = _axes("accumulate", 0 if axis is None else axis, x.ndim)
    kept = x.dtype if dtype is None else dtypes.canonical(dtype)
    if initial is not None:
        shape = tuple([1 if k == along else n for k, n in enumerate(x.shape)])
        first = pa.full(shape, initial, dtype=kept, device=device)
        x = pa.concat([first, pa.astype(x, kept, copy=False)], axis=along)
    own = _own(operator, kept)
    if own is not None and own.scan is not None:
        return own.scan(x, axis=along, dtype=kept)  # type: ignore[no-any-return]
    helper = user_functions.helper_of("accumulate", operator, 2)
    user_functions.combined("accumulate", helper, kept, device)
    if not x.size:
        return pa.astype(x, kept)
    return pa.reshape(_scanned(helper, _around(x, (along,)), kept), x.shape)


def sort_by_key(
    keys: pa.Array,
    /,
    *values: pa.Array,
    less: Function | None = None,
    descending: bool = False,
) -> tuple[pa.Array, ...]:
    """Return keys in order, and values in the order of their keys.

    Parameters
    ----------
    keys : Array
        The keys, along one axis.
    *values : Array
        Arrays with as many elements along their first axis.
    less : callable, optional
        A function of two keys that tells whether the first comes before the second: a strict weak
        ordering, as ``<`` is of numbers. By default the order of :func:`portarray.sort`.
    descending : bool, optional
        Whether the order is turned round.

    Returns
    -------
    tuple of Array
        The keys, and each of the values. Sorting is stable: equal keys stay in order.

    Raises
    ------
    TypeError
        If `less` is no function of two numbers that kernels can call, or returns no truth value.
    ValueError
        If `keys` has not one axis, or values have other lengths.
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
        raise ValueError(f"sort_by_key: keys of shape {keys.shape}; they have one axis")
    count = keys.shape[0]
    for x in values:
        if not x.ndim or x.shape[0] != count:
            raise ValueError(
                f"sort_by_key: values of shape {x.shape} for {count} keys; they are as many along "
                f"the first axis"
            )
    other = _known(_LESS, less)
    if other is not None:
        less, descending = None, descending != other
    if less is None:
        places = pa.argsort(keys, descending=descending, stable=True)
        return tuple([pa.take(x, places, axis=0) for x in (keys, *values)])
    helper = user_functions.helper_of("sort_by_key", less, 2)
    user_functions.told("sort_by_key", helper, keys.dtype, device)
    if descending:
        helper = user_functions.swapped(helper)
    if count < 2:
        return tuple([x.copy() for x in (keys, *values)])
    keys, places = _sorted(helper, keys)
    return (keys, *[pa.take(x, places, axis=0) for x in values])


# --- arguments --------------------------------------------------------------------------------


def _device_of(name: str, arrays: Sequence[Any], given: Sequence[Any]) -> pa.Device:
    """Return the device of arrays, which must be one."""
    for x in arrays:
        if not isinstance(x, pa.Array):
            raise TypeError(
                f"{name} got {type(x).__module__}.{type(x).__qualname__}; it takes portarray's "
                f"arrays, which pa.asarray makes"
            )
    if not arrays:
        raise TypeError(f"{name} got {given!r}, no array; it runs on the device of its arrays")
    device: pa.Device = arrays[0].device
    for x in arrays:
        if x.device is not device:
            raise DeviceMismatchError(name, str(device), str(x.device))
    return device


def _axes(name: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """Return axes from 0 on, in order."""
    if axis is None:
        return tuple(range(ndim))
    found = []
    for one in axis if isinstance(axis, tuple) else (axis,):
        try:
            place = python.index(one)
        except TypeError:
            raise TypeError(f"{name}: axis is {axis!r}; it is an integer") from None
        if not -ndim <= place < ndim:
            raise ValueError(f"{name}: axis {place} is none of an array of {ndim} axes")
        found.append(place % ndim)
    if len(set(found)) < len(found):
        raise ValueError(f"{name}: axis {axis!r} names an axis twice")
    return tuple(sorted(found))


def _told(axis: Any) -> str:
    return "its axes" if axis is None else f"axis {axis}"


def _known(table: Mapping[Any, Any], function: Any) -> Any:
    try:
        return table.get(function)
    except TypeError:  # it has no hash
        return None


def _own(operator: Function, dtype: DType) -> _Own | None:
    """Return the library's functions for an operator on a dtype."""
    found: _Own | None = _known(_OF_TRUTHS if dtype == pa.bool else _OF_NUMBERS, operator)
    return found


def _reduced_by(own: _Own, x: pa.Array, dtype: DType, **where: Any) -> pa.Array:
    """Return the library's reduction."""
    if own.scan is None:
        if own.reduce in (pa.min, pa.max) and dtype != x.dtype:
            x = pa.astype(x, dtype)
    elif dtype != x.dtype or x.dtype.kind not in "fc":  # which are those of sums by themselves
        where["dtype"] = dtype
    return own.reduce(x, **where)  # type: ignore[no-any-return]


# --- how kernels are run ----------------------------------------------------------------------

_SHARES = 64
"""Work-items among which a CPU's cores share the work: more than cores, as some begin late."""
_MANY = 1 << 16
"""Work-items that keep other devices busy."""
_LEAST = 64
"""Elements of a part, at least."""
_FEW = 1 << 10
"""Elements that are not shared."""
_ROW = 16
"""Neighbouring results from which on lanes, or work-items, are neighbours in memory."""
_GROUP = 128
_ITEMS = 16
_RUN = 16


def _around(x: pa.Array, axes: tuple[int, ...]) -> pa.Array:
    """Return an array of three axes, of which those given are the middle one."""
    if len(axes) == 1:
        (axis,) = axes
        before, after = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
        return pa.reshape(x, (before, x.shape[axis], after))
    rest = [k for k in range(x.ndim) if k not in axes]
    if rest:
        x = pa.permute_dims(x, (*rest, *axes))
    count = math.prod(x.shape[len(rest) :])
    return pa.reshape(x, (math.prod(x.shape[: len(rest)]), count, 1))


class _Plan(NamedTuple):
    """How the work along the middle axis is shared."""

    size: int  # of a part
    lanes: int = 1  # neighbours along an axis that a work-item takes at once
    axis: int = 2
    by_groups: bool = False  # whether a group takes a part


def _plan(x: pa.Array, *, twice: bool) -> _Plan:
    """Return how to share the work; ``twice`` says that parts are read twice."""
    before, n, after = x.shape
    others = before * after
    on_cpu = x.device.kind == "cpu"
    if others * n <= _FEW:
        return _Plan(n)
    if not on_cpu and after < _ROW and (n > _FEW or (n > _LEAST and others < _MANY)):
        return _Plan(_GROUP * _ITEMS, by_groups=True)
    lanes, axis, wanted = 1, 2, _MANY // others
    if on_cpu:
        # Many streams through memory at once meet in a cache's lines: fewer where they are written.
        lanes = 4 if twice else 8
        if after >= _ROW:
            lanes = 64 if after >= 64 else _ROW
            wanted = (_SHARES if twice else 8 * _SHARES) // (before * -(-after // lanes))
        elif before >= 2 * _ROW * lanes:
            axis, wanted = 0, 1
        else:
            axis, wanted = 1, -(-_SHARES // others) * lanes
    parts = min(wanted, n // _LEAST)
    if parts < 2 or (axis == 1 and parts < lanes):
        return _Plan(n, lanes, axis) if axis != 1 else _Plan(n)
    return _Plan(-(-n // parts), lanes, axis)


def _sizes(x: pa.Array, plan: _Plan) -> tuple[int, int | None]:
    """Return the ndrange and the group of kernels that follow a plan."""
    shape = [x.shape[0], -(-x.shape[1] // plan.size), x.shape[2]]
    if plan.by_groups:
        return math.prod(shape) * _GROUP, _GROUP
    shape[plan.axis] = -(-shape[plan.axis] // plan.lanes)
    # CPUs' compilers take work-items of a group for one vector, whose elements are far apart.
    return math.prod(shape), 1 if plan.lanes > 1 else None


def _totals(helper: Helper, x: pa.Array, dtype: DType, plan: _Plan) -> pa.Array:
    """Return what the elements of each part combine to."""
    parts = -(-x.shape[1] // plan.size)
    out = pa.empty((x.shape[0], parts, x.shape[2]), dtype=dtype, device=x.device)
    size, group = _sizes(x, plan)
    if plan.by_groups:
        return _kernels.totals_by_groups(  # type: ignore[no-any-return]
            out, x, helper, dtype, _GROUP, _ITEMS, ndrange=size, group=group
        )
    return _kernels.totals(  # type: ignore[no-any-return]
        out, x, plan.size, helper, dtype, plan.lanes, plan.axis, ndrange=size, group=group
    )


def _reduced(helper: Helper, x: pa.Array, dtype: DType) -> pa.Array:
    """Return what the elements along the middle axis combine to."""
    if not x.shape[0] * x.shape[2]:
        return pa.empty((x.shape[0], 1, x.shape[2]), dtype=dtype, device=x.device)
    x = _totals(helper, x, dtype, _plan(x, twice=False))
    while x.shape[1] > 1:
        x = _totals(helper, x, dtype, _plan(x, twice=False))
    return x


def _scanned(helper: Helper, x: pa.Array, dtype: DType) -> pa.Array:
    """Return what the elements up to each one combine to, along the middle axis."""
    plan = _plan(x, twice=True)
    if plan.size >= x.shape[1]:
        shape = (x.shape[0], 1, x.shape[2])
        ends = pa.empty(shape, dtype=dtype, device=x.device)  # which is not read
    else:
        ends = _scanned(helper, _totals(helper, x, dtype, plan), dtype)
    out = pa.empty(x.shape, dtype=dtype, device=x.device)
    size, group = _sizes(x, plan)
    if plan.by_groups:
        return _kernels.scanned_by_groups(  # type: ignore[no-any-return]
            out, x, ends, helper, dtype, _GROUP, _ITEMS, ndrange=size, group=group
        )
    return _kernels.scanned(  # type: ignore[no-any-return]
        out, x, ends, plan.size, helper, dtype, plan.lanes, plan.axis, ndrange=size, group=group
    )


def _sorted(helper: Helper, x: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return keys in order, and where they were."""
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
