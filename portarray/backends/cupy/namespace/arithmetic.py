"""Arithmetic on arrays, and the operators that work in place."""

from __future__ import annotations

import operator

import cupy
from cupy import ndarray

from portarray.backends.cupy.namespace import kernels
from portarray.backends.cupy.namespace.scalars import taking_scalars
from portarray.backends.types import Rows

abs = cupy.absolute
negative = cupy.negative
positive = ndarray.copy  # cupy.positive refuses booleans
reciprocal = cupy.reciprocal
signbit = cupy.signbit

DIRECT: Rows = {
    "add": {"iufc": cupy.add},
    "copysign": {"f": cupy.copysign},
    "divide": {"fc": cupy.true_divide},
    "floor_divide": {"iu": cupy.floor_divide, "f": kernels.floor_divide},
    "multiply": {"iufc": cupy.multiply},
    "nextafter": {"f": cupy.nextafter, "float32": kernels.nextafter},
    "remainder": {"iu": cupy.remainder, "f": kernels.remainder},
    "subtract": {"iufc": cupy.subtract},
}

BY_DTYPE: Rows = {
    **taking_scalars(DIRECT),
    "sign": {"iu": cupy.sign, "f": kernels.sign, "c": kernels.complex_sign},
}

# CuPy's shifts, powers and floating-point floor division differ from the standard, and quotients of
# integers are not integers. CuPy copies an operand that overlaps the array.
IN_PLACE: Rows = {
    "add": {"iufc": operator.iadd},
    "bitwise_and": {"biu": operator.iand},
    "bitwise_or": {"biu": operator.ior},
    "bitwise_xor": {"biu": operator.ixor},
    "divide": {"fc": operator.itruediv},
    "multiply": {"iufc": operator.imul},
    "subtract": {"iufc": operator.isub},
}
