"""The dtypes, and which kinds each function takes.

The dtypes of portarray are NumPy's, on every device. How they promote is one rule for portarray and
all backends, :mod:`portarray.backends.promotion`.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray.backends.promotion import KIND_ORDER, Kind, kind_of, promote
from portarray.errors import DTypeNotSupportedError

if TYPE_CHECKING:
    from portarray._devices.device import Device

__all__ = [
    "ACCEPTED",
    "EXTRA",
    "KIND_ORDER",
    "PYTHON_SCALARS",
    "SCALARS",
    "STANDARD",
    "Kind",
    "bfloat16",
    "canonical",
    "kind_of",
    "missing",
    "name_of",
    "nearest",
    "promote",
]

DType = np.dtype[Any]
PYTHON_SCALARS: tuple[type, ...] = (bool, int, float, complex)
"""The scalar types; subclasses count as their base."""

SCALARS: tuple[type, ...] = (*PYTHON_SCALARS, np.generic)
"""All that counts as a Python scalar, NumPy's scalars among them."""

STANDARD: dict[str, DType] = {
    name: np.dtype(name)
    for name in (
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
    )
}
"""The standard's dtypes by name."""

EXTRA = ("float16", "bfloat16")
"""Dtypes outside the standard that exist where a device has them."""

# By dtype, by NumPy's scalar type, as pa.float32 is one, and by name, which NumPy parses slowly.
_SAME: dict[object, DType] = {
    key: dtype for name, dtype in STANDARD.items() for key in (dtype, dtype.type, name)
}
_FLOAT16 = np.dtype("float16")
_NAMES = ", ".join((*STANDARD, *EXTRA))


@cache
def bfloat16() -> DType:
    """Return the bfloat16 dtype; ml_dtypes is imported only for those who use it."""
    import ml_dtypes

    dtype: DType = np.dtype(ml_dtypes.bfloat16)
    return dtype


@cache
def name_of(dtype: DType) -> str:
    """Return a dtype's name, which NumPy puts together each time it is asked."""
    return dtype.name


def canonical(dtype: object) -> DType:
    """Return a dtype as the one object that portarray uses for it.

    Accepts NumPy dtypes and scalar types, Python's ``bool``, ``int``, ``float``, ``complex`` and
    names. Raises TypeError for anything else, strings and objects included.
    """
    if isinstance(dtype, (np.dtype, type, str)) and dtype in _SAME:
        return _SAME[dtype]
    if isinstance(dtype, str) and dtype == "bfloat16":
        return bfloat16()
    found = None
    if dtype is not None:  # NumPy takes None for float64
        # Anything may come here, and NumPy looks into what it does not know.
        with suppress(TypeError, ValueError, SyntaxError):
            found = np.dtype(dtype)  # type: ignore[call-overload]
    if found is not None:
        found = found.newbyteorder("=")
        if found.name in STANDARD:
            return STANDARD[found.name]
        if found.name in EXTRA:
            return _FLOAT16 if found.name == "float16" else bfloat16()
    raise TypeError(
        f"{dtype!r} is no dtype of portarray; use one of {_NAMES}, for example dtype=pa.float32"
    )


def nearest(dtype: DType, available: set[DType]) -> DType | None:
    """Return the dtype of the same kind closest to one that a device lacks.

    The narrowest that holds all its values, as float32 does bfloat16's, else the widest.
    """
    kind = kind_of(dtype)
    same = sorted((d for d in available if kind_of(d) == kind), key=lambda d: d.itemsize)
    holding = [d for d in same if np.can_cast(dtype, d)]
    return holding[0] if holding else same[-1] if same else None


def missing(
    dtype: DType, device: Device, available: set[DType], *, moving: bool = False
) -> Exception:
    """Return the error for a dtype that a device lacks."""
    near = nearest(dtype, available)
    return DTypeNotSupportedError(
        str(dtype),
        str(device),
        "" if near is None else str(near),
        moving=moving,
        setting=device.backend.setting_for(dtype),
    )


# Which kinds a function computes on. A kind that is not named is converted where the rule has a
# conversion (`>f`: to the default floating-point dtype, `>?`: compared with zero, `>u`: through
# uint8, `>b`: through uint8 and back to bool, `>i`: to the default integer), else refused.
# Functions that take every dtype do not stand here.
_FLOATING = "fc bui>f"
_REAL_FLOATING = "f bui>f"
_NUMERIC = "iufc"
_REAL = "iuf"

ACCEPTED: dict[str, str] = {
    **dict.fromkeys(
        (
            *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "sin", "sinh"),
            *("tan", "tanh", "exp", "expm1", "log", "log10", "log1p", "log2", "sqrt", "divide"),
            *("reciprocal", "mean"),
        ),
        _FLOATING,
    ),
    **dict.fromkeys(
        ("atan2", "copysign", "hypot", "logaddexp", "nextafter", "signbit", "std", "var"),
        _REAL_FLOATING,
    ),
    **dict.fromkeys(
        ("subtract", "negative", "pow", "sign", "matmul", "tensordot", "vecdot", "conj"), _NUMERIC
    ),
    **dict.fromkeys(("sum", "prod", "cumulative_sum", "cumulative_prod"), "iufc b>i"),
    "add": "iufc b>logical_or",
    "multiply": "iufc b>logical_and",
    "maximum": "iuf b>logical_or",
    "minimum": "iuf b>logical_and",
    "abs": "iufc b>positive",
    "square": "iufc b>positive",
    **dict.fromkeys(("floor_divide", "remainder"), _REAL),
    **dict.fromkeys(("ceil", "floor", "trunc"), "iuf b>positive"),
    "round": "iufc b>positive",
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal"), "iuf b>u"),
    **dict.fromkeys(("max", "min", "sort", "clip"), "iuf b>b"),
    **dict.fromkeys(("argmax", "argmin", "argsort", "searchsorted"), "iuf b>u"),
    **dict.fromkeys(("isfinite", "isinf", "isnan"), "iufc b>u"),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert"), "biu"),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), "iu"),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor", "logical_not"), "b iufc>?"),
    **dict.fromkeys(("real", "imag"), "iufc b>u"),
    "diff": "iufc b>i",
    **dict.fromkeys(
        (
            *("linalg.cholesky", "linalg.det", "linalg.eig", "linalg.eigvals", "linalg.eigh"),
            *("linalg.eigvalsh", "linalg.inv", "linalg.matrix_norm", "linalg.matrix_rank"),
            *("linalg.pinv", "linalg.qr", "linalg.slogdet", "linalg.solve", "linalg.svd"),
            *("linalg.svdvals", "linalg.vector_norm"),
            *("fft.fft", "fft.ifft", "fft.fftn", "fft.ifftn", "fft.irfft", "fft.irfftn"),
            "fft.hfft",
        ),
        _FLOATING,
    ),
    **dict.fromkeys(("fft.rfft", "fft.rfftn", "fft.ihfft"), _REAL_FLOATING),
    **dict.fromkeys(
        ("linalg.cross", "linalg.matrix_power", "linalg.outer", "linalg.trace"), "iufc b>i"
    ),
}
"""Function to the kinds it takes and the conversions of the kinds it does not."""
