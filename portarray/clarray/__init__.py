"""clarray: an array library for OpenCL after the Python array API standard.

>>> from portarray import clarray as cl
>>> x = cl.asarray([1.0, 2.0, 3.0])
>>> cl.sum(x * x)
Array(14., dtype=float64)

Arrays are strided views of pooled device memory; operations are kernels of one program each, built
once and kept on disk. Nothing else of portarray is imported here.
"""

import numpy as _np  # noqa: ICN001  (not a public name)

from portarray.clarray.arithmetic import add
from portarray.clarray.array import Array
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
from portarray.clarray.info import __array_namespace_info__
from portarray.clarray.interop import from_dlpack
from portarray.clarray.runtime.device import Device, default_device, devices

__array_api_version__ = "2025.12"

# NumPy's scalar types, as in NumPy's own namespace: x.dtype == cl.float32 holds both ways round.
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

__all__ = [
    "add",
    "e",
    "inf",
    "nan",
    "newaxis",
    "pi",
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
    "astype",
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "result_type",
    "__array_namespace_info__",
    "from_dlpack",
    "Array",
    "DTypeNotSupportedError",
    "Device",
    "DeviceNotFunctionalError",
    "KernelError",
    "OutOfMemoryError",
    "default_device",
    "devices",
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
