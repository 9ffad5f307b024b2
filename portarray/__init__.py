"""portarray: one Array API namespace over the array libraries people already have.

>>> import portarray as pa
>>> x = pa.asarray([1.0, 2.0, 3.0], device="cpu")
>>> pa.sum(x * x)
Array(14., dtype=float64, device='numpy:cpu:0')
"""

import os as _os
import sys as _sys
import typing as _typing

import numpy as _np  # noqa: ICN001  (not a public name)

from portarray import _namespace as _namespace_module
from portarray import fft, linalg
from portarray._api.arithmetic.operations import (
    add,
    divide,
    floor_divide,
    multiply,
    negative,
    positive,
    reciprocal,
    remainder,
    subtract,
)
from portarray._api.arithmetic.signs import abs, copysign, nextafter, sign, signbit
from portarray._api.bitwise import (
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
)
from portarray._api.comparison import (
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
)
from portarray._api.complex import conj, imag, real
from portarray._api.constants import e, inf, nan, newaxis, pi
from portarray._api.creation.filled import (
    empty,
    empty_like,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from portarray._api.creation.matrices import eye, tril, triu
from portarray._api.creation.ranges import arange, linspace, logspace, meshgrid
from portarray._api.creation.values import asarray, from_dlpack
from portarray._api.data_type import astype, can_cast, finfo, iinfo, isdtype, result_type
from portarray._api.exponential import (
    exp,
    expm1,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    pow,
    sqrt,
    square,
)
from portarray._api.indexing import take, take_along_axis
from portarray._api.linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from portarray._api.logical import logical_and, logical_not, logical_or, logical_xor
from portarray._api.manipulation.joining import concat, repeat, stack, tile, unstack
from portarray._api.manipulation.order import flip, moveaxis, permute_dims, roll
from portarray._api.manipulation.shapes import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    expand_dims,
    reshape,
    squeeze,
)
from portarray._api.namespaces import array_namespace, namespace
from portarray._api.rounding import ceil, floor, round, trunc
from portarray._api.searching import argmax, argmin, count_nonzero, nonzero, searchsorted, where
from portarray._api.sets import isin, unique_all, unique_counts, unique_inverse, unique_values
from portarray._api.sorting import argsort, sort
from portarray._api.statistical.cumulative import cumulative_prod, cumulative_sum
from portarray._api.statistical.moments import mean, std, var
from portarray._api.statistical.totals import max, min, prod, sum
from portarray._api.support import support
from portarray._api.trigonometric import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    hypot,
    sin,
    sinh,
    tan,
    tanh,
)
from portarray._api.utility import all, any, diff
from portarray._array import base as _base
from portarray._array import dtypes as _dtypes
from portarray._array import interop as _interop
from portarray._array.array import Array
from portarray._array.info import (
    VERSION as __array_api_version__,  # noqa: N811  (the standard's name)
)
from portarray._array.info import __array_namespace_info__
from portarray._config import config
from portarray._devices.device import Device
from portarray._devices.memory import memory, reclaim, synchronize
from portarray._devices.selection import (
    cpu_device,
    device,
    devices,
    functional,
    gpu_device,
    reset_gpu_device,
    set_default_device,
    set_preference,
    supported_backends,
)
from portarray._devices.summary import summary
from portarray._kernel_language.decorator import kernel
from portarray._movement.routes import TransferPlan
from portarray._movement.to_device import to_device, transfer_plan
from portarray._name_hints import EXTRAS as _EXTRAS
from portarray._name_hints import module_getattr as _module_getattr
from portarray._saving import CLASSES as _CLASSES
from portarray._saving import SavedClass as _SavedClass
from portarray._saving.save_load import load, save
from portarray._version import __version__
from portarray.backends import registry as _registry
from portarray.errors import (
    DeviceMismatchError,
    DeviceNotFunctionalError,
    DeviceSelectionWarning,
    DTypeNotSupportedError,
    HostAccessError,
    HostAccessWarning,
    HostFallbackError,
    HostFallbackWarning,
    KernelBuildError,
    KernelDebugError,
    KernelIndexError,
    KernelSyntaxError,
    KernelVerificationError,
    KernelZeroDivisionError,
    LinAlgError,
    NoGradientError,
    OutOfMemoryError,
    PortarrayError,
    PortarrayWarning,
    PreferenceError,
    TaskCancelledError,
    TracedArrayError,
    UnknownDeviceError,
    VerificationError,
)

