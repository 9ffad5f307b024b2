"""Checks of products of matrices, and of triangular systems."""

from __future__ import annotations

from typing import Any

from portarray._array.kernel import is_untraced, shape_of
from portarray.kernels.checks import common
from portarray.kernels.checks.common import Arrays, Options, misfit, same_table

_STACKS = "the axes before the matrices must be equal or 1"


def matmul(name: str, arrays: Arrays, options: Options) -> None:
    """Check the operands of a product of matrices."""
    x1, x2 = arrays
    common.numeric(name, "x1", x1)
    same_table(name, "x1", x1, "x2", x2)
    first, second = x1.shape, x2.shape
    if len(first) == 2 == len(second) and first[1] == second[0]:
        return
    if not first or not second:
        raise misfit(name, "each must have at least one axis, as a vector has", x1=x1, x2=x2)
    if first[-1] != second[-2 if len(second) > 1 else 0]:
        axis = "the last axis but one" if len(second) > 1 else "the axis"
        rule = f"the last axis of x1 must be as long as {axis} of x2"
        raise misfit(name, rule, x1=x1, x2=x2)
    if len(first) > 2 and len(second) > 2 and not common.broadcast(first[:-2], second[:-2]):
        raise misfit(name, _STACKS, x1=x1, x2=x2)


def gemm(name: str, arrays: Arrays, options: Options) -> None:
    """Check two matrices, the output, and the factors."""
    a, b = arrays
    out = options["out"]
    common.inexact(name, "a", a)
    same_table(name, "a", a, "b", b)
    shapes = [shape_of(a), shape_of(b)]
    for operand, key in enumerate(("transpose_a", "transpose_b")):
        options[key] = bool(options[key])
        if options[key]:
            shapes[operand] = shapes[operand][::-1]
    first, second = shapes
    if len(first) != 2 or len(second) != 2 or first[1] != second[0]:
        transposed = f"transpose_a={options['transpose_a']}, transpose_b={options['transpose_b']}"
        rule = f"with {transposed} they must be (M, K) and (K, N)"
        raise misfit(name, f"{rule}\nHint: kernels.matmul takes stacks and vectors", a=a, b=b)
    for key in ("alpha", "beta"):
        value = options[key]
        if type(value) is not float:
            options[key] = _factor(name, key, value, a)
    options["in_place"] = out is not None and is_untraced(a, b, out)
    if out is None:
        if options["beta"] != 0:
            raise ValueError(f"{name}: beta={options['beta']} and no out to multiply by it")
        return
    same_table(name, "a", a, "out", out)
    if shape_of(out) != (first[0], second[1]):
        raise misfit(name, f"the product has shape {(first[0], second[1])}", out=out)


def _factor(name: str, key: str, value: Any, a: Any) -> Any:
    if isinstance(value, complex):
        if a._dispatch.kind == "c":
            return complex(value)
        raise TypeError(f"{name}: {key}={value} must be a real number, as a is {a.dtype}")
    return common.real(value, key)


def solve_triangular(name: str, arrays: Arrays, options: Options) -> None:
    """Check a square matrix and right-hand sides."""
    a, b = arrays
    common.inexact(name, "a", a)
    same_table(name, "a", a, "b", b)
    for key in ("lower", "transpose", "unit_diagonal"):
        options[key] = bool(options[key])
    first, second = shape_of(a), shape_of(b)
    if len(first) < 2 or first[-1] != first[-2]:
        raise misfit(name, "the matrices must be square, (..., N, N)", a=a)
    n = first[-1]
    if not second or second[-2 if len(second) > 1 else 0] != n:
        raise misfit(name, f"b must be ({n},) or (..., {n}, K)", a=a, b=b)
    if not common.broadcast(first[:-2], second[:-2]):
        raise misfit(name, _STACKS, a=a, b=b)


def linear(name: str, arrays: Arrays, options: Options) -> None:
    """Check an array, a weight of shape (out, in) and a bias."""
    x, weight, bias = arrays
    common.numeric(name, "x", x)
    same_table(name, "x", x, "weight", weight)
    shape, matrix = shape_of(x), shape_of(weight)
    if len(matrix) != 2 or not shape or shape[-1] != matrix[1]:
        raise misfit(name, "x must be (..., in) and weight (out, in)", x=x, weight=weight)
    common.bias(name, x, weight, matrix[0], bias)


def embedding(name: str, arrays: Arrays, options: Options) -> None:
    """Check indices and a table."""
    indices, weight = arrays
    common.integers(name, "indices", indices)
    common.array(name, weight)
    if weight.ndim != 2:
        raise misfit(name, "it must be a table, (rows, dim)", weight=weight)


def fused_linear(x: Any, weight: Any, norm: Any, residual: Any, gated: bool) -> None:
    """Check the steps before and after the product; :func:`linear` checks the product."""
    common.floating("fused_linear", "x", x)
    shape: tuple[int, ...] = getattr(weight, "shape", ())
    if len(shape) != 2 or x.ndim == 0 or x.shape[-1] != shape[1]:
        return  # linear raises
    if gated and shape[0] % 2:
        rule = "with gated=True it must have an even number of rows"
        raise misfit("fused_linear", rule, weight=weight)
    if norm is not None:
        same_table("fused_linear", "x", x, "norm", norm)
    if residual is not None:
        same_table("fused_linear", "x", x, "residual", residual)
        out = (*x.shape[:-1], shape[0] // 2 if gated else shape[0])
        if residual.shape != out:
            rule = f"it is added to a result of shape {out}"
            raise misfit("fused_linear", rule, residual=residual)
