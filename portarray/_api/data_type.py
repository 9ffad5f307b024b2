"""Data type functions: conversion, promotion and the limits of dtypes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from portarray._array import conversion, dispatch, dtypes, operands
from portarray._array.array import Array
from portarray._devices import selection
from portarray.errors import DeviceMismatchError

if TYPE_CHECKING:
    from portarray.typing import DeviceLike, DType, DTypeLike, KindName, Scalar

DTypeKind: TypeAlias = "DTypeLike | KindName | tuple[DTypeKind, ...]"
"""What :func:`isdtype` takes as kind: a dtype, the name of a kind, or a tuple of such."""


class FloatInfo(NamedTuple):
    """Limits of a floating-point dtype, as :func:`finfo` returns them.

    Attributes
    ----------
    bits : int
        Size of a real number in bits.
    eps : float
        Distance from 1.0 to the next larger number.
    max, min : float
        Largest and smallest finite number.
    smallest_normal : float
        Smallest positive number with full precision.
    dtype : numpy.dtype
        The real dtype.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntegerInfo(NamedTuple):
    """Limits of an integer dtype, as :func:`iinfo` returns them.

    Attributes
    ----------
    bits : int
        Size in bits.
    max, min : int
        Largest and smallest number.
    dtype : numpy.dtype
        The dtype.
    """

    bits: int
    max: int
    min: int
    dtype: DType


def astype(
    x: Array, dtype: DTypeLike, /, *, copy: bool = True, device: DeviceLike | None = None
) -> Array:
    """Convert an array to a dtype.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    dtype : dtype
        Dtype of the result.
    copy : bool, default: True
        Whether the result is a copy even if `x` has the dtype already.
    device : device-like, optional
        Device of the result; that of `x` by default.

    Returns
    -------
    Array
        Array of the shape of `x`; `x` itself if nothing changes and `copy` is False.

    Raises
    ------
    TypeError
        If `x` is complex and `dtype` real: take the part you mean with :func:`real` or
        :func:`imag`.
    DTypeNotSupportedError
        If the device lacks `dtype`.

    Notes
    -----
    Numbers become False if they are zero and True otherwise, and booleans become 0 and 1. What NaN,
    infinities and numbers out of range become as integers differs between devices.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([-1.7, 0.0, 2.5])
    >>> pa.astype(x, pa.int64).tolist()
    [-1, 0, 2]
    >>> pa.astype(x, pa.bool).tolist()
    [True, False, True]
    >>> pa.astype(x, pa.float64, copy=False) is x
    True
    """
    return conversion.astype(x, dtype, copy=copy, device=device)


def can_cast(from_: DTypeLike | Array, to: DTypeLike, /) -> bool:
    """Return whether promotion can turn a dtype into another.

    Parameters
    ----------
    from_ : dtype or Array
        Where to start. For an array its device counts as well.
    to : dtype
        The dtype to reach.

    Returns
    -------
    bool
        Whether the two promote to `to`, and the array's device, if there is one, has it.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.can_cast(pa.int8, pa.int16), pa.can_cast(pa.int16, pa.int8)
    (True, False)
    """
    target = dtypes.canonical(to)
    if type(from_) is Array and target not in dispatch.dtypes_of(from_.device):
        return False
    source = _dtype_of(from_)
    try:
        return dtypes.promote(source, target) == target
    except TypeError:  # uint64 and a signed integer
        return False


def finfo(type: DTypeLike | Array, /) -> FloatInfo:
    """Return the limits of a floating-point dtype.

    Parameters
    ----------
    type : dtype or Array
        Real or complex floating-point dtype, or an array of one. For a complex dtype the limits
        are those of its parts.

    Returns
    -------
    FloatInfo
        Object with ``bits``, ``eps``, ``max``, ``min``, ``smallest_normal`` (all Python numbers)
        and ``dtype``.

    Raises
    ------
    TypeError
        If the dtype is not floating-point.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.finfo(pa.float32).bits, pa.finfo(pa.complex128).eps
    (32, 2.220446049250313e-16)
    """
    return _float_info(_dtype_of(type))


