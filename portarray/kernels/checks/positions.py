"""Checks of rotary position embedding."""

from __future__ import annotations

import math
from typing import Any

from portarray._api import arguments
from portarray._array import array as _array
from portarray._array import dispatch, dtypes
from portarray._array.kernel import shape_of
from portarray.kernels.checks import common
from portarray.kernels.checks.common import Arrays, Options, misfit


def rope(name: str, arrays: Arrays, options: Options) -> None:
    """Check an array, and its positions or tables."""
    x, positions = arrays
    tables = options["tables"]
    common.floating(name, "x", x)
    shape = shape_of(x)
    if len(shape) < 2:
        raise misfit(name, "it must be (..., length, dim)", x=x)
    if type(options["interleaved"]) is not bool:
        options["interleaved"] = bool(options["interleaved"])
    if tables is not None:
        if positions is not None:
            raise TypeError(
                f"{name}: both positions and tables were passed; tables include the positions"
                f"\nHint: pass one of the two"
            )
        if type(tables) is not tuple or len(tables) != 2:
            if not isinstance(tables, (tuple, list)) or len(tables) != 2:
                raise TypeError(
                    f"{name}: tables of type {type(tables).__name__} must be a pair (cos, sin), "
                    f"as pa.kernels.rope_tables returns it"
                )
            tables = options["tables"] = (tables[0], tables[1])
        _tables(name, x, shape, *tables)
        return
    options["theta"] = _theta(name, options["theta"])
    _even(name, shape[-1], f"x has shape {x.shape}")
    if positions is not None:
        common.integers(name, "positions", positions)
        if shape_of(positions) != (shape[-2],) and not common.broadcasts_to(
            positions.shape, shape[:-1]
        ):
            rule = f"positions must broadcast to {x.shape[:-1]}, as ({shape[-2]},) does"
            raise misfit(name, rule, x=x, positions=positions)


def _tables(name: str, x: Any, shape: tuple[int, ...], cos: Any, sin: Any) -> None:
    """Check the tables of cosines and sines."""
    if type(cos) is not _array.Array or cos._dispatch is not x._dispatch:
        common.same_table(name, "x", x, "tables[0]", cos)
    if type(sin) is not _array.Array or sin._dispatch is not x._dispatch:
        common.same_table(name, "x", x, "tables[1]", sin)
    size = shape_of(cos)
    if shape_of(sin) != size:
        raise ValueError(f"{name}: tables of shapes {cos.shape} and {sin.shape} must be equal")
    if not size or 2 * size[-1] > shape[-1]:
        rule = f"the last axis of the tables must be at most half as long: {shape[-1] // 2}"
        raise misfit(name, rule, x=x, tables=cos)
    plain = len(size) == 2 and size[0] == shape[-2]
    if not plain and not common.broadcasts_to(size[:-1], shape[:-1]):
        rule = f"the axes before the last must broadcast to {x.shape[:-1]}, as ({shape[-2]},) does"
        raise misfit(name, rule, x=x, tables=cos)


def rope_tables(name: str, arrays: Arrays, options: Options) -> None:
    """Check positions and the number of features."""
    common.integers(name, "positions", arrays[0])
    options["dimensions"] = arguments.size(options["dimensions"], "dimensions")
    _even(name, options["dimensions"], f"dimensions is {options['dimensions']}")
    options["theta"] = _theta(name, options["theta"])
    dtype = options["dtype"]
    device = arrays[0].device
    if dtype is None:
        options["dtype"] = dispatch.default_dtype(device, "f")
    else:
        options["dtype"] = dispatch.table_of(device, dtypes.canonical(dtype)).dtype
    if dtypes.kind_of(options["dtype"]) != "f":
        raise TypeError(f"{name}: dtype is {dtype}; angles have a real floating-point dtype")


def _theta(name: str, theta: Any) -> float:
    value = common.real(theta, "theta")
    if not 0 < value < math.inf:
        raise ValueError(f"{name}: theta is {value}; it must be a positive number")
    return value


def _even(name: str, dimensions: int, origin: str) -> None:
    if dimensions % 2 or not dimensions:
        reason = "odd" if dimensions else "none"
        raise ValueError(
            f"{name}: {origin}; features are rotated in pairs, and {dimensions} is {reason}"
            f"\nHint: use an even number, or rotate only some features with rope_tables"
        )
