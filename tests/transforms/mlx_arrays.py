"""MLX's arrays on its processor, for the tests of its transformations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from foreign_cases import Function, placed

mx = pytest.importorskip("mlx.core")

import portarray as pa  # noqa: E402

BOUND = 2e-4  # float32


@pytest.fixture(name="x")
def x_fixture() -> pa.Array:
    return pa.astype(placed("mlx:cpu"), pa.float32)  # MLX has no complex128


def native(function: Function) -> Callable[[Any], Any]:
    """Return a function of MLX's arrays from one of portarray's."""
    return lambda x: function(pa.asarray(x)).native


@pytest.fixture(autouse=True)
def on_the_processor() -> Any:
    previous_device = mx.default_device()
    mx.set_default_device(mx.cpu)
    yield
    mx.set_default_device(previous_device)
