"""portarray's functions in MLX's transformations, which know no trees of other arrays."""

from __future__ import annotations

import pytest
from foreign_cases import FUNCTIONS, assert_close, expected, loss
from mlx_arrays import BOUND, mx, native, on_the_processor, x_fixture

import portarray as pa

__all__ = ["on_the_processor", "x_fixture"]  # fixtures, which pytest finds here


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
