"""Arithmetic on dpnp's arrays, and the operators that work in place."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import dpnp
from dpnp import ndarray

from portarray._dtypes.promotion import Scalar
from portarray.backends.composed.arithmetic import sign_parts
from portarray.backends.dpnp.namespace.bitwise import right_shift
from portarray.backends.dpnp.namespace.complex import as_real_pairs
from portarray.backends.dpnp.namespace.exponential import check_power
from portarray.backends.dpnp.namespace.indexing import settle
from portarray.backends.dpnp.namespace.scalars import constant, taking_scalars
from portarray.backends.types import Rows

abs = dpnp.abs
negative = dpnp.negative
positive = dpnp.copy  # dpnp.positive refuses booleans
reciprocal = dpnp.reciprocal
signbit = dpnp.signbit


def _floor_divide(x1: ndarray, x2: ndarray) -> ndarray:
    # Rounding can make a quotient whole from below, which dpnp.floor_divide ignores. The fraction
    # is then 0, and remainder / divisor is nearly 1.
    quotient = dpnp.divide(x1, x2)
    floor = dpnp.floor(quotient)
    share = dpnp.remainder(x1, x2)
    dpnp.divide(share, x2, out=share)
    dpnp.subtract(quotient, floor, out=quotient)
    dpnp.subtract(share, quotient, out=share)
    dpnp.rint(share, out=share)
    # NaN, for infinite operands or quotients, needs no correction.
    dpnp.nan_to_num(share, copy=False)
    return dpnp.subtract(floor, share, out=share)


def _half_nextafter(x1: ndarray, x2: ndarray) -> ndarray:
    """Return x2 where both are equal; dpnp.nextafter keeps x1's sign of zero."""
    return dpnp.where(dpnp.equal(x1, x2), x2, dpnp.nextafter(x1, x2))


DIRECT: Rows = {
    "add": {"iufc": dpnp.add},
    "copysign": {"f": dpnp.copysign},
    "divide": {"fc": dpnp.divide},
    "floor_divide": {"iu": dpnp.floor_divide, "f": _floor_divide},
    "multiply": {"iufc": dpnp.multiply},
    "nextafter": {"f": dpnp.nextafter, "float16": _half_nextafter},
    "remainder": {"iuf": dpnp.remainder},
    "subtract": {"iufc": dpnp.subtract},
}

BY_DTYPE: Rows = {
    **taking_scalars(DIRECT),
    "sign": {"iuf": dpnp.sign, "c": partial(as_real_pairs, sign_parts)},
}


def _in_place(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], ndarray]:
    def in_place(x: ndarray, value: ndarray | Scalar) -> ndarray:
        return settle(function(x, value if isinstance(value, ndarray) else constant(value, x)))

    return in_place


def _floor_divide_in_place(x1: ndarray, x2: ndarray) -> ndarray:
    x1[...] = _floor_divide(x1, x2)
    return x1


def _right_shift_in_place(x1: ndarray, x2: ndarray) -> ndarray:
    x1[...] = right_shift(x1, x2)
    return x1


_pow_in_place = _in_place(operator.ipow)


def _signed_pow_in_place(x: ndarray, value: ndarray | Scalar) -> ndarray:
    check_power(value)
    return _pow_in_place(x, value)


IN_PLACE: Rows = {
    "add": {"iufc": _in_place(operator.iadd)},
    "bitwise_and": {"biu": _in_place(operator.iand)},
    "bitwise_left_shift": {"iu": _in_place(operator.ilshift)},
    "bitwise_or": {"biu": _in_place(operator.ior)},
    "bitwise_right_shift": {
        "i": _in_place(_right_shift_in_place),
        "u": _in_place(operator.irshift),
    },
    "bitwise_xor": {"biu": _in_place(operator.ixor)},
    "divide": {"fc": _in_place(operator.itruediv)},
    "floor_divide": {"iu": _in_place(operator.ifloordiv), "f": _in_place(_floor_divide_in_place)},
    "multiply": {"iufc": _in_place(operator.imul)},
    "pow": {"i": _signed_pow_in_place, "uf": _pow_in_place},
    "remainder": {"iuf": _in_place(operator.imod)},
    "subtract": {"iufc": _in_place(operator.isub)},
}
