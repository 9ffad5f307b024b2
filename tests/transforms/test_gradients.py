"""``pa.grad`` and its relatives: trees, nesting, rules of one's own, several devices, mistakes."""

from __future__ import annotations

import contextlib
import gc
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
import pytest

import portarray as pa

Values = np.ndarray[Any, Any]


def host(x: Any) -> Values:
    return np.asarray(pa.to_device(x, "numpy"))


def asarray(values: Any, device: str) -> Any:
    return pa.asarray(values, dtype=pa.float32, device=device)


class Layer(NamedTuple):
    weight: Any
    bias: Any


def test_trees_and_several_arguments(device: str) -> None:
    x = asarray([1.0, 3.0], device)
    tree = {"layers": [Layer(x, x * 2)], "scale": asarray(2.0, device), "none": None}

    def loss(tree: Any, y: Any, *, power: int) -> Any:
        layer = tree["layers"][0]
        value = pa.sum((layer.weight * y + layer.bias) ** power) * tree["scale"]
        return value, {"y": y * 2, "count": 3}

    both = pa.value_and_grad(loss, argnums=(0, -1), has_aux=True)
    (value, aux), (gradient, of_y) = both(tree, x, power=2)
    inner = host(x) * host(x) + 2 * host(x)
    assert float(value) == 2 * (inner**2).sum()
    np.testing.assert_allclose(host(gradient["layers"][0].weight), 4 * inner * host(x))
    np.testing.assert_allclose(host(gradient["layers"][0].bias), 4 * inner)
    assert type(gradient["layers"][0]) is Layer
    assert gradient["none"] is None
    assert float(gradient["scale"]) == (inner**2).sum()
    np.testing.assert_allclose(host(of_y), 4 * inner * host(x))
    np.testing.assert_array_equal(host(aux["y"]), 2 * host(x))
    assert aux["count"] == 3


def test_derivatives_nest(device: str) -> None:
    x = asarray([0.5, 2.0], device)

    def cube(x: Any) -> Any:
        return pa.sum(x**3)

    second = pa.grad(lambda x: pa.sum(pa.grad(cube)(x)))
    third = pa.grad(lambda x: pa.sum(second(x)))
    np.testing.assert_allclose(host(second(x)), 6 * host(x), rtol=1e-6)
    np.testing.assert_allclose(host(third(x)), [6.0, 6.0], rtol=1e-6)
    # What an inner gradient takes from outside is a constant there, and not outside.
    mixed = pa.grad(lambda x: pa.grad(lambda y: pa.sum(x[0] * y * y))(x[1])[()])
    np.testing.assert_allclose(host(mixed(x)), [4.0, 1.0], rtol=1e-6)


def test_products_with_jacobians(device: str) -> None:
    x, v = asarray([1.0, 3.0], device), asarray([1.0, 10.0], device)

    def function(x: Any) -> Any:
        return {"product": x * x[0], "sum": pa.sum(x)}

    jacobian = np.array([[2.0, 0.0], [3.0, 1.0]])
    output, vjp_fun = pa.vjp(function, x)
    np.testing.assert_allclose(host(output["product"]), [1.0, 3.0])
    for _ in range(2):  # as often as one likes
        (cotangents,) = vjp_fun({"product": v, "sum": asarray(5.0, device)})
        np.testing.assert_allclose(host(cotangents), host(v) @ jacobian + 5)
    output, tangents = pa.jvp(function, (x,), (v,))
    np.testing.assert_allclose(host(tangents["product"]), jacobian @ host(v))
    assert float(tangents["sum"]) == 11
    np.testing.assert_allclose(host(pa.jacobian(lambda x: x * x[0])(x)), jacobian)
    (hessian_product,) = pa.hvp(lambda x: pa.sum(x**3), (x,), (v,))
    np.testing.assert_allclose(host(hessian_product), [6.0, 180.0], rtol=1e-6)