def iinfo(type: DTypeLike | Array, /) -> IntegerInfo:
    """Return the limits of an integer dtype.

    Parameters
    ----------
    type : dtype or Array
        Integer dtype, or an array of one.

    Returns
    -------
    IntegerInfo
        Object with ``bits``, ``max``, ``min`` (Python integers) and ``dtype``.

    Raises
    ------
    TypeError
        If the dtype is not an integer dtype.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.iinfo(pa.int8).max
    127
    """
    return _integer_info(_dtype_of(type))


def isdtype(dtype: DTypeLike, kind: DTypeKind) -> bool:
    """Return whether a dtype is of a kind.

    Parameters
    ----------
    dtype : dtype
        The dtype in question.
    kind : dtype, str or tuple of these
        A dtype to equal, or one of the kinds ``"bool"``, ``"signed integer"``,
        ``"unsigned integer"``, ``"integral"`` (the two before), ``"real floating"`` (float16 and
        bfloat16 included), ``"complex floating"`` and ``"numeric"`` (all but bool). Of a tuple one
        must fit.

    Returns
    -------
    bool
        Whether it is.

    Raises
    ------
    ValueError
        If a text names no kind.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.isdtype(pa.uint8, "integral"), pa.isdtype(pa.uint8, (pa.int8, "real floating"))
    (True, False)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, entry) for entry in kind)
    if isinstance(kind, str):
        letters = dtypes.KINDS.get(kind)
        if letters is None:
            raise ValueError(
                f"isdtype: unknown kind {kind!r}; use one of {', '.join(dtypes.KINDS)}"
            )
        return dtypes.kind_of(dtypes.canonical(dtype)) in letters
    return dtypes.canonical(dtype) == dtypes.canonical(kind)


def result_type(*arrays_and_dtypes: Array | DTypeLike | Scalar) -> DType:
    """Return the dtype that arrays, dtypes and scalars promote to.

    Parameters
    ----------
    *arrays_and_dtypes : Array, dtype or scalar
        At least one. Scalars only raise the kind: a float beside an integer array gives the
        default floating-point dtype of the array's device (of the default device if there is no
        array). Scalars alone give the default dtype of the highest kind among them.

    Returns
    -------
    numpy.dtype
        The common dtype.

    Raises
    ------
    TypeError
        If uint64 meets a signed integer: no integer dtype holds both.
    DeviceMismatchError
        If the arrays are on several devices.
    ValueError
        If nothing is given.

    Notes
    -----
    Where the standard leaves a pair open, the higher kind wins (bool, integer, real, complex), and
    the widest dtype of that kind: int64 with float32 gives float32.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.result_type(pa.int64, pa.float32, 2)
    dtype('float32')
    """
    device = None
    promoted = None
    scalars = []
    for operand in arrays_and_dtypes:
        if type(operand) is Array:
            if device is None:
                device = operand.device
            elif device is not operand.device:
                raise DeviceMismatchError("result_type", str(device), str(operand.device))
        elif isinstance(operand, (bool, int, float, complex, np.generic)):
            scalars.append(operand)
            continue
        dtype = _dtype_of(operand)
        promoted = dtype if promoted is None else dtypes.promote(promoted, dtype)
    if promoted is None:
        if not scalars:
            raise ValueError("result_type: expected at least one array, dtype or scalar")
        promoted = dtypes.STANDARD[
            "bool"
        ]  # the lowest kind, which every scalar then raises or keeps
    for scalar in scalars:
        promoted = operands.dtype_with_scalar(promoted, scalar, device or selection.current())
    return promoted


@cache
def _float_info(dtype: DType) -> FloatInfo:
    if dtypes.kind_of(dtype) not in "fc":
        raise TypeError(
            f"finfo: expected a floating-point dtype, got {dtype}\nHint: use iinfo for integers"
        )
    return FloatInfo(*dtypes.float_limits(dtype))


@cache
def _integer_info(dtype: DType) -> IntegerInfo:
    if dtypes.kind_of(dtype) not in "iu":
        raise TypeError(
            f"iinfo: expected an integer dtype, got {dtype}\n"
            f"Hint: use finfo for floating-point dtypes"
        )
    limits = np.iinfo(dtype)
    return IntegerInfo(
        bits=8 * dtype.itemsize, max=int(limits.max), min=int(limits.min), dtype=dtype
    )


def _dtype_of(operand: object) -> DType:
    return operand.dtype if type(operand) is Array else dtypes.canonical(operand)
