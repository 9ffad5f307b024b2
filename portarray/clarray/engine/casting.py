"""How a value of one dtype's compute type becomes one of another's, as an expression."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.clarray.dtypes import cl_type

__all__ = ["conversion"]


def conversion(value: str, source: np.dtype[Any], target: np.dtype[Any]) -> str:
    """Return the OpenCL C expression that converts a value.

    Parameters
    ----------
    value : str
        An expression of the source dtype's compute type.
    source, target : numpy.dtype
        From what and to what.
    """
    if source == target:
        return value
    compute = cl_type(target).compute
    if target.kind == "b":
        if source.kind == "c":
            return f"(uchar)(({value}).x != 0 || ({value}).y != 0)"
        return f"(uchar)(({value}) != 0)"
    if target.kind == "c":
        if source.kind == "c":
            return f"convert_{compute}({value})"
        return f"({compute})(({value}), 0)"
    if source.kind == "c":
        return f"({compute})(({value}).x)"
    return f"({compute})({value})"
