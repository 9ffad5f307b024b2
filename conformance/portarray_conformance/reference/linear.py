"""Products of matrices, decompositions and solutions."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from portarray_conformance.bounds import NORMWISE
from portarray_conformance.reference import arguments, types
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.elementwise import FLOATING, NUMERIC, SUMS, Accepts, converted
from portarray_conformance.reference.reductions import exact_sums, finished, wide
from portarray_conformance.reference.registry import function
from portarray_conformance.reference.types import Data, DType, LinAlgError, Unsure

if TYPE_CHECKING:
    from portarray_conformance.reference.rules import Rules


def _product(
    rules: Rules, name: str, accepts: Accepts, x1: Any, x2: Any, product: Any, terms: int
) -> Array:
    """Return a product of two aligned arrays, of wide data, with noise at that of magnitudes."""
    for x in (x1, x2):
        rules.is_array(x, name)
    first, second = rules.aligned(name, x1, x2)
    dtype = converted(rules, f"linalg.{name}", accepts, first.dtype)
    data = [wide(types.rounded(x._data, dtype)) for x in (first, second)]
    out = np.asarray(product(*data))
    if types.letter(dtype) in "iu":
        return rules.array(out.astype(dtype))
    sizes = [np.abs(d) for d in data]
    scale = np.abs(product(*sizes))
    if name == "cross":
        scale = np.full(out.shape, 2 * sizes[0].max(initial=0) * sizes[1].max(initial=0))
    exact = exact_sums(*data, size=scale, dtype=dtype)
    factor = max(1.0, terms / 4) * (2 if dtype.kind == "c" else 1)
    made = finished(rules, out, dtype, lambda: scale * factor, NORMWISE[name], exact)
    if dtype.kind == "c" and not all(np.isfinite(d).all() for d in (*data, made._data)):
        return rules.array(made._data, np.ones(out.shape, bool))
    return made


def _multiplied(a: Data, b: Data) -> Data:
    return np.asarray(np.matmul(a, b))


@function("all")
def matmul(rules: Rules, x1: Any, x2: Any, /) -> Array:
    for x in (x1, x2):
        if rules.is_array(x, "matmul").ndim == 0:
            raise ValueError("matmul takes no 0-d arrays")
    return _product(rules, "matmul", NUMERIC, x1, x2, _multiplied, x1.shape[-1])


@function("all")
def vecdot(rules: Rules, x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    for x in (x1, x2):
        rules.is_array(x, "vecdot")
    place = operator.index(axis) if hasattr(axis, "__index__") else axis
    n = x1.shape[arguments.axis(place, x1.ndim)]
    # Counted from the end of both, as both are broadcast.
    if place >= 0:
        place -= max(x1.ndim, x2.ndim)
    for x in (x1, x2):
        arguments.axis(place, x.ndim)
    if x1.shape[place] != x2.shape[place]:
        raise ValueError(f"vecdot got {x1.shape[place]} and {x2.shape[place]} elements")

    def product(a: Data, b: Data) -> Data:
        first = np.moveaxis(_spread(a, b.ndim), place, -1)
        second = np.moveaxis(_spread(b, a.ndim), place, -1)
        return np.asarray(np.sum(np.conj(first) * second, axis=-1, dtype=first.dtype))

    return _product(rules, "vecdot", NUMERIC, x1, x2, product, n)


def _spread(x: Data, ndim: int) -> Data:
    return x.reshape((1,) * (ndim - x.ndim) + x.shape) if ndim > x.ndim else x


@function("all")
def tensordot(rules: Rules, x1: Any, x2: Any, /, *, axes: Any = 2) -> Array:
    for x in (x1, x2):
        rules.is_array(x, "tensordot")
    if isinstance(axes, int):
        count = arguments.size(axes, "axes")
        if count > min(x1.ndim, x2.ndim):
            raise ValueError(f"axes is {axes}; the arrays have {x1.ndim} and {x2.ndim}")
        first = tuple(range(x1.ndim - count, x1.ndim))
        second = tuple(range(count))
    else:
        if len(axes) != 2 if isinstance(axes, (tuple, list)) else True:
            raise (ValueError if isinstance(axes, (tuple, list)) else TypeError)(f"axes={axes!r}")
        first = arguments.axes(arguments.integers(axes[0], "axes"), x1.ndim)
        second = arguments.axes(arguments.integers(axes[1], "axes"), x2.ndim)
    if [x1.shape[a] for a in first] != [x2.shape[a] for a in second]:
        raise ValueError(f"tensordot's axes differ: shapes {x1.shape} and {x2.shape}")
    terms = math.prod(x1.shape[a] for a in first)

    def product(a: Data, b: Data) -> Data:
        return np.asarray(np.tensordot(a, b, axes=(first, second)))

    return _product(rules, "tensordot", NUMERIC, x1, x2, product, terms)


@function("all", "linalg.outer")
def outer(rules: Rules, x1: Any, x2: Any, /) -> Array:
    for x in (x1, x2):
        if rules.is_array(x, "outer").ndim != 1:
            raise ValueError(f"outer got shape {x.shape}; it takes 1-d arrays")
    return _product(rules, "outer", SUMS, x1, x2, lambda a, b: a[:, None] * b, 1)


@function("all", "linalg.cross")
def cross(rules: Rules, x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    place = axis
    for x in (x1, x2):
        rules.is_array(x, "cross")
        at = arguments.axis(place, x.ndim)
        if x.shape[at] != 3:
            raise ValueError(f"cross got shape {x.shape}; vectors must have 3 elements")

    def product(a: Data, b: Data) -> Data:
        a, b = np.broadcast_arrays(a, b)
        p, q = np.moveaxis(a, place, 0), np.moveaxis(b, place, 0)
        parts = [p[i - 2] * q[i - 1] - p[i - 1] * q[i - 2] for i in range(3)]
        return np.stack(parts, axis=place)

    return _product(rules, "cross", SUMS, x1, x2, product, 1)


@function("all", "linalg.trace")
def trace(rules: Rules, x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    found = rules.call("linalg.diagonal", x, offset=offset)
    out: Array = rules.call("sum", found, axis=-1, dtype=dtype)
    return out


# --- decompositions and solutions --------------------------------------------------------------


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


def _matrices(
    rules: Rules, name: str, x: Any, *, square: bool = False, sure: bool = True
) -> tuple[Data, DType]:
    """Return matrices as LAPACK takes them in double precision, and the dtype of results."""
    rules.is_array(x, name)
    arguments.matrices(x, name)
    if square and x.shape[-1] != x.shape[-2]:
        raise ValueError(f"{name} needs square matrices, got shape {x.shape}")
    dtype = converted(rules, name, FLOATING, x.dtype)
    if types.letter(dtype) == "f" and dtype.itemsize == 2:
        raise TypeError(f"{name} does not take {dtype}; convert to float32 first")
    data = types.rounded(x._data, dtype).astype(types.LAPACK[dtype])
    if sure:
        rules.sure(x)
    if not np.isfinite(data).all():
        raise Unsure
    return data, dtype


def _eps(dtype: DType) -> float:
    return float(2.0 ** -types.DIGITS[types.REAL.get(dtype, dtype)][0])


def _norm(x: Data) -> Data:
    return np.asarray(np.sqrt(np.sum(np.abs(x) ** 2, axis=(-2, -1))))


def _made(rules: Rules, out: Any, dtype: DType, scale: Any, n: int) -> Array:
    return finished(
        rules, np.asarray(out), dtype, lambda: scale, NORMWISE["linalg"] * max(n, 1), exact=False
    )


def _open(rules: Rules, out: Any, dtype: DType) -> Array:
    data = types.rounded(np.asarray(out), dtype)
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
    return rules.array(np.triu(factor) if upper else np.tril(factor))


@function("own", "linalg.det")
def det(rules: Rules, x: Any, /) -> Array:
    data, dtype = _matrices(rules, "det", x, square=True)
    if data.size == 0:
        return rules.array(np.ones(x.shape[:-2], dtype))
    rows = np.sqrt(np.sum(np.abs(data) ** 2, axis=-1))
    return _made(rules, np.linalg.det(data), dtype, np.prod(rows, axis=-1), x.shape[-1])


@function("own", "linalg.slogdet")
def slogdet(rules: Rules, x: Any, /) -> SlogdetResult:
    data, dtype = _matrices(rules, "slogdet", x, square=True)
    real = types.REAL.get(dtype, dtype)
    if data.size == 0:
        shape = x.shape[:-2]
        return SlogdetResult(rules.array(np.ones(shape, dtype)), rules.array(np.zeros(shape, real)))
    sign, size = np.linalg.slogdet(data)
    values = np.linalg.svd(data, compute_uv=False)
    n = x.shape[-1]
    near = values[..., -1] <= 4 * n * _eps(dtype) * values[..., 0]
    scale = values[..., 0] / np.where(near, 1, values[..., -1])
    signs = types.rounded(np.asarray(sign), dtype)
    if dtype.kind == "c":
        signs = _made(rules, sign, dtype, scale, n)._data
    logs = _made(rules, size, real, scale + np.where(near, 0, np.abs(size)), n)._data
    return SlogdetResult(rules.array(signs, near), rules.array(logs, near))


@function("own", "linalg.eigh")
def eigh(rules: Rules, x: Any, /) -> EighResult:
    data, dtype = _matrices(rules, "eigh", x, square=True)
    _hermitian(data, dtype)
    values, vectors = np.linalg.eigh(data)
    real = types.REAL.get(dtype, dtype)
    made = _made(rules, values, real, _norm(data)[..., None], x.shape[-1])
    return EighResult(made, _open(rules, vectors, dtype))


@function("own", "linalg.eigvalsh")
def eigvalsh(rules: Rules, x: Any, /) -> Array:
    return eigh(rules, x).eigenvalues


@function("own", "linalg.eig")
def eig(rules: Rules, x: Any, /) -> EigResult:
    data, dtype = _matrices(rules, "eig", x, square=True)
    result = rules.available(types.COMPLEX.get(dtype, dtype))
    values, vectors = np.linalg.eig(data)
    return EigResult(
        _open(rules, values.astype(complex), result), _open(rules, vectors.astype(complex), result)
    )


@function("own", "linalg.eigvals")
def eigvals(rules: Rules, x: Any, /) -> Array:
    return eig(rules, x).eigenvalues


@function("own", "linalg.inv")
def inv(rules: Rules, x: Any, /) -> Array:
    data, dtype = _matrices(rules, "inv", x, square=True)
    condition = _regular("inv", data, dtype)
    if data.size == 0:
        return rules.array(np.zeros(x.shape, dtype))
    out = np.linalg.inv(data)
    return _made(rules, out, dtype, (condition * _norm(out))[..., None, None], x.shape[-1])


@function("own", "linalg.solve")
def solve(rules: Rules, x1: Any, x2: Any, /) -> Array:
    for x in (x1, x2):
        rules.is_array(x, "solve")
    first, second = rules.aligned("solve", x1, x2)
    data, dtype = _matrices(rules, "solve", first, square=True)
    if second.ndim == 0:
        raise ValueError("solve got a 0-d right side")
    rules.sure(second)
    right = types.rounded(second._data, dtype).astype(data.dtype)
    if not np.isfinite(right).all():
        raise Unsure
    vector = right.ndim == 1
    columns = right[:, None] if vector else right
    n = data.shape[-1]
    if columns.shape[-2] != n:
        raise ValueError(f"solve got shapes {x1.shape} and {x2.shape}")
    batch = np.broadcast_shapes(data.shape[:-2], columns.shape[:-2])
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
        raise ValueError(f"matrix_power needs square matrices, got shape {x.shape}")
    work = converted(rules, "matrix_power", SUMS, x.dtype)
    x = rules.call("astype", x, work, copy=False)
    if power == 0:
        return rules.array(np.broadcast_to(np.eye(x.shape[-1]), x.shape).astype(x.dtype))
    out: Array = x
    for _ in range(power - 1):
        out = rules.call("matmul", out, x)
    return rules.array(out._data.copy(), out.unsure)


@function("own", "linalg.qr")
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
def svd(rules: Rules, x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    data, dtype = _matrices(rules, "svd", x)
    left, values, right = np.linalg.svd(data, full_matrices=bool(full_matrices))
    real = types.REAL.get(dtype, dtype)
    made = _made(rules, values, real, _norm(data)[..., None], max(x.shape[-2:]))
    return SVDResult(_open(rules, left, dtype), made, _open(rules, right, dtype))


@function("own", "linalg.svdvals")
def svdvals(rules: Rules, x: Any, /) -> Array:
    data, dtype = _matrices(rules, "svdvals", x)
    real = types.REAL.get(dtype, dtype)
    return _made(rules, _values(data), real, _norm(data)[..., None], max(x.shape[-2:]))


def _cut(rules: Rules, data: Data, dtype: DType, rtol: Any) -> tuple[Data, Data]:
    """Return singular values and below what they count as zero."""
    values = _values(data)
    if rtol is None:
        part: Any = max(data.shape[-2:]) * _eps(dtype)
    elif type(rtol) is Array:
        if types.letter(rtol.dtype) == "c":
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
def matrix_rank(rules: Rules, x: Any, /, *, rtol: Any = None) -> Array:
    data, dtype = _matrices(rules, "matrix_rank", x)
    if 0 in data.shape[-2:]:
        return rules.array(np.zeros(x.shape[:-2], rules.index))
    values, limit = _cut(rules, data, dtype, rtol)
    return rules.array(np.asarray(np.sum(values > limit, axis=-1)).astype(rules.index))


@function("own", "linalg.pinv")
def pinv(rules: Rules, x: Any, /, *, rtol: Any = None) -> Array:
    data, dtype = _matrices(rules, "pinv", x)
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
