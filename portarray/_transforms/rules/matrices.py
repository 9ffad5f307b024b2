"""Gradients of matrix products, solutions and decompositions.

Sources: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008); Townsend, "Differentiating the singular value decomposition" (2016);
Seeger et al., "Auto-differentiating linear algebra" (2017); Walter and Lehmann, "Algorithmic
differentiation of linear algebra functions with application in optimum experimental design" (2010).
"""

from __future__ import annotations

from typing import Any

from portarray._array import call
from portarray._namespace import pa
from portarray._transforms.rules.reductions import (
    axes_of,
    excluding,
    shares,
    unit_vectors,
    with_axes,
    within_one,
)
from portarray._transforms.rules.table import (
    RULES,
    Rule,
    as_operand,
    conj,
    define,
    in_single,
    scaled,
    summed_to,
)
from portarray.errors import LinAlgError, NoGradientError, TracedArrayError


def _adjoint(x: Any) -> Any:
    return conj(call.options("matrix_transpose", x))


def with_strong_zeros(part: Any, stack: int, *gs: Any) -> Any:
    """Return the cotangents of stacked matrices, 0 for NaN of those whose results have only zeros.

    The results, with cotangents ``gs``, and the matrices have the same ``stack`` leading axes.
    """
    unused: Any = True
    for g in gs:
        if g is not None:
            is_zero = pa.all(g == 0, axis=tuple(range(stack, g.ndim)))
            unused = unused & pa.reshape(is_zero, g.shape[:stack] + (1,) * (part.ndim - stack))
    return pa.where(pa.isnan(part) & unused, 0, part)


def _matmul_first(g: Any, y: Any, a: Any, b: Any) -> Any:
    if b.ndim == 1:
        return scaled(g[..., None], conj(b))
    if a.ndim == 1:
        return summed_to(pa.squeeze(g[..., None, :] @ _adjoint(b), axis=-2), a.shape)
    return g @ _adjoint(b)


def _matmul_second(g: Any, y: Any, a: Any, b: Any) -> Any:
    if a.ndim == 1:
        return scaled(g[..., None, :], conj(a)[:, None]) if b.ndim > 1 else scaled(g, conj(a))
    if b.ndim == 1:
        return summed_to(pa.squeeze(_adjoint(a) @ g[..., None], axis=-1), b.shape)
    return _adjoint(a) @ g


