"""Mixed precision: products in float16 without a scale that the user keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compiled_arrays import asarray, assert_alike, host

import portarray as pa
from portarray._array import dispatch
from portarray._transforms import precision


@pytest.fixture
def narrow(device: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a device whose products are in float16, though it may have bfloat16."""
    half = dispatch.dtypes_of(pa.device(device)).get(np.dtype(np.float16))
    if half is None:
        pytest.skip(f"{device} has no float16")
    monkeypatch.setattr(precision, "half_of", lambda _: half)
    return device


def loss(p: list[Any], x: Any, small: Any) -> Any:
    h = pa.tanh(pa.kernels.linear(x, p[0], p[1]))
    return pa.mean((h @ p[2]) ** 2) * small


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize("small", [1.0, 1e-9, 1e-20, 1e9])
def test_gradients_of_all_sizes_are_there(narrow: str, small: float) -> None:
    """Scale the loss out of the range of float16, 6e-8 to 65504: no gradient is lost."""
    rng = np.random.default_rng(0)
    shapes = ((20, 30), (20,), (20, 10))
    p = [asarray(rng.normal(size=shape) * 0.3, narrow) for shape in shapes]
    x = asarray(rng.normal(size=(16, 30)), narrow)
    gradient = pa.compile(pa.grad(loss), precision="mixed")
    gradients = gradient(p, x, asarray(small, narrow))
    wide = [pa.asarray(host(part).astype("f8"), device="numpy") for part in (*p, x)]
    want = pa.grad(loss)(wide[:-1], wide[-1], small)
    for part, right in zip(gradients, want, strict=True):
        assert part.dtype == pa.float32
        scale = np.max(np.abs(host(right)))
        assert scale > 0
        assert np.max(np.abs(host(part) - host(right))) < 0.01 * scale


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_bias_added_to_a_product_is_not_rounded(narrow: str) -> None:
    x, w = (asarray(np.full((3, 3), 1e-4 * n), narrow) for n in (1, 2))
    bias = asarray([1.001, 70000.0, 1e-7], narrow)
    compiled = pa.compile(pa.kernels.linear, precision="mixed")
    for factor in (1.0, 1e-25):
        total = compiled(x * factor, w * factor, bias)
        assert_alike(total, pa.kernels.linear(x * factor, w * factor, bias), ulp=2e4)
        np.testing.assert_allclose(host(total)[0], host(bias), rtol=1e-7, atol=1e-7)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_products_of_empty_and_infinite_arrays(narrow: str) -> None:
    compiled = pa.compile(lambda x, y: x @ y, precision="mixed")
    nothing = compiled(asarray(np.ones((0, 4)), narrow), asarray(np.ones((4, 2)), narrow))
    assert nothing.shape == (0, 2)
    x = asarray([[np.inf, 1.0], [0.5, 2.0], [np.nan, 0.0]], narrow)
    product = host(compiled(x, asarray(np.eye(2) + 1, narrow)))
    np.testing.assert_array_equal(product, [[np.inf, np.inf], [3.0, 4.5], [np.nan, np.nan]])
