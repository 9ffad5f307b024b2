"""What gemm and solve_triangular keep beyond the cases that verification draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray.kernels import gemm, solve_triangular

Values = np.ndarray[Any, np.dtype[Any]]


def host(x: pa.Array) -> Values:
    return np.asarray(x.to_device("numpy"))


def normal(seed: int, *shape: int, dtype: str = "float32") -> Values:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)


def test_gemm_writes_out(device: str) -> None:
    a, b, c = (normal(seed, 5, 5) for seed in range(3))
    x, y, out = (pa.asarray(array, device=device, copy=True) for array in (a, b, c))
    assert gemm(x, y, out=out, alpha=-1, beta=1) is out
    np.testing.assert_allclose(host(out), c - a @ b, atol=1e-5)
    out[...] = np.nan
    gemm(x, y, out=out, transpose_a=True, transpose_b=True)
    np.testing.assert_allclose(host(out), a.T @ b.T, atol=1e-5)
    gemm(x, x, out=x, beta=2.0)  # which is read and written
    np.testing.assert_allclose(host(x), a @ a + 2 * a, atol=1e-5)


def test_gemm_writes_views(device: str) -> None:
    """Into the memory of a larger array, where arrays have such."""
    whole = pa.zeros((6, 8), dtype=pa.float32, device=device)
    tile, turned, apart = whole[2:5, 1:4], whole[:3, 5:].mT, pa.zeros_like(whole)[::2, 1:6:2]
    a, b = normal(3, 3, 4), normal(4, 4, 3)
    x, y = pa.asarray(a, device=device), pa.asarray(b, device=device)
    for out in (tile, turned, apart):
        gemm(x, y, out=out, beta=1.0)
        np.testing.assert_allclose(host(out), a @ b, atol=1e-5)
    probe = whole[5:, :1]
    probe[...] = 1.0
    if host(whole)[5, 0]:  # views share memory
        probe[...] = 0.0
        expected = np.zeros((6, 8), np.float32)
        expected[2:5, 1:4], expected[:3, 5:] = a @ b, (a @ b).T
        np.testing.assert_allclose(host(whole), expected, atol=1e-5)


def test_gemm_of_nothing(device: str) -> None:
    empty = pa.ones((3, 0), dtype=pa.float32, device=device)
    out = pa.ones((3, 2), dtype=pa.float32, device=device)
    right = pa.ones((0, 2), dtype=pa.float32, device=device)
    assert host(gemm(empty, right)).tolist() == [[0.0] * 2] * 3
    assert host(gemm(empty, right, out=out, beta=3.0)).tolist() == [[3.0] * 2] * 3
    assert gemm(out[:0, :], out, transpose_b=True).shape == (0, 3)
    assert solve_triangular(empty[:0, :], right).shape == (0, 2)
    assert solve_triangular(out[:2, :], out[:2, :0]).shape == (2, 0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(device: str, dtype: str) -> None:
    try:
        pa.zeros(1, dtype=dtype, device=device)
    except pa.errors.DTypeNotSupportedError:
        pytest.skip(f"{device} has no {dtype}")
    near = 1e-4 if dtype == "complex64" else 1e-11
    a, b, c = normal(5, 70, 70, dtype=dtype), normal(6, 70, 3, dtype=dtype), normal(7, 70, 3)
    a += 20 * np.eye(70, dtype=dtype)
    x, y = pa.asarray(a, device=device), pa.asarray(b, device=device)
    out = pa.asarray(c.astype(dtype), device=device)
    gemm(x, y, out=out, alpha=1j, beta=2, transpose_a=True)
    np.testing.assert_allclose(host(out), 1j * (a.T @ b) + 2 * c, atol=near * 100)
    for lower in (False, True):
        half = np.tril(a) if lower else np.triu(a)
        for transpose in (False, True):
            result = solve_triangular(x, y, lower=lower, transpose=transpose)
            expected = np.linalg.solve(half.T if transpose else half, b)
            np.testing.assert_allclose(host(result), expected, atol=near)


def test_layouts_of_right_hand_sides(device: str) -> None:
    """By rows, by columns and with steps: BLAS has a way of its own for each."""
    a, b = normal(8, 130, 130) / 130 + np.eye(130, dtype=np.float32), normal(9, 40, 260)
    x, y = pa.asarray(a, device=device), pa.asarray(b, device=device)
    half, columns = np.tril(a), b[:, :130].copy()
    for right, second in (
        (y[:, :130].mT, b[:, :130].T),
        (y[:, ::2].mT, b[:, ::2].T),
        (pa.asarray(columns, device=device).mT, columns.T),
    ):
        for matrix, lower in ((x, True), (x.mT, False)):
            result = solve_triangular(matrix, right, lower=lower)
            expected = np.linalg.solve((half if lower else half.T).astype(np.float64), second)
            np.testing.assert_allclose(host(result), expected, atol=1e-4)


def test_a_zero_on_the_diagonal_is_no_error(device: str) -> None:
    a = pa.asarray(np.diag([1.0, 0.0, 2.0]).astype(np.float32), device=device)
    with np.errstate(all="ignore"):
        result = host(solve_triangular(a, pa.ones(3, dtype=pa.float32, device=device)))
    assert not np.isfinite(result[1])


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    from portarray.backends.numpy.tuned import blas

    monkeypatch.setattr(blas, "_trsm", lambda dtype: None)
    x = pa.eye(3, device="numpy")
    explanation = pa.kernels.explain("solve_triangular", x, x)
    assert explanation.version == "generic"
    assert "SciPy" in str(explanation)


def test_gemm_writes_into_numpys_memory() -> None:
    x = pa.eye(3, device="numpy")
    out = pa.ones((3, 3), device="numpy")
    memory = out.native
    assert gemm(x, x, out=out, alpha=-1.0, beta=1.0).native is memory
    np.testing.assert_array_equal(memory, 1 - np.eye(3))


def test_gradients_through_out(device: str) -> None:
    """A traced call writes no memory of its arguments."""
    c = pa.ones((2, 2), dtype=pa.float32, device=device)
    a = pa.asarray([[1.0, 2.0], [3.0, 4.0]], dtype=pa.float32, device=device)

    def loss(a: pa.Array, c: pa.Array) -> pa.Array:
        return pa.sum(gemm(a, a, out=c * 1.0, alpha=-1.0, beta=2.0))

    grad_a, grad_c = pa.grad(loss, argnums=(0, 1))(a, c)
    assert host(grad_c).tolist() == [[2.0] * 2] * 2
    assert host(grad_a).tolist() == [[-7.0, -11.0], [-9.0, -13.0]]
    assert host(c).tolist() == [[1.0] * 2] * 2
