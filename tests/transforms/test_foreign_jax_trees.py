"""Trees of arrays in JAX's transformations, and operators beside what JAX traces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from foreign_cases import assert_close, in_new_process, placed

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import portarray as pa  # noqa: E402

BOUND = 1e-6


@pytest.fixture(name="x")
def _x() -> pa.Array:
    x: pa.Array = placed("jax:cpu")
    return x


def test_trees_of_arrays(x: pa.Array) -> None:
    tree = {"a": x, "b": [x[0], 2.0]}

    def function(tree: Any) -> Any:
        return {"product": tree["a"] * tree["b"][0], "number": tree["b"][1] * 2}

    got = jax.jit(function)(tree)
    assert_close(got["product"], x * x[0], bound=BOUND)
    assert float(got["number"]) == 4.0
    mapped = jax.vmap(lambda p: p["a"] @ p["b"], in_axes=({"a": 0, "b": None},), out_axes=0)
    assert_close(mapped({"a": x, "b": x[0]}), x @ x[0], bound=BOUND)
    value, gradient = jax.value_and_grad(lambda t: pa.sum(t["a"] * t["b"][0]).native)(
        {"a": x, "b": [x[0]]}
    )
    assert_close(pa.asarray(value), pa.sum(x * x[0]), bound=BOUND)
    assert_close(gradient["b"][0], pa.sum(x, axis=0), bound=BOUND)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(tree["a"]))
    doubled = jax.tree.map(lambda leaf: leaf * 2, tree)
    assert type(doubled["a"]) is pa.Array
    assert_close(doubled["a"], x * 2, bound=0)


def test_other_transformations(x: pa.Array) -> None:
    v = x[0]
    jacobian = jax.jacrev(lambda v: v * v)(v)
    assert type(jacobian) is pa.Array
    assert_close(jacobian, np.diag(2 * np.asarray(v)), bound=BOUND)
    hessian = jax.jit(jax.hessian(lambda v: pa.sum(v**3)))(v)
    assert_close(hessian, np.diag(6 * np.asarray(v)), bound=BOUND)
    out, tangent = jax.jvp(pa.sin, (v,), (v,))
    assert_close(out, pa.sin(v), bound=BOUND)
    assert_close(tangent, v * pa.cos(v), bound=BOUND)
    carried, stacked = jax.lax.scan(lambda c, row: (c + row, c * row), v, x)
    assert_close(carried, v + pa.sum(x, axis=0), bound=BOUND)
    assert stacked.shape == (2, 3)
    assert jax.eval_shape(lambda x: x @ x.mT, x).shape == (2, 2)
    leaked = jax.checkpoint(pa.sin)
    assert_close(jax.grad(lambda v: pa.sum(leaked(v)).native)(v), pa.cos(v), bound=BOUND)
    # NumPy's arrays, which JAX takes for its own.
    fetched = jax.device_get(v)
    assert fetched.device is x.device
    assert_close(jax.jit(pa.sin)(fetched), pa.sin(v), bound=BOUND)
    # portarray's own gradient in JAX's compiled function.
    assert_close(jax.jit(pa.grad(lambda v: pa.sum(v**3)))(v), 3 * v**2, bound=BOUND)


def test_arrays_of_others_are_refused(x: pa.Array) -> None:
    with pytest.raises(
        TypeError, match=r"this array is on numpy:cpu:0\nHint: .*x\.to_device\('jax'\)"
    ):
        jax.jit(pa.sin)(placed("numpy"))
    with pytest.raises(
        TypeError,
        match=r"records its calls for a gradient\nHint: .* call pa\.grad inside the function",
    ):
        pa.grad(lambda x: pa.sum(jax.jit(pa.sin)(x)))(x)


def test_operators_beside_tracers(x: pa.Array) -> None:
    outcomes = []

    def function(traced: Any) -> Any:
        for call in (
            lambda: x + traced,
            lambda: traced + x,
            lambda: x @ traced,
            lambda: traced * x,
        ):
            with pytest.raises(TypeError, match=r"Array.*Tracer|Tracer.*Array") as caught:
                call()
            outcomes.append(str(caught.value))
        for call in (lambda: x == traced, lambda: pa.add(x, traced)):
            with pytest.raises(TypeError, match=r"make an array of it first: pa\.asarray"):
                call()
        return (pa.asarray(traced) + x).native

    assert_close(pa.asarray(jax.jit(function)(x.native)), x + x, bound=BOUND)
    assert len(outcomes) == 4


def test_portarrays_trees_keep_arrays_whole(x: pa.Array) -> None:
    moved = pa.to_device({"x": x}, "numpy")
    assert moved["x"].device is pa.device("numpy")
    assert_close(pa.grad(lambda t: pa.sum(t["x"] ** 2))({"x": x})["x"], 2 * x, bound=BOUND)


def test_jax_is_imported_by_those_who_use_it() -> None:
    program = (
        "import sys, portarray as pa\n"
        "x = pa.asarray([1.0, 2.0], device='numpy')\n"
        "assert 'jax' not in sys.modules\n"
        "import jax\n"
        "y = pa.asarray(jax.numpy.ones(2))\n"
        "assert type(jax.jit(pa.sin)(y)) is pa.Array\n"
        "print('fine')\n"
    )
    done = in_new_process(program)
    assert done.stdout == "fine\n", done.stderr


def test_native_arrays_beside_arrays_are_refused_as_ever(x: pa.Array) -> None:
    with pytest.raises(
        TypeError,
        match=r"got jaxlib\._jax\.ArrayImpl\nHint: make an array of it first: pa\.asarray",
    ):
        x + jnp.ones(3)
