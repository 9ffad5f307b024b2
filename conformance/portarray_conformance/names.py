"""Every name of the Python Array API standard 2025.12, by category.

Elementwise functions are split by family. Array attributes, methods and operators are called
``array.NAME``, functions of ``__array_namespace_info__()`` are called ``info.NAME``.
"""

from __future__ import annotations

from collections.abc import Mapping

VERSION = "2025.12"
"""The version of the standard that the suite checks."""


def _names(text: str, form: str = "{}") -> tuple[str, ...]:
    return tuple(form.format(name) for name in text.split())


_OPERATORS = "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor"

CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "arithmetic": _names(
        "abs add clip copysign divide floor_divide hypot maximum minimum multiply negative "
        "nextafter positive pow reciprocal remainder sign signbit sqrt square subtract"
    ),
    "comparison": _names(
        "equal greater greater_equal isfinite isinf isnan less less_equal not_equal"
    ),
    "exponential": _names("exp expm1 log log10 log1p log2 logaddexp"),
    "trigonometric": _names("acos asin atan atan2 cos sin tan"),
    "hyperbolic": _names("acosh asinh atanh cosh sinh tanh"),
    "rounding": _names("ceil floor round trunc"),
    "bitwise": _names(
        "bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor"
    ),
    "logical": _names("logical_and logical_not logical_or logical_xor"),
    "complex": _names("conj imag real"),
    "creation": _names(
        "arange asarray empty empty_like eye full full_like linspace meshgrid ones ones_like tril "
        "triu zeros zeros_like"
    ),
    "data_type": _names(
        "astype can_cast finfo iinfo isdtype result_type bool int8 int16 int32 int64 uint8 uint16 "
        "uint32 uint64 float32 float64 complex64 complex128 dtype.__eq__"
    ),
    "constants": _names("e inf nan newaxis pi"),
    "indexing": _names("take take_along_axis"),
    "linear_algebra": _names("matmul matrix_transpose tensordot vecdot"),
    "linalg": _names(
        "cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power "
        "matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace "
        "vecdot vector_norm",
        "linalg.{}",
    ),
    "fft": _names(
        "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift "
        "ifftshift",
        "fft.{}",
    ),
    "manipulation": _names(
        "broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip moveaxis "
        "permute_dims repeat reshape roll squeeze stack tile unstack"
    ),
    "searching": _names("argmax argmin count_nonzero nonzero searchsorted where"),
    "set": _names("isin unique_all unique_counts unique_inverse unique_values"),
    "sorting": _names("argsort sort"),
    "statistical": _names("cumulative_prod cumulative_sum max mean min prod std sum var"),
    "utility": _names("all any diff"),
    "array_object": _names(
        "T device dtype mT ndim shape size __array_namespace__ __bool__ __complex__ __float__ "
        "__getitem__ __index__ __int__ __setitem__ to_device",
        "array.{}",
    ),
    "operators": (
        *_names("abs invert neg pos eq ge gt le lt ne", "array.__{}__"),
        *_names(_OPERATORS, "array.__{}__"),
        *_names(_OPERATORS, "array.__r{}__"),
        *_names(_OPERATORS, "array.__i{}__"),
    ),
    "inspection": _names(
        "__array_api_version__ __array_namespace_info__ info.capabilities info.default_device "
        "info.default_dtypes info.devices info.dtypes"
    ),
    "dlpack": _names("from_dlpack array.__dlpack__ array.__dlpack_device__"),
}
"""The names in each category."""

ALL_NAMES: tuple[str, ...] = tuple(name for names in CATEGORIES.values() for name in names)
"""All names, in the order of the categories."""

CATEGORY_OF = {name: category for category, names in CATEGORIES.items() for name in names}
"""The category of each name."""
