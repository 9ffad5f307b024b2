"""Creation functions."""

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

__all__ = [
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
]
