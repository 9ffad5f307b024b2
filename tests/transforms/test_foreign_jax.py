"""Arrays in JAX's transformations: pytrees whose leaves are JAX's own."""

from __future__ import annotations

import pytest
from foreign_cases import FUNCTIONS, assert_close, check_rules, expected, loss, placed

jax = pytest.importorskip("jax")

import portarray as pa  # noqa: E402

BOUND = 1e-5  # one function computes in float32


@pytest.fixture(name="x")
def _x() -> pa.Array:
    x: pa.Array = placed("jax:cpu")
    return x


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jit_and_grad(name: str, x: pa.Array) -> None:
    function = FUNCTIONS[name]
    reference = function(x)
    got = jax.jit(function)(x)
    assert type(got) is pa.Array
    assert got.dtype == reference.dtype
    assert got.device is x.device
    assert_close(got, reference, bound=BOUND)
    of_one = loss(function)
    gradient = jax.jit(jax.grad(lambda x: of_one(x).native))(x)
    assert type(gradient) is pa.Array
    assert_close(gradient, expected(name), bound=BOUND)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vmap(name: str, x: pa.Array) -> None:
    function = FUNCTIONS[name]
    got = jax.vmap(function)(pa.stack([x, x * x]))
    assert type(got) is pa.Array
    assert_close(got[0, ...], function(x), bound=BOUND)
    assert_close(got[1, ...], function(x * x), bound=BOUND)


def test_derivatives_that_only_portarray_has() -> None:
    check_rules(
        lambda f: jax.grad(lambda x: f(x).native)(pa.asarray(0.5, dtype=pa.float32, device="jax")),
        "jax",
    )
