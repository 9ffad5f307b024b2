"""Decompositions and inverses.

NumPy has no wider decompositions, so answers are checked by their defining equations
(``A V = V w``, ``Q^H Q = 1``, ...), in a wider format and relative to the norm of the matrix. A
backward stable algorithm stays within a small multiple of the machine epsilon.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.bounds import NORMWISE
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call
from portarray_conformance.promotion import COMPLEX_OF, FLOATING, REAL_PART
from portarray_conformance.target import NumpyArray, Target
from portarray_conformance.ulp import wide

_BATCHES: tuple[tuple[int, ...], ...] = ((), (), (2,), (1, 2))


def draw_matrix(
    target: Target, data: Draw, sizes: tuple[tuple[int, int], ...], kind: str = "any"
) -> NumpyArray:
    """Draw a stack of matrices: any, Hermitian, positive definite, or well-conditioned."""
    name = draw.dtype(target, data, FLOATING)
    size = draw.pick(data, sizes, "size")
    batch = draw.pick(data, _BATCHES, "batch")
    x = draw.array(data, name, (*batch, *size), draw.Domain(-4, 4), "entries")
    if kind == "hermitian":
        return np.asarray((x + _adjoint(x)) / 2, dtype=name)
    if kind == "positive":
        return np.asarray(x @ _adjoint(x) + np.eye(size[0]), dtype=name)
    if kind == "regular":  # the diagonal dominates
        return np.asarray(x + 20 * np.eye(*size), dtype=name)
    return x


_SQUARE = ((2, 2), (3, 3), (1, 1), (4, 4))
OBLONG = ((3, 2), (2, 3), (3, 3), (1, 2), (4, 1))


def frobenius(x: NumpyArray) -> NumpyArray:
    """Return the Frobenius norm of each matrix, at least the smallest one worth dividing by."""
    size = np.sqrt(np.sum(np.abs(x) ** 2, axis=(-2, -1)))
    return np.asarray(np.maximum(size, 1e-30), dtype=np.float64)


def within(
    target: Target, out: Any, want: NumpyArray, call: Call, dtype: str, size: NumpyArray
) -> None:
    """Fail where an answer is off by more than the bound of linear algebra at the given scale."""
    compare.within(target, out, want, call, dtype=dtype, size=size, bound=NORMWISE["linalg"])


def _adjoint(x: NumpyArray) -> NumpyArray:
    return np.conj(np.swapaxes(x, -1, -2))


def _small(residual: NumpyArray, size: Any, name: str, call: Call, rule: str) -> None:
    """Fail where a residual, which should be zero, is beyond rounding at the given scale."""
    n = max(residual.shape[-2:], default=1)
    eps = float(np.finfo(name).eps)
    norms = np.sqrt(np.sum(np.abs(residual) ** 2, axis=(-2, -1))).astype(np.float64)
    allowed = NORMWISE["linalg"] * eps * max(n, 1) * np.asarray(size, dtype=np.float64)
    if not np.all(norms <= allowed):
        worst = np.unravel_index(int(np.argmax(norms - allowed)), norms.shape)
        raise call.fail(
            f"{rule} does not hold: off by {float(norms[worst]):.4g} in norm, allowed "
            f"{float(np.broadcast_to(allowed, norms.shape)[worst]):.4g} ({name})"
        )


def _fields(result: Any, names: tuple[str, ...], call: Call) -> list[Any]:
    if not isinstance(result, tuple) or len(result) != len(names):
        raise call.fail(f"got {type(result).__name__}, wanted a namedtuple {names}")
    for position, name in enumerate(names):
        if getattr(result, name, None) is not result[position]:
            raise call.fail(f"the result has no field {name} at {position}")
    return list(result)


@case("linalg.cholesky", "values")
def cholesky(target: Target, data: Draw) -> None:
    """A triangle with a positive diagonal whose square is x."""
    x = draw_matrix(target, data, _SQUARE, "positive")
    upper = draw.flag(data, "upper")
    call = Call(f"linalg.cholesky(x, upper={upper})", {"x": x})
    keywords = {"upper": upper} if upper or draw.flag(data, "said") else {}
    out = target.function("linalg.cholesky")(target.put(x), **keywords)
    got = compare.fetch(target, out, x.dtype.name, x.shape, call)
    opposite = np.tril(got, -1) if upper else np.triu(got, 1)
    if np.any(opposite != 0):
        raise call.fail(f"the other triangle is not zero: {compare.show(got)}")
    diagonal = np.diagonal(got, axis1=-2, axis2=-1)
    if np.any(diagonal.real <= 0):
        raise call.fail(f"the diagonal is not positive: {compare.show(diagonal)}")
    factor = wide(got)
    product = _adjoint(factor) @ factor if upper else factor @ _adjoint(factor)
    _small(
        product - wide(x), frobenius(x), x.dtype.name, call, "U^H U = x" if upper else "L L^H = x"
    )


def _determinant(x: NumpyArray) -> NumpyArray:
    """Expand along the first row."""
    n = x.shape[-1]
    if n == 0:
        return np.ones(x.shape[:-2], dtype=x.dtype)
    total = np.zeros(x.shape[:-2], dtype=x.dtype)
    for j in range(n):
        minor = np.delete(x[..., 1:, :], j, axis=-1)
        total = total + (-1) ** j * x[..., 0, j] * _determinant(minor)
    return total


def _determinant_size(x: NumpyArray) -> NumpyArray:
    """Hadamard's bound: the product of the norms of the rows."""
    rows = np.sqrt(np.sum(np.abs(x) ** 2, axis=-1))
    return np.asarray(np.prod(rows, axis=-1), dtype=np.float64)


