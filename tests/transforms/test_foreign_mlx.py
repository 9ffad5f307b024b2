"""portarray's functions in MLX's transformations, which know no trees of other arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from foreign_cases import FUNCTIONS, Function, assert_close, expected, loss, placed

mx = pytest.importorskip("mlx.core")

import portarray as pa  # noqa: E402

BOUND = 2e-4  # float32


@pytest.fixture(name="x")
def _x() -> pa.Array:
    return pa.astype(placed("mlx:cpu"), pa.float32)  # MLX has no complex128


def native(function: Function) -> Callable[[Any], Any]:
    """Return a function of MLX's arrays from one of portarray's."""
    return lambda x: function(pa.asarray(x)).native


@pytest.fixture(autouse=True)
def _on_the_processor() -> Any:
    before = mx.default_device()
    mx.set_default_device(mx.cpu)
    yield
    mx.set_default_device(before)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_compile(name: str, x: pa.Array) -> None:
    function = FUNCTIONS[name]
    got = mx.compile(native(function))(x.native)
    assert_close(pa.asarray(got), function(x), bound=BOUND)


# MLX has no derivatives of these; pa.grad has.
NO_GRADIENT = {"cholesky", "det", "inv", "solve"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_grad(name: str, x: pa.Array) -> None:
    gradient = mx.grad(native(loss(FUNCTIONS[name])))
    if name in NO_GRADIENT:
        with pytest.raises(ValueError, match=r"VJP|vjp"):
            mx.eval(gradient(x.native))
        return
    assert_close(pa.asarray(gradient(x.native)), expected(name), bound=BOUND)


# MLX has no rule for these, and forgets what is written into an array that is the same for all.
NOT_MAPPED = {"assignment", "det", "solve"}


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in NOT_MAPPED])
def test_vmap(name: str, x: pa.Array) -> None:
    function = FUNCTIONS[name]
    got = pa.asarray(mx.vmap(native(function))(pa.stack([x, x * x]).native))
    assert_close(got[0, ...], function(x), bound=BOUND)
    assert_close(got[1, ...], function(x * x), bound=BOUND)
