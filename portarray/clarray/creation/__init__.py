"""Creation functions."""

from portarray.clarray.creation.filled import (
    empty,
    empty_like,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from portarray.clarray.creation.matrices import eye, tril, triu
from portarray.clarray.creation.ranges import arange, linspace, meshgrid
from portarray.clarray.creation.values import asarray

__all__ = ["arange", "asarray", "empty", "empty_like", "eye", "full", "full_like", "linspace"]
__all__ += ["meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like"]
