"""Cases of products, solutions and decompositions of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import portarray as pa
from portarray_conformance.gradients.case import (
    Case,
    Draw,
    Drawn,
    Function,
    Sample,
    Values,
    adjoint,
    kinds,
    standard,
)

__all__ = ["CASES"]

PRODUCTS = {
    "matrices": ((2, 3), (3, 2)),
    "vector and matrix": ((3,), (3, 2)),
    "matrix and vector": ((2, 3), (3,)),
    "vectors": ((3,), (3,)),
    "stack and matrix": ((2, 2, 3), (3, 2)),
    "matrix and stack": ((2, 3), (2, 3, 2)),
    "stack and vector": ((2, 2, 3), (3,)),
    "vector and stack": ((3,), (2, 3, 2)),
    "stacks": ((2, 1, 2, 3), (3, 3, 1)),
}


def _products() -> Iterator[Case]:
    for kind, sample in kinds():
        for title, (first, second) in PRODUCTS.items():

            def matmul(
                d: Draw, first: Any = first, second: Any = second, sample: Sample = sample
            ) -> Drawn:
                function = d.of(pa.matmul, pa.linalg.matmul, lambda a, b: a @ b)
                return Drawn(function, (sample(d, *first), sample(d, *second)))

            yield Case(f"{kind}matmul, {title}", "matmul", matmul)
        for name, make in (
            *(("tensordot", _tensordot), ("vecdot", _vecdot), ("linalg.cross", _cross)),
            ("linalg.outer", _outer),
        ):
            yield Case(f"{kind}{name}", name, _with(make, sample))
    yield Case("matmul, real and complex", "matmul", _mixed)


def _with(make: Any, sample: Sample) -> Any:
    return lambda d: make(d, sample)


def _mixed(d: Draw) -> Drawn:
    a, b = d.real(2, 3), d.complex(3, 2)
    return Drawn(lambda a, b: a @ b @ a, (a, b))


def _tensordot(d: Draw, sample: Sample) -> Drawn:
    axes, first, second = d.of(
        *((0, (2,), (3, 2)), (1, (2, 3), (3, 2)), (2, (2, 3), (2, 3))),
        *((((0, 1), (1, 0)), (3, 4, 2), (4, 3, 2)), (((1,), (0,)), (2, 3), (3, 2))),
        *((((2, 0), (-1, 1)), (2, 2, 3), (2, 2, 3)), (((-1, -2), (0, 2)), (2, 2, 3), (3, 1, 2))),
    )
    function = d.of(pa.tensordot, pa.linalg.tensordot)
    return Drawn(lambda a, b: function(a, b, axes=axes), (sample(d, *first), sample(d, *second)))


def _vecdot(d: Draw, sample: Sample) -> Drawn:
    shapes = d.of(((2, 3), (3,)), ((3, 2), (3, 2)), ((3,), (3,)), ((2, 1, 3), (3, 3)))
    axis = d.of(-1, -1, -2) if min(map(len, shapes)) > 1 else -1
    a, b = shapes
    if axis == -2 and a[-2] != b[-2]:
        axis = -1
    function = d.of(pa.vecdot, pa.linalg.vecdot)
    return Drawn(lambda x, y: function(x, y, axis=axis), (sample(d, *a), sample(d, *b)))


def _cross(d: Draw, sample: Sample) -> Drawn:
    axis, a, b = d.of((-1, (2, 3), (3,)), (-2, (3, 2), (3, 1)), (-1, (3,), (2, 3)))
    return Drawn(lambda x, y: pa.linalg.cross(x, y, axis=axis), (sample(d, *a), sample(d, *b)))


def _outer(d: Draw, sample: Sample) -> Drawn:
    return Drawn(pa.linalg.outer, (sample(d, d.size()), sample(d, d.size())))


def regular(d: Draw, sample: Sample, *shape: int) -> Values:
    """Return matrices of which no two eigenvalues or singular values are near to each other."""
    matrices: Values = 0.4 * sample(d, *shape)
    for n in range(min(shape[-2:])):
        matrices[..., n, n] += 2.0 * (n + 1)
    return matrices


def stack(d: Draw) -> tuple[int, ...]:
    """Return the shape of a stack of matrices, often none."""
    return d.of((), (), (2,), (2, 1))  # type: ignore[no-any-return]


def _square(function: Function, sample: Sample) -> Any:
    def make(d: Draw) -> Drawn:
        n = d.size(1, 3)
        return Drawn(function, (regular(d, sample, *stack(d), n, n),))

    return make


def _oblong(function: Function, sample: Sample) -> Any:
    def make(d: Draw) -> Drawn:
        return Drawn(function, (regular(d, sample, *stack(d), d.size(1, 3), d.size(1, 3)),))

    return make


def _symmetric(x: Any) -> Any:
    return x + adjoint(x)


# Vectors of decompositions are fixed but for their signs, or phases: these functions are too.
def _of_eigh(x: Any) -> Any:
    values, vectors = pa.linalg.eigh(_symmetric(x))
    return pa.abs(vectors) ** 2 * pa.exp(values / 5)[..., None, :]


def _of_eigh_whole(x: Any) -> Any:
    values, vectors = pa.linalg.eigh(_symmetric(x))
    return (vectors * pa.astype(pa.sin(values), vectors.dtype)[..., None, :]) @ adjoint(vectors)


def _of_eig(x: Any) -> Any:
    values, vectors = pa.linalg.eig(x)
    # In whatever order they are.
    return pa.sum(pa.abs(vectors) ** 2 * pa.abs(values)[..., None, :], axis=-1)


def _of_eigvals(x: Any) -> Any:
    return pa.sum(pa.abs(pa.linalg.eigvals(x)) ** 3, axis=-1)


def _of_svd(x: Any) -> Any:
    u, s, vh = pa.linalg.svd(x, full_matrices=False)
    middle = pa.astype(s**2, u.dtype)[..., None, :]
    parts = (
        pa.abs(u) ** 2 * s[..., None, :],
        pa.abs(vh) ** 2 * s[..., :, None],
        pa.abs((u * middle) @ vh),
    )
    return pa.concat([pa.reshape(part, (-1,)) for part in parts])


def _of_qr(x: Any) -> Any:
    q, r = pa.linalg.qr(x)
    return pa.concat([pa.reshape(pa.abs(part) ** 2, (-1,)) for part in (q, r)])


def _definite(x: Any) -> Any:
    return x @ adjoint(x) + pa.eye(x.shape[-1], dtype=x.dtype, device=x.device)


def _linear_algebra() -> Iterator[Case]:
    for kind, sample in kinds():
        for name in ("inv", "det", "pinv"):
            yield Case(f"{kind}{name}", f"linalg.{name}", _square(getattr(pa.linalg, name), sample))
        for title, name, function in (
            ("slogdet", "slogdet", lambda x: pa.linalg.slogdet(x)[1]),
            ("slogdet, sign", "slogdet", lambda x: pa.linalg.slogdet(x)[0]),
            ("cholesky", "cholesky", lambda x: pa.linalg.cholesky(_definite(x))),
            ("cholesky, upper", "cholesky", lambda x: pa.linalg.cholesky(_definite(x), upper=True)),
            ("eigh", "eigh", _of_eigh),
            ("eigh, whole", "eigh", _of_eigh_whole),
            ("eigvalsh", "eigvalsh", lambda x: pa.linalg.eigvalsh(_symmetric(x))),
            ("eig", "eig", _of_eig),
            ("eigvals", "eigvals", _of_eigvals),
        ):
            yield Case(f"{kind}{title}", f"linalg.{name}", _square(function, sample))
        for title, name, function in (
            *(("pinv, oblong", "pinv", pa.linalg.pinv), ("svd", "svd", _of_svd)),
            *(("svdvals", "svdvals", pa.linalg.svdvals), ("qr", "qr", _of_qr)),
        ):
            yield Case(f"{kind}{title}", f"linalg.{name}", _oblong(function, sample))
        yield Case(f"{kind}solve", "linalg.solve", _with(_solve, sample))
        yield Case(f"{kind}matrix_power", "linalg.matrix_power", _with(_matrix_power, sample))
        yield Case(f"{kind}trace", "linalg.trace", _with(_diagonal("linalg.trace"), sample))
        yield Case(
            f"{kind}diagonal", "linalg.diagonal", _with(_diagonal("linalg.diagonal"), sample)
        )
        for order in (2, 1, 3, 0.5, -1, np.inf, -np.inf, 0):
            yield Case(
                f"{kind}vector_norm {order}", "linalg.vector_norm", _vector_norm(order, sample)
            )
        for which in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
            yield Case(
                f"{kind}matrix_norm {which}", "linalg.matrix_norm", _matrix_norm(which, sample)
            )
    # Its second derivative is a difference of terms that are as large as the inverse.
    yield Case("det, singular", "linalg.det", _singular, twice=False, library_gradients=False)
    yield Case("solve, real and complex", "linalg.solve", _mixed_solve)
    yield Case("trace as complex", "linalg.trace", lambda d: Drawn(_wide_trace, (d.real(2, 3, 3),)))


def _solve(d: Draw, sample: Sample) -> Drawn:
    of_matrices, right = d.of(
        *(((), (3, 2)), ((), (3,)), ((2,), (2, 3, 2)), ((), (2, 3, 1)), ((2,), (3, 1))),
        ((2, 1), (3, 3, 1)),
    )
    return Drawn(pa.linalg.solve, (regular(d, sample, *of_matrices, 3, 3), sample(d, *right)))


def _mixed_solve(d: Draw) -> Drawn:
    a, b = regular(d, Draw.real, 2, 2), d.complex(2, 3)
    return Drawn(lambda a, b: pa.linalg.solve(a, b) + pa.linalg.solve(a + 1j, b), (a, b))


def _singular(d: Draw) -> Drawn:
    x = d.real(3, 3)
    x[2] = x[0] + x[1]
    return Drawn(pa.linalg.det, (x,))


def _matrix_power(d: Draw, sample: Sample) -> Drawn:
    power = d.of(2, -2, 0, 1, 5, 3, -1)
    x = regular(d, sample, *stack(d), 2, 2) / 2
    return Drawn(lambda x: pa.linalg.matrix_power(x, power), (x,))


def _diagonal(name: str) -> Any:
    def make(d: Draw, sample: Sample) -> Drawn:
        offset = d.size(0, 6) - 3
        x = sample(d, *stack(d), d.size(), d.size())
        return Drawn(lambda x: standard(name)(x, offset=offset), (x,))

    return make


def _wide_trace(x: Any) -> Any:
    return pa.linalg.trace(x, dtype=pa.complex128 if x.dtype == pa.float64 else pa.complex64)


def _vector_norm(order: Any, sample: Sample) -> Any:
    def make(d: Draw) -> Drawn:
        axis = d.of(None, d.axis(2), d.axes(2))
        keepdims = d.flag()

        def norm(x: Any) -> Any:
            return pa.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=order)

        return Drawn(norm, (sample(d, d.size(), d.size()),))

    return make


def _matrix_norm(order: Any, sample: Sample) -> Any:
    def make(d: Draw) -> Drawn:
        keepdims = d.flag()
        x = regular(d, sample, *stack(d), d.size(1, 3), d.size(1, 3))
        return Drawn(lambda x: pa.linalg.matrix_norm(x, keepdims=keepdims, ord=order), (x,))

    return make


CASES = (*_products(), *_linear_algebra())
