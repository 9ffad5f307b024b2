"""Linear algebra, transforms and reductions that MLX lacks or gets wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import portarray as pa

mx = pytest.importorskip("mlx.core")

RANDOM = np.random.default_rng(3)


@pytest.fixture(scope="module")
def xp() -> Any:
    return pa.namespace("mlx:cpu")


def complex_(*shape: int) -> np.ndarray[Any, Any]:
    return (RANDOM.standard_normal(shape) + 1j * RANDOM.standard_normal(shape)).astype(np.complex64)


def test_errors_belong_to_the_call(xp: Any) -> None:
    """Singular matrices raise in the call, although MLX evaluates lazily."""
    singular = mx.array([[1.0, 2.0], [2.0, 4.0]])
    for dtype in (mx.float32, mx.float64):
        with pytest.raises(ValueError, match="singular"):
            xp.linalg.inv(singular.astype(dtype))
        with pytest.raises(ValueError, match="singular"):
            xp.linalg.solve(singular.astype(dtype), singular.astype(dtype))
    with pytest.raises(ValueError, match="positive definite"):
        xp.linalg.cholesky(mx.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(ValueError, match="positive definite"):
        xp.linalg.cholesky(mx.array([[1, 2j], [-2j, 1]], dtype=mx.complex64))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_matrices_that_are_not_finite(xp: Any, value: float, dtype: str) -> None:
    """NaN is handled before MLX's LAPACK would end the process."""
    x = mx.stack([mx.array([[value, 1.0], [1.0, 2.0]]), mx.eye(2)]).astype(getattr(mx, dtype))
    for function in (xp.linalg.eig, xp.linalg.eigh, xp.linalg.svd):
        for result in function(x):
            host = np.asarray(result)
            assert np.isnan(host[0]).all()
            assert np.isfinite(host[1]).all()
    for function in (xp.linalg.eigvals, xp.linalg.eigvalsh, xp.linalg.svdvals):
        host = np.asarray(function(x))
        assert np.isnan(host[0]).all()
        np.testing.assert_allclose(host[1], 1)


@pytest.mark.parametrize("n", [2, 5])
def test_eigenvectors_of_complex_matrices(xp: Any, n: int) -> None:
    x = complex_(3, n, n)
    values, vectors = map(np.asarray, xp.linalg.eig(mx.array(x)))
    np.testing.assert_allclose(x @ vectors, vectors * values[:, None, :], atol=2e-5)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_empty_matrices(xp: Any, dtype: str) -> None:
    """Empty matrices are handled before MLX would end the process."""
    for batch in ((), (0,), (2,)):
        x = mx.zeros((*batch, 0, 0), dtype=getattr(mx, dtype))
        for name in ("cholesky", "inv"):
            assert getattr(xp.linalg, name)(x).shape == x.shape
        for name in ("eigvals", "eigvalsh", "svdvals"):
            assert getattr(xp.linalg, name)(x).shape == (*batch, 0)
        np.testing.assert_array_equal(np.asarray(xp.linalg.det(x)), np.ones(batch))
        sign, logarithm = map(np.asarray, xp.linalg.slogdet(x))
        np.testing.assert_array_equal(sign, np.ones(batch))
        np.testing.assert_array_equal(logarithm, np.zeros(batch))
        assert xp.linalg.eig(x).eigenvectors.shape == x.shape
        assert xp.linalg.eigh(x).eigenvalues.shape == (*batch, 0)
        assert xp.linalg.solve(x, mx.zeros((0, 3), dtype=x.dtype)).shape == (*batch, 0, 3)
    tall = mx.zeros((2, 3, 0), dtype=getattr(mx, dtype))
    assert xp.linalg.pinv(tall).shape == (2, 0, 3)
    for complete, size in (("complete", 3), ("reduced", 0)):
        q, r = xp.linalg.qr(tall, mode=complete)
        assert (q.shape, r.shape) == ((2, 3, size), (2, size, 0))
    u, s, vh = xp.linalg.svd(tall)
    np.testing.assert_array_equal(np.asarray(u), np.broadcast_to(np.eye(3), (2, 3, 3)))
    assert (s.shape, vh.shape) == ((2, 0), (2, 0, 0))
    u, s, vh = xp.linalg.svd(tall, full_matrices=False)
    assert (u.shape, s.shape, vh.shape) == ((2, 3, 0), (2, 0), (2, 0, 0))


