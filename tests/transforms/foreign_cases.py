"""Functions of one array in which other libraries' transformations meet all that calls do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import portarray as pa

Function = Callable[[Any], Any]

X = np.asarray([[0.7, -0.4, 0.55], [0.3, 0.85, -0.65]])
"""Away from 0 and from each other, where functions have edges."""


def _assigned(x: Any) -> Any:
    y = pa.zeros((3, 3), dtype=x.dtype, device=x.device)
    y[1:] = x
    y[0, 1:] = x[0, :2] * 2
    y[2, 0] = 7.0
    return y * y


def _in_place(x: Any) -> Any:
    y = x * 1.0
    y += 2
    y *= x
    y -= pa.mean(x)
    y /= 3.0
    return y


def _square(x: Any) -> Any:
    """Return a matrix that is positive definite."""
    return pa.matmul(x, x.mT) + 2 * pa.eye(2, dtype=x.dtype, device=x.device)


def _softmax(x: Any) -> Any:
    e = pa.exp(x - pa.max(x, axis=-1, keepdims=True))
    return e / pa.sum(e, axis=-1, keepdims=True)


def _looped(x: Any) -> Any:
    total = pa.zeros_like(x[0])
    for row in x:
        total = total + row * row
    return total


def _by_xp(x: Any) -> Any:
    xp = x.__array_namespace__()
    beside = xp.asarray(0.5, dtype=x.dtype) * xp.ones(3, dtype=x.dtype)  # on x's device
    return xp.tanh(x) - beside


def _described(x: Any) -> Any:
    if x.ndim != 2 or x.size != 6 or not pa.isdtype(x.dtype, "real floating"):
        return x
    return x * x.shape[0] + len(x)


def _embedded(x: Any) -> Any:
    return pa.kernels.embedding(pa.asarray([1, 1, 0], device=x.device), x)


def _many(x: Any) -> Any:
    a, b, c = pa.unstack(x, axis=1)
    return pa.stack([pa.sin(a) * b, pa.where(b > c, a, c)], axis=0)


FUNCTIONS: dict[str, Function] = {
    "sin": lambda x: pa.sin(x),
    "exp": lambda x: pa.exp(x) + pa.expm1(x),
    "log of squares": lambda x: pa.log(x * x) + pa.log1p(x * x),
    "tanh": lambda x: pa.tanh(x) / pa.cosh(x),
    "sqrt of abs": lambda x: pa.sqrt(pa.abs(x)),
    "reciprocal": lambda x: pa.reciprocal(x) - pa.square(x),
    "operators": lambda x: (2 * x + 1) / (x - 3.0) - -x,
    "operators reflected": lambda x: 1 - x + 2.0 / (3.0 + x),
    "pow": lambda x: pa.abs(x) ** 1.5 + x**2,
    "floor_divide and remainder": lambda x: x // 0.5 + x % 0.5,
    "of two": lambda x: pa.hypot(x, 2 * x) + pa.atan2(x, x * x + 1),
    "maximum": lambda x: pa.maximum(x, x * x) - pa.minimum(x, 0.1),
    "clip": lambda x: pa.clip(x, -0.5, 0.6) * x,
    "where": lambda x: pa.where(x > 0, x * 2, x * x),
    "sum": lambda x: pa.sum(x * x, axis=0),
    "mean and std": lambda x: pa.mean(x, axis=1, keepdims=True) + pa.std(x),
    "prod": lambda x: pa.prod(x, axis=1),
    "max": lambda x: pa.max(x, axis=0) * pa.min(x),
    "cumulative_sum": lambda x: pa.cumulative_sum(x, axis=1),
    "sort": lambda x: pa.sort(x, axis=1, descending=True) ** 2,
    "softmax": _softmax,
    "matmul": lambda x: pa.matmul(x, x.mT),
    "tensordot": lambda x: pa.tensordot(x, x, axes=((0,), (0,))),
    "vecdot": lambda x: pa.vecdot(x, pa.sin(x)),
    "inv": lambda x: pa.linalg.inv(_square(x)),
    "solve": lambda x: pa.linalg.solve(_square(x), x),
    "det": lambda x: pa.linalg.det(_square(x)),
    "cholesky": lambda x: pa.linalg.cholesky(_square(x)),
    "vector_norm": lambda x: pa.linalg.vector_norm(x, axis=1),
    "trace": lambda x: pa.linalg.trace(x, offset=1),
    "fft": lambda x: pa.abs(pa.fft.fft(x, n=4)),
    "rfft": lambda x: pa.real(pa.fft.rfft(x)) ** 2,
    "reshape and T": lambda x: pa.reshape(x, (3, 2)).T * x,
    "permute, flip and roll": lambda x: pa.roll(pa.flip(x, axis=1), 1, axis=0) * x,
    "concat": lambda x: pa.concat([x, x * x], axis=1),
    "stack and unstack": _many,
    "broadcast": lambda x: pa.broadcast_to(x[:, None, :], (2, 4, 3)) * x[0],
    "repeat and tile": lambda x: pa.repeat(pa.tile(x, (1, 2)), 2, axis=0) ** 2,
    "tril": lambda x: pa.tril(x) - pa.triu(x, k=1),
    "index": lambda x: x[1, ..., None] * x[0, 2],
    "slices": lambda x: x[:, ::2] * x[0, 1:],
    "take": lambda x: pa.take(x, pa.asarray([2, 0, 2], device=x.device), axis=1) ** 2,
    "index array": lambda x: x[:, pa.asarray([0, 2, 0], device=x.device)] ** 2,
    "assignment": _assigned,
    "in place": _in_place,
    "loop": _looped,
    "created": lambda x: x + pa.arange(3, device=x.device) * pa.ones_like(x),
    "astype": lambda x: pa.astype(x, pa.float32) * 2,
    "complex": lambda x: pa.imag(pa.sqrt(pa.astype(x, pa.complex64))) + pa.real(x * 1j),
    "methods": lambda x: x.sum(axis=0) * x.mean() + x.reshape(6).max(),
    "namespace": _by_xp,
    "shape and dtype": _described,
    "gelu": lambda x: pa.kernels.gelu(x),
    "layer_norm": lambda x: pa.kernels.layer_norm(x, x[0], x[1]),
    "attention": lambda x: pa.kernels.attention(*[pa.reshape(x, (1, 1, 2, 3))] * 3),
    "embedding": _embedded,
}


def loss(function: Function) -> Function:
    """Return a function of one number that has a gradient wherever the given one has."""

    def of_one(x: Any) -> Any:
        y = pa.astype(function(x), x.dtype)
        return pa.sum(y * y + y)

    return of_one


def placed(device: str) -> Any:
    """Return a copy of :data:`X` on a device, in single precision where it has no other."""
    return pa.asarray(X, device=device, narrow=True, copy=True)


def expected(name: str) -> Any:
    """Return the gradient of :func:`loss` by NumPy's device."""
    return np.asarray(pa.grad(loss(FUNCTIONS[name]))(placed("numpy")))


