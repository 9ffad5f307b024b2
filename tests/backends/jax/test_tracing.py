"""portarray's functions inside functions that JAX traces: ``jax.jit``, ``grad``, ``vmap``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import portarray as pa  # noqa: E402

X = np.asarray([0.5, -1.5, 2.0], dtype=np.float32)


def native(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of native arrays that calls a function of portarray's arrays."""
    return lambda x: function(pa.asarray(x)).native


def assigned(x: pa.Array) -> pa.Array:
    y = x.copy()
    y[0] = 7.0
    y[y < 0] = 0.0
    y[pa.asarray([1, 2], device=y.device)] += 1
    y *= 2
    return y


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sin": pa.sin,
    "operators": lambda x: (2 * x + 1) / (x - 3.0) // 0.5,
    "reduction": lambda x: pa.sum(x * x) + pa.max(x) + pa.std(x),
    "sort": lambda x: pa.sort(x)[::-1],
    "where": lambda x: pa.where(x > 0, x, 0.0),
    "clip": lambda x: pa.clip(x, -1, 1),
    "assignment": assigned,
    "created beside": lambda x: pa.stack([x, pa.ones_like(x), pa.arange(3.0, device=x.device)]),
    "matmul": lambda x: x[None, :] @ x[:, None],
    "linalg": lambda x: pa.linalg.svdvals(x[:, None] * x[None, :] + pa.eye(3, device=x.device)),
    "fft": lambda x: pa.abs(pa.fft.fft(x)),
    "complex": lambda x: pa.imag(pa.sqrt(pa.astype(x, pa.complex64))),
    "gathered": lambda x: pa.take(x, pa.argsort(x)),
    "cumulative": pa.cumulative_sum,
    "host data": lambda x: x + pa.asarray(X, device=x.device),
    "iteration": lambda x: pa.stack([2 * row for row in x]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jit_and_vmap_give_the_same(name: str) -> None:
    function = native(FUNCTIONS[name])
    x = jnp.asarray(X)
    expected = np.asarray(function(x))
    np.testing.assert_allclose(jax.jit(function)(x), expected, rtol=1e-6)
    twice = jax.vmap(function)(jnp.stack([x, 2 * x]))
    np.testing.assert_allclose(twice[0], expected, rtol=1e-6)
    np.testing.assert_allclose(twice[1], function(2 * x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("how", [lambda f: f, lambda f: jax.jit(f), lambda f: jax.jit(jax.jit(f))])
def test_gradients(how: Callable[[Any], Any]) -> None:
    ours = native(lambda x: pa.sum(pa.exp(x) * pa.sin(x) + x**2 / (1 + x * x)))

    def theirs(x: Any) -> Any:
        return jnp.sum(jnp.exp(x) * jnp.sin(x) + x**2 / (1 + x * x))

    x = jnp.asarray(X)
    np.testing.assert_allclose(jax.grad(how(ours))(x), jax.grad(theirs)(x), rtol=1e-5)


def test_gradients_through_assignment() -> None:
    def ours(x: pa.Array) -> pa.Array:
        y = x * 1.0
        y[0] = y[1] * y[2]
        return pa.sum(y * y)

    # (bc)**2 + b**2 + c**2
    _, b, c = X
    expected = [0.0, 2 * b * c * c + 2 * b, 2 * c * b * b + 2 * c]
    np.testing.assert_allclose(jax.grad(native(ours))(jnp.asarray(X)), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["sinh", "cosh", "sqrt", "log1p", "tanh", "abs"])
def test_gradients_of_functions_that_jax_lacks(name: str) -> None:
    x = jnp.asarray([0.5, 30.0], dtype=jnp.float32)
    ours = jax.grad(native(lambda x: pa.sum(getattr(pa, name)(x))))(x)
    np.testing.assert_allclose(ours, jax.grad(lambda x: jnp.sum(getattr(jnp, name)(x)))(x), 1e-5)


NEED_VALUES: dict[str, Callable[[Any], Any]] = {
    "bool": lambda x: bool(x[0] > 0),
    "int": lambda x: int(x[0]),
    "float": lambda x: float(x[0]),
    "item": lambda x: x[0].item(),
    "tolist": lambda x: x.tolist(),
    "numpy": np.asarray,
    "other device": lambda x: x.to_device("numpy"),
    "DLPack": np.from_dlpack,
    "DLPack device": lambda x: x.__dlpack_device__(),
    "nonzero": pa.nonzero,
    "unique": pa.unique_values,
    "repeat": lambda x: pa.repeat(x, pa.astype(x, pa.int32)),
}


@pytest.mark.parametrize("name", NEED_VALUES)
def test_functions_that_need_values_raise_when_traced(name: str) -> None:
    with pytest.raises(
        TypeError, match="values are needed, and they are not known while JAX traces"
    ):
        jax.jit(lambda x: NEED_VALUES[name](pa.asarray(x)))(jnp.asarray(X))


def test_masks_as_indices_say_so() -> None:
    with pytest.raises(IndexError, match=r"(?s)not known while JAX traces.*pa\.where"):
        jax.jit(native(lambda x: x[x > 0]))(jnp.asarray(X))
    # Where JAX differentiates only, there are values.
    gradient = jax.grad(native(lambda x: pa.sum(x[x > 0] ** 2)))(jnp.asarray(X))
    np.testing.assert_allclose(gradient, np.where(X > 0, 2 * X, 0))


def test_printing_needs_no_values() -> None:
    programs = []

    def show(x: Any) -> Any:
        y = pa.asarray(x)
        programs.extend([repr(y), str(y[0]), f"{y}"])
        return x

    jax.jit(show)(jnp.asarray(X))
    assert programs == ["Array([?, ?, ?], dtype=float32, device='jax:cpu:0')", "?", "[? ? ?]"]


def test_the_warmup_of_a_device_may_be_inside_a_traced_function() -> None:
    """Probing a device computes on it, which must not be traced."""
    program = (
        "import jax, jax.numpy as jnp, portarray as pa\n"
        "f = jax.jit(lambda x: pa.sin(pa.asarray(x)).native)\n"
        "print(float(f(jnp.asarray(0.0))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ}, capture_output=True, text=True
    )
    assert done.stdout == "0.0\n", done.stderr
