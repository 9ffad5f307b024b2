"""Every name of the Python Array API standard 2025.12, chapter by chapter.

The names are written out: a reader can find each one, and a test holds that each one has a case.
Elementwise functions are split by family. Array attributes, methods and operators are called
``array.NAME``, what ``__array_namespace_info__()`` offers is called ``info.NAME``.
"""

from __future__ import annotations

from collections.abc import Mapping

VERSION = "2025.12"
"""The version of the standard that the suite checks."""

ARITHMETIC = (
    "abs",
    "add",
    "clip",
    "copysign",
    "divide",
    "floor_divide",
    "hypot",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "positive",
    "pow",
    "reciprocal",
    "remainder",
    "sign",
    "signbit",
    "sqrt",
    "square",
    "subtract",
)
COMPARISON = (
    "equal",
    "greater",
    "greater_equal",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "not_equal",
)
EXPONENTIAL = ("exp", "expm1", "log", "log10", "log1p", "log2", "logaddexp")
TRIGONOMETRIC = ("acos", "asin", "atan", "atan2", "cos", "sin", "tan")
HYPERBOLIC = ("acosh", "asinh", "atanh", "cosh", "sinh", "tanh")
ROUNDING = ("ceil", "floor", "round", "trunc")
BITWISE = (
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
)
LOGICAL = ("logical_and", "logical_not", "logical_or", "logical_xor")
COMPLEX = ("conj", "imag", "real")

CREATION = (
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
)
DATA_TYPE = (
    "astype",
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "result_type",
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "dtype.__eq__",
)
CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")
INDEXING = ("take", "take_along_axis")
LINEAR_ALGEBRA = ("matmul", "matrix_transpose", "tensordot", "vecdot")
LINALG = (
    "linalg.cholesky",
    "linalg.cross",
    "linalg.det",
    "linalg.diagonal",
    "linalg.eig",
    "linalg.eigh",
    "linalg.eigvals",
    "linalg.eigvalsh",
    "linalg.inv",
    "linalg.matmul",
    "linalg.matrix_norm",
    "linalg.matrix_power",
    "linalg.matrix_rank",
    "linalg.matrix_transpose",
    "linalg.outer",
    "linalg.pinv",
    "linalg.qr",
    "linalg.slogdet",
    "linalg.solve",
    "linalg.svd",
    "linalg.svdvals",
    "linalg.tensordot",
    "linalg.trace",
    "linalg.vecdot",
    "linalg.vector_norm",
)
FFT = (
    "fft.fft",
    "fft.ifft",
    "fft.fftn",
    "fft.ifftn",
    "fft.rfft",
    "fft.irfft",
    "fft.rfftn",
    "fft.irfftn",
    "fft.hfft",
    "fft.ihfft",
    "fft.fftfreq",
    "fft.rfftfreq",
    "fft.fftshift",
    "fft.ifftshift",
)
MANIPULATION = (
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
)
SEARCHING = ("argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "where")
SET = ("isin", "unique_all", "unique_counts", "unique_inverse", "unique_values")
SORTING = ("argsort", "sort")
STATISTICAL = (
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
)
UTILITY = ("all", "any", "diff")
INSPECTION = (
    "__array_api_version__",
    "__array_namespace_info__",
    "info.capabilities",
    "info.default_device",
    "info.default_dtypes",
    "info.devices",
    "info.dtypes",
)
DLPACK = ("from_dlpack", "array.__dlpack__", "array.__dlpack_device__")

ARRAY_ATTRIBUTES = (
    "array.T",
    "array.device",
    "array.dtype",
    "array.mT",
    "array.ndim",
    "array.shape",
    "array.size",
)
ARRAY_METHODS = (
    "array.__array_namespace__",
    "array.__bool__",
    "array.__complex__",
    "array.__float__",
    "array.__getitem__",
    "array.__index__",
    "array.__int__",
    "array.__setitem__",
    "array.to_device",
)
UNARY_OPERATORS = (
    "array.__abs__",
    "array.__invert__",
    "array.__neg__",
    "array.__pos__",
)
COMPARISON_OPERATORS = (
    "array.__eq__",
    "array.__ge__",
    "array.__gt__",
    "array.__le__",
    "array.__lt__",
    "array.__ne__",
)
BINARY_OPERATORS = (
    "array.__add__",
    "array.__and__",
    "array.__floordiv__",
    "array.__lshift__",
    "array.__matmul__",
    "array.__mod__",
    "array.__mul__",
    "array.__or__",
    "array.__pow__",
    "array.__rshift__",
    "array.__sub__",
    "array.__truediv__",
    "array.__xor__",
)
REFLECTED_OPERATORS = (
    "array.__radd__",
    "array.__rand__",
    "array.__rfloordiv__",
    "array.__rlshift__",
    "array.__rmatmul__",
    "array.__rmod__",
    "array.__rmul__",
    "array.__ror__",
    "array.__rpow__",
    "array.__rrshift__",
    "array.__rsub__",
    "array.__rtruediv__",
    "array.__rxor__",
)
INPLACE_OPERATORS = (
    "array.__iadd__",
    "array.__iand__",
    "array.__ifloordiv__",
    "array.__ilshift__",
    "array.__imatmul__",
    "array.__imod__",
    "array.__imul__",
    "array.__ior__",
    "array.__ipow__",
    "array.__irshift__",
    "array.__isub__",
    "array.__itruediv__",
    "array.__ixor__",
)

CHAPTERS: Mapping[str, tuple[str, ...]] = {
    "arithmetic": ARITHMETIC,
    "comparison": COMPARISON,
    "exponential": EXPONENTIAL,
    "trigonometric": TRIGONOMETRIC,
    "hyperbolic": HYPERBOLIC,
    "rounding": ROUNDING,
    "bitwise": BITWISE,
    "logical": LOGICAL,
    "complex": COMPLEX,
    "creation": CREATION,
    "data_type": DATA_TYPE,
    "constants": CONSTANTS,
    "indexing": INDEXING,
    "linear_algebra": LINEAR_ALGEBRA,
    "linalg": LINALG,
    "fft": FFT,
    "manipulation": MANIPULATION,
    "searching": SEARCHING,
    "set": SET,
    "sorting": SORTING,
    "statistical": STATISTICAL,
    "utility": UTILITY,
    "array_object": ARRAY_ATTRIBUTES + ARRAY_METHODS,
    "operators": (
        UNARY_OPERATORS
        + COMPARISON_OPERATORS
        + BINARY_OPERATORS
        + REFLECTED_OPERATORS
        + INPLACE_OPERATORS
    ),
    "inspection": INSPECTION,
    "dlpack": DLPACK,
}
"""Chapter to the names in it."""

ALL_NAMES: tuple[str, ...] = tuple(name for names in CHAPTERS.values() for name in names)
"""All names, in the order of the chapters."""
