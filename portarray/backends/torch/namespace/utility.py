"""``all``, ``any`` and ``diff`` of tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.torch.namespace.unsigned import NAMES, UNSIGNED, bits, zero_or_not
from portarray.backends.types import Rows

Axes = int | tuple[int, ...]


def all(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Return whether all elements are true; NaN is true."""
    # torch.all of uint8 returns uint8.
    truth = x if x.dtype is torch.bool else x != 0
    return truth.clone() if axis == () else torch.all(truth, axis, keepdim=keepdims)


def any(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Return whether at least one element is true; NaN is true."""
    truth = x if x.dtype is torch.bool else x != 0
    return truth.clone() if axis == () else torch.any(truth, axis, keepdim=keepdims)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Return n-th differences along an axis."""
    if n == 0:
        return x
    if prepend is not None or append is not None:
        # torch.concat promotes as the standard does.
        x = torch.concat([part for part in (prepend, x, append) if part is not None], axis)
    if x.dtype in UNSIGNED:
        return torch.diff(bits(x), n=n, dim=axis).view(x.dtype)
    return torch.diff(x, n=n, dim=axis)


BY_DTYPE: Rows = {"all": {NAMES: zero_or_not(all)}, "any": {NAMES: zero_or_not(any)}}
DIRECT: Rows = {"all": {"b": torch.all}, "any": {"b": torch.any}}
