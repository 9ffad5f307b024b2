"""Plans of ``pa.vmap``: pure functions that are called often run what they called before."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from compiled_arrays import host
from planned_functions import (
    EFFECTS,
    TABLE,
    WEIGHTS,
    called_often,
    count_calls,
    defined,
    drawn,
    placed,
)

import portarray as pa
from portarray._transforms import vmap as vmapping

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that gets the functions that are called without a plan."""
    return count_calls(monkeypatch, vmapping, "_called")


def planned(function: Any, *args: Any, **axes: Any) -> Any:
    """Return a vmapped function that has been called often enough to have a plan."""
    return called_often(pa.vmap(function, **axes), *args)


@pytest.mark.parametrize("seed", range(4))
def test_drawn_functions_give_the_same_bits(seed: int, calls: list[Any], device: str) -> None:
    rng, numbers = random.Random(seed), np.random.default_rng(seed)

    def array(*shape: int) -> pa.Array:
        return placed(numbers.normal(size=shape), device)

    text = drawn(rng, rng.choice((0, 1, 2)))
    function = defined(text, m=array(4, 4))
    if seed % 3 == 0:
        function = pa.grad(defined(f"pa.sum({text})", m=array(4, 4)))
    axes = {"in_axes": (0, 1, None), "out_axes": rng.choice((0, -1))}
    vmapped = planned(function, array(3, 4), array(4, 3), array(4), **axes)
    for _ in range(2):
        args = array(3, 4), array(4, 3), array(4)
        expected = host(pa.vmap(function, **axes)(*args))
        calls.clear()
        np.testing.assert_array_equal(host(vmapped(*args)), expected, err_msg=text)
        assert not calls or seed % 3 == 0, f"{text} has no plan"


def test_what_a_function_refers_to_may_change(calls: list[Any], device: str) -> None:
    x = placed([[1, 2], [3, 4], [5, 6]], device)
    weights, factor = placed([1, 10], device), 2.0

    def scaled(row: Any, offset: Any = 0.5) -> Any:
        return pa.sum(row * weights) * factor + offset

    vmapped = planned(scaled, x)
    calls.clear()
    assert vmapped(x).tolist() == [42.5, 86.5, 130.5]
    weights[...] = placed([0, 1], device)  # in place
    assert vmapped(x).tolist() == [4.5, 8.5, 12.5]
    assert not calls
    weights = placed([0, 2], device)
    assert vmapped(x).tolist() == [8.5, 16.5, 24.5]
    assert vmapped(x[:2]).tolist() == [8.5, 16.5]
    assert vmapped(pa.astype(x, pa.int32)).tolist() == [8.5, 16.5, 24.5]
    assert vmapped(x, offset=placed([1, 2, 3], device)).tolist() == [9.0, 18.0, 27.0]
    weights = placed([[1, 1]], device)  # of another shape
    assert vmapped(x).tolist() == [6.5, 14.5, 22.5]
    factor = 3.0
    assert vmapped(x).tolist() == [9.5, 21.5, 33.5]
    scaled.__defaults__ = (0.0,)
    assert vmapped(x).tolist() == [9.0, 21.0, 33.0]
    assert pa.grad(lambda x: pa.sum(vmapped(x)))(x).tolist() == [[3.0, 3.0]] * 3
    assert pa.vmap(vmapped)(pa.stack([x, x])).tolist() == [[9.0, 21.0, 33.0]] * 2


def test_results_of_plans_share_no_memory(calls: list[Any], device: str) -> None:
    x, weights = placed([[1, 2], [3, 4]], device), placed([7, 8], device)
    for function in (lambda row: row[::-1], lambda row: (row, row), lambda row: weights):
        vmapped = planned(function, x)
        expected, results = pa.vmap(function)(x), vmapped(x)
        for y, same in zip(*[z if isinstance(z, tuple) else (z,) for z in (results, expected)],
                           strict=True):  # fmt: skip
            values = same.tolist()
            assert y.tolist() == values
            y[...] = 0.0
            assert vmapped(x)[0].tolist() in (values, values[0])
        assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
        assert weights.tolist() == [7.0, 8.0]


@pytest.mark.parametrize("function", EFFECTS)
def test_functions_with_effects_are_called_each_time(function: Any, calls: list[Any]) -> None:
    x = placed([[1, 2], [3, 4]], "numpy")
    vmapped = planned(function, x)
    calls.clear()
    vmapped(x)
    assert calls == [function]


def test_pure_functions_have_plans(calls: list[Any]) -> None:
    def inner(row: Any) -> Any:
        return [pa.kernels.softmax(row), {"sum": row.sum()}]

    def nested(row: Any, tree: Any) -> Any:
        parts = [value * 2 for value in inner(row)[:1]]
        return parts[0] * TABLE["scale"], tree["w"] @ row + len(parts), abs(row.shape[0] - 5)

    x = placed([[1, 2], [3, 4]], "numpy")
    tree = {"w": placed([[1, 2], [3, 5]], "numpy")}
    vmapped = planned(nested, x, tree, in_axes=(0, None))
    calls.clear()
    a, b, n = vmapped(x, tree)
    assert (b.tolist(), n) == ([[6.0, 14.0], [12.0, 30.0]], 3)
    assert not calls
    expected = pa.kernels.softmax(x) * 2 * WEIGHTS
    assert a.tolist() == expected.tolist()
    assert not calls
