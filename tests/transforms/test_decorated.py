"""Objects that decorators put in the place of functions are pickled and copied as functions are."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from compiled_arrays import host

import portarray as pa
from portarray import kernel_language as kl


@pa.kernel
def doubled(y: Any, x: Any) -> None:
    i = kl.index()
    y[i] = x[i] * 2


@pa.compile
def shifted(x: Any) -> Any:
    return x + 1


@pa.custom_vjp
def unchanged(x: Any) -> Any:
    return x


def scaled(x: Any, k: float) -> Any:
    return x * k


under_another_name = pa.compile(scaled, optimize="aggressive", dynamic=True, inplace_argnums=0)

COPIES: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    lambda x: pickle.loads(pickle.dumps(x)),
]


@pytest.mark.parametrize("copied", COPIES)
def test_by_name(copied: Callable[[Any], Any], device: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=device)
    doubled(pa.zeros_like(x), x)
    shifted(x)
    for function in (doubled, shifted, unchanged):
        assert copied(function) is function
    assert host(under_another_name(x, 3.0)).tolist() == [3.0, 6.0]
    again = copied(under_another_name)
    assert again is not under_another_name
    options = again.__reduce__()[0].keywords
    assert options == under_another_name.__reduce__()[0].keywords
    assert (options["optimize"], options["inplace_argnums"]) == ("aggressive", (0,))
    assert host(again(x, 2.0)).tolist() == [2.0, 4.0]


def test_local_kernels_are_copied_with_their_options(device: str) -> None:
    @pa.kernel(static=["n"], differentiable=True)
    def power(y: Any, x: Any, n: Any) -> None:
        i = kl.index()
        y[i] = x[i] ** n

    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=device)
    for kernel in (power, copy.deepcopy({"kernel": power})["kernel"]):

        def total(x: Any, kernel: Any = kernel) -> Any:
            return pa.sum(kernel(pa.zeros_like(x), x, 2))

        assert float(total(x)) == 5.0
        assert host(pa.grad(total)(x)).tolist() == [2.0, 4.0]