@case("linalg.det", "values")
def det(target: Target, data: Draw) -> None:
    """The determinant, against expansion along a row."""
    x = draw_matrix(target, data, (*_SQUARE, (0, 0)))
    call = Call("linalg.det(x)", {"x": x})
    out = target.function("linalg.det")(draw.put(target, data, x))
    want, size = _determinant(wide(x)), _determinant_size(x)
    within(target, out, want, call, x.dtype.name, size)


@case("linalg.slogdet", "values")
def slogdet(target: Target, data: Draw) -> None:
    """Sign and logarithm of the determinant."""
    x = draw_matrix(target, data, _SQUARE, draw.pick(data, ("any", "regular"), "kind"))
    name = x.dtype.name
    call = Call("linalg.slogdet(x)", {"x": x})
    result = target.function("linalg.slogdet")(target.put(x))
    sign, logarithm = _fields(result, ("sign", "logabsdet"), call)
    signs = compare.fetch(target, sign, name, x.shape[:-2], call)
    logs = compare.fetch(target, logarithm, REAL_PART.get(name, name), x.shape[:-2], call)
    with np.errstate(all="ignore"):
        got = wide(signs) * np.exp(wide(logs))
    want = _determinant(wide(x))
    size = _determinant_size(x) * (1 + np.abs(np.where(np.isfinite(logs), logs, 0)))
    allowed = NORMWISE["linalg"] * float(np.finfo(name).eps) * size
    if not np.all(np.abs(got - want) <= allowed):
        raise call.fail(
            f"sign * exp(logabsdet) is {compare.show(got)}, wanted {compare.show(want)}"
        )
    moduli = np.abs(signs)
    if not np.all((np.abs(moduli - 1) < 1e-5) | (moduli == 0)):
        raise call.fail(f"the sign has modulus {compare.show(moduli)}")


@case("linalg.slogdet", "special")
def slogdet_special(target: Target, data: Draw) -> None:
    """A matrix of zeros has sign 0 and logarithm -infinity."""
    for name in draw.available(target, FLOATING):
        call = Call(f"linalg.slogdet(zeros((2, 2), dtype={name}))")
        result = target.function("linalg.slogdet")(target.put(np.zeros((2, 2), dtype=name)))
        sign, logarithm = _fields(result, ("sign", "logabsdet"), call)
        compare.same(target, sign, np.zeros((), dtype=name), call, signed_zeros=False)
        compare.same(target, logarithm, np.array(-np.inf, dtype=REAL_PART.get(name, name)), call)