def test_programs_with_branches_loops_and_assignments(device: str) -> None:
    def program(x: Any) -> Any:
        y = x
        for _ in range(3):
            if float(pa.sum(y)) > 0:
                y = y * x
        y += x
        y *= 2
        y -= 1
        z = pa.zeros(3, dtype=x.dtype, device=x.device)
        z[1:] = y
        z[0] = x[1]
        return pa.sum(z)

    x = asarray([1.0, 3.0], device)
    original = host(x).copy()
    np.testing.assert_allclose(host(pa.grad(program)(x)), [10.0, 219.0])
    np.testing.assert_array_equal(host(x), original)


def test_constants_and_rules_of_ones_own(device: str) -> None:
    x = asarray([0.5, 3.0], device)
    stopped = pa.grad(lambda x: pa.sum(x * pa.stop_gradient({"x": x})["x"]))(x)
    np.testing.assert_array_equal(host(stopped), host(x))

    @pa.custom_vjp
    def clipped(x: Any, tree: Any) -> Any:
        return pa.clip(x, -1.0, 1.0) * tree["y"]

    @clipped.defvjp
    def passed(residuals: Any, g: Any) -> Any:
        x, tree = residuals
        return g * tree["y"] * x, None

    tree = {"y": asarray([2.0, 4.0], device)}
    assert host(clipped(x, tree)).tolist() == [1.0, 4.0]
    gradient = pa.grad(lambda x: pa.sum(clipped(x, tree)))
    np.testing.assert_allclose(host(gradient(x)), [1.0, 12.0])
    second = pa.grad(lambda x: pa.sum(gradient(x)))
    np.testing.assert_allclose(host(second(x)), [2.0, 4.0])


def test_checkpoints_compute_again(device: str) -> None:
    calls = []

    def layer(x: Any, tree: Any) -> Any:
        calls.append(x.shape)
        return pa.sin(x) * tree["scale"] * x

    x = asarray([0.5, 3.0], device)
    tree = {"scale": asarray(2.0, device), "count": pa.asarray(3, device=device)}
    checkpointed = pa.checkpoint(layer)
    plain = pa.grad(lambda x, s: pa.sum(layer(x, {**tree, "scale": s})), argnums=(0, 1))
    again = pa.grad(lambda x, s: pa.sum(checkpointed(x, {**tree, "scale": s})), argnums=(0, 1))
    expected = plain(x, tree["scale"])
    calls.clear()
    for actual, wanted_gradient in zip(again(x, tree["scale"]), expected, strict=True):
        np.testing.assert_allclose(host(actual), host(wanted_gradient), rtol=1e-5)
    assert len(calls) >= 2
    second = [
        pa.grad(lambda x, f=f: pa.sum(pa.grad(lambda x: pa.sum(f(x, tree)))(x) * x))(x)
        for f in (layer, checkpointed)
    ]
    np.testing.assert_allclose(host(second[0]), host(second[1]), rtol=1e-5)
    with pytest.raises(ValueError, match="checkpoint: uses a differentiated array"):
        pa.grad(lambda x: pa.sum(pa.checkpoint(lambda y: y * x)(x)))(x)


@pa.custom_vjp
def seven(x: Any) -> Any:
    """Return twice x, with a derivative that only its rule has."""
    return x * 2


seven.defvjp(lambda residuals, g: (g * 7,))

INNER: dict[str, Any] = {
    "product": lambda z: z * z * 3,
    "rule": seven,
    "rule and product": lambda z: seven(z) * z,
    "checkpoint": pa.checkpoint(lambda z: seven(z) * pa.sin(z)),
    "tape alone": lambda z: pa.atan2(z, seven(z) + 1),
}


