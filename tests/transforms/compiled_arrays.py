"""What the tests of compiled functions share."""

from __future__ import annotations

from typing import Any

import numpy as np

import portarray as pa


def host(x: Any) -> np.ndarray[Any, Any]:
    return np.asarray(pa.to_device(x, "numpy"))


def asarray(values: Any, device: str, dtype: Any = pa.float32) -> Any:
    return pa.asarray(values, dtype=dtype, device=device)


def assert_alike(got: Any, want: Any, *, ulp: float = 1e3) -> None:
    """Compare arrays up to the rounding of sums in another order."""
    actual, expected = host(got), host(want)
    assert got.device is want.device
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if actual.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected)
        return
    eps = np.finfo(expected.dtype).eps
    scale = max(1.0, float(np.max(np.abs(expected[np.isfinite(expected)]), initial=0)))
    np.testing.assert_allclose(actual, expected, rtol=ulp * eps, atol=ulp * eps * scale / 4)


def assert_same(actual: Any, expected: Any) -> None:
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(host(actual), host(expected), rtol=1e-5, atol=1e-6)


class Plain:
    """An object with arrays, a property, itself among its attributes, and a call."""

    shift = 1.0

    def __init__(self, weight: Any, power: Any) -> None:
        self.weight, self.power, self.itself = weight, power, self

    @property
    def doubled(self) -> Any:
        return self.weight * 2

    def __call__(self, x: Any) -> Any:
        return x * self.doubled + self.power + self.shift