if _typing.TYPE_CHECKING:
    from portarray import kernels, random, special, tasks
    from portarray._api.scattering import scatter_add, scatter_max, scatter_min, scatter_multiply
    from portarray._movement.prefetch import prefetch
    from portarray._transforms.compiling.compiled import compile
    from portarray._transforms.control import cond, scan, while_loop
    from portarray._transforms.custom_gradients import checkpoint, custom_vjp, stop_gradient
    from portarray._transforms.gradients import grad, hvp, jacobian, jvp, value_and_grad, vjp
    from portarray._transforms.precision import precision
    from portarray._transforms.vmap import vmap
    from portarray._verification.functions import verify

    bfloat16: type[_typing.Any]

    # Functions beyond the standard, _name_hints.EXTRAS.
    _Extra = _typing.Callable[..., _typing.Any]
    allclose: _Extra
    angle: _Extra
    append: _Extra
    apply_along_axis: _Extra
    apply_over_axes: _Extra
    argpartition: _Extra
    argwhere: _Extra
    array_equal: _Extra
    array_equiv: _Extra
    array_split: _Extra
    atleast_1d: _Extra
    atleast_2d: _Extra
    atleast_3d: _Extra
    average: _Extra
    bincount: _Extra
    block: _Extra
    cbrt: _Extra
    column_stack: _Extra
    compress: _Extra
    convolve: _Extra
    copy: _Extra
    corrcoef: _Extra
    correlate: _Extra
    cov: _Extra
    deg2rad: _Extra
    degrees: _Extra
    delete: _Extra
    diag: _Extra
    diagflat: _Extra
    digitize: _Extra
    divmod: _Extra
    dot: _Extra
    dsplit: _Extra
    dstack: _Extra
    ediff1d: _Extra
    einsum: _Extra
    exp2: _Extra
    extract: _Extra
    fabs: _Extra
    flatnonzero: _Extra
    fliplr: _Extra
    flipud: _Extra
    float_power: _Extra
    fmax: _Extra
    fmin: _Extra
    fmod: _Extra
    gradient: _Extra
    heaviside: _Extra
    histogram: _Extra
    histogram2d: _Extra
    histogram_bin_edges: _Extra
    histogramdd: _Extra
    hsplit: _Extra
    hstack: _Extra
    inner: _Extra
    insert: _Extra
    interp: _Extra
    intersect1d: _Extra
    isclose: _Extra
    iscomplex: _Extra
    iscomplexobj: _Extra
    isneginf: _Extra
    isposinf: _Extra
    isreal: _Extra
    isrealobj: _Extra
    ix_: _Extra
    kron: _Extra
    ldexp: _Extra
    lexsort: _Extra
    logaddexp2: _Extra
    median: _Extra
    modf: _Extra
    nan_to_num: _Extra
    nanargmax: _Extra
    nanargmin: _Extra
    nancumprod: _Extra
    nancumsum: _Extra
    nanmax: _Extra
    nanmean: _Extra
    nanmedian: _Extra
    nanmin: _Extra
    nanpercentile: _Extra
    nanprod: _Extra
    nanquantile: _Extra
    nanstd: _Extra
    nansum: _Extra
    nanvar: _Extra
    pad: _Extra
    partition: _Extra
    percentile: _Extra
    piecewise: _Extra
    polyadd: _Extra
    polyder: _Extra
    polyint: _Extra
    polymul: _Extra
    polysub: _Extra
    polyval: _Extra
    ptp: _Extra
    quantile: _Extra
    rad2deg: _Extra
    radians: _Extra
    ravel: _Extra
    resize: _Extra
    rollaxis: _Extra
    rot90: _Extra
    select: _Extra
    setdiff1d: _Extra
    setxor1d: _Extra
    sinc: _Extra
    split: _Extra
    swapaxes: _Extra
    transpose: _Extra
    trapezoid: _Extra
    trim_zeros: _Extra
    union1d: _Extra
    unwrap: _Extra
    vander: _Extra
    vdot: _Extra
    vsplit: _Extra
    vstack: _Extra

# NumPy's scalar types, as in NumPy's own namespace: x.dtype == pa.float32 holds both ways round.
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
float32 = _np.float32
float64 = _np.float64
complex64 = _np.complex64
complex128 = _np.complex128


if not _typing.TYPE_CHECKING:  # a type checker would take every name to be there
    _missing = _module_getattr(__name__)

    def __getattr__(name):
        """Import a module on first access that most programs do not need."""
        if name == "bfloat16":
            return _dtypes.bfloat16().type
        if name == "kernels":
            import portarray.kernels as module
        elif name == "random":
            import portarray.random as module
        elif name == "special":
            import portarray.special as module
        elif name == "tasks":
            import portarray.tasks as module
        elif name == "compile":
            from portarray._transforms.compiling import compiled as module
        elif name in ("grad", "hvp", "jacobian", "jvp", "value_and_grad", "vjp"):
            from portarray._transforms import gradients as module
        elif name in ("checkpoint", "custom_vjp", "stop_gradient"):
            from portarray._transforms import custom_gradients as module
        elif name in ("cond", "scan", "while_loop"):
            from portarray._transforms import control as module
        elif name == "vmap":
            from portarray._transforms import vmap as module
        elif name in ("scatter_add", "scatter_max", "scatter_min", "scatter_multiply"):
            from portarray._api import scattering as module
        elif name == "prefetch":
            from portarray._movement import prefetch as module
        elif name == "precision":
            from portarray._transforms import precision as module
        elif name == "verify":
            from portarray._verification import functions as module
        elif name in _EXTRAS:
            _interop.check_name(name)
            from portarray._numpy_functions import extras

            return extras.function(name)
        else:
            return _missing(name)
        return globals().setdefault(name, getattr(module, name, module))


