"""Decompositions of matrices, and what is solved with them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from portarray_conformance.bounds import NORMWISE
from portarray_conformance.reference import arguments, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.elementwise import FLOATING, SUMS, converted
from portarray_conformance.reference.kinds import Data, DType, LinAlgError, Unsure
from portarray_conformance.reference.reductions import finished
from portarray_conformance.reference.registry import function

if TYPE_CHECKING:
    from portarray_conformance.reference.rules import Rules


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


def _matrices(rules: Rules, name: str, x: Any, *, square: bool = False) -> tuple[Data, DType]:
    """Return matrices as LAPACK takes them in double precision, and the dtype of results."""
    rules.is_array(x, name)
    arguments.matrices(x, name)
    if square and x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"{name} needs square matrices, got shape {x.shape}")
    dtype = converted(rules, name, FLOATING, x.dtype)
    if kinds.letter(dtype) == "f" and dtype.itemsize == 2:
        raise TypeError(f"{name} does not take {dtype}; convert to float32 first")
    data = kinds.rounded(x._data, dtype).astype(kinds.LAPACK[dtype])
    rules.sure(x)
    sizes = np.abs(data)
    far = kinds.largest(dtype) ** 0.25
    # Determinants and squares of such numbers overflow or underflow somewhere.
    if np.any((sizes > far) | ((sizes != 0) & (sizes < 1 / far))):
        raise Unsure
    return data, dtype


def _spoiled(*answers: str) -> Callable[[F], F]:
    """Say what becomes of matrices with infinities or NaN: an answer for each result.

    NaN, 0, or nothing that is promised. The other matrices of a stack are as without them.
    """

    def decorate(made: F) -> F:
        @functools.wraps(made)
        def call(rules: Rules, x: Any, *args: Any, **options: Any) -> Any:
            if type(x) is not Array or x.ndim < 2 or not x.size or np.isfinite(x._data).all():
                return made(rules, x, *args, **options)
            bad = np.asarray(~np.isfinite(x._data).all((-2, -1)))
            clean = np.where(bad[..., None, None], np.eye(x.shape[-2], x.shape[-1]), x._data)
            out = made(rules, Array(clean.astype(x.dtype), rules, x.unsure), *args, **options)
            tail = 1 if args and type(args[0]) is Array and args[0].ndim == 1 else 2
            for result, answer in zip(out if len(answers) > 1 else [out], answers, strict=True):
                axes = tail if args else result.ndim - bad.ndim
                where = np.broadcast_to(bad.reshape(bad.shape + (1,) * axes), result.shape)
                if answer == "open" or result.dtype.kind == "c":
                    rules.marked = True
                    result.unsure = where | (False if result.unsure is None else result.unsure)
                else:
                    spoiled = np.asarray(np.nan if answer == "nan" else 0).astype(result.dtype)
                    result._data = np.where(where, spoiled, result._data)
                    result.unsure = None if result.unsure is None else result.unsure & ~where
            return out

        return call  # type: ignore[return-value]

    return decorate


def _eps(dtype: DType) -> float:
    return float(2.0 ** -kinds.DIGITS[kinds.REAL.get(dtype, dtype)][0])


def _norm(x: Data) -> Data:
    return np.asarray(np.sqrt(np.sum(np.abs(x) ** 2, axis=(-2, -1))))


def _made(
    rules: Rules, out: Any, dtype: DType, scale: Any, n: int, *, positive: bool = False
) -> Array:
    return finished(
        rules,
        np.asarray(out),
        dtype,
        lambda: scale,
        NORMWISE["linalg"] * max(n, 1),
        exact=False,
        positive=positive,
    )


def _open(rules: Rules, out: Any, dtype: DType) -> Array:
    data = kinds.rounded(np.asarray(out), dtype)
    return rules.array(data, np.ones(data.shape, bool))


def _regular(name: str, data: Data, dtype: DType) -> Data:
    """Return the condition of matrices; refuse singular ones."""
    n = data.shape[-1]
    if n == 0 or data.size == 0:
        return np.ones(data.shape[:-2])
    values = np.linalg.svd(data, compute_uv=False)
    least, largest = values[..., -1], values[..., 0]
    near = least <= 4 * n * _eps(dtype) * largest
    if near.any():
        # Certainly singular: nothing in a row or a column, or two rows of an exact multiple.
        none = ~np.any(data, axis=-1).all(-1) | ~np.any(data, axis=-2).all(-1)
        if bool(np.any(none & near)) or (n <= 2 and bool(np.any(_exactly_singular(data) & near))):
            raise LinAlgError(f"{name} got a singular matrix")
        raise Unsure
    return np.asarray(largest / least)


def _exactly_singular(data: Data) -> Data:
    if data.shape[-1] == 1:
        return np.asarray(data[..., 0, 0] == 0)
    a, b, c, d = data[..., 0, 0], data[..., 0, 1], data[..., 1, 0], data[..., 1, 1]
    powers = np.ldexp(1.0, np.arange(-60, 61))
    first = np.where(a == 0, 1, np.abs(c / np.where(a == 0, 1, a)))
    return np.asarray((a * d == b * c) & (np.isin(first, powers) | np.isin(1 / first, powers)))


def _hermitian(x: Data, dtype: DType) -> None:
    """Stop where the two triangles differ by more than rounding."""
    difference = np.abs(x - np.conj(np.swapaxes(x, -1, -2)))
    limit = 4 * x.shape[-1] * _eps(dtype) * np.abs(x).max(initial=0)
    if np.any(difference > limit):
        raise Unsure


@function("own", "linalg.cholesky")
@_spoiled("open")
def cholesky(rules: Rules, x: Any, /, *, upper: bool = False) -> Array:
    data, dtype = _matrices(rules, "cholesky", x, square=True)
    if data.size == 0:
        return rules.array(np.zeros(x.shape, dtype))
    _hermitian(data, dtype)
    values = np.linalg.eigvalsh(data)
    least = values[..., 0]
    limit = 8 * data.shape[-1] * _eps(dtype) * np.abs(values).max(-1)
    if np.any(least < -limit) or np.any((least == 0) & (limit == 0)):
        raise LinAlgError("cholesky got a matrix that is not positive definite")
    if np.any(least <= limit):
        raise Unsure
    out = np.linalg.cholesky(data, upper=upper)
    scale = (_norm(out) * np.abs(values).max(-1) / least)[..., None, None]
    factor = _made(rules, out, dtype, scale * 0.5, x.shape[-1])._data
    factor = np.triu(factor) if upper else np.tril(factor)
    if rules.noise is not None:  # the sign of the other half's zeros is open
        factor = rules.noise.signs(factor, factor == 0)
    return rules.array(factor)


@function("own", "linalg.det")
@_spoiled("open")
def det(rules: Rules, x: Any, /) -> Array:
    data, dtype = _matrices(rules, "det", x, square=True)
    if data.size == 0:
        return rules.array(np.ones(x.shape[:-2], dtype))
    rows = np.sqrt(np.sum(np.abs(data) ** 2, axis=-1))
    return _made(rules, np.linalg.det(data), dtype, np.prod(rows, axis=-1), x.shape[-1])


@function("own", "linalg.slogdet")
@_spoiled("open", "open")
def slogdet(rules: Rules, x: Any, /) -> SlogdetResult:
    data, dtype = _matrices(rules, "slogdet", x, square=True)
    real = kinds.REAL.get(dtype, dtype)
    if data.size == 0:
        shape = x.shape[:-2]
        return SlogdetResult(rules.array(np.ones(shape, dtype)), rules.array(np.zeros(shape, real)))
    sign, size = np.linalg.slogdet(data)
    values = np.linalg.svd(data, compute_uv=False)
    n = x.shape[-1]
    near = values[..., -1] <= 4 * n * _eps(dtype) * values[..., 0]
    scale = values[..., 0] / np.where(near, 1, values[..., -1])
    signs = kinds.rounded(np.asarray(sign), dtype)
    if dtype.kind == "c":
        signs = _made(rules, sign, dtype, scale, n)._data
    logs = _made(rules, size, real, scale + np.where(near, 0, np.abs(size)), n)._data
    return SlogdetResult(rules.array(signs, near), rules.array(logs, near))


@function("own", "linalg.eigh")
@_spoiled("nan", "open")
def eigh(rules: Rules, x: Any, /) -> EighResult:
    data, dtype = _matrices(rules, "eigh", x, square=True)
    _hermitian(data, dtype)
    values, vectors = np.linalg.eigh(data)
    real = kinds.REAL.get(dtype, dtype)
    made = _made(rules, values, real, _norm(data)[..., None], x.shape[-1])
    return EighResult(made, _open(rules, vectors, dtype))


@function("own", "linalg.eigvalsh")
def eigvalsh(rules: Rules, x: Any, /) -> Array:
    return eigh(rules, x).eigenvalues


@function("own", "linalg.eig")
@_spoiled("open", "open")
def eig(rules: Rules, x: Any, /) -> EigResult:
    data, dtype = _matrices(rules, "eig", x, square=True)
    result = rules.available(kinds.COMPLEX.get(dtype, dtype))
    values, vectors = np.linalg.eig(data)
    return EigResult(
        _open(rules, values.astype(complex), result), _open(rules, vectors.astype(complex), result)
    )


@function("own", "linalg.eigvals")
def eigvals(rules: Rules, x: Any, /) -> Array:
    return eig(rules, x).eigenvalues


@function("own", "linalg.inv")
@_spoiled("open")
def inv(rules: Rules, x: Any, /) -> Array:
    data, dtype = _matrices(rules, "inv", x, square=True)
    condition = _regular("inv", data, dtype)
    if data.size == 0:
        return rules.array(np.zeros(x.shape, dtype))
    out = np.linalg.inv(data)
    return _made(rules, out, dtype, (condition * _norm(out))[..., None, None], x.shape[-1])


@function("own", "linalg.solve")
@_spoiled("open")
def solve(rules: Rules, x1: Any, x2: Any, /) -> Array:
    for x in (x1, x2):
        rules.is_array(x, "solve")
    first, second = rules.aligned("solve", x1, x2)
    data, dtype = _matrices(rules, "solve", first, square=True)
    if second.ndim == 0:
        raise ValueError("solve got a 0-d right side")
    rules.sure(second)
    right = kinds.rounded(second._data, dtype).astype(data.dtype)
    if not np.isfinite(right).all():
        finite = rules.array(np.where(np.isfinite(right), right, 0).astype(dtype))
        rest = solve(rules, first, finite)
        return rules.array(rest._data, np.ones(rest.shape, bool))
    vector = right.ndim == 1
    columns = right[:, None] if vector else right
    n = data.shape[-1]
    if columns.shape[-2] != n:
        raise ValueError(f"solve got shapes {x1.shape} and {x2.shape}")
    batch = np.broadcast_shapes(data.shape[:-2], columns.shape[:-2])
    if columns.size == 0 and data.size:
        raise Unsure  # whether a matrix is looked at that nothing is solved with
    condition = _regular("solve", data, dtype)
    if n == 0 or columns.size == 0 or data.size == 0:
        shape = (*batch, n, columns.shape[-1])
        return rules.array(np.zeros(shape[:-1] if vector else shape, dtype))
    out = np.linalg.solve(data, columns)
    scale = condition * _norm(out)
    made = _made(rules, out, dtype, scale[..., None, None], n)._data
    return rules.array(made[..., 0] if vector else made)


@function("own", "linalg.matrix_power")
def matrix_power(rules: Rules, x: Any, n: int, /) -> Array:
    power = operator.index(n)
    rules.is_array(x, "matrix_power")
    if power < 0:
        x, power = inv(rules, x), -power
    arguments.matrices(x, "matrix_power")
    if x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"matrix_power needs square matrices, got shape {x.shape}")
    work = converted(rules, "matrix_power", SUMS, x.dtype)
    x = rules.call("astype", x, work, copy=False)
    if power == 0:
        return rules.array(np.broadcast_to(np.eye(x.shape[-1]), x.shape).astype(x.dtype))
    out: Any = None
    while True:
        if power & 1:
            out = x if out is None else rules.call("matmul", out, x)
        power >>= 1
        if not power:
            break
        x = rules.call("matmul", x, x)
    return rules.array(out._data.copy(), out.unsure)


@function("own", "linalg.qr")
@_spoiled("open", "open")
def qr(rules: Rules, x: Any, /, *, mode: str = "reduced") -> QRResult:
    rules.is_array(x, "qr")
    arguments.matrices(x, "qr")
    arguments.choice(mode, "mode", ("reduced", "complete"))
    data, dtype = _matrices(rules, "qr", x)
    left, right = np.linalg.qr(data, mode=mode)  # type: ignore[call-overload]
    return QRResult(_open(rules, left, dtype), _open(rules, right, dtype))


def _values(data: Data) -> Data:
    if data.size == 0:
        return np.zeros((*data.shape[:-2], min(data.shape[-2:])))
    return np.asarray(np.linalg.svd(data, compute_uv=False))


@function("own", "linalg.svd")
@_spoiled("open", "nan", "open")
def svd(rules: Rules, x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    data, dtype = _matrices(rules, "svd", x)
    left, values, right = np.linalg.svd(data, full_matrices=bool(full_matrices))
    real = kinds.REAL.get(dtype, dtype)
    made = _made(rules, values, real, _norm(data)[..., None], max(x.shape[-2:]), positive=True)
    return SVDResult(_open(rules, left, dtype), made, _open(rules, right, dtype))


@function("own", "linalg.svdvals")
@_spoiled("nan")
def svdvals(rules: Rules, x: Any, /) -> Array:
    data, dtype = _matrices(rules, "svdvals", x)
    real = kinds.REAL.get(dtype, dtype)
    return _made(
        rules, _values(data), real, _norm(data)[..., None], max(x.shape[-2:]), positive=True
    )


def _check_tolerance(rtol: Any) -> None:
    if rtol is not None and type(rtol) is not Array:
        arguments.real_number(rtol, "rtol")


def _cut(rules: Rules, data: Data, dtype: DType, rtol: Any) -> tuple[Data, Data]:
    """Return singular values and below what they count as zero."""
    values = _values(data)
    if rtol is None:
        part: Any = max(data.shape[-2:]) * _eps(dtype)
    elif type(rtol) is Array:
        if kinds.letter(rtol.dtype) == "c":
            raise TypeError("rtol must be real")
        rules.sure(rtol)
        part = rtol._data.astype(np.float64)
        part = part[..., None] if part.ndim else part
    else:
        part = arguments.real_number(rtol, "rtol")
    limit = values.max(-1, keepdims=True, initial=0) * part
    noise = 64 * max(data.shape[-2:]) * _eps(dtype) * values.max(-1, keepdims=True, initial=0)
    if np.any((np.abs(values - limit) <= noise) & (values > 0)):
        raise Unsure
    return values, limit


@function("own", "linalg.matrix_rank")
@_spoiled("0")
def matrix_rank(rules: Rules, x: Any, /, *, rtol: Any = None) -> Array:
    data, dtype = _matrices(rules, "matrix_rank", x)
    _check_tolerance(rtol)
    if 0 in data.shape[-2:]:
        return rules.array(np.zeros(x.shape[:-2], rules.index))
    values, limit = _cut(rules, data, dtype, rtol)
    return rules.array(np.asarray(np.sum(values > limit, axis=-1)).astype(rules.index))


@function("own", "linalg.pinv")
@_spoiled("nan")
def pinv(rules: Rules, x: Any, /, *, rtol: Any = None) -> Array:
    data, dtype = _matrices(rules, "pinv", x)
    _check_tolerance(rtol)
    if data.size == 0:
        return rules.array(np.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), dtype))
    values, limit = _cut(rules, data, dtype, rtol)
    left, _, right = np.linalg.svd(data, full_matrices=False)
    kept = values > limit
    inverse = np.where(kept, 1 / np.where(kept, values, 1), 0)
    adjoint = np.conj(np.swapaxes(right, -1, -2)) * inverse[..., None, :]
    out = adjoint @ np.conj(np.swapaxes(left, -1, -2))
    largest = inverse.max(-1) ** 2 * values.max(-1)
    return _made(rules, out, dtype, largest[..., None, None], max(x.shape[-2:]))
