"""Dtypes of tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.torch.namespace.unsigned import UNSIGNED, from_float


def astype(
    x: Tensor, dtype: torch.dtype, /, *, copy: bool = True, device: torch.device | None = None
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