@case("linalg.eigh", "values")
def eigh(target: Target, data: Draw) -> None:
    """Real eigenvalues in ascending order, orthonormal eigenvectors."""
    x = draw_matrix(target, data, _SQUARE, "hermitian")
    name = x.dtype.name
    call = Call("linalg.eigh(x)", {"x": x})
    result = target.function("linalg.eigh")(target.put(x))
    values, vectors = _fields(result, ("eigenvalues", "eigenvectors"), call)
    w = compare.fetch(target, values, REAL_PART.get(name, name), x.shape[:-1], call)
    v = wide(compare.fetch(target, vectors, name, x.shape, call))
    if np.any(np.diff(w, axis=-1) < 0):
        raise call.fail(f"the eigenvalues do not ascend: {compare.show(w)}")
    _small(wide(x) @ v - v * wide(w)[..., None, :], frobenius(x), name, call, "x V = V w")
    _small(_adjoint(v) @ v - np.eye(x.shape[-1]), 1.0, name, call, "V^H V = 1")


@case("linalg.eigvalsh", "values")
def eigvalsh(target: Target, data: Draw) -> None:
    """The eigenvalues of a Hermitian matrix."""
    x = draw_matrix(target, data, _SQUARE, "hermitian")
    name = x.dtype.name
    call = Call("linalg.eigvalsh(x)", {"x": x})
    out = target.function("linalg.eigvalsh")(target.put(x))
    want = np.linalg.eigvalsh(x.astype(np.complex128))
    within(target, out, want, call, REAL_PART.get(name, name), frobenius(x)[..., None])


@case("linalg.eig", "values")
def eig(target: Target, data: Draw) -> None:
    """Complex eigenvalues and vectors of any square matrix."""
    x = draw_matrix(target, data, _SQUARE)
    name = COMPLEX_OF.get(x.dtype.name, x.dtype.name)
    target.dtype(name)  # float64 asks for complex128
    call = Call("linalg.eig(x)", {"x": x})
    result = target.function("linalg.eig")(target.put(x))
    values, vectors = _fields(result, ("eigenvalues", "eigenvectors"), call)
    w = wide(compare.fetch(target, values, name, x.shape[:-1], call))
    v = wide(compare.fetch(target, vectors, name, x.shape, call))
    _small(wide(x) @ v - v * w[..., None, :], frobenius(x) * frobenius(v), name, call, "x V = V w")
    if np.any(np.sum(np.abs(v) ** 2, axis=-2) < 1e-6):
        raise call.fail("an eigenvector is zero")
    _check_spectrum(x, w, name, call)


@case("linalg.eigvals", "values")
def eigvals(target: Target, data: Draw) -> None:
    """Complex eigenvalues of any square matrix."""
    x = draw_matrix(target, data, _SQUARE)
    name = COMPLEX_OF.get(x.dtype.name, x.dtype.name)
    target.dtype(name)
    call = Call("linalg.eigvals(x)", {"x": x})
    out = target.function("linalg.eigvals")(target.put(x))
    _check_spectrum(x, wide(compare.fetch(target, out, name, x.shape[:-1], call)), name, call)


def _check_spectrum(x: NumpyArray, w: NumpyArray, name: str, call: Call) -> None:
    """Fail unless each value makes ``x - w`` singular and their sum is the trace."""
    n = x.shape[-1]
    allowed = NORMWISE["linalg"] * n * float(np.finfo(name).eps) * frobenius(x)
    shifted = x[..., None, :, :].astype(np.complex128) - w.astype(np.complex128)[
        ..., None, None
    ] * np.eye(n)
    smallest = np.linalg.svd(shifted, compute_uv=False)[..., -1]
    if not np.all(smallest <= allowed[..., None] + 1e-13 * frobenius(x)[..., None]):
        raise call.fail(f"not eigenvalues: {compare.show(w)}")
    difference = np.abs(np.sum(w, axis=-1) - np.trace(x, axis1=-2, axis2=-1))
    if not np.all(difference <= n * allowed):
        raise call.fail(f"the eigenvalues {compare.show(w)} do not sum to the trace")