def _tensordot(a: Any, b: Any, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(axes, int):
        return tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    first, second = axes
    return axes_of(tuple(first), a.ndim), axes_of(tuple(second), b.ndim)


def _tensordot_first(g: Any, y: Any, a: Any, b: Any, *, axes: Any = 2) -> Any:
    mine, others = _tensordot(a, b, axes)
    free = tuple(n for n in range(b.ndim) if n not in others)
    free_axes = tuple(n for n in range(a.ndim) if n not in mine)
    out = pa.tensordot(g, conj(b), axes=(tuple(range(len(free_axes), g.ndim)), free))
    # The axes are now the free ones of a, then the summed ones in b's order.
    order = [*free_axes, *(mine[others.index(n)] for n in sorted(others))]
    return pa.permute_dims(out, tuple(order.index(n) for n in range(a.ndim)))


def _tensordot_second(g: Any, y: Any, a: Any, b: Any, *, axes: Any = 2) -> Any:
    mine, others = _tensordot(a, b, axes)
    free = tuple(n for n in range(b.ndim) if n not in others)
    free_axes = tuple(n for n in range(a.ndim) if n not in mine)
    out = pa.tensordot(conj(a), g, axes=(free_axes, tuple(range(len(free_axes)))))
    order = [*(others[mine.index(n)] for n in sorted(mine)), *free]
    return pa.permute_dims(out, tuple(order.index(n) for n in range(b.ndim)))


def _vecdot_first(g: Any, y: Any, a: Any, b: Any, *, axis: int = -1) -> Any:
    # sum of conj(a) * b
    return scaled(conj(pa.expand_dims(g, axis=axis)), b)


def _vecdot_second(g: Any, y: Any, a: Any, b: Any, *, axis: int = -1) -> Any:
    return scaled(pa.expand_dims(g, axis=axis), a)


def _cross_first(g: Any, y: Any, a: Any, b: Any, *, axis: int = -1) -> Any:
    b, g = pa.broadcast_arrays(b, g)
    return pa.linalg.cross(conj(b), g, axis=axis)


def _cross_second(g: Any, y: Any, a: Any, b: Any, *, axis: int = -1) -> Any:
    a, g = pa.broadcast_arrays(a, g)
    return pa.linalg.cross(g, conj(a), axis=axis)


def _diagonal(g: Any, y: Any, x: Any, *, offset: int = 0) -> Any:
    rows, columns = x.shape[-2:]
    eye = pa.eye(rows, columns, k=offset, dtype=g.dtype, device=g.device)
    n = g.shape[-1]
    # Row r of the diagonal holds element r + min(offset, 0) of g.
    start = max(-offset, 0)
    leading = pa.zeros((*g.shape[:-1], min(start, rows)), dtype=g.dtype, device=g.device)
    trailing = pa.zeros(
        (*g.shape[:-1], rows - n - leading.shape[-1]), dtype=g.dtype, device=g.device
    )
    return pa.concat([leading, g, trailing], axis=-1)[..., None] * eye


def _trace(g: Any, y: Any, x: Any, *, offset: int = 0, **_: Any) -> Any:
    eye = pa.eye(*x.shape[-2:], k=offset, dtype=x.dtype, device=x.device)
    return as_operand(g, x)[..., None, None] * eye


def _inverse(g: Any, y: Any, x: Any) -> Any:
    return -(_adjoint(y) @ g @ _adjoint(y))


def _solve(gs: Any, ys: Any, needs_grad: Any, a: Any, b: Any) -> Any:
    (g,), (y,) = gs, ys
    vector = b.ndim == 1
    stack = g.ndim - min(b.ndim, 2)
    second = with_strong_zeros(pa.linalg.solve(_adjoint(a), g), stack, g)
    parts: list[Any] = [None, None]
    if needs_grad[1]:
        parts[1] = summed_to(second, b.shape)
    if needs_grad[0]:
        if vector:
            second, y = second[..., None], y[..., None]
        parts[0] = summed_to(with_strong_zeros(-(second @ _adjoint(y)), stack, g), a.shape)
    return parts


def _det(g: Any, y: Any, x: Any) -> Any:
    limits = pa.finfo(x.dtype)
    size = pa.abs(y)
    is_regular = (size >= limits.smallest_normal) & (size < pa.inf)
    well_conditioned = limits.eps**-0.5
    try:
        if pa.all(is_regular):
            inverse = pa.linalg.inv(x)
            # The inverse times the determinant is the adjugate, up to rounding.
            condition = pa.linalg.matrix_norm(x, ord=1) * pa.linalg.matrix_norm(inverse, ord=1)
            if pa.all(condition < well_conditioned):
                return _matrix(g * conj(y)) * _adjoint(inverse)
        is_regular = None
    except LinAlgError:
        is_regular = None
    except TracedArrayError:  # values are unknown: each matrix chooses
        pass
    u, s, vh = pa.linalg.svd(x)
    sign = pa.linalg.det(u) * pa.linalg.det(vh)
    others = pa.astype(excluding(s), u.dtype, copy=False)
    adjugate = _matrix(g * conj(sign)) * ((u * others[..., None, :]) @ vh)
    if is_regular is None or not s.shape[-1]:
        return adjugate
    is_regular = _matrix(is_regular & (s[..., 0] < s[..., -1] * well_conditioned))
    eye = pa.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    inverse = pa.linalg.inv(pa.where(is_regular, x, eye))
    return pa.where(is_regular, _matrix(g * conj(y)) * _adjoint(inverse), adjugate)


def _matrix(x: Any) -> Any:
    return x[..., None, None]


def _slogdet(gs: Any, ys: Any, needs_grad: Any, x: Any) -> Any:
    sign, logarithm = gs
    # The derivative at a singular matrix is infinite.
    is_singular = _matrix(ys[0] == 0)
    eye = pa.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    inverse = _adjoint(pa.linalg.inv(pa.where(is_singular, eye, x)))
    inverse = pa.where(is_singular, pa.nan, inverse)
    part = pa.zeros_like(x)
    if logarithm is not None:
        part = _matrix(logarithm) * inverse
    if sign is not None and pa.isdtype(x.dtype, "complex floating"):
        # The phase turns by the imaginary part of tr(inv(x) dx).
        turned = pa.imag(conj(ys[0]) * sign)
        part = part + _matrix(turned) * 1j * inverse
    return (part,)


def _cholesky(g: Any, y: Any, x: Any, *, upper: bool = False) -> Any:
    factor, g = (_adjoint(y), _adjoint(g)) if upper else (y, g)
    product = pa.tril(_adjoint(factor) @ pa.tril(g))
    eye = pa.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    half = product * (1 - eye / 2)
    inverse = pa.linalg.inv(factor)
    out = _adjoint(inverse) @ half @ inverse
    return (out + _adjoint(out)) / 2


def _eigh(gs: Any, ys: Any, needs_grad: Any, x: Any) -> Any:
    values, vectors = ys
    g_values, g_vectors = gs
    inner: Any = 0
    if g_values is not None:
        eye = pa.eye(x.shape[-1], dtype=vectors.dtype, device=x.device)
        inner = eye * pa.astype(g_values, vectors.dtype, copy=False)[..., None, :]
    if g_vectors is not None:
        inner = inner + _gaps(values, vectors.dtype) * (_adjoint(vectors) @ g_vectors)
    out = vectors @ inner @ _adjoint(vectors)
    return ((out + _adjoint(out)) / 2,)


def _gaps(values: Any, dtype: Any) -> Any:
    """Return 1/(v[j] - v[i]), 0 where both are equal."""
    gaps = values[..., None, :] - values[..., :, None]
    is_zero = gaps == 0
    return pa.astype(pa.where(is_zero, 0, 1 / pa.where(is_zero, 1, gaps)), dtype, copy=False)


def _eigvalsh(gs: Any, ys: Any, needs_grad: Any, x: Any) -> Any:
    _, vectors = pa.linalg.eigh(x)
    return _eigh((gs[0], None), (ys[0], vectors), needs_grad, x)


def _eig(gs: Any, ys: Any, needs_grad: Any, x: Any) -> Any:
    values, vectors = ys
    g_values, g_vectors = gs
    inner: Any = 0
    adjoint = _adjoint(vectors)
    if g_values is not None:
        eye = pa.eye(x.shape[-1], dtype=vectors.dtype, device=x.device)
        inner = eye * g_values[..., None, :]
    if g_vectors is not None:
        # Vectors have length 1: remove the component along them.
        product = adjoint @ g_vectors
        eye = pa.eye(x.shape[-1], dtype=vectors.dtype, device=x.device)
        along = pa.real(pa.sum(eye * product, axis=-2))
        product = product - (adjoint @ vectors) * pa.astype(along, vectors.dtype)[..., None, :]
        inner = inner + conj(_gaps(values, vectors.dtype)) * product
    out = pa.linalg.solve(adjoint, inner @ adjoint)
    if not pa.isdtype(x.dtype, "complex floating"):
        out = pa.real(out)
    return (pa.astype(out, x.dtype, copy=False),)


def _eigvals(gs: Any, ys: Any, needs_grad: Any, x: Any) -> Any:
    values, vectors = pa.linalg.eig(x)
    return _eig((gs[0], None), (values, vectors), needs_grad, x)


def _svd(gs: Any, ys: Any, needs_grad: Any, x: Any, *, full_matrices: bool = True) -> Any:
    u, s, vh = ys
    gu, gs_, gvh = gs
    k = s.shape[-1]
    if (
        full_matrices
        and (u.shape[-1] != k or vh.shape[-2] != k)
        and (gu is not None or gvh is not None)
    ):
        raise NoGradientError(
            "linalg.svd",
            "with full_matrices=True some singular vectors of an oblong matrix are arbitrary; pass "
            "full_matrices=False",
        )
    u, vh = u[..., :, :k], vh[..., :k, :]
    v = _adjoint(vh)
    eye = pa.eye(k, dtype=u.dtype, device=x.device)
    diag = pa.astype(s, u.dtype, copy=False)
    out = 0
    if gs_ is not None:
        out = (u * pa.astype(gs_, u.dtype, copy=False)[..., None, :]) @ vh
    sums = s[..., None, :] + s[..., :, None]
    is_zero = sums == 0
    f = _gaps(s, u.dtype) * pa.astype(
        pa.where(is_zero, 0, 1 / pa.where(is_zero, 1, sums)), u.dtype, copy=False
    )
    inverse = pa.where(s == 0, 0, 1 / pa.where(s == 0, 1, s))
    inverse = pa.astype(inverse, u.dtype, copy=False)
    middle: Any = pa.zeros_like(u[..., :k, :])
    if gu is not None:
        gu = gu[..., :, :k]
        product = _adjoint(u) @ gu
        skew = f * (product - _adjoint(product))
        middle = middle + skew * diag[..., None, :]
        out = out + ((gu - u @ product) * inverse[..., None, :]) @ vh
    if gvh is not None:
        gv = _adjoint(gvh[..., :k, :])
        product = _adjoint(v) @ gv
        skew = f * (product - _adjoint(product))
        middle = middle + diag[..., :, None] * skew
        out = out + (u * inverse[..., None, :]) @ _adjoint(gv - v @ product)
    if gu is not None and pa.isdtype(x.dtype, "complex floating"):
        product = _adjoint(u) @ gu
        turned = pa.astype(pa.imag(pa.sum(eye * product, axis=-2)), u.dtype) * 1j
        middle = middle + eye * (turned * inverse)[..., None, :]
    return (out + u @ middle @ vh,)


def _svdvals(gs: Any, ys: Any, needs_grad: Any, x: Any) -> Any:
    u, s, vh = pa.linalg.svd(x, full_matrices=False)
    return _svd((None, gs[0], None), (u, s, vh), needs_grad, x)


def _qr(gs: Any, ys: Any, needs_grad: Any, x: Any, *, mode: str = "reduced") -> Any:
    q, r = ys
    gq, gr = gs
    rows, columns = x.shape[-2:]
    if mode == "complete" and rows > columns:
        raise NoGradientError(
            "linalg.qr",
            "with mode='complete' some columns of a tall matrix's factor are arbitrary; pass "
            "mode='reduced'",
        )
    gq = pa.zeros_like(q) if gq is None else gq
    gr = pa.zeros_like(r) if gr is None else gr
    if rows < columns:
        # x = q [r1, r2], and r2 = q^H x2.
        x2 = x[..., rows:]
        gq = gq + x2 @ _adjoint(gr[..., rows:])
        first = _tall(q, r[..., :rows], gq, gr[..., :rows])
        return (pa.concat([first, q @ gr[..., rows:]], axis=-1),)
    return (_tall(q, r, gq, gr),)


def _tall(q: Any, r: Any, gq: Any, gr: Any) -> Any:
    m = r @ _adjoint(gr) - _adjoint(gq) @ q
    lower = pa.tril(m, k=-1)
    eye = pa.eye(r.shape[-1], dtype=r.dtype, device=r.device)
    diagonal = pa.real(m) if pa.isdtype(m.dtype, "complex floating") else m
    hermitian = lower + _adjoint(lower) + eye * pa.astype(diagonal, r.dtype, copy=False)
    right = gq + q @ hermitian
    # right @ inv(r)^H
    return _adjoint(pa.linalg.solve(r, _adjoint(right)))


def _pinv(g: Any, y: Any, x: Any, **_: Any) -> Any:
    p, ph, gh = y, _adjoint(y), _adjoint(g)
    rows = pa.eye(x.shape[-2], dtype=x.dtype, device=x.device)
    columns = pa.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    out = -(ph @ g @ ph)
    first = (rows - x @ p) @ gh @ p @ ph
    second = ph @ p @ gh @ (columns - p @ x)
    return out + first + second


def _vector_norm(
    g: Any, y: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2
) -> Any:
    g, y = with_axes(g, x, axis), with_axes(y, x, axis)
    if ord == 0:
        return pa.zeros_like(x)
    return as_operand(scaled(g, _norm_derivative(y, x, axis, ord)), x)


def _norm_derivative(y: Any, x: Any, axis: Any, ord: Any) -> Any:
    """Return the derivative of a vector norm, 0 at the origin."""
    if ord == 1:
        return pa.sign(x)
    size = pa.abs(x)
    if ord in (float("inf"), float("-inf")):
        return shares(size == y, size, axis) * pa.sign(x)
    # Powers of elements may over- or underflow, as may y; the derivative is that of the elements
    # divided by the largest.
    if ord == 2:
        return unit_vectors(x, axis)
    x, is_zero = within_one(x, axis)
    size = pa.abs(x)
    is_zero_element = size == 0
    size = pa.where(is_zero_element, 1, size)
    powers = pa.where(is_zero_element, 0, size**ord)
    norm = pa.sum(powers, axis=axes_of(axis, x.ndim), keepdims=True) ** (1 / ord)
    ratio = pa.where(is_zero_element, 0, (size / pa.where(is_zero, 1, norm)) ** (ord - 1))
    return ratio * pa.sign(x)


def _matrix_norm(g: Any, y: Any, x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    if ord == "fro":
        return _vector_norm(g, y, x, axis=(x.ndim - 2, x.ndim - 1))
    return scaled(g if keepdims else _matrix(g), _matrix_norm_derivative(x, ord))


def _matrix_norm_derivative(x: Any, ord: Any) -> Any:
    if ord in (1, -1, float("inf"), float("-inf")):
        along, across = (-2, -1) if ord in (1, -1) else (-1, -2)
        sums = pa.sum(pa.abs(x), axis=along, keepdims=True)
        # Not y: the library may add its sums in another order.
        extreme = (pa.max if ord > 0 else pa.min)(sums, axis=across, keepdims=True)
        return shares(sums == extreme, sums, across) * pa.sign(x)
    u, s, vh = pa.linalg.svd(x, full_matrices=False)
    weights = pa.astype(s > 0, s.dtype)
    if ord != "nuc":
        extreme = (pa.max if ord == 2 else pa.min)(s, axis=-1, keepdims=True)
        weights = weights * shares(s == extreme, s, -1)
    return (u * pa.astype(weights, u.dtype, copy=False)[..., None, :]) @ vh


def _matrix_power(gs: Any, ys: Any, needs_grad: Any, x: Any, n: int) -> Any:
    (g,) = gs
    if n == 0:
        return (pa.zeros_like(x),)
    if n < 0:
        inverse = pa.linalg.inv(x)
        (inner,) = _matrix_power(gs, ys, needs_grad, inverse, -n)
        return (_inverse(inner, inverse, x),)
    adjoint = _adjoint(x)
    # Horner's rule for the sum of (x^H)**k @ g @ (x^H)**(n - 1 - k).
    out, right = g, g
    for _ in range(n - 1):
        right = right @ adjoint
        out = adjoint @ out + right
    return (out,)


define(
    {
        "linalg.cholesky": _cholesky,
        "linalg.cross": (_cross_first, _cross_second),
        "linalg.det": _det,
        "linalg.diagonal": _diagonal,
        "linalg.inv": _inverse,
        "linalg.matrix_norm": in_single(_matrix_norm),
        "linalg.outer": (
            lambda g, y, a, b: pa.sum(scaled(g, conj(b)), axis=-1),
            lambda g, y, a, b: pa.sum(scaled(g, conj(a)[:, None]), axis=-2),
        ),
        "linalg.pinv": _pinv,
        "linalg.trace": _trace,
        "linalg.vector_norm": in_single(_vector_norm),
        "matmul": (_matmul_first, _matmul_second),
        "tensordot": (_tensordot_first, _tensordot_second),
        "vecdot": (_vecdot_first, _vecdot_second),
    }
)
RULES.update(
    {
        "linalg.eig": _eig,
        "linalg.eigh": _eigh,
        "linalg.eigvals": _eigvals,
        "linalg.eigvalsh": _eigvalsh,
        "linalg.matrix_power": _matrix_power,
        "linalg.qr": _qr,
        "linalg.slogdet": _slogdet,
        "linalg.solve": _solve,
        "linalg.svd": _svd,
        "linalg.svdvals": _svdvals,
    }
)


def _stacked(rule: Rule) -> Rule:
    """Return the rule of a function of stacked matrices, with strong zeros."""

    def with_zeros(gs: Any, ys: Any, needs_grad: Any, x: Any, *args: Any, **options: Any) -> Any:
        parts = rule(gs, ys, needs_grad, x, *args, **options)
        return [
            None if part is None else with_strong_zeros(part, x.ndim - 2, *gs) for part in parts
        ]

    return with_zeros


for _name in (
    *("cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_power", "pinv"),
    *("qr", "slogdet", "svd", "svdvals"),
):
    RULES[f"linalg.{_name}"] = _stacked(RULES[f"linalg.{_name}"])