@pytest.mark.parametrize("name", INNER)
def test_outer_gradients_pass_through_inner_ones(name: str, device: str) -> None:
    """What a gradient returns besides, its value and itself have the gradient of an outer one."""
    function = INNER[name]
    x, w = asarray([0.5, 3.0], device), asarray([2.0, -1.0], device)
    expected = host(pa.grad(lambda x: pa.sum(function(x) * w))(x))

    def of(x: Any) -> Any:
        return pa.sum(x), {"aux": function(x)}

    besides: dict[str, Any] = {
        "grad": lambda x: pa.grad(of, has_aux=True)(x)[1]["aux"],
        "value_and_grad": lambda x: pa.value_and_grad(of, has_aux=True)(x)[0][1]["aux"],
        "vjp": lambda x: pa.vjp(of, x, has_aux=True)[2]["aux"],
        "closure": lambda x: pa.grad(lambda z: (pa.sum(z * x), function(x)), has_aux=True)(w)[1],
        "output": lambda x: pa.vjp(function, x)[0],
    }
    for how, aux in besides.items():
        actual = pa.grad(lambda x, aux=aux: pa.sum(aux(x) * w))(x)
        np.testing.assert_allclose(host(actual), expected, rtol=1e-5, err_msg=how)
    weights = asarray([2.0, -1.0], "numpy")
    second = [
        host(pa.grad(lambda x, w=w: pa.sum(pa.grad(lambda z: pa.sum(function(z)))(x) * w))(x))
        for x, w in ((x, w), (asarray([0.5, 3.0], "numpy"), weights))
    ]
    np.testing.assert_allclose(*second, rtol=1e-4)


def test_checkpoints_are_called_again_in_the_same_context(device: str) -> None:
    scale: ContextVar[float] = ContextVar("scale", default=2.0)
    layer = pa.checkpoint(lambda x: x**2 * scale.get() * pa.ones(2, dtype=pa.float32))
    x = asarray([0.1, 3.0], device)
    other = next(d for d in pa.devices() if d != pa.device(device))
    token = scale.set(5.0)
    with pa.device(device):
        _, vjp_fun = pa.vjp(layer, x)
    scale.reset(token)
    with other:
        for _ in range(2):
            np.testing.assert_allclose(host(vjp_fun(pa.ones_like(x))[0]), 10 * host(x), rtol=1e-5)


def test_checkpoints_that_return_something_else_again_are_refused(device: str) -> None:
    x = asarray([0.5, 2.0], device)
    shapes = [(2,), ()]

    @pa.checkpoint
    def layer(x: Any) -> Any:
        return pa.sum(x * 3) if shapes.pop(0) == () else x * 3

    _, vjp_fun = pa.vjp(layer, x)
    with pytest.raises(ValueError, match=r"checkpoint: layer .*\[2\]\].*\[\]\].*\nHint: pass"):
        vjp_fun(pa.ones_like(x))


def test_checkpoints_and_rules_within_compiled_functions(device: str) -> None:
    x = asarray([0.5, 2.0], device)

    @pa.custom_vjp
    def triple(x: Any) -> Any:
        return x * 3

    triple.defvjp(lambda residuals, g: (g * 7,))

    def function(x: Any) -> Any:
        return pa.sum(triple(pa.checkpoint(pa.tanh)(x)))

    np.testing.assert_allclose(
        float(pa.compile(function)(x)), 3 * np.tanh(host(x)).sum(), rtol=1e-6
    )
    gradient = pa.compile(pa.grad(function))(x)
    np.testing.assert_allclose(host(gradient), 7 / np.cosh(host(x)) ** 2, rtol=1e-5)


def test_gradients_cross_devices(device: str) -> None:
    second_device = "clarray" if device.startswith("numpy") else "numpy"
    if not pa.functional(second_device):
        pytest.skip(f"no {second_device} here")
    x = asarray([1.0, 3.0], device)
    squared = pa.grad(lambda x: pa.sum(pa.to_device(x, second_device) ** 2))(x)
    assert squared.device is pa.device(device)
    np.testing.assert_allclose(host(squared), 2 * host(x))
    back = pa.grad(lambda x: pa.sum(pa.to_device(pa.to_device(x, second_device) ** 2, device) * x))(
        x
    )
    np.testing.assert_allclose(host(back), 3 * host(x) ** 2)
    weights = (x, pa.to_device(x, second_device))
    both = pa.grad(lambda w: pa.sum(pa.to_device(w[0] ** 2, second_device) * w[1]))(weights)
    np.testing.assert_allclose(host(both[0]), 2 * host(x) ** 2)
    np.testing.assert_allclose(host(both[1]), host(x) ** 2)


