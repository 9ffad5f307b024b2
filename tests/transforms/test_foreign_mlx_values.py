"""What MLX's transformations have no values for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from foreign_cases import Function, assert_close, check_rules
from mlx_arrays import BOUND, mx, native, on_the_processor, x_fixture

import portarray as pa

__all__ = ["on_the_processor", "x_fixture"]  # fixtures, which pytest finds here


def test_indices_that_are_not_known(x: pa.Array) -> None:
    def function(x: Any) -> Any:
        return pa.take(x, pa.argsort(x[0]), axis=1) + x[:, pa.argmax(x, axis=1)][:, :1]

    got = pa.asarray(mx.compile(native(function))(x.native))
    assert_close(got, function(x), bound=BOUND)

    def beyond(index: Any) -> Any:
        return x[0][pa.asarray(index)].native

    # Nobody looks at them: those out of bounds are the nearest within.
    taken = mx.compile(beyond)(mx.array([0, 99, -99]))
    assert_close(pa.asarray(taken), np.asarray(x[0])[[0, 2, 0]], bound=0)
    with pytest.raises(IndexError, match="out of bounds"):
        beyond(mx.array([0, 99]))


def test_compiled_steps_of_training(x: pa.Array) -> None:
    def step(w: Any, x: Any) -> Any:
        def of_one(w: Any) -> Any:
            return pa.mean(pa.tanh(pa.asarray(x) @ pa.asarray(w)) ** 2).native

        value, gradient = mx.value_and_grad(of_one)(w)
        return value, w - 0.1 * gradient

    w = pa.ones((3, 2), dtype=x.dtype, device=x.device)
    value, changed = mx.compile(step)(w.native, x.native)

    def ours(w: Any) -> Any:
        return pa.mean(pa.tanh(x @ w) ** 2)

    assert_close(pa.asarray(value), ours(w), bound=BOUND)
    assert_close(pa.asarray(changed), w - 0.1 * pa.grad(ours)(w), bound=BOUND)


NEED_VALUES: dict[str, Function] = {
    "bool": lambda x: x if bool(x[0, 0] > 0) else x * 2,
    "float": lambda x: x * float(x[0, 0]),
    "item": lambda x: x * x[0, 0].item(),
    "tolist": lambda x: pa.asarray(x.tolist(), device=x.device),
    "numpy": lambda x: pa.asarray(np.asarray(x), device=x.device),
    "other device": lambda x: x.to_device("numpy"),
    "mask": lambda x: x[x > 0],
    "nonzero": lambda x: pa.nonzero(x)[0],
    "repeat": lambda x: pa.repeat(x, pa.astype(x[0] > 0, pa.int64), axis=1),
    "unique": pa.unique_values,
}


@pytest.mark.parametrize("name", NEED_VALUES)
def test_functions_that_need_values_raise_an_explanation(name: str, x: pa.Array) -> None:
    with pytest.raises(
        TypeError, match="values are needed, and they are not known while MLX transforms"
    ):
        mx.compile(native(NEED_VALUES[name]))(x.native)
    function = native(NEED_VALUES[name])
    function(x.native)  # nothing is left behind


def test_derivatives_that_only_portarray_has() -> None:
    check_rules(lambda f: mx.grad(native(f))(mx.array(0.5)), "mlx:cpu")
