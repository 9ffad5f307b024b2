"""Functions of one array, and arrays at which their gradients are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import portarray as pa

Values = np.ndarray[Any, Any]
Function = Callable[[Any], Any]

_rng = np.random.default_rng(5)


class Case(NamedTuple):
    """A function of one array, and the array."""

    name: str
    function: Function
    x: Values


def real(*shape: int) -> Values:
    """Return numbers of both signs, away from 0 and 1, where some functions have edges."""
    sizes: Values = _rng.uniform(0.2, 0.9, shape)
    return sizes * _rng.choice([-1, 1], shape)


def positive(*shape: int) -> Values:
    return np.abs(real(*shape))


def complex_(*shape: int) -> Values:
    return real(*shape) + 1j * real(*shape)


def _with(values: Values, function: Callable[[Any, Any], Any]) -> Function:
    """Return a function of one array from one of two, of which the second is constant."""
    return lambda x: function(x, placed(values, x.device))


def placed(values: Values, device: Any) -> Any:
    """Return values on a device, in single precision where it lacks complex128."""
    if "complex128" not in pa.__array_namespace_info__().dtypes(device=device):
        values = values.astype({"f": "f4", "c": "c8"}.get(values.dtype.kind, values.dtype))
    return pa.asarray(values, device=device)


def _adjoint(x: Any) -> Any:
    return pa.conj(x.mT) if pa.isdtype(x.dtype, "complex floating") else x.mT


def elementwise() -> Iterator[Case]:
    for name in (
        *("abs", "acos", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1"),
        *("floor", "negative", "positive", "reciprocal", "round", "sign", "sin", "sinh", "square"),
        *("tan", "tanh", "trunc"),
    ):
        yield Case(name, getattr(pa, name), real(3, 2))
    for name in ("log", "log1p", "log2", "log10", "sqrt"):
        yield Case(name, getattr(pa, name), positive(3, 2))
    yield Case("acosh", pa.acosh, 1 + positive(4))
    for name in (
        *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "conj", "cos", "cosh", "exp"),
        *("expm1", "imag", "log", "log1p", "log2", "log10", "negative", "positive", "real"),
        *("reciprocal", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh"),
    ):
        yield Case(f"complex {name}", getattr(pa, name), complex_(3, 2))
    for name in (
        *("add", "atan2", "copysign", "divide", "floor_divide", "hypot", "logaddexp", "maximum"),
        *("minimum", "multiply", "nextafter", "remainder", "subtract"),
    ):
        yield from _of_two(name, name, getattr(pa, name), real(2), real(3, 2))
        yield Case(f"{name} of a number", _with_number(getattr(pa, name)), real(4))
    for name in ("add", "divide", "multiply", "pow", "subtract"):
        function = getattr(pa, name)
        yield from _of_two(f"complex {name}", name, function, complex_(2), complex_(3, 2))
        yield from _of_two(f"mixed {name}", name, function, positive(2), complex_(3, 2))
    yield from _of_two("pow", "pow", pa.pow, positive(3), np.asarray([2.0, 3.0, 0.5]))
    yield Case("pow, a number", lambda x: x**3, real(3))
    yield Case("pow of a number", lambda x: 3.0**x, real(3))
    yield Case("pow of itself", lambda x: x**x, positive(3))
    yield Case("where", lambda x: pa.where(x > 0, x * 2, x * x), real(5))
    yield Case("clip", lambda x: pa.clip(x, -0.5, 0.5), real(6))
    yield Case("clip by arrays", _with(real(6), lambda x, y: pa.clip(y, x, x + 0.4)), real(6))


def _with_number(function: Any) -> Function:
    return lambda x: function(x, 0.3)


def _of_two(title: str, name: str, function: Any, a: Values, b: Values) -> Iterator[Case]:
    yield Case(f"{title}, first", _with(b, function), a)
    yield Case(f"{title}, second", _with(b, lambda x, y: function(y, x)), a)


def reductions() -> Iterator[Case]:
    for name in ("max", "mean", "min", "prod", "std", "sum", "var"):
        for axis in (None, 0, (0, 2), -1):
            for keepdims in (False, True):

                def reduced(x: Any, name: str = name, axis: Any = axis, k: bool = keepdims) -> Any:
                    return getattr(pa, name)(x, axis=axis, keepdims=k)

                yield Case(f"{name} axis={axis} keepdims={keepdims}", reduced, real(3, 2, 4))
    with_zero = real(5)
    with_zero[2] = 0
    yield Case("var correction", lambda x: pa.var(x, axis=0, correction=1), real(3, 2))
    yield Case("prod with zero", pa.prod, with_zero)
    yield Case("cumulative_prod", lambda x: pa.cumulative_prod(x, axis=1), real(3, 5))
    yield Case("cumulative_prod with zero", pa.cumulative_prod, with_zero)
    yield Case(
        "cumulative_prod initial",
        lambda x: pa.cumulative_prod(x, axis=0, include_initial=True),
        real(3, 2),
    )
    yield Case("cumulative_sum", lambda x: pa.cumulative_sum(x, axis=1), real(3, 5))
    yield Case(
        "cumulative_sum initial",
        lambda x: pa.cumulative_sum(x, axis=0, include_initial=True),
        real(3, 2),
    )
    yield Case("sort", lambda x: pa.sort(x, axis=0), real(4, 3))
    yield Case("sort descending", lambda x: pa.sort(x, descending=True), real(4, 3))
    yield Case("diff", lambda x: pa.diff(x, n=2, axis=0), real(5, 2))
    yield Case(
        "diff with edges",
        lambda x: pa.diff(x, axis=0, prepend=x[:1, ...] * 2, append=x[:2, ...]),
        real(5, 2),
    )


def _assigned(x: Any) -> Any:
    y = pa.zeros((4, 3), device=x.device, dtype=x.dtype)
    y[1] = x
    y[2, 1:] = x[0] * 2
    y += 1
    y[0, 0] = 7.0
    return y * y


def _indices(*indices: int) -> Values:
    return np.asarray(indices)


def shapes() -> Iterator[Case]:
    x = real(3, 2)
    ones = np.ones((1, 2))
    yield Case("concat", _with(ones, lambda x, y: pa.concat([x, y, x * 2])), x)
    yield Case("concat flat", lambda x: pa.concat([x, x * x], axis=None), x)
    yield Case("stack", lambda x: pa.stack([x, x * x], axis=1), x)
    yield Case("unstack", lambda x: pa.unstack(x)[0] * pa.unstack(x)[2], x)
    yield Case("reshape", lambda x: pa.reshape(x, (2, 3)), x)
    yield Case("permute_dims", lambda x: pa.permute_dims(x, (2, 0, 1)), real(3, 2, 4))
    yield Case("moveaxis", lambda x: pa.moveaxis(x, 0, 2), real(3, 2, 4))
    yield Case("matrix_transpose", lambda x: x.mT, x)
    yield Case("flip", lambda x: pa.flip(x, axis=1), x)
    yield Case("roll", lambda x: pa.roll(x, 2), x)
    yield Case("roll of axes", lambda x: pa.roll(x, (2, 1), axis=(0, 1)), x)
    yield Case("repeat", lambda x: pa.repeat(x, 3, axis=1), x)
    yield Case("repeat flat", lambda x: pa.repeat(x, 2), x)
    yield Case("repeat each", _with(_indices(1, 0, 2), lambda x, y: pa.repeat(x, y, axis=0)), x)
    yield Case("tile", lambda x: pa.tile(x, (2, 1, 3)), x)
    yield Case("expand_dims", lambda x: pa.expand_dims(x, axis=1), x)
    yield Case("squeeze", lambda x: pa.squeeze(x, axis=1), real(3, 1, 2))
    yield Case("broadcast_to", lambda x: pa.broadcast_to(x, (4, 3, 2)), real(3, 1))
    wide = np.ones((4, 3, 2))
    yield Case(
        "broadcast_arrays", _with(wide, lambda x, y: pa.broadcast_arrays(x, y)[0]), real(3, 1)
    )
    for indexing in ("xy", "ij"):

        def grid(x: Any, indexing: Any = indexing) -> Any:
            a, b = pa.meshgrid(x, x * 2, indexing=indexing)
            return a * b

        yield Case(f"meshgrid {indexing}", grid, real(3))
    yield Case("tril", lambda x: pa.tril(x, k=-1), real(3, 4))
    yield Case("triu", lambda x: pa.triu(x, k=1), real(3, 4))
    yield Case("astype", lambda x: pa.astype(x, pa.complex128), x)
    yield Case("copy", lambda x: pa.asarray(x, copy=True) * x.copy(), x)
    yield Case("slices", lambda x: x[1:, ::2], real(3, 4))
    yield Case("integer, ellipsis and None", lambda x: x[1, ..., None], real(3, 4))
    yield Case("mask", lambda x: x[x > 0], real(3, 4))
    yield Case("index array", _with(_indices(2, 0, 2, -1), lambda x, y: x[y, :]), x)
    yield Case("index arrays", _with(_indices(1, 0, 1, -1), lambda x, y: x[y, y]), x)
    yield Case("assignment", _assigned, real(3))
    yield Case("take", _with(_indices(2, 0, 2, -1), lambda x, y: pa.take(x, y, axis=0)), x)
    yield Case(
        "take_along_axis",
        _with(_indices(2, 0, 2)[:, None], lambda x, y: pa.take_along_axis(x, y, axis=0)),
        real(4, 1),
    )


def _symmetric(x: Any, more: float = 0.0) -> Any:
    return x + _adjoint(x) + more * pa.eye(x.shape[-1], dtype=x.dtype, device=x.device)


# Vectors of decompositions are fixed but for their signs, or phases: these functions are too.
def _of_eigh(x: Any) -> Any:
    values, vectors = pa.linalg.eigh(_symmetric(x))
    return pa.abs(vectors) ** 2 * pa.exp(values)[..., None, :]


def _of_eig(x: Any) -> Any:
    values, vectors = pa.linalg.eig(x)
    # In whatever order they are.
    return pa.sum(pa.abs(vectors) ** 2 * pa.abs(values)[..., None, :], axis=-1)


def _of_svd(x: Any) -> Any:
    u, s, vh = pa.linalg.svd(x, full_matrices=False)
    middle = pa.astype(s**2, u.dtype)[..., None, :]
    return pa.concat(
        [
            pa.reshape(part, (-1,))
            for part in (
                pa.abs(u) ** 2 * s,
                pa.abs(vh) ** 2 * s[:, None],
                pa.abs((u * middle) @ vh),
            )
        ]
    )


def _of_qr(x: Any) -> Any:
    q, r = pa.linalg.qr(x)
    return pa.concat([pa.reshape(pa.abs(q), (-1,)), pa.reshape(pa.abs(r), (-1,))])


def linear_algebra() -> Iterator[Case]:
    for kind, draw in (("", real), ("complex ", complex_)):
        for first, second in (
            *(((3, 4), (4, 2)), ((4,), (4, 2)), ((3, 4), (4,)), ((4,), (4,)), ((5, 3, 4), (4, 2))),
            *(((3, 4), (5, 4, 2)), ((5, 3, 4), (4,)), ((4,), (5, 4, 2))),
        ):
            title = f"{kind}matmul {first} {second}"
            a, b = draw(*first), draw(*second)
            yield Case(f"{title}, first", _with(b, pa.matmul), a)
            yield Case(f"{title}, second", _with(a, lambda x, y: pa.matmul(y, x)), b)
        a, b = draw(3, 4, 2), draw(4, 3, 5)
        for axes in (0, ((0, 1), (1, 0)), ((1,), (0,))):

            def product(x: Any, y: Any, axes: Any = axes) -> Any:
                return pa.tensordot(x, y, axes=axes)

            yield Case(f"{kind}tensordot {axes}, first", _with(b, product), a)
            yield Case(f"{kind}tensordot {axes}, second", _with(a, _swapped(product)), b)
        for name, function, a, b in (
            ("vecdot", pa.vecdot, draw(3, 4), draw(4)),
            ("cross", pa.linalg.cross, draw(2, 3), draw(3)),
            ("outer", pa.linalg.outer, draw(4), draw(3)),
        ):
            yield Case(f"{kind}{name}, first", _with(b, function), a)
            yield Case(f"{kind}{name}, second", _with(a, _swapped(function)), b)
        matrices = draw(2, 3, 3) + 2 * np.eye(3)
        for title, a, b in (
            ("matrices", matrices, draw(2, 3, 2)),
            ("a vector", matrices[0], draw(3)),
            ("one matrix for all", matrices[0], draw(2, 3, 2)),
        ):
            yield Case(f"{kind}solve {title}, first", _with(b, pa.linalg.solve), a)
            yield Case(f"{kind}solve {title}, second", _with(a, _swapped(pa.linalg.solve)), b)
        for name in ("inv", "det", "pinv"):
            yield Case(f"{kind}{name}", getattr(pa.linalg, name), matrices)
        yield Case(f"{kind}pinv, tall", pa.linalg.pinv, draw(4, 2))
        yield Case(f"{kind}pinv, wide", pa.linalg.pinv, draw(2, 4))
        yield Case(f"{kind}slogdet", lambda x: pa.linalg.slogdet(x)[1], matrices)
        yield Case(f"{kind}slogdet, sign", lambda x: pa.linalg.slogdet(x)[0], matrices)
        for upper in (False, True):

            def factor(x: Any, upper: bool = upper) -> Any:
                return pa.linalg.cholesky(_symmetric(x, 6.0), upper=upper)

            yield Case(f"{kind}cholesky upper={upper}", factor, matrices)
        yield Case(f"{kind}eigh", _of_eigh, matrices)
        yield Case(f"{kind}eigvalsh", lambda x: pa.linalg.eigvalsh(_symmetric(x)), matrices)
        yield Case(f"{kind}eig", _of_eig, matrices)
        yield Case(f"{kind}eigvals", lambda x: pa.sort(pa.abs(pa.linalg.eigvals(x))), matrices)
        for shape in ((4, 2), (2, 4), (3, 3)):
            yield Case(f"{kind}svd {shape}", _of_svd, draw(*shape))
            yield Case(f"{kind}svdvals {shape}", pa.linalg.svdvals, draw(*shape))
            yield Case(f"{kind}qr {shape}", _of_qr, draw(*shape))
        yield Case(f"{kind}trace", lambda x: pa.linalg.trace(x, offset=1), draw(2, 3, 4))
        for offset in (-1, 0, 2):

            def diagonal(x: Any, offset: int = offset) -> Any:
                return pa.linalg.diagonal(x, offset=offset)

            yield Case(f"{kind}diagonal {offset}", diagonal, draw(2, 3, 4))
        for order in (2, 1, 3, 0.5, np.inf, -np.inf, 0):

            def vector_norm(x: Any, order: Any = order) -> Any:
                return pa.linalg.vector_norm(x, ord=order, axis=1)

            yield Case(f"{kind}vector_norm {order}", vector_norm, draw(3, 4))
        for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):

            def matrix_norm(x: Any, order: Any = order) -> Any:
                return pa.linalg.matrix_norm(x, ord=order)

            yield Case(f"{kind}matrix_norm {order}", matrix_norm, draw(2, 3, 4))
        for n in (2, -2, 0, 1, 5):

            def power(x: Any, n: int = n) -> Any:
                return pa.linalg.matrix_power(x, n)

            yield Case(f"{kind}matrix_power {n}", power, matrices)


def _swapped(function: Any) -> Callable[[Any, Any], Any]:
    return lambda x, y: function(y, x)


def transforms() -> Iterator[Case]:
    for kind, draw in (("", real), ("complex ", complex_)):
        for name in ("fft", "ifft", "hfft", "irfft"):
            for n in (None, 3, 7, 8):
                norm = "ortho" if n == 3 else "forward" if n == 7 else "backward"
                yield Case(
                    f"{kind}{name} {n}", _transform(name, n=n, axis=0, norm=norm), draw(5, 2)
                )
        for name in ("fftn", "ifftn", "irfftn"):
            yield Case(f"{kind}{name}", _transform(name, s=(3, 4), axes=(0, 2)), draw(4, 2, 3))
            yield Case(f"{kind}{name} of all axes", _transform(name), draw(4, 2, 3))
    for name in ("rfft", "ihfft"):
        for n in (None, 3, 8):
            yield Case(f"{name} {n}", _transform(name, n=n, axis=0), real(5, 2))
    yield Case("rfftn", _transform("rfftn", s=(3, 5), axes=(0, 2)), real(4, 2, 3))
    yield Case("fftshift", pa.fft.fftshift, real(5, 2))
    yield Case("ifftshift", pa.fft.ifftshift, real(5, 2))


def _transform(name: str, **options: Any) -> Function:
    return lambda x: getattr(pa.fft, name)(x, **options)


def kernels() -> Iterator[Case]:
    for name in ("gelu", "log_softmax", "relu", "silu", "softmax"):
        yield Case(name, getattr(pa.kernels, name), real(3, 4))
    weight = real(4)
    yield Case("layer_norm", _with(weight, lambda x, w: pa.kernels.layer_norm(x, w, w)), real(3, 4))
    yield Case(
        "layer_norm, weight", _with(real(3, 4), lambda x, y: pa.kernels.layer_norm(y, x, x)), weight
    )
    yield Case("rms_norm", _with(weight, pa.kernels.rms_norm), real(3, 4))
    yield Case("attention", lambda x: pa.kernels.attention(x, x * 2, x * x), real(1, 2, 3, 4))
    yield Case("rope", _with(np.arange(3), pa.kernels.rope), real(1, 2, 3, 4))
    labels = _indices(0, 2, 1)
    yield Case("cross_entropy", _with(labels, pa.kernels.cross_entropy), real(3, 4))
    yield Case("linear", _with(real(2, 4), pa.kernels.linear), real(3, 4))
    yield Case(
        "linear, weight", _with(real(3, 4), lambda x, y: pa.kernels.linear(y, x)), real(2, 4)
    )
    yield Case(
        "embedding", _with(_indices(1, 1, 0), lambda x, y: pa.kernels.embedding(y, x)), real(3, 4)
    )


CASES = [
    *elementwise(),
    *reductions(),
    *shapes(),
    *linear_algebra(),
    *transforms(),
    *kernels(),
]


def _weights(shape: tuple[int, ...], *, is_complex: bool) -> Values:
    rng = np.random.default_rng(7)
    drawn: Values = rng.normal(size=shape)
    return drawn + 1j * rng.normal(size=shape) if is_complex else drawn


def weighted(case: Case, x: Any) -> Any:
    """Return the elements of a function's result, weighted and summed."""
    y = case.function(x)
    if not pa.isdtype(y.dtype, "complex floating"):
        return pa.sum(
            y * pa.asarray(_weights(y.shape, is_complex=False), dtype=y.dtype, device=y.device)
        )
    w = pa.asarray(_weights(y.shape, is_complex=True), dtype=y.dtype, device=y.device)
    return pa.sum(pa.real(pa.conj(w) * y))
