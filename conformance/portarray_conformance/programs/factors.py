"""Judge the factors of decompositions, which are not unique, by the equations they must satisfy.

Each function has a row of laws: an error for each matrix of a stack, relative to its norm, which
must stay within ``NORMWISE["linalg"]`` epsilons per row. Eigenvalues are those of a matrix as close
as that, however ill-conditioned they are: each makes ``A - w I`` nearly singular, and the sums of
their powers are traces of the powers of A, which fixes their multiplicities.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from portarray_conformance.bounds import NORMWISE
from portarray_conformance.programs.program import Snap
from portarray_conformance.target import NumpyArray

# The message for a matrix whose error, relative to its norm, is too large; and the errors.
Laws: TypeAlias = Iterator[tuple[str, NumpyArray]]


def _norm(x: NumpyArray) -> NumpyArray:
    return np.asarray(np.sqrt(np.sum(np.abs(x) ** 2, axis=(-2, -1))))


def _adjoint(x: NumpyArray) -> NumpyArray:
    return np.asarray(np.conj(np.swapaxes(x, -1, -2)))


def _orthonormal(x: NumpyArray) -> NumpyArray:
    """Return how far columns are from orthonormal ones."""
    return _norm(_adjoint(x) @ x - np.eye(x.shape[-1]))


def _svd(a: NumpyArray, u: NumpyArray, s: NumpyArray, vh: NumpyArray) -> Laws:
    k = s.shape[-1]
    yield "U S Vh is not x", _norm(u[..., :k] * s[..., None, :] @ vh[..., :k, :] - a)
    yield "U is not orthonormal", _orthonormal(u)
    yield "Vh is not orthonormal", _orthonormal(_adjoint(vh))


def _eigh(a: NumpyArray, values: NumpyArray, vectors: NumpyArray) -> Laws:
    product = vectors * values[..., None, :] @ _adjoint(vectors)
    yield "the product of values and vectors is not x", _norm(product - a)
    yield "eigenvectors are not orthonormal", _orthonormal(vectors)


def _eig(a: NumpyArray, values: NumpyArray, vectors: NumpyArray) -> Laws:
    yield "x v is not w v", _norm(a @ vectors - vectors * values[..., None, :])
    lengths = np.sqrt(np.sum(np.abs(vectors) ** 2, axis=-2))
    yield "eigenvectors are not of norm 1", np.abs(lengths - 1).max(-1, initial=0)
    yield from _eigvals(a, values)


def _eigvals(a: NumpyArray, values: NumpyArray) -> Laws:
    n = a.shape[-1]
    shifted = a[..., None, :, :] - values[..., None, None] * np.eye(n)
    sure = np.where(np.isfinite(shifted), shifted, 0)  # SVD refuses others
    if n:
        least = np.linalg.svd(sure, compute_uv=False)[..., -1].max(-1)
        yield "not an eigenvalue", np.where(np.isfinite(values).all(-1), least, np.nan)
    power = np.broadcast_to(np.eye(n), a.shape)
    for k in range(1, n + 1):
        power = power @ a
        error = np.abs(np.sum(values**k, axis=-1) - np.trace(power, axis1=-2, axis2=-1))
        yield "an eigenvalue too often", error / (k * np.sqrt(n))


def _qr(a: NumpyArray, q: NumpyArray, r: NumpyArray) -> Laws:
    yield "Q R is not x", _norm(q @ r - a)
    yield "Q is not orthonormal", _orthonormal(q)
    yield "R is not upper triangular", np.where(np.tril(r, -1).any((-2, -1)), np.inf, 0.0)


# Laws by function, and which of its results is as large as the matrix.
FACTORS: Mapping[str, tuple[Callable[..., Laws], int]] = {
    "linalg.svd": (_svd, 1),
    "linalg.eigh": (_eigh, 0),
    "linalg.eig": (_eig, 0),
    "linalg.eigvals": (_eigvals, 0),
    "linalg.qr": (_qr, 1),
}


def decomposed(statement: str) -> str:
    """Return the expression of the matrix that a statement decomposes, or an empty text."""
    node = ast.parse(statement).body[0]
    call = node.value if isinstance(node, (ast.Assign, ast.Expr)) else None
    return ast.unparse(call.args[0]) if isinstance(call, ast.Call) and call.args else ""


def wrong_factors(function: str, matrix: Snap, result: Snap) -> str:
    """Return which law the factors of a matrix break, or an empty text.

    Matrices with infinities or NaN have no factors that are promised.
    """
    laws, large = FACTORS[function]
    factors = [factor.value for factor in (result.value if result.kind == "tuple" else [result])]
    dtype = np.result_type(*factors)
    eps = float(np.finfo(dtype).eps)
    wide = np.complex128 if dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        a = matrix.value.astype(dtype).astype(wide)
        finite = np.isfinite(a).all((-2, -1))
        a = np.where(finite[..., None, None], a, 0)
        size = _norm(a)
        size = np.where(size == 0, 1, size)
        factors = [factor.astype(wide) for factor in factors]
        shape = factors[large].shape
        factors[large] = factors[large] / size.reshape(size.shape + (1,) * (len(shape) - size.ndim))
        bound = NORMWISE["linalg"] * max(1, *a.shape[-2:]) * eps
        for text, error in laws(a / size[..., None, None], *factors):
            if np.any(~(error <= bound) & finite):
                return text
    return ""