def assert_close(got: Any, expected: Any, *, bound: float) -> None:
    """Compare two arrays on the host, beside the largest element."""
    got, expected = (np.asarray(pa.to_device(pa.asarray(x), "numpy")) for x in (got, expected))
    assert got.shape == expected.shape
    size = 1 + np.max(np.abs(expected), initial=0)
    np.testing.assert_allclose(got, expected, rtol=0, atol=bound * size)


def in_new_process(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program where no library has been imported yet."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


@pa.custom_vjp
def _cube(x: Any) -> Any:
    return x * x * x


@_cube.defvjp
def _cube_backward(residuals: Any, g: Any) -> Any:
    return (g * 3 * residuals[0] ** 2,)


def check_rules(gradient: Callable[[Function], Any], device: str) -> None:
    """Check what has a rule of portarray's own, by a library's gradient of a function at 0.5."""
    key = pa.random.key(0, device=device)

    def gamma(x: Any) -> Any:
        return pa.sum(pa.random.gamma(key, x, (2,)))

    assert float(gradient(lambda x: pa.stop_gradient(x) * x)) == 0.5
    assert float(gradient(lambda x: gamma(pa.stop_gradient(x)) * x)) > 0
    for function in (gamma, _cube):
        with pytest.raises(pa.errors.NoGradientError):
            gradient(function)