def test_complex_gradients_point_where_the_function_grows(device: str) -> None:
    z = pa.asarray([1 + 2j, -3 + 1j], dtype=pa.complex64, device=device)
    gradient = pa.grad(lambda z: pa.sum(pa.abs(z) ** 2))(z)
    np.testing.assert_allclose(host(gradient), 2 * host(z), rtol=1e-6)
    x = asarray([1.0, 2.0], device)  # real parameters have real gradients
    of_real = pa.grad(lambda x: pa.sum(pa.real(x * z * z)))(x)
    np.testing.assert_allclose(host(of_real), (host(z) ** 2).real, rtol=1e-6)


EDGES = {
    "abs": (pa.abs, [0.0, -0.0, 1.0], [0, 0, 1]),
    "sqrt": (pa.sqrt, [0.0, 4.0], [np.inf, 0.25]),
    "sign": (pa.sign, [0.0, 2.0], [0, 0]),
    "max": (pa.max, [1.0, 2.0, 2.0], [0, 0.5, 0.5]),
    "min": (pa.min, [1.0, 1.0, 2.0], [0.5, 0.5, 0]),
    "maximum": (lambda x: pa.maximum(x, 1.0), [0.0, 1.0, 2.0], [0, 0.5, 1]),
    "clip": (lambda x: pa.clip(x, 0.0, 1.0), [-1.0, 0.0, 0.5, 1.0, 2.0], [0, 1, 1, 1, 0]),
    "prod, one zero": (pa.prod, [0.0, 2.0, 3.0], [6, 0, 0]),
    "prod, two zeros": (pa.prod, [0.0, 0.0, 3.0], [0, 0, 0]),
    "cumulative_prod": (pa.cumulative_prod, [2.0, 0.0, 3.0, 0.0, 4.0], [1, 8, 0, 0, 0]),
    "vector_norm": (pa.linalg.vector_norm, [0.0, 0.0], [0, 0]),
    "vector_norm inf": (lambda x: pa.linalg.vector_norm(x, ord=pa.inf), [1.0, -1.0], [0.5, -0.5]),
    "hypot": (lambda x: pa.hypot(x, x), [0.0, 1.0], [0, np.sqrt(2)]),
    "atan2": (lambda x: pa.atan2(x, 2 * x), [0.0, 1.0], [0, 0]),
    "std": (pa.std, [1.0, 1.0, 1.0], [0, 0, 0]),
    "power 0": (lambda x: x**0, [0.0, 2.0], [0, 0]),
    "power 2": (lambda x: x**2, [0.0, 3.0], [0, 6]),
    "power of 0": (lambda x: 0.0**x, [1.0, 2.0], [0, 0]),
    "relu": (pa.kernels.relu, [-1.0, 0.0, 2.0], [0, 0, 1]),
    "sort": (pa.sort, [1.0, 1.0, 0.0], [1, 1, 1]),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_have_one_answer(name: str, device: str) -> None:
    function, values, expected = EDGES[name]
    got = pa.grad(lambda x: pa.sum(function(x)))(asarray(values, device))
    np.testing.assert_allclose(host(got), expected, rtol=1e-6)


def test_views_of_what_was_assigned_to_are_refused(device: str) -> None:
    def through_view(x: Any) -> Any:
        y = x * 1
        part = y[1:]
        part += 1
        return pa.sum(y * y)

    def to_base(x: Any) -> Any:
        y = x * 1
        rows = pa.reshape(y, (1, 2))
        y[0] = 5.0
        return pa.sum(rows * x)

    def in_a_list(x: Any) -> Any:
        y = x * 1
        first, _ = pa.unstack(y)
        y[...] = 5.0
        return pa.sum(pa.stack([x[0], first]))

    def one_view_through_another(x: Any) -> Any:
        y = x * 1
        part, second_view = y[1:], y[:]
        second_view *= 2
        part *= 2
        y[1:] = part
        return pa.sum(y)

    def returned(x: Any) -> Any:
        y = x * 1
        part = y[0]
        y += 1
        return part

    def read(x: Any) -> Any:
        y = x * 1
        part = y[0]
        y += 1
        return pa.sum(x) * float(part)

    x = asarray([1.0, 3.0], device)
    for function in (through_view, to_base, in_a_list, one_view_through_another, returned, read):
        if device.startswith("jax"):  # whose arrays never change
            assert pa.grad(function)(x).shape == x.shape
        elif device.startswith("torch"):  # whose own gradients follow what is written, or refuse
            with contextlib.suppress(pa.TracedArrayError):
                assert pa.grad(function)(x).shape == x.shape
        else:
            with pytest.raises(pa.TracedArrayError, match="shares memory with this one"):
                pa.grad(function)(x)


def test_parts_are_changed_in_place(device: str) -> None:
    def to_copy(x: Any) -> Any:
        part = pa.asarray(x[1:], copy=True)
        part += 1
        return pa.sum(part * part)

    def steps(x: Any) -> Any:
        y = pa.zeros(4, dtype=x.dtype, device=x.device)
        y[1:3] = x
        y[1:3] *= x
        y[1:3] += y[0:2]
        y[-1] = y[2] * y[1]
        for n in range(3):
            y[n + 1] = y[n] + y[n + 1] * 2
        return y[3]

    x = asarray([1.0, 3.0], device)
    assert host(pa.grad(to_copy)(x)).tolist() == [0.0, 8.0]
    a, b = pa.grad(steps)(x).tolist()
    # y = [0, a^2, b^2 + a^2, a^2 (a^2 + b^2)]; of y[1:3] += y[0:2], y[1] is that before.
    assert (a, b) == (4 + 4 + 2 * (4 + 2 * 9), 12 + 2 * 6)
    twice = pa.grad(lambda x: pa.sum(pa.grad(steps)(x)))
    assert host(twice(x)).tolist() == [4 + 4 + 2 * (12 + 18) + 2 * 12, 4 + 4 + 24]


def test_norms_whose_sums_a_library_adds_in_another_order(device: str) -> None:
    x = np.random.default_rng(2).normal(size=(40, 5, 1)).astype("f4")

    def loss(x: Any, order: float) -> Any:
        x[...] = x + 0.0  # recorded by every library
        return pa.sum(pa.linalg.matrix_norm(x, ord=order))

    for order in (1, -1, np.inf, -np.inf):
        got = pa.grad(lambda x, order=order: loss(x, order))(asarray(x, device))
        sums = np.abs(x).sum(-2 if order in (1, -1) else -1, keepdims=True)
        extreme = (np.max if order > 0 else np.min)(sums, axis=(-2, -1), keepdims=True)
        np.testing.assert_allclose(host(got), np.sign(x) * (sums == extreme), rtol=1e-6)


def second(x: Any) -> Any:
    return pa.grad(lambda x: pa.sum(pa.grad(lambda y: pa.sum(pa.tanh(y)))(x)))(x)


def vjp(x: Any) -> Any:
    y, pullback = pa.vjp(lambda x: {"y": pa.tanh(x)}, x)
    return pullback(y)


def failed(x: Any) -> Any:
    try:
        pa.grad(lambda x: pa.tanh(x)[0, 1, 2])(x)
    except IndexError:
        return None


KEEPERS = {
    "aux": pa.value_and_grad(lambda x: (pa.sum(pa.tanh(x)), x * 2), has_aux=True),
    "checkpoint": pa.grad(lambda x: pa.sum(pa.checkpoint(pa.tanh)(x * 2))),
    "across devices": pa.grad(lambda x: pa.sum(pa.tanh(x).to_device("numpy"))),
    "second": second,
    "vjp": vjp,
    "failed": failed,
}


@pytest.mark.parametrize("name", KEEPERS)
def test_memory_is_freed_without_the_garbage_collector(name: str, device: str) -> None:
    """It counts objects, of which there are few, while gigabytes of results wait for it."""
    x = asarray([0.5, 2.0], device)
    KEEPERS[name](x)  # what libraries make once
    gc.collect()
    gc.disable()
    try:
        KEEPERS[name](x)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        alive = [type(reference).__name__ for reference in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    arrays = {"Array", "ArrayImpl", "Tensor", "Tracer", "array", "dpnp_array", "ndarray"}
    assert arrays.isdisjoint(alive)
