"""Methods beyond the standard, which NumPy's, CuPy's and JAX's arrays share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import portarray as pa

TEXT = """
x.argmax() x.argmax(axis=1) x.argmin(0) x.argsort() x.argsort(axis=0) x.clip(-0.5,0.5)
x.clip(max=0.0) x.conjugate() x.cumprod(axis=1) x.cumsum() x.cumsum(axis=0) x.diagonal() x.dot(x.T)
x.dot([1.0,2.0,3.0]) x.flat[2] x.flat[1:4] x.flatten() x.flatten("F") x.nonzero() x.prod()
x.prod(axis=1) x.ravel() x.ravel("F") x.repeat(2) x.repeat([1,0,2],axis=1) x.round() x.round(1)
x[0,:].searchsorted([0.0]) x.std() x.std(axis=0,ddof=1) x.swapaxes(0,1) x.take([0,-1])
x.take([[1],[0]],axis=1) x.trace() x.transpose() x.transpose(1,0) x.transpose((0,1)) x.var()
x.var(axis=1,ddof=1,keepdims=True) x.view()
"""
CALLS = TEXT.split()


@pytest.mark.parametrize("seed", [0, 1])
def test_methods_compute_what_numpys_do(device: str, seed: int) -> None:
    a = np.random.default_rng(seed).normal(size=(2, 3)).astype(np.float32)
    a[1] = np.sort(a[1])
    x = pa.asarray(a, device=device)
    for call in CALLS[seed :: 3 if device.startswith("jax") else 1]:
        results, expected = eval(call, {"x": x}), eval(call, {"x": a})
        for result, value in zip(
            *([y] if not isinstance(y, tuple) else y for y in (results, expected)), strict=True
        ):
            assert type(result) is pa.Array, call
            assert result.device is x.device, call
            np.testing.assert_allclose(
                result.to_device("numpy").native, value, rtol=1e-5, atol=1e-6, err_msg=call
            )


def test_methods_that_change_the_array(device: str) -> None:
    x = pa.asarray([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]], device=device)
    copy = x.flatten()
    assert x.sort() is None
    assert x.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    x.sort(axis=0)
    x.flat[4] = 9.0
    assert x.tolist() == [[1.0, 2.0, 3.0], [4.0, 9.0, 6.0]]
    assert [float(y) for y in x.flat] == [1.0, 2.0, 3.0, 4.0, 9.0, 6.0]
    assert len(x.flat) == 6
    x.flat = 7.0
    assert x.tolist() == [[7.0] * 3] * 2
    x.fill(2.0)
    assert x.tolist() == [[2.0] * 3] * 2
    assert copy.tolist() == [3.0, 1.0, 2.0, 6.0, 5.0, 4.0]


def test_views_show_the_same_bits(device: str) -> None:
    x = pa.asarray([1.0, -0.0, np.inf, np.nan], dtype=pa.float32, device=device)
    assert x.view(pa.int32).tolist() == [0x3F800000, -(2**31), 0x7F800000, 0x7FC00000]
    assert x.view(pa.int32).view(pa.float32).view(np.int32).tolist() == x.view(pa.int32).tolist()
    if "complex64" in pa.__array_namespace_info__().dtypes(device=device):
        z = pa.asarray([[1 + 2j, complex(np.inf, -0.0)]], dtype=pa.complex64, device=device)
        assert str(z.view(pa.float32).tolist()) == "[[1.0, 2.0, inf, -0.0]]"
        assert str(z.view(pa.float32).view(pa.complex64).tolist()) == str(z.tolist())
    with pytest.raises(ValueError, match="divisor"):
        x[:3].view("complex64")


def test_views_on_a_gpu_show_the_parts_of_complex_numbers(fake: str) -> None:
    x = pa.asarray([1 + 2j, 3 - 4j], device=f"{fake}:cuda:0")
    assert x.view(float).tolist() == [1.0, 2.0, 3.0, -4.0]
    with pytest.raises(TypeError, match=r"view: .* does not show float64 as int64.*\nHint: "):
        x.view(float).view(pa.int64)


def test_gradients_and_programs_follow_methods(device: str) -> None:
    def function(x: Any) -> Any:
        y = x * 2.0
        y.sort(axis=1)
        y.flat[0] = 0.0
        return pa.sum(y.clip(1.0, 7.0).cumsum(axis=1) * x.ravel().take([1]))

    x = pa.asarray([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]], dtype=pa.float32, device=device)
    # The sorted doubles are [0 4 6] and [8 10 12], which clips to sums 1 5 11 and 7 14 21.
    assert float(function(x)) == float(pa.compile(function)(x)) == 59.0
    assert pa.grad(function)(x).tolist() == [[2.0, 59.0, 4.0], [0.0, 0.0, 0.0]]


def test_strict_names_refuse_methods(fake: str) -> None:
    x = pa.asarray([3.0, 1.0], device=f"{fake}:cuda:0")
    with pa.config(strict_names=True):
        for call in (x.ravel, x.transpose, x.view, x.sort, lambda: x.flat):
            with pytest.raises(AttributeError, match=r"not in the standard.*\nHint: "):
                call()
        for name in ("flatten", "at"):
            with pytest.raises(AttributeError, match=rf"^Array\.{name}: not in the standard"):
                getattr(x, name)()
        with pytest.raises(AttributeError, match=r"^scatter_max: not in the standard.*\nHint: "):
            pa.scatter_max(x, pa.asarray([0], device=x.device), 4.0)
        assert np.bincount(np.asarray([1], like=x), weights=[2.0]).tolist() == [0.0, 2.0]
        with pytest.raises(AttributeError, match=r"^Array\.fill: not in the standard"):
            x.fill(0.0)
    assert x.ravel().tolist() == [3.0, 1.0]
