"""Shared linear algebra and transforms on every functional device's native arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import portarray as pa
from portarray.backends.composed import complex_linalg, fft, linalg, linear_algebra

NumpyArray = npt.NDArray[Any]

RANDOM = np.random.default_rng(7)


class Side:
    """The namespace of a device's library, and its conversions."""

    def __init__(self, device: pa.Device) -> None:
        self.device = device
        self.transfer = device._backend
        self.xp: Any = pa.namespace(device)  # new arrays are on this device

    def of(self, x: NumpyArray) -> Any:
        return self.transfer.from_host(x.copy(), self.device.native, copy=None)

    def host(self, x: Any) -> NumpyArray:
        return self.transfer.to_host(x, copy=None)

    def check(self, got: Any, expected: Any, dtype: str = "float32") -> None:
        host = self.host(got)
        assert host.dtype == dtype
        np.testing.assert_allclose(host, expected, rtol=2e-5, atol=2e-5)


@pytest.fixture
def side(device: str) -> Side:
    return Side(pa.device(device))


def real(*shape: int) -> NumpyArray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def complex_(*shape: int) -> NumpyArray:
    return (RANDOM.standard_normal(shape) + 1j * RANDOM.standard_normal(shape)).astype(np.complex64)


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
def test_matrix_norms(side: Side, ord: Any) -> None:
    x = real(2, 3, 4)
    expected = np.linalg.norm(x, ord=ord, axis=(-2, -1))
    side.check(linalg.matrix_norm(side.xp, side.of(x), ord=ord), expected)
    norms = linalg.matrix_norm(side.xp, side.of(x), ord=ord, keepdims=True)
    side.check(norms, expected[:, None, None])


def test_matrix_norm_names_its_orders(side: Side) -> None:
    with pytest.raises(ValueError, match="unsupported ord 3"):
        linalg.matrix_norm(side.xp, side.of(real(2, 2)), ord=3)


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize("ord", [0, 1, 2, 3.5, -1, math.inf, -math.inf])
@pytest.mark.parametrize("axis", [None, 1, (0, 2)])
def test_vector_norms(side: Side, ord: float, axis: Any) -> None:
    x = real(2, 3, 4)
    got = linalg.vector_norm(side.xp, side.of(x), axis=axis, ord=ord)
    side.check(got, np.linalg.vector_norm(x, axis=axis, ord=ord))


def test_powers_ranks_and_products(side: Side) -> None:
    x, y = real(2, 3, 3), real(2, 3)
    for n in (-2, 0, 1, 5):
        got = linalg.matrix_power(side.xp, side.of(x), n)
        power = np.linalg.matrix_power(x.astype(np.float64), n)
        np.testing.assert_allclose(side.host(got), power, rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match="square"):
        linalg.matrix_power(side.xp, side.of(real(2, 3)), 2)
    deficient = real(2, 9, 3) @ real(2, 3, 8)  # whose small singular values are rounding errors
    deficient[1] += np.eye(9, 8, dtype=np.float32)
    ranks = linalg.matrix_rank(side.xp, side.of(deficient))
    assert side.host(ranks).tolist() == [3, 8]
    assert side.host(linalg.matrix_rank(side.xp, side.of(real(2, 0, 3)))).tolist() == [0, 0]
    side.check(linalg.outer(side.xp, side.of(y[0]), side.of(y[1])), np.outer(y[0], y[1]))
    side.check(linalg.cross(side.xp, side.of(x), side.of(y[:, None])), np.cross(x, y[:, None]))
    side.check(linalg.trace(side.xp, side.of(x), offset=1), np.trace(x, 1, -2, -1))


def test_pseudo_inverses_leave_small_singular_values_out(side: Side) -> None:
    x = np.diag([8.0, 4.0, 1.0]).astype(np.float32)
    got = linalg.pinv(side.xp, side.of(x), rtol=0.3)
    side.check(got, np.diag([1 / 8, 1 / 4, 0]))
    oblong = complex_(2, 3, 2)
    got = linalg.pinv(side.xp, side.of(oblong))
    side.check(got, np.linalg.pinv(oblong), "complex64")
    assert linalg.pinv(side.xp, side.of(real(0, 3))).shape == (3, 0)


def test_spectra(side: Side) -> None:
    x = real(3, 3)
    symmetric = x + x.T
    side.check(linalg.svdvals(side.xp, side.of(x)), np.linalg.svd(x, compute_uv=False))
    got = linalg.eigvalsh(side.xp, side.of(symmetric))
    side.check(got, np.linalg.eigvalsh(symmetric))
    values = np.sort(side.host(linalg.eigvals(side.xp, side.of(symmetric))).real)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(symmetric), rtol=1e-4, atol=1e-4)


