"""Element by element: one expression, any layout."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from portarray.clarray.array import Array, empty
from portarray.clarray.dtypes import cl_type, kind_of
from portarray.clarray.engine.casting import conversion, macros
from portarray.clarray.engine.operands import Operand, pair
from portarray.clarray.engine.operation import Operation
from portarray.clarray.layout import broadcast_shapes, broadcast_strides, collapse
from portarray.clarray.runtime.programs import source_of

__all__ = ["apply", "binary", "unary"]

DType = np.dtype[Any]


def unary(operation: Operation, x: Array) -> Array:
    """Return an operation's results for one array.

    Raises
    ------
    TypeError
        If ``x`` is no array, or of a kind that the operation does not take.
    """
    if not isinstance(x, Array):
        raise TypeError(
            f"{operation.name} takes a clarray array, got {type(x).__name__}; "
            f"make one with clarray.asarray(x)"
        )
    return apply(operation, (x,), x.dtype, operation.result_dtype(x.dtype))


def binary(operation: Operation, x1: Operand, x2: Operand, out: Array | None = None) -> Array:
    """Return an operation's results for two operands that broadcast together.

    Parameters
    ----------
    operation : Operation
        What to compute.
    x1, x2 : Array or Python scalar
        At least one is an array; see :mod:`~portarray.clarray.engine.operands` for what may stand
        beside it and in which dtype is computed.
    out : Array, optional
        Where to write the results; it may overlap the operands.

    Raises
    ------
    TypeError
        For other operands, or for a kind that the operation does not take.
    ValueError
        If the shapes do not broadcast, or the arrays are on two devices.
    OverflowError
        If an integer array's dtype cannot hold the scalar.
    """
    a, b, dtype = pair(x1, x2, operation.name)
    return apply(operation, (a, b), dtype, operation.result_dtype(dtype), out)


def apply(
    operation: Operation,
    operands: tuple[Array | complex, ...],
    dtype: DType,
    out_dtype: DType,
    out: Array | None = None,
) -> Array:
    """Return an operation's results for operands that broadcast together.

    Parameters
    ----------
    operation : Operation
        What to compute.
    operands : tuple of Array or Python scalar
        At least one array, or ``out`` is given. Each is converted to ``dtype`` as it is read.
    dtype : numpy.dtype
        What is computed in.
    out_dtype : numpy.dtype
        Of the results.
    out : Array, optional
        Where to write them; of ``out_dtype``, and of the shape that all broadcast to. It may be
        one of the operands, but must not overlap them otherwise.
    """
    arrays = [one for one in operands if isinstance(one, Array)]
    shape = broadcast_shapes(*(one.shape for one in arrays))
    if out is None:
        out = empty(shape, out_dtype, arrays[0].device)
    elif broadcast_shapes(shape, out.shape) != out.shape:
        raise ValueError(f"results of shape {shape} do not fit into an array of shape {out.shape}")
    walks = [broadcast_strides(one.shape, one.strides, out.shape) for one in arrays]
    sizes, walks = collapse(out.shape, [out.strides, *walks])
    if sizes == (0,):
        return out
    kinds = tuple(one.dtype if isinstance(one, Array) else None for one in operands)
    rank = max(len(sizes), 1)
    sizes = sizes or (1,)
    source = _source(operation, kinds, dtype, out_dtype, rank)
    scalars: list[Any] = []
    types: list[Any] = []
    for one in operands:
        if not isinstance(one, Array):
            parts = (
                (one.real, one.imag)
                if dtype.kind == "c"
                else (one,)
            )
            part_type = np.dtype(np.float32 if cl_type(dtype).compute.startswith("float") else
                                 np.float64 if cl_type(dtype).compute.startswith("double") else
                                 np.uint8 if dtype.kind == "b" else dtype)
            scalars.extend(part_type.type(part) for part in parts)
            types.extend(part_type for _ in parts)
    every = [out, *arrays]
    kernel = out.device.kernel(
        source,
        f"{operation.name}_walk",
        len(every),
        [np.int64] * (len(every) + rank * (1 + len(every))) + types,
    )
    kernel.launch(
        (int(np.prod(sizes)),),
        None,
        tuple(one.storage for one in every),
        *(one.offset for one in every),
        *sizes,
        *(step for walk in walks for step in (walk or (0,))),
        *scalars,
    )
    return out


@lru_cache(maxsize=None)
def _source(
    operation: Operation,
    kinds: tuple[DType | None, ...],
    dtype: DType,
    out_dtype: DType,
    rank: int,
) -> str:
    """Return a program with one kernel that takes each element by its number."""
    letters = "abcd"[: len(kinds)]
    read = [letter for letter, kind in zip(letters, kinds, strict=True) if kind is not None]
    every = ["o", *read]
    parameters = [f"__global {cl_type(out_dtype).storage} *o"]
    compute = cl_type(dtype).compute
    element = compute.removesuffix("2") if dtype.kind == "c" else compute
    body = []
    scalars = []
    for letter, kind in zip(letters, kinds, strict=True):
        if kind is None:
            if dtype.kind == "c":
                scalars += [f"{element} {letter}_re", f"{element} {letter}_im"]
                body.append(f"    const {compute} {letter} = ({compute})({letter}_re, {letter}_im);")
            else:
                scalars.append(f"{element} {letter}")
        else:
            own = cl_type(kind)
            parameters.append(f"const __global {own.storage} *{letter}_p")
            value = conversion(f"{own.load}({letter}_p, i_{letter})", kind, dtype)
            body.append(f"    const {compute} {letter} = {value};")
    parameters += [f"long i_{one}" for one in every]
    parameters += [f"long n_{axis}" for axis in range(rank)]
    parameters += [f"long s_{one}_{axis}" for one in every for axis in range(rank)]
    walk = ["    long rest = get_global_id(0), at;"]
    for axis in reversed(range(rank)):
        walk.append(f"    at = rest % n_{axis}; rest /= n_{axis};")
        walk += [f"    i_{one} += at * s_{one}_{axis};" for one in every]
    out = cl_type(out_dtype)
    lines = [
        macros(dtype),
        *(source_of(name) for name in operation.needs),
        f"__kernel void {operation.name}_walk({', '.join(parameters + scalars)}) {{",
        *walk,
        *body,
        f"    {out.store}(o, i_o, {operation.forms[kind_of(dtype)]});",
        "}",
    ]
    return "\n".join(lines)
