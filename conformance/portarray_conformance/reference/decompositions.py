"""Decompositions of matrices, inverses, determinants and linear systems."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from portarray_conformance.bounds import NORMWISE
from portarray_conformance.reference import arguments, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.context import Context
from portarray_conformance.reference.elementwise import FLOATING, SUMS, computation_dtype
from portarray_conformance.reference.kinds import Data, DType, LinAlgError, Undefined
from portarray_conformance.reference.reductions import round_with_noise
from portarray_conformance.reference.registry import function

F = TypeVar("F", bound=Callable[..., Any])


class EighResult(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    U: Array
    S: Array
    Vh: Array


def _matrices(ctx: Context, name: str, x: Any, *, square: bool = False) -> tuple[Data, DType]:
    """Return matrices as LAPACK takes them in double precision, and the dtype of results."""
    ctx.require_array(x, name)
    arguments.matrices(x, name)
    if square and x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"{name} needs square matrices, got shape {x.shape}")
    dtype = computation_dtype(ctx, name, FLOATING, x.dtype)
    if kinds.letter(dtype) == "f" and dtype.itemsize == 2:
        raise TypeError(f"{name} does not take {dtype}; convert to float32 first")
    data = kinds.rounded(x._data, dtype).astype(kinds.LAPACK[dtype])
    x._require_defined()
    sizes = np.abs(data)
    far = kinds.largest(dtype) ** 0.25
    # Determinants and squares of such numbers overflow or underflow somewhere.
    if np.any((sizes > far) | ((sizes != 0) & (sizes < 1 / far))):
        raise Undefined
    return data, dtype


def _nonfinite_results(*answers: str) -> Callable[[F], F]:
    """Replace the results of matrices with infinities or NaN: an answer for each result.

    ``"nan"``, ``"0"`` or ``"open"`` (undefined). Other matrices of a stack are not affected.
    """

    def decorate(implementation: F) -> F:
        @functools.wraps(implementation)
        def call(ctx: Context, x: Any, *args: Any, **options: Any) -> Any:
            if type(x) is not Array or x.ndim < 2 or not x.size or np.isfinite(x._data).all():
                return implementation(ctx, x, *args, **options)
            bad = np.asarray(~np.isfinite(x._data).all((-2, -1)))
            clean = np.where(bad[..., None, None], np.eye(x.shape[-2], x.shape[-1]), x._data)
            out = implementation(
                ctx, Array(clean.astype(x.dtype), ctx, x.undefined), *args, **options
            )
            tail = 1 if args and type(args[0]) is Array and args[0].ndim == 1 else 2
            for result, answer in zip(out if len(answers) > 1 else [out], answers, strict=True):
                axes = tail if args else result.ndim - bad.ndim
                where = np.broadcast_to(bad.reshape(bad.shape + (1,) * axes), result.shape)
                if answer == "open" or result.dtype.kind == "c":
                    ctx.marked = True
                    result.undefined = where | (
                        False if result.undefined is None else result.undefined
                    )
                else:
                    spoiled = np.asarray(np.nan if answer == "nan" else 0).astype(result.dtype)
                    result._data = np.where(where, spoiled, result._data)
                    result.undefined = (
                        None if result.undefined is None else result.undefined & ~where
                    )
            return out

        return call  # type: ignore[return-value]

    return decorate


def _eps(dtype: DType) -> float:
    return float(2.0 ** -kinds.DIGITS[kinds.REAL.get(dtype, dtype)][0])


def _norm(x: Data) -> Data:
    return np.asarray(np.sqrt(np.sum(np.abs(x) ** 2, axis=(-2, -1))))


def _with_noise(
    ctx: Context, out: Any, dtype: DType, scale: Any, n: int, *, positive: bool = False
) -> Array:
    return round_with_noise(
        ctx,
        np.asarray(out),
        dtype,
        lambda: scale,
        NORMWISE["linalg"] * max(n, 1),
        exact=False,
        positive=positive,
    )


def _undefined_result(ctx: Context, out: Any, dtype: DType) -> Array:
    data = kinds.rounded(np.asarray(out), dtype)
    return ctx.array(data, np.ones(data.shape, bool))


def _condition(name: str, data: Data, dtype: DType) -> Data:
    """Return the condition of matrices; refuse singular ones."""
    n = data.shape[-1]
    if n == 0 or data.size == 0:
        return np.ones(data.shape[:-2])
    values = np.linalg.svd(data, compute_uv=False)
    least, largest = values[..., -1], values[..., 0]
    near = least <= 4 * n * _eps(dtype) * largest
    if near.any():
        # Certainly singular: nothing in a row or a column, or two rows of an exact multiple.
        zero = ~np.any(data, axis=-1).all(-1) | ~np.any(data, axis=-2).all(-1)
        if bool(np.any(zero & near)) or (n <= 2 and bool(np.any(_exactly_singular(data) & near))):
            raise LinAlgError(f"{name} got a singular matrix")
        raise Undefined
    return np.asarray(largest / least)


def _exactly_singular(data: Data) -> Data:
    if data.shape[-1] == 1:
        return np.asarray(data[..., 0, 0] == 0)
    a, b, c, d = data[..., 0, 0], data[..., 0, 1], data[..., 1, 0], data[..., 1, 1]
    powers = np.ldexp(1.0, np.arange(-60, 61))
    first = np.where(a == 0, 1, np.abs(c / np.where(a == 0, 1, a)))
    return np.asarray((a * d == b * c) & (np.isin(first, powers) | np.isin(1 / first, powers)))


def _hermitian(x: Data, dtype: DType) -> None:
    """Raise Undefined if the two triangles differ by more than rounding."""
    difference = np.abs(x - np.conj(np.swapaxes(x, -1, -2)))
    limit = 4 * x.shape[-1] * _eps(dtype) * np.abs(x).max(initial=0)
    if np.any(difference > limit):
        raise Undefined


@function("custom", "linalg.cholesky")
@_nonfinite_results("open")
def cholesky(ctx: Context, x: Any, /, *, upper: bool = False) -> Array:
    data, dtype = _matrices(ctx, "cholesky", x, square=True)
    if data.size == 0:
        return ctx.array(np.zeros(x.shape, dtype))
    _hermitian(data, dtype)
    values = np.linalg.eigvalsh(data)
    least = values[..., 0]
    limit = 8 * data.shape[-1] * _eps(dtype) * np.abs(values).max(-1)
    if np.any(least < -limit) or np.any((least == 0) & (limit == 0)):
        raise LinAlgError("cholesky got a matrix that is not positive definite")
    if np.any(least <= limit):
        raise Undefined
    out = np.linalg.cholesky(data, upper=upper)
    scale = (_norm(out) * np.abs(values).max(-1) / least)[..., None, None]
    factor = _with_noise(ctx, out, dtype, scale * 0.5, x.shape[-1])._data
    factor = np.triu(factor) if upper else np.tril(factor)
    if ctx.noise is not None:  # the sign of the other half's zeros is open
        factor = ctx.noise.draw_zero_signs(factor, factor == 0)
    return ctx.array(factor)


@function("custom", "linalg.det")
@_nonfinite_results("open")
def det(ctx: Context, x: Any, /) -> Array:
    data, dtype = _matrices(ctx, "det", x, square=True)
    if data.size == 0:
        return ctx.array(np.ones(x.shape[:-2], dtype))
    rows = np.sqrt(np.sum(np.abs(data) ** 2, axis=-1))
    return _with_noise(ctx, np.linalg.det(data), dtype, np.prod(rows, axis=-1), x.shape[-1])


@function("custom", "linalg.slogdet")
@_nonfinite_results("open", "open")
def slogdet(ctx: Context, x: Any, /) -> SlogdetResult:
    data, dtype = _matrices(ctx, "slogdet", x, square=True)
    real = kinds.REAL.get(dtype, dtype)
    if data.size == 0:
        shape = x.shape[:-2]
        return SlogdetResult(ctx.array(np.ones(shape, dtype)), ctx.array(np.zeros(shape, real)))
    sign, size = np.linalg.slogdet(data)
    values = np.linalg.svd(data, compute_uv=False)
    n = x.shape[-1]
    near = values[..., -1] <= 4 * n * _eps(dtype) * values[..., 0]
    scale = values[..., 0] / np.where(near, 1, values[..., -1])
    signs = kinds.rounded(np.asarray(sign), dtype)
    if dtype.kind == "c":
        signs = _with_noise(ctx, sign, dtype, scale, n)._data
    logs = _with_noise(ctx, size, real, scale + np.where(near, 0, np.abs(size)), n)._data
    return SlogdetResult(ctx.array(signs, near), ctx.array(logs, near))


@function("custom", "linalg.eigh")
@_nonfinite_results("nan", "open")
def eigh(ctx: Context, x: Any, /) -> EighResult:
    data, dtype = _matrices(ctx, "eigh", x, square=True)
    _hermitian(data, dtype)
    values, vectors = np.linalg.eigh(data)
    real = kinds.REAL.get(dtype, dtype)
    eigenvalues = _with_noise(ctx, values, real, _norm(data)[..., None], x.shape[-1])
    return EighResult(eigenvalues, _undefined_result(ctx, vectors, dtype))


@function("custom", "linalg.eigvalsh")
def eigvalsh(ctx: Context, x: Any, /) -> Array:
    return eigh(ctx, x).eigenvalues


@function("custom", "linalg.eig")
@_nonfinite_results("open", "open")
def eig(ctx: Context, x: Any, /) -> EigResult:
    data, dtype = _matrices(ctx, "eig", x, square=True)
    result = ctx.available(kinds.COMPLEX.get(dtype, dtype))
    values, vectors = np.linalg.eig(data)
    return EigResult(
        _undefined_result(ctx, values.astype(complex), result),
        _undefined_result(ctx, vectors.astype(complex), result),
    )


@function("custom", "linalg.eigvals")
def eigvals(ctx: Context, x: Any, /) -> Array:
    return eig(ctx, x).eigenvalues


@function("custom", "linalg.inv")
@_nonfinite_results("open")
def inv(ctx: Context, x: Any, /) -> Array:
    data, dtype = _matrices(ctx, "inv", x, square=True)
    condition = _condition("inv", data, dtype)
    if data.size == 0:
        return ctx.array(np.zeros(x.shape, dtype))
    out = np.linalg.inv(data)
    return _with_noise(ctx, out, dtype, (condition * _norm(out))[..., None, None], x.shape[-1])


@function("custom", "linalg.solve")
@_nonfinite_results("open")
def solve(ctx: Context, x1: Any, x2: Any, /) -> Array:
    for x in (x1, x2):
        ctx.require_array(x, "solve")
    first, second = ctx.aligned("solve", x1, x2)
    data, dtype = _matrices(ctx, "solve", first, square=True)
    if second.ndim == 0:
        raise ValueError("solve got a 0-d right side")
    second._require_defined()
    right = kinds.rounded(second._data, dtype).astype(data.dtype)
    if not np.isfinite(right).all():
        finite = ctx.array(np.where(np.isfinite(right), right, 0).astype(dtype))
        solution = solve(ctx, first, finite)
        return ctx.array(solution._data, np.ones(solution.shape, bool))
    vector = right.ndim == 1
    columns = right[:, None] if vector else right
    n = data.shape[-1]
    if columns.shape[-2] != n:
        raise ValueError(f"solve got shapes {x1.shape} and {x2.shape}")
    batch = np.broadcast_shapes(data.shape[:-2], columns.shape[:-2])
    if columns.size == 0 and data.size:
        raise Undefined  # whether a matrix is looked at that nothing is solved with
    condition = _condition("solve", data, dtype)
    if n == 0 or columns.size == 0 or data.size == 0:
        shape = (*batch, n, columns.shape[-1])
        return ctx.array(np.zeros(shape[:-1] if vector else shape, dtype))
    out = np.linalg.solve(data, columns)
    scale = condition * _norm(out)
    solution_data = _with_noise(ctx, out, dtype, scale[..., None, None], n)._data
    return ctx.array(solution_data[..., 0] if vector else solution_data)


@function("custom", "linalg.matrix_power")
def matrix_power(ctx: Context, x: Any, n: int, /) -> Array:
    power = operator.index(n)
    ctx.require_array(x, "matrix_power")
    if power < 0:
        x, power = inv(ctx, x), -power
    arguments.matrices(x, "matrix_power")
    if x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"matrix_power needs square matrices, got shape {x.shape}")
    work = computation_dtype(ctx, "matrix_power", SUMS, x.dtype)
    x = ctx.call("astype", x, work, copy=False)
    if power == 0:
        return ctx.array(np.broadcast_to(np.eye(x.shape[-1]), x.shape).astype(x.dtype))
    out: Any = None
    while True:
        if power & 1:
            out = x if out is None else ctx.call("matmul", out, x)
        power >>= 1
        if not power:
            break
        x = ctx.call("matmul", x, x)
    return ctx.array(out._data.copy(), out.undefined)


@function("custom", "linalg.qr")
@_nonfinite_results("open", "open")
def qr(ctx: Context, x: Any, /, *, mode: str = "reduced") -> QRResult:
    ctx.require_array(x, "qr")
    arguments.matrices(x, "qr")
    arguments.choice(mode, "mode", ("reduced", "complete"))
    data, dtype = _matrices(ctx, "qr", x)
    q, r = np.linalg.qr(data, mode=mode)  # type: ignore[call-overload]
    return QRResult(_undefined_result(ctx, q, dtype), _undefined_result(ctx, r, dtype))


def _values(data: Data) -> Data:
    if data.size == 0:
        return np.zeros((*data.shape[:-2], min(data.shape[-2:])))
    return np.asarray(np.linalg.svd(data, compute_uv=False))


@function("custom", "linalg.svd")
@_nonfinite_results("open", "nan", "open")
def svd(ctx: Context, x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    data, dtype = _matrices(ctx, "svd", x)
    u, values, vh = np.linalg.svd(data, full_matrices=bool(full_matrices))
    real = kinds.REAL.get(dtype, dtype)
    singular = _with_noise(
        ctx, values, real, _norm(data)[..., None], max(x.shape[-2:]), positive=True
    )
    return SVDResult(_undefined_result(ctx, u, dtype), singular, _undefined_result(ctx, vh, dtype))


@function("custom", "linalg.svdvals")
@_nonfinite_results("nan")
def svdvals(ctx: Context, x: Any, /) -> Array:
    data, dtype = _matrices(ctx, "svdvals", x)
    real = kinds.REAL.get(dtype, dtype)
    return _with_noise(
        ctx, _values(data), real, _norm(data)[..., None], max(x.shape[-2:]), positive=True
    )


def _check_tolerance(rtol: Any) -> None:
    if rtol is not None and type(rtol) is not Array:
        arguments.real_number(rtol, "rtol")


def _singular_values(ctx: Context, data: Data, dtype: DType, rtol: Any) -> tuple[Data, Data]:
    """Return singular values, and the limit up to which they count as zero."""
    values = _values(data)
    if rtol is None:
        part: Any = max(data.shape[-2:]) * _eps(dtype)
    elif type(rtol) is Array:
        if kinds.letter(rtol.dtype) == "c":
            raise TypeError("rtol must be real")
        rtol._require_defined()
        part = rtol._data.astype(np.float64)
        part = part[..., None] if part.ndim else part
    else:
        part = arguments.real_number(rtol, "rtol")
    limit = values.max(-1, keepdims=True, initial=0) * part
    noise = 64 * max(data.shape[-2:]) * _eps(dtype) * values.max(-1, keepdims=True, initial=0)
    if np.any((np.abs(values - limit) <= noise) & (values > 0)):
        raise Undefined
    return values, limit


@function("custom", "linalg.matrix_rank")
@_nonfinite_results("0")
def matrix_rank(ctx: Context, x: Any, /, *, rtol: Any = None) -> Array:
    data, dtype = _matrices(ctx, "matrix_rank", x)
    _check_tolerance(rtol)
    if 0 in data.shape[-2:]:
        return ctx.array(np.zeros(x.shape[:-2], ctx.index))
    values, limit = _singular_values(ctx, data, dtype, rtol)
    return ctx.array(np.asarray(np.sum(values > limit, axis=-1)).astype(ctx.index))


@function("custom", "linalg.pinv")
@_nonfinite_results("nan")
def pinv(ctx: Context, x: Any, /, *, rtol: Any = None) -> Array:
    data, dtype = _matrices(ctx, "pinv", x)
    _check_tolerance(rtol)
    if data.size == 0:
        return ctx.array(np.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), dtype))
    values, limit = _singular_values(ctx, data, dtype, rtol)
    u, _, vh = np.linalg.svd(data, full_matrices=False)
    nonzero = values > limit
    inverse = np.where(nonzero, 1 / np.where(nonzero, values, 1), 0)
    adjoint = np.conj(np.swapaxes(vh, -1, -2)) * inverse[..., None, :]
    out = adjoint @ np.conj(np.swapaxes(u, -1, -2))
    largest = inverse.max(-1) ** 2 * values.max(-1)
    return _with_noise(ctx, out, dtype, largest[..., None, None], max(x.shape[-2:]))
