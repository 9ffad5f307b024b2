"""clarray: an array library for OpenCL that implements the Python array API standard.

>>> from portarray import clarray as cl
>>> x = cl.asarray([1.0, 2.0, 3.0])
>>> cl.sum(x * x)
Array(14., dtype=float64)

Arrays are strided views of pooled device memory. Operations are OpenCL programs, built once and
cached on disk. Of portarray, it imports only ``_opencl``, ``_dlpack`` and ``_result_types``.
"""

import numpy as _np  # noqa: ICN001  (not a public name)

try:
    import pyopencl as _pyopencl  # noqa: F401  (checked once, before any module needs it)
except ImportError as error:
    from portarray._installation import pip_install as _pip_install

    raise ImportError(
        f"clarray needs pyopencl, which cannot be imported ({error})\nHint: "
        f"{_pip_install('portarray[opencl]')}; a pyopencl built from source also needs the loader "
        f"libOpenCL from the system's packages (ocl-icd-libopencl1 on Debian)",
        name=error.name,
        path=error.path,
    ) from error

from portarray._opencl.device import Device
from portarray._opencl.registry import devices, reasons
from portarray._result_types import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from portarray.clarray import fft, linalg
from portarray.clarray.arithmetic import (
    abs,
    add,
    copysign,
    divide,
    floor_divide,
    multiply,
    negative,
    nextafter,
    positive,
    reciprocal,
    remainder,
    sign,
    signbit,
    square,
    subtract,
)
from portarray.clarray.array import Array
from portarray.clarray.bitwise import (
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
)
from portarray.clarray.comparison import (
    clip,
    equal,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    maximum,
    minimum,
    not_equal,
    where,
)
from portarray.clarray.complex import conj, imag, real
from portarray.clarray.constants import e, inf, nan, newaxis, pi
from portarray.clarray.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from portarray.clarray.data_type import astype, can_cast, finfo, iinfo, isdtype, result_type
from portarray.clarray.dtypes import bfloat16 as _bfloat16
from portarray.clarray.errors import (
    DeviceNotFunctionalError,
    DTypeNotSupportedError,
    KernelError,
    OutOfMemoryError,
)
from portarray.clarray.exponential import (
    exp,
    expm1,
    hypot,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    pow,
    sqrt,
)
from portarray.clarray.indexing import take, take_along_axis
from portarray.clarray.info import __array_namespace_info__
from portarray.clarray.interop import from_dlpack
from portarray.clarray.linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from portarray.clarray.logical import logical_and, logical_not, logical_or, logical_xor
from portarray.clarray.manipulation import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from portarray.clarray.rounding import ceil, floor, round, trunc
from portarray.clarray.searching import argmax, argmin, count_nonzero, nonzero, searchsorted
from portarray.clarray.selection import default_device, memory, reclaim, synchronize
from portarray.clarray.sets import (
    isin,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from portarray.clarray.sorting import argsort, sort
from portarray.clarray.statistical import (
    cumulative_prod,
    cumulative_sum,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from portarray.clarray.trigonometric import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    sin,
    sinh,
    tan,
    tanh,
)
from portarray.clarray.utility import all, any, diff

__array_api_version__ = "2025.12"

# NumPy's scalar types, as in NumPy's namespace: they compare equal to dtypes.
bool = _np.bool
int8 = _np.int8
int16 = _np.int16
int32 = _np.int32
int64 = _np.int64
uint8 = _np.uint8
uint16 = _np.uint16
uint32 = _np.uint32
uint64 = _np.uint64
float16 = _np.float16
bfloat16 = _bfloat16.type
float32 = _np.float32
float64 = _np.float64
complex64 = _np.complex64
complex128 = _np.complex128

__all__ = ["abs", "add", "copysign", "divide", "fft", "floor_divide", "linalg", "multiply"]
__all__ += ["negative", "nextafter", "positive", "reciprocal", "remainder", "sign", "signbit"]
__all__ += ["bitwise_and", "bitwise_invert", "bitwise_left_shift", "square", "subtract"]
__all__ += ["bitwise_or", "bitwise_right_shift", "bitwise_xor", "clip", "equal", "greater"]
__all__ += ["greater_equal", "isfinite", "isinf", "isnan", "less", "less_equal", "maximum"]
__all__ += ["conj", "e", "imag", "inf", "minimum", "nan", "newaxis", "not_equal", "real", "where"]
__all__ += ["arange", "asarray", "empty", "empty_like", "eye", "full", "full_like", "pi"]
__all__ += ["linspace", "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like"]
__all__ += ["astype", "can_cast", "exp", "expm1", "finfo", "iinfo", "isdtype", "result_type"]
__all__ += ["hypot", "log", "log1p", "log2", "log10", "logaddexp", "pow", "sqrt", "take"]
__all__ += ["__array_namespace_info__", "from_dlpack", "matmul", "take_along_axis"]
__all__ += ["logical_and", "logical_not", "logical_or", "matrix_transpose", "tensordot", "vecdot"]
__all__ += ["broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "logical_xor"]
__all__ += ["expand_dims", "flip", "moveaxis", "permute_dims", "repeat", "reshape", "roll"]
__all__ += ["argmax", "ceil", "floor", "round", "squeeze", "stack", "tile", "trunc", "unstack"]
__all__ += ["UniqueAllResult", "argmin", "count_nonzero", "nonzero", "searchsorted"]
__all__ += ["UniqueCountsResult", "UniqueInverseResult", "isin", "unique_all", "unique_counts"]
__all__ += ["argsort", "cumulative_prod", "sort", "unique_inverse", "unique_values"]
__all__ += ["acos", "acosh", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var"]
__all__ += ["asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh"]
__all__ += ["Array", "DTypeNotSupportedError", "Device", "all", "any", "diff"]
__all__ += ["DeviceNotFunctionalError", "KernelError", "OutOfMemoryError", "reasons"]
__all__ += ["bool", "default_device", "devices", "int8", "memory", "reclaim", "synchronize"]
__all__ += ["bfloat16", "float16", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
__all__ += ["complex64", "complex128", "float32", "float64"]