def test_tensordot_and_vecdot(side: Side) -> None:
    x, y = real(2, 3, 4), real(4, 3, 5)
    for axes in (0, ([1, -1], [1, 0]), ([2], [0])):
        got = linear_algebra.tensordot(side.xp, side.of(x), side.of(y), axes=axes)
        side.check(got, np.tensordot(x, y, axes=axes))
    with pytest.raises(ValueError, match="differ"):
        linear_algebra.tensordot(side.xp, side.of(x), side.of(y), axes=1 + 1)
    z, w = complex_(2, 3), complex_(5, 1, 3)
    got = linear_algebra.vecdot(side.xp, side.of(z), side.of(w))
    side.check(got, np.vecdot(z, w), "complex64")
    transposed = linear_algebra.matrix_transpose(side.xp, side.of(x))
    side.check(transposed, np.swapaxes(x, -1, -2))


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("floating", ["float32", "float64"])
def test_integer_products_are_exact(side: Side, dtype: str, floating: str) -> None:
    dtypes = side.device._backend.dtypes(side.device.platform, side.device.index)
    if np.dtype(floating) not in dtypes or np.dtype(dtype) not in dtypes:
        pytest.skip(f"{side.device} lacks {floating} or {dtype}")
    limits = np.iinfo(dtype)
    # More columns than one float32 sum of products of bytes can hold.
    for first, second in (((2, 3), (3, 2)), ((20, 600), (600, 20)), ((4, 5, 70), (70, 60))):
        x = RANDOM.integers(limits.min, limits.max, first, dtype=dtype, endpoint=True)
        y = RANDOM.integers(limits.min, limits.max, second, dtype=dtype, endpoint=True)
        unsigned = np.dtype(dtype).kind == "u"
        got = linear_algebra.integer_matmul(
            side.xp,
            side.of(x),
            side.of(y),
            bits=limits.bits,
            wide=side.xp.unsigned_dtype if unsigned else side.xp.index_dtype,
            floating=dtypes[np.dtype(floating)],
            exact=53 if floating == "float64" else 24,
        )
        host = side.host(got)
        assert host.dtype == dtype
        np.testing.assert_array_equal(host, x @ y)


def test_complex_by_real(side: Side) -> None:
    xp = side.xp
    x, y = complex_(2, 3, 3), complex_(2, 3, 2)
    positive = x @ np.conj(np.swapaxes(x, -1, -2)) + 2 * np.eye(3, dtype=np.complex64)
    factor = complex_linalg.cholesky(xp, xp.linalg.cholesky, side.of(positive))
    side.check(factor, np.linalg.cholesky(positive), "complex64")
    inverse = side.host(complex_linalg.inv(xp, xp.linalg.inv, side.of(positive)))
    np.testing.assert_allclose(inverse @ positive, np.stack([np.eye(3)] * 2), atol=1e-4)
    solution = side.host(complex_linalg.solve(xp, xp.linalg.solve, side.of(positive), side.of(y)))
    np.testing.assert_allclose(positive @ solution, y, atol=1e-4)
    sign, factors = complex_linalg.determinant(xp, side.of(x))
    got = side.host(sign) * np.prod(side.host(factors), axis=-1)
    np.testing.assert_allclose(got, np.linalg.det(x), rtol=1e-4)


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 2), (2, 4)])
@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("scale", [1, 1e25, 0])
def test_complex_qr(side: Side, shape: tuple[int, ...], complete: bool, scale: float) -> None:
    x = complex_(*shape) * np.float32(scale)
    x[..., -1] = x[..., 0]  # no full rank
    q, r = map(side.host, complex_linalg.qr(side.xp, side.of(x), complete=complete))
    size = shape[-2] if complete else min(shape[-2:])
    assert q.shape == (*shape[:-1], size)
    assert r.shape == (*shape[:-2], size, shape[-1])
    assert np.all(np.tril(r, -1) == 0)
    product = np.conj(np.swapaxes(q, -1, -2)) @ q
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(size), product.shape), atol=1e-5)
    np.testing.assert_allclose(q @ r, x, atol=1e-5 * (scale or 1))


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_hermitian_transforms(side: Side, norm: Any) -> None:
    x, y = complex_(3, 4), real(3, 5)
    got = fft.hfft(side.xp, side.of(x), n=7, axis=0, norm=norm)
    side.check(got, np.fft.hfft(x, n=7, axis=0, norm=norm))
    got = fft.ihfft(side.xp, side.of(y), norm=norm)
    side.check(got, np.fft.ihfft(y, norm=norm), "complex64")
    with pytest.raises(ValueError, match="norm must be"):
        fft.hfft(side.xp, side.of(x), norm="none")  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [1, 4, 5])
def test_frequencies_and_shifts(side: Side, n: int) -> None:
    dtype = side.of(real(1)).dtype
    got = fft.fftfreq(side.xp, n, d=0.5, dtype=dtype)
    side.check(got, np.fft.fftfreq(n, 0.5))
    side.check(fft.rfftfreq(side.xp, n, d=0.5, dtype=dtype), np.fft.rfftfreq(n, 0.5))
    x = real(3, n)
    for axes in (None, 1, (0, 1)):
        side.check(fft.fftshift(side.xp, side.of(x), axes=axes), np.fft.fftshift(x, axes))
        side.check(fft.ifftshift(side.xp, side.of(x), axes=axes), np.fft.ifftshift(x, axes))
    with pytest.raises(ValueError, match="at least 1"):
        fft.fftfreq(side.xp, 0)