@case("linalg.inv", "values")
def inv(target: Target, data: Draw) -> None:
    """The inverse, by its product with x."""
    x = draw_matrix(target, data, _SQUARE, "regular")
    call = Call("linalg.inv(x)", {"x": x})
    out = target.function("linalg.inv")(draw.put(target, data, x))
    got = wide(compare.fetch(target, out, x.dtype.name, x.shape, call))
    size = frobenius(x) * frobenius(got)
    _small(wide(x) @ got - np.eye(x.shape[-1]), size, x.dtype.name, call, "x inv(x) = 1")


@case("linalg.solve", "values")
def solve(target: Target, data: Draw) -> None:
    """A vector only where x2 has one axis, else (stacks of) matrices."""
    x1 = draw_matrix(target, data, ((2, 2), (3, 3)), "regular")
    name, n = x1.dtype.name, x1.shape[-1]
    vector = draw.flag(data, "x2 a vector")
    shape = (n,) if vector else (*draw.pick(data, (x1.shape[:-2], ()), "batch of x2"), n, 2)
    x2 = draw.array(data, name, shape, draw.Domain(-4, 4), "x2")
    call = Call("linalg.solve(x1, x2)", {"x1": x1, "x2": x2})
    out = target.function("linalg.solve")(target.put(x1), target.put(x2))
    want_shape = (
        x1.shape[:-1] if vector else (*np.broadcast_shapes(x1.shape[:-2], shape[:-2]), n, 2)
    )
    got = wide(compare.fetch(target, out, name, want_shape, call))
    columns = got[..., None] if vector else got
    right = wide(x2)[..., None] if vector else wide(x2)
    size = frobenius(x1) * frobenius(columns) + frobenius(right)
    _small(wide(x1) @ columns - right, size, name, call, "x1 x = x2")


@case("linalg.matrix_power", "values")
def matrix_power(target: Target, data: Draw) -> None:
    """Whole powers, the identity for 0, powers of the inverse below."""
    n = draw.pick(data, (0, 1, 2, 3, 5, -1, -2), "n")
    x = draw_matrix(target, data, ((2, 2), (3, 3)), "regular" if n < 0 else "any")
    name = x.dtype.name
    call = Call(f"linalg.matrix_power(x, {n})", {"x": x})
    out = target.function("linalg.matrix_power")(target.put(x), n)
    got = wide(compare.fetch(target, out, name, x.shape, call))
    power = np.broadcast_to(np.eye(x.shape[-1]), x.shape).astype(wide(x).dtype)
    for _ in range(abs(n)):
        power = power @ wide(x)
    size = frobenius(x) ** abs(n)
    if n < 0:
        _small(got @ power - np.eye(x.shape[-1]), size * frobenius(got), name, call, "x^n x^-n = 1")
    else:
        _small(got - power, size, name, call, f"x^{n}")


@case("linalg.matrix_rank", "values")
def matrix_rank(target: Target, data: Draw) -> None:
    """The rank of products of thin matrices, and of diagonals by tolerance."""
    name = draw.dtype(target, data, FLOATING)
    values = draw.pick(data, ((4, 2, 1), (4, 0, 0), (0, 0, 0), (8, 4, 1)), "diagonal")
    rtol = draw.pick(data, (None, 0.3, 0.6), "rtol")
    shape = draw.pick(data, ((3, 3), (4, 3), (3, 5)), "shape")
    x = np.zeros((2, *shape), dtype=name)
    for i, value in enumerate(values):
        x[0, i, i] = value
        x[1, i, (i + 1) % 3] = value
    limit = (rtol or 1e-5) * max(values)
    want = np.full((2,), sum(v > limit for v in values), dtype=np.int64)
    call = Call(f"linalg.matrix_rank(x, rtol={rtol})", {"x": x})
    keywords = {} if rtol is None else {"rtol": rtol}
    out = target.function("linalg.matrix_rank")(target.put(x), **keywords)
    compare.same(target, out, want, call, dtype=target.default("integral"))


