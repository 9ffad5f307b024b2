"""Plans of ``pa.grad``: pure functions that are called often run what they called before."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest
from compiled_arrays import host
from planned_functions import EFFECTS, called_often, count_calls, defined, drawn, placed

import portarray as pa
from portarray._transforms import gradients
from portarray._trees.array_trees import leaves
from portarray.backends.base import Backend


def has_plans(device: str) -> bool:
    """Return whether derivatives are those of the tape, not of the library."""
    return type(pa.device(device)._backend).vjp is Backend.vjp


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that gets the functions that are called without a plan."""
    return count_calls(monkeypatch, gradients, "_differentiated")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("error")
def test_drawn_functions_give_the_same_bits(seed: int, calls: list[Any], device: str) -> None:
    rng, numbers = random.Random(seed), np.random.default_rng(seed)

    def array(*shape: int) -> pa.Array:
        values = numbers.normal(size=shape)
        values[rng.random() < 0.3] = 0.0  # where derivatives are infinite or not defined
        return placed(values, device)

    text = f"pa.sum({drawn(rng, rng.choice((0, 1, 2)))})"
    function = defined(text, m=array(4, 4))
    argnums: Any = rng.choice((0, (0, 1), (2, 1, 0)))
    transform = rng.choice((pa.grad, pa.value_and_grad))
    gradient = called_often(transform(function, argnums), array(4), array(4), array(4))
    for _ in range(2):
        args = array(4), array(4), array(4)
        expected = transform(function, argnums)(*args)
        calls.clear()
        got = gradient(*args)
        assert (not calls) == has_plans(device), text
        for x, y in zip(leaves(got), leaves(expected), strict=True):
            np.testing.assert_array_equal(host(x), host(y), err_msg=text)


def test_what_a_function_refers_to_may_change(calls: list[Any], device: str) -> None:
    x = placed([1, 2], device)
    weights, factor = placed([1, 10], device), 2.0

    def loss(x: Any, offset: Any = 1.0) -> Any:
        return pa.sum(x * x * weights) * factor * offset

    gradient = called_often(pa.grad(loss), x)
    calls.clear()
    assert gradient(x).tolist() == [4.0, 80.0]
    weights[...] = placed([0, 1], device)  # in place
    assert gradient(x).tolist() == [0.0, 8.0]
    assert (not calls) == has_plans(device)
    weights = placed([0, 2], device)
    assert gradient(x).tolist() == [0.0, 16.0]
    assert gradient(placed([1, 2, 3], device)[:2]).tolist() == [0.0, 16.0]
    assert gradient(x, offset=2.0).tolist() == [0.0, 32.0]
    assert gradient(x, 2.0).tolist() == [0.0, 32.0]
    weights = placed([[1, 1]], device)  # of another shape
    assert gradient(x).tolist() == [4.0, 8.0]
    factor = 3.0
    assert gradient(x).tolist() == [6.0, 12.0]
    loss.__defaults__ = (2.0,)
    assert gradient(x).tolist() == [12.0, 24.0]
    assert pa.grad(lambda x: pa.sum(gradient(x) * x))(x).tolist() == [24.0, 48.0]
    assert pa.vmap(gradient)(pa.stack([x, x])).tolist() == [[12.0, 24.0]] * 2
    compiled = pa.compile(gradient)
    assert compiled(x).tolist() == [12.0, 24.0]


def test_gradients_of_plans_share_no_memory(calls: list[Any], device: str) -> None:
    x, y = placed([1, 2], device), placed([3, 4], device)

    def total(x: Any, y: Any) -> Any:
        return pa.sum(x + y)

    gradient = called_often(pa.grad(total, (0, 1)), x, y)
    first, second = gradient(x, y)
    again, _ = gradient(x, y)
    first *= 0.0
    assert second.tolist() == again.tolist() == [1.0, 1.0]
    assert gradient(x, y)[0].tolist() == [1.0, 1.0]
    assert x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("function", EFFECTS)
def test_functions_with_effects_are_called_each_time(function: Any, calls: list[Any]) -> None:
    x = placed([1, 2], "numpy")

    def total(x: Any) -> Any:
        return pa.sum(function(x))

    gradient = called_often(pa.grad(total), x)
    calls.clear()
    gradient(x)
    assert calls == [total]


def test_pure_functions_have_plans(calls: list[Any]) -> None:
    """Of trees, with values, and of gradients."""
    x = placed([[1, 2], [3, 4]], "numpy")
    tree = {"w": placed([[1, 2], [3, 5]], "numpy"), "b": placed([1, 2], "numpy"), "name": "layer"}

    def loss(tree: Any, x: Any) -> Any:
        y = pa.kernels.softmax(pa.tanh(x @ tree["w"]) + tree["b"])
        return -pa.mean(pa.log(y[:, 0]))

    def step(tree: Any, x: Any) -> Any:
        return pa.sum(pa.grad(loss)(tree, x)["w"] ** 2)

    for function in (loss, step):
        gradient = called_often(pa.value_and_grad(function), tree, x)
        expected = pa.value_and_grad(function)(tree, x)
        calls.clear()
        value, slopes = gradient(tree, x)
        assert not calls
        assert (slopes["name"], float(value)) == ("layer", float(expected[0]))
        for name in ("w", "b"):
            np.testing.assert_array_equal(host(slopes[name]), host(expected[1][name]))


def test_what_has_no_plan(calls: list[Any]) -> None:
    """Branches on values, other results, large arrays and lists of arguments to differentiate."""

    def cases() -> Any:
        yield (
            pa.grad(lambda x: pa.sum(x * x) if x[0] > 0 else pa.sum(x)),
            (placed([1, 2], "numpy"),),
        )
        yield pa.grad(lambda x: (pa.sum(x), x), has_aux=True), (placed([1, 2], "numpy"),)
        yield pa.grad(lambda x: pa.sum(x)), (pa.ones(gradients.SMALL + 1, device="numpy"),)
        yield pa.grad(lambda x: pa.sum(x), [0]), (placed([1, 2], "numpy"),)

    for gradient, args in cases():
        called_often(gradient, *args)
        calls.clear()
        gradient(*args)
        assert len(calls) == 1


def test_errors_of_plans_are_those_of_calls(device: str) -> None:
    root = called_often(pa.grad(lambda x: pa.sum(pa.sqrt(x))), placed([1, 4], device))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert root(placed([0, 4], device)).tolist() == [np.inf, 0.25]
    gradient = called_often(pa.grad(lambda x: pa.sum(x * x)), placed([1, 2], device))
    with pytest.raises(TypeError, match="derivatives need floating-point arrays"):
        gradient(pa.asarray([1, 2], device=device))
    with pytest.raises(TypeError, match="must return one real number"):
        called_often(pa.grad(lambda x: x * 2), placed([1, 2], device))
