"""Dtypes of tensors: converting, asking and promoting."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from portarray.backends.torch.namespace.promotion import (
    COMPLEX,
    FLOATING,
    INTEGRAL,
    SIGNED,
    Scalar,
    promote,
    promote_types,
    scalar_dtype,
)
from portarray.backends.torch.namespace.promotion import UNSIGNED as _ALL_UNSIGNED
from portarray.backends.torch.namespace.unsigned import UNSIGNED, from_float

_KINDS: dict[str, frozenset[torch.dtype]] = {
    "bool": frozenset({torch.bool}),
    "signed integer": frozenset(SIGNED),
    "unsigned integer": frozenset(_ALL_UNSIGNED),
    "integral": INTEGRAL,
    "real floating": FLOATING,
    "complex floating": COMPLEX,
    "numeric": INTEGRAL | FLOATING | COMPLEX,
}


@dataclass(frozen=True, slots=True)
class FInfo:
    """Limits of a floating-point dtype; of its parts for a complex one."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: torch.dtype


@dataclass(frozen=True, slots=True)
class IInfo:
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: torch.dtype


def astype(
    x: Tensor,
    dtype: torch.dtype,
    /,
    *,
    copy: bool = True,
    device: torch.device | None = None,
) -> Tensor:
    """Convert to a dtype; complex numbers lose their imaginary part."""
    source = x.dtype
    if source is not dtype:
        if source.is_complex and not dtype.is_complex:
            if dtype is torch.bool:
                x = x != 0
            else:
                return astype(x.real, dtype, device=device)
        elif dtype in UNSIGNED and source.is_floating_point:
            x = from_float(x, dtype)
        else:
            return x.to(device=device or x.device, dtype=dtype)
        return x if device is None else x.to(device)
    if device is not None and device != x.device:
        return x.to(device)
    return x.clone() if copy else x


def can_cast(from_: torch.dtype | Tensor, to: torch.dtype, /) -> bool:
    """Tell whether promotion takes a dtype to another."""
    source = from_.dtype if isinstance(from_, Tensor) else from_
    if torch.uint64 in (source, to) and {source, to} & _KINDS["signed integer"]:
        # They have no common dtype, which is an answer here and no error.
        return False
    return promote_types(source, to) is to


def finfo(type: torch.dtype | Tensor, /) -> FInfo:
    """Return the limits of a floating-point dtype."""
    dtype = type.dtype if isinstance(type, Tensor) else type
    real = dtype.to_real() if dtype.is_complex else dtype
    limits = torch.finfo(real)
    return FInfo(
        bits=limits.bits,
        eps=float(limits.eps),
        max=float(limits.max),
        min=float(limits.min),
        smallest_normal=float(limits.smallest_normal),
        dtype=real,
    )


def iinfo(type: torch.dtype | Tensor, /) -> IInfo:
    """Return the limits of an integer dtype."""
    dtype = type.dtype if isinstance(type, Tensor) else type
    limits = torch.iinfo(dtype)
    return IInfo(bits=limits.bits, max=int(limits.max), min=int(limits.min), dtype=dtype)


def isdtype(dtype: torch.dtype, kind: torch.dtype | str | tuple[torch.dtype | str, ...]) -> bool:
    """Tell whether a dtype is of a kind."""
    for one in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(one, str):
            if one not in _KINDS:
                raise ValueError(f"{one!r} is no kind of dtype; the kinds are {sorted(_KINDS)}")
            if dtype in _KINDS[one]:
                return True
        elif dtype is one:
            return True
    return False


def result_type(*arrays_and_dtypes: Tensor | torch.dtype | Scalar) -> torch.dtype:
    """Return the dtype that tensors, dtypes and Python scalars meet in."""
    scalars: list[Scalar] = []
    dtypes: list[torch.dtype] = []
    device = torch.device("cpu")
    for item in arrays_and_dtypes:
        if isinstance(item, Tensor):
            dtypes.append(item.dtype)
            device = item.device
        elif isinstance(item, torch.dtype):
            dtypes.append(item)
        else:
            scalars.append(item)
    if not dtypes:
        raise ValueError("result_type needs at least one array or dtype")
    dtype = promote(*dtypes)
    for scalar in scalars:
        dtype = scalar_dtype(scalar, dtype, device)
    return dtype