@case("linalg.pinv", "values")
def pinv(target: Target, data: Draw) -> None:
    """Penrose's four conditions."""
    x = draw_matrix(target, data, OBLONG, "regular")
    name = x.dtype.name
    if draw.flag(data, "deficient"):
        x[..., :, -1] = 0
    call = Call("linalg.pinv(x)", {"x": x})
    out = target.function("linalg.pinv")(target.put(x))
    shape = (*x.shape[:-2], x.shape[-1], x.shape[-2])
    p, a = wide(compare.fetch(target, out, name, shape, call)), wide(x)
    size, size_of_inverse = frobenius(x) ** 2 * frobenius(p), frobenius(p) ** 2 * frobenius(x)
    _small(a @ p @ a - a, size, name, call, "x p x = x")
    _small(p @ a @ p - p, size_of_inverse, name, call, "p x p = p")
    for product in (a @ p, p @ a):
        _small(
            product - _adjoint(product), frobenius(x) * frobenius(p), name, call, "x p is Hermitian"
        )


@case("linalg.pinv", "keywords")
def pinv_rtol(target: Target, data: Draw) -> None:
    """Singular values up to ``rtol`` times the largest count as zero."""
    for name in draw.available(target, FLOATING):
        x = np.diag(np.array([8, 4, 1], dtype=name))
        call = Call("linalg.pinv(diag(8, 4, 1), rtol=0.3)", {"x": x})
        out = target.function("linalg.pinv")(target.put(x), rtol=0.3)
        got = compare.fetch(target, out, name, (3, 3), call)
        _small(got - np.diag([1 / 8, 1 / 4, 0]), 1.0, name, call, "pinv = diag(1/8, 1/4, 0)")


@case("linalg.qr", "values")
def qr(target: Target, data: Draw) -> None:
    """Orthonormal columns and an upper triangle, reduced and complete."""
    x = draw_matrix(target, data, OBLONG)
    name, (m, n) = x.dtype.name, x.shape[-2:]
    mode = draw.pick(data, (None, "reduced", "complete"), "mode")
    call = Call(f"linalg.qr(x, mode={mode!r})", {"x": x})
    keywords = {} if mode is None else {"mode": mode}
    first, second = _fields(
        target.function("linalg.qr")(target.put(x), **keywords), ("Q", "R"), call
    )
    k = m if mode == "complete" else min(m, n)
    q = wide(compare.fetch(target, first, name, (*x.shape[:-2], m, k), call))
    r = wide(compare.fetch(target, second, name, (*x.shape[:-2], k, n), call))
    if np.any(np.tril(r, -1) != 0):
        raise call.fail(f"R is not upper triangular: {compare.show(r)}")
    _small(q @ r - wide(x), frobenius(x), name, call, "Q R = x")
    _small(_adjoint(q) @ q - np.eye(k), math.sqrt(k), name, call, "Q^H Q = 1")


@case("linalg.svd", "values")
def svd(target: Target, data: Draw) -> None:
    """Singular values that descend, orthonormal vectors, full or reduced."""
    x = draw_matrix(target, data, OBLONG)
    name, (m, n) = x.dtype.name, x.shape[-2:]
    full = draw.pick(data, (None, True, False), "full_matrices")
    call = Call(f"linalg.svd(x, full_matrices={full})", {"x": x})
    keywords = {} if full is None else {"full_matrices": full}
    result = target.function("linalg.svd")(target.put(x), **keywords)
    left_vectors, values, right_vectors = _fields(result, ("U", "S", "Vh"), call)
    k = min(m, n)
    columns, rows = (k, k) if full is False else (m, n)
    batch = x.shape[:-2]
    u = wide(compare.fetch(target, left_vectors, name, (*batch, m, columns), call))
    s = compare.fetch(target, values, REAL_PART.get(name, name), (*batch, k), call)
    vh = wide(compare.fetch(target, right_vectors, name, (*batch, rows, n), call))
    if np.any(s < 0) or np.any(np.diff(s, axis=-1) > 0):
        raise call.fail(f"the singular values do not descend to 0: {compare.show(s)}")
    product = u[..., :, :k] * wide(s)[..., None, :] @ vh[..., :k, :]
    _small(product - wide(x), frobenius(x), name, call, "U S Vh = x")
    _small(_adjoint(u) @ u - np.eye(columns), math.sqrt(columns), name, call, "U^H U = 1")
    _small(vh @ _adjoint(vh) - np.eye(rows), math.sqrt(rows), name, call, "Vh Vh^H = 1")
