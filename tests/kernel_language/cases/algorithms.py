"""The kernels of portarray's own algorithms, with operators that are not commutative."""

from __future__ import annotations

import numpy as np
from cases.case import Case

import portarray as pa
from portarray.kernel_language import _kernels

INT32 = np.dtype(np.int32)


@pa.kernel.function
def composed(a, b):
    """Return a linear map after another, modulo 8; each is a number of two digits."""
    factor = ((a % 8) * (b % 8)) % 8
    return ((a // 8 * (b % 8) + b // 8) % 8) * 8 + factor


@pa.kernel.function
def nearer(a, b):
    return abs(a // 4 - 5) < abs(b // 4 - 5)


def scanned(x):
    """Return the running results along the middle axis."""
    return np.frompyfunc(composed, 2, 1).accumulate(x.astype(object), axis=1).astype(INT32)


def parts(x, size):
    """Return the results of parts."""
    pieces = np.split(x, range(size, x.shape[1], size), axis=1)
    return np.concatenate([scanned(piece)[:, -1:] for piece in pieces], axis=1)


def ends(x, size):
    return np.ascontiguousarray(scanned(parts(x, size)))


def numbers(rng, *shape):
    return rng.integers(0, 64, shape).astype(INT32)


def places(x):
    return np.argsort(np.abs(x // 4 - 5), kind="stable").astype(INT32)


def runs(x, width):
    """Return neighbours in order, and where they were."""
    order = [at + places(x[at : at + width]) for at in range(0, len(x), width)]
    ordered = np.concatenate(order).astype(INT32)
    return x[ordered], ordered


SHARED = [  # shape, size of a part, lanes, the axis along which they lie
    ((1, 203, 1), 10, 4, 1),
    ((2, 30, 11), 10, 4, 2),
    ((9, 21, 2), 21, 4, 0),
    ((3, 20, 5), 7, 1, 2),
]


def count(shape, size, lanes, axis):
    """Return how many work-items there are."""
    sizes = [shape[0], -(-shape[1] // size), shape[2]]
    sizes[axis] = -(-sizes[axis] // lanes)
    return (int(np.prod(sizes)),)


CASES = [
    *(
        Case(
            _kernels.totals.__wrapped__,
            lambda rng, shape=shape, size=size, lanes=lanes, axis=axis: (
                np.zeros((shape[0], -(-shape[1] // size), shape[2]), INT32),
                numbers(rng, *shape), size, composed, INT32, lanes, axis,
            ),
            lambda out, x, size, *_: (parts(x, size),),
            ndrange=count(shape, size, lanes, axis),
            static=("operator", "dtype", "lanes", "axis"),
            variant=f"axis{axis}by{lanes}",
        )
        for shape, size, lanes, axis in SHARED
    ),
    *(
        Case(
            _kernels.scanned.__wrapped__,
            lambda rng, shape=shape, size=size, lanes=lanes, axis=axis: (
                np.zeros(shape, INT32), *(x := numbers(rng, *shape),),
                ends(x, size), size, composed, INT32, lanes, axis,
            ),
            lambda out, x, *_: (scanned(x),),
            ndrange=count(shape, size, lanes, axis),
            static=("operator", "dtype", "lanes", "axis"),
            variant=f"axis{axis}by{lanes}",
        )
        for shape, size, lanes, axis in SHARED
    ),
    Case(
        _kernels.totals_by_groups.__wrapped__,
        lambda rng: (
            np.zeros((2, 3, 3), INT32), numbers(rng, 2, 107, 3), composed, INT32, 16, 3,
        ),
        lambda out, x, *_: (parts(x, 48),),
        ndrange=(2 * 3 * 3 * 16,),
        group=(16,),
        static=("operator", "dtype", "group", "items"),
    ),
    Case(
        _kernels.scanned_by_groups.__wrapped__,
        lambda rng: (
            np.zeros((2, 107, 3), INT32), *(x := numbers(rng, 2, 107, 3),),
            ends(x, 48), composed, INT32, 16, 3,
        ),
        lambda out, x, *_: (scanned(x),),
        ndrange=(2 * 3 * 3 * 16,),
        group=(16,),
        static=("operator", "dtype", "group", "items"),
    ),
    Case(
        _kernels.sorted_runs.__wrapped__,
        lambda rng: (np.zeros(75, INT32), np.zeros(75, INT32), numbers(rng, 75), nearer, 16),
        lambda keys, where, x, *_: runs(x, 16),
        ndrange=(5,),
        static=("less", "run"),
    ),
    Case(
        _kernels.merged.__wrapped__,
        lambda rng: (
            np.zeros(75, INT32), np.zeros(75, INT32), *runs(numbers(rng, 75), 16), 16, 8, nearer,
        ),
        lambda out, out_places, keys, where, width, *_: merged(keys, where, 2 * width),
        ndrange=(10,),
        static=("less",),
    ),
]  # fmt: skip


def merged(keys, where, width):
    order = runs(keys, width)[1]
    return keys[order], where[order]
