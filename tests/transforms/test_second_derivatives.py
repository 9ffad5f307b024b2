"""Second derivatives and ``jvp`` at points where formulas of gradients have exceptions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import portarray as pa

special = pa.special
SPECIAL_POINTS = (0.0, 0.0, 1.0, -1.0, 2.0, 0.5)
POSITIVE_POINTS = (0.5, 1.0, 2.0, 3.0)
ONE_FIRST = ("xlogy", "xlog1py", "exponents of 0")
"""Functions whose first element is 1 at some points."""
STEP = 1e-5


def _like(values: list[float], x: Any) -> Any:
    return pa.asarray(values, dtype=x.dtype, device=x.device)


def _powers(x: Any) -> Any:
    y = x * x
    y[0] = y[1] * y[0]
    y *= x
    return y


def _constant_part(x: Any) -> Any:
    y = pa.zeros_like(x)
    y[0] = pa.zeros_like(x[0])
    y[1:] = x[1:] ** 3
    return y


# Functions of three numbers, and the points at which they are smooth.
FUNCTIONS: dict[str, tuple[Any, tuple[float, ...]]] = {
    "square": (lambda x: x**2 * x, SPECIAL_POINTS),
    "integer powers": (lambda x: x ** _like([2.0, 3.0, 4.0], x), SPECIAL_POINTS),
    "product": (lambda x: pa.prod(x), SPECIAL_POINTS),
    "running products": (pa.cumulative_prod, SPECIAL_POINTS),
    "product of zeros": (lambda x: x[0] * x[1] * x[2] + x[0] * x, SPECIAL_POINTS),
    "quotient": (lambda x: x / (1 + x * x), SPECIAL_POINTS),
    "matrix product": (lambda x: pa.linalg.outer(x, x) @ x, SPECIAL_POINTS),
    "softmax": (pa.kernels.softmax, SPECIAL_POINTS),
    "log_softmax": (pa.kernels.log_softmax, SPECIAL_POINTS),
    "logsumexp": (special.logsumexp, SPECIAL_POINTS),
    "logaddexp": (lambda x: pa.logaddexp(x[0], x[1:]), SPECIAL_POINTS),
    "silu": (pa.kernels.silu, SPECIAL_POINTS),
    "gelu": (pa.kernels.gelu, SPECIAL_POINTS),
    "gelu by tanh": (lambda x: pa.kernels.gelu(x, approximate="tanh"), SPECIAL_POINTS),
    "sinc": (pa.sinc, (*SPECIAL_POINTS, 1e-3)),
    "expit": (special.expit, SPECIAL_POINTS),
    "log_expit": (special.log_expit, SPECIAL_POINTS),
    "erf": (special.erf, SPECIAL_POINTS),
    "i0": (special.i0, SPECIAL_POINTS),
    "variance": (pa.var, SPECIAL_POINTS),
    "assignments": (_powers, SPECIAL_POINTS),
    "constant part": (_constant_part, SPECIAL_POINTS),
    "taken": (lambda x: pa.take(x, pa.asarray([0, 0, 1], device=x.device)) ** 3, SPECIAL_POINTS),
    "xlogy": (lambda x: special.xlogy(x[0] - 1, x[1:]), POSITIVE_POINTS),
    "xlog1py": (lambda x: special.xlog1py(x[0] - 1, x[1:]), POSITIVE_POINTS),
    "remainder": (lambda x: pa.remainder(7.1, x) * x, POSITIVE_POINTS),
    "hypot": (lambda x: pa.hypot(x[0] - 1, x[1:]), POSITIVE_POINTS),
    "atan2": (lambda x: pa.atan2(x[0] - 1, x[1:]), POSITIVE_POINTS),
    "digamma": (special.digamma, POSITIVE_POINTS),
    "entr": (special.entr, POSITIVE_POINTS),
    "norm": (lambda x: pa.linalg.vector_norm(x + x[0]), POSITIVE_POINTS),
    "exponents of 0": (lambda x: x[1:] ** (x[0] - 1), POSITIVE_POINTS),
    "determinant": (
        lambda x: pa.linalg.det(pa.eye(3, dtype=x.dtype, device=x.device) * x),
        POSITIVE_POINTS,
    ),
}


def _placed(values: Any, device: str) -> Any:
    return pa.asarray(np.asarray(values), dtype=pa.float64, device=device)


def _host(x: Any) -> Any:
    return np.asarray(pa.to_device(x, "numpy"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_are_differences_of_gradients(name: str, device: str) -> None:
    function, points = FUNCTIONS[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    weights = rng.normal(size=16)
    with pa.device(device):
        try:
            _placed(weights, device)
        except pa.errors.DTypeNotSupportedError:
            pytest.skip("needs float64")

        def loss(x: Any) -> Any:
            y = pa.reshape(function(x), (-1,))
            return pa.sum(y * _placed(weights, device)[: y.size])

        gradient = pa.grad(loss)
        drawn = rng.choice(points, size=(2 if name in ONE_FIRST else 1, 3))
        drawn[1:, 0] = 1
        for values in drawn:
            x, basis = _placed(values, device), np.eye(3)
            first = [loss(_placed(values + STEP * e, device)) for e in basis]
            lower = [loss(_placed(values - STEP * e, device)) for e in basis]
            slopes = [float(a - b) / (2 * STEP) for a, b in zip(first, lower, strict=True)]
            np.testing.assert_allclose(_host(gradient(x)), slopes, rtol=1e-4, atol=1e-5)
            directional = [float(pa.jvp(loss, (x,), (_placed(e, device),))[1]) for e in basis]
            np.testing.assert_allclose(directional, slopes, rtol=1e-4, atol=1e-5)
            hessian = [
                _host(gradient(_placed(values + STEP * e, device)))
                - _host(gradient(_placed(values - STEP * e, device)))
                for e in basis
            ]
            hessian = np.asarray(hessian) / (2 * STEP)
            for second in (
                [_host(pa.hvp(loss, (x,), (_placed(e, device),))[0]) for e in basis],
                [_host(pa.jvp(gradient, (x,), (_placed(e, device),))[1]) for e in basis],
                _host(pa.jacobian(gradient)(x)),
            ):
                np.testing.assert_allclose(second, hessian, rtol=1e-3, atol=1e-4)


def test_a_derivative_of_zero_times_an_infinite_tangent_is_zero(device: str) -> None:
    x = pa.asarray([0.0, 4.0], device=device)
    weights = pa.asarray([0.0, 2.0], device=device)
    for function in (
        lambda x: pa.asarray([0.0, 2.0], device=device) * pa.sqrt(x),
        lambda x: pa.sqrt(x) * weights,
        lambda x: pa.where(weights == 0, 0.0, 2.0 * pa.sqrt(x)),
    ):
        assert pa.vjp(function, x)[1](pa.ones_like(x))[0].tolist() == [0, 0.5]
        assert pa.jvp(function, (x,), (pa.ones_like(x),))[1].tolist() == [0, 0.5]
    assert pa.jvp(lambda x: 0.0 * pa.sqrt(x), (x,), (x + 1,))[1].tolist() == [0, 0]
