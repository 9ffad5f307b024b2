"""Logic on boolean arrays."""

from __future__ import annotations

import cupy

from portarray.backends.cupy.namespace.promotion import of_two

__all__ = ["logical_and", "logical_not", "logical_or", "logical_xor"]

logical_and = of_two(cupy.logical_and)
logical_not = cupy.logical_not
logical_or = of_two(cupy.logical_or)
logical_xor = of_two(cupy.logical_xor)