def test_determinants_of_float64_have_its_digits(xp: Any) -> None:
    """Determinants keep double precision, unlike MLX's from 4 rows on."""
    x = RANDOM.integers(-4, 5, (20, 4, 4)).astype(np.float64)
    got = np.asarray(xp.linalg.det(mx.array(x, dtype=mx.float64)))
    np.testing.assert_allclose(got, np.linalg.det(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_complete_qr(xp: Any, dtype: str) -> None:
    x = complex_(2, 5, 2) if dtype == "complex64" else RANDOM.standard_normal((2, 5, 2))
    q, r = map(np.asarray, xp.linalg.qr(mx.array(x, dtype=getattr(mx, dtype)), mode="complete"))
    assert q.shape == (2, 5, 5)
    assert r.shape == (2, 5, 2)
    identity = np.conj(np.swapaxes(q, -1, -2)) @ q
    np.testing.assert_allclose(identity, np.broadcast_to(np.eye(5), (2, 5, 5)), atol=1e-5)
    np.testing.assert_allclose(q @ r, x, atol=1e-5)


def test_complex128_is_refused(xp: Any) -> None:
    x = mx.eye(2, dtype=mx.float64)
    for function in (xp.fft.rfft, xp.fft.ihfft, xp.fft.fft, xp.linalg.eig, xp.linalg.eigvals):
        with pytest.raises(TypeError, match="MLX does not have complex128"):
            function(x)


def test_integer_products_wrap(xp: Any) -> None:
    x = RANDOM.integers(-(2**62), 2**62, (40, 50))
    np.testing.assert_array_equal(np.asarray(xp.matmul(mx.array(x), mx.array(x.T))), x @ x.T)
    small = mx.array(np.full((2, 3), 100, dtype=np.int8))
    got = xp.vecdot(small, small)
    assert got.dtype == mx.int8
    assert got.tolist() == [30000 % 256] * 2


def test_variance_far_from_zero(xp: Any) -> None:
    """Means stay accurate, unlike MLX's sequential sums (off by 0.03 for 40000 near 1000)."""
    x = (RANDOM.uniform(1, 2, 40000) + 1000).astype(np.float32)
    expected = x.astype(np.float64).var()
    np.testing.assert_allclose(xp.var(mx.array(x)).item(), expected, rtol=1e-4)


def test_small_integers_sum_in_64_bits(xp: Any) -> None:
    for dtype, wide in ((mx.int8, mx.int64), (mx.uint8, mx.uint64), (mx.bool_, mx.int64)):
        x = mx.ones((300,), dtype=dtype)
        for function in (xp.sum, xp.prod):
            assert function(x).dtype == wide
        assert xp.sum(x).item() == 300
        assert xp.cumulative_sum(x)[-1].item() == 300
        assert xp.sum(x, dtype=mx.uint8).item() == 300 % 256


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64", "bool"])
def test_reductions_of_nothing_end(dtype: str) -> None:
    """Reductions of empty arrays return, where MLX may loop forever."""
    for _ in range(50):
        x = pa.asarray(np.ones((0,), dtype=dtype), device="mlx:cpu")
        assert not bool(pa.any(x))
        assert bool(pa.all(x))
        assert int(pa.count_nonzero(x)) == 0
        if dtype != "bool":
            assert complex(pa.sum(x)) == 0
            assert complex(pa.prod(x)) == 1


def test_descending_sorts_are_stable(xp: Any) -> None:
    x = mx.array([2.0, float("nan"), 1.0, 2.0, -1.0, 1.0])
    assert xp.argsort(x, descending=True).tolist() == [1, 0, 3, 2, 5, 4]
    assert xp.argsort(mx.array([False, True, False]), descending=True).tolist() == [1, 0, 2]
    assert xp.argmax(mx.array(3.0), keepdims=True).shape == ()
    assert xp.argmax(mx.zeros((3, 0)), axis=0).shape == (0,)
    with pytest.raises(ValueError, match="argmax: an array of shape"):
        xp.argmax(mx.zeros((3, 0)), axis=1)


def test_nonzero(xp: Any) -> None:
    for shape in ((0,), (7,), (3, 4), (2, 0, 3), (2, 3, 4)):
        x = RANDOM.integers(0, 2, shape)
        for got, expected in zip(xp.nonzero(mx.array(x)), np.nonzero(x), strict=True):
            assert got.dtype == mx.int64
            np.testing.assert_array_equal(np.asarray(got), expected)
    with pytest.raises(ValueError, match="0-d"):
        xp.nonzero(mx.array(1))