def _load_numpy_functions() -> _typing.Any:
    from portarray import _numpy_functions as module

    return module


def _define_einops_backend(module: object) -> None:
    from portarray import _einops

    _einops.define_backend(module)


def _load_packed() -> _typing.Any:
    from portarray.kernels import packed as module

    return module


def _add_virtual_backend() -> None:
    if _os.environ.get("PORTARRAY_VIRTUAL"):
        from portarray.testing.virtual import INFO

        _registry.add_backend(INFO.module)


_namespace_module.register(_sys.modules[__name__])
_base.NAMESPACE.append(_sys.modules[__name__])
_interop.install_hooks(_load_numpy_functions)
_registry.defer(_add_virtual_backend)
_interop.after_import("einops._backends", _define_einops_backend)
_CLASSES["packed"] = _SavedClass("portarray.kernels.packed", _load_packed)

__all__ = [
    # Constants
    "e",
    "inf",
    "nan",
    "newaxis",
    "pi",
    # Creation functions
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
    # Data type functions
    "astype",
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "result_type",
    # Elementwise functions
    "abs",
    "add",
    "copysign",
    "divide",
    "floor_divide",
    "multiply",
    "negative",
    "nextafter",
    "positive",
    "reciprocal",
    "remainder",
    "sign",
    "signbit",
    "subtract",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "clip",
    "equal",
    "greater",
    "greater_equal",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "maximum",
    "minimum",
    "not_equal",
    "conj",
    "imag",
    "real",
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "pow",
    "sqrt",
    "square",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "ceil",
    "floor",
    "round",
    "trunc",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "hypot",
    "sin",
    "sinh",
    "tan",
    "tanh",
    # Indexing functions
    "take",
    "take_along_axis",
    # Linear algebra functions
    "matmul",
    "matrix_transpose",
    "tensordot",
    "vecdot",
    # Manipulation functions
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
    # Searching functions
    "argmax",
    "argmin",
    "count_nonzero",
    "nonzero",
    "searchsorted",
    "where",
    # Set functions
    "isin",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    # Sorting functions
    "argsort",
    "sort",
    # Statistical functions
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
    # Utility functions
    "all",
    "any",
    "diff",
    # Extensions
    "fft",
    "linalg",
    # Core kernels and user kernels
    "kernel",
    "kernels",
    # Random numbers
    "random",
    # Special functions
    "special",
    # Values combined at indices
    "scatter_add",
    "scatter_max",
    "scatter_min",
    "scatter_multiply",
    # Gradients and compilation
    "checkpoint",
    "compile",
    "cond",
    "custom_vjp",
    "grad",
    "hvp",
    "jacobian",
    "jvp",
    "precision",
    "scan",
    "stop_gradient",
    "value_and_grad",
    "verify",
    "vjp",
    "vmap",
    "while_loop",
    # More than one device
    "tasks",
    # Data types
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
    "float32",
    "float64",
    "complex64",
    "complex128",
    "bfloat16",
    # Arrays and namespaces
    "Array",
    "__array_api_version__",
    "__array_namespace_info__",
    "array_namespace",
    "config",
    "namespace",
    "support",
    # Devices
    "Device",
    "cpu_device",
    "device",
    "devices",
    "functional",
    "gpu_device",
    "memory",
    "reclaim",
    "reset_gpu_device",
    "set_default_device",
    "set_preference",
    "summary",
    "supported_backends",
    "synchronize",
    # Moving data
    "TransferPlan",
    "load",
    "prefetch",
    "save",
    "to_device",
    "transfer_plan",
    # Errors and warnings
    "DTypeNotSupportedError",
    "DeviceMismatchError",
    "DeviceNotFunctionalError",
    "DeviceSelectionWarning",
    "HostAccessError",
    "HostAccessWarning",
    "HostFallbackError",
    "HostFallbackWarning",
    "KernelBuildError",
    "KernelDebugError",
    "KernelIndexError",
    "KernelSyntaxError",
    "KernelVerificationError",
    "KernelZeroDivisionError",
    "LinAlgError",
    "NoGradientError",
    "OutOfMemoryError",
    "PortarrayError",
    "PortarrayWarning",
    "PreferenceError",
    "TaskCancelledError",
    "TracedArrayError",
    "UnknownDeviceError",
    "VerificationError",
    "__version__",
]
