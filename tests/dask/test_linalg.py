"""Linear algebra over tiles, by regions and by Dask, on one device and on several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.array", reason="the extra portarray[dask] is not installed")
pytest.importorskip("distributed", reason="the extra portarray[dask] is not installed")

import dask.array as da

import portarray as pa
import portarray.dask as pd
from portarray.dask import linalg
from portarray.dask.linalg import tiles

scipy_linalg: Any = pytest.importorskip("scipy.linalg", reason="SciPy is not installed")

ROOT = Path(__file__).parents[2]
ROW_CHUNKS = (8, 8, 5)
N = sum(ROW_CHUNKS)
Values = np.ndarray[Any, np.dtype[Any]]


def drawn(seed: int, *shape: int, dtype: str = "float32") -> Values:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    if dtype.startswith("complex"):
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def positive(seed: int, dtype: str = "float32") -> Values:
    x = drawn(seed, N, N, dtype=dtype)
    matrix: Values = (x @ x.conj().T + N * np.eye(N)).astype(dtype)
    return matrix


def tiled(x: Values, devices: Any) -> Any:
    columns = () if x.ndim == 1 else (ROW_CHUNKS if x.shape[1] == N else (2, 3),)
    return pd.from_array(x, (ROW_CHUNKS, *columns), devices)


def as_numpy(x: Any) -> Values:
    values: Values = (pd.collect(x, "numpy") if isinstance(x, da.Array) else x).native
    return values


@pytest.fixture(params=["region", "dask"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def checked(devices: Any, engine: Any, dtype: str, near: float) -> None:
    """Compare every operation with NumPy and SciPy in float64."""
    wide = "complex128" if dtype.startswith("complex") else "float64"
    options = {"engine": engine}
    symmetric, any_matrix = positive(1, dtype), drawn(2, N, N, dtype=dtype)
    right = drawn(3, N, 5, dtype=dtype)
    lower = np.linalg.cholesky(symmetric.astype(wide))
    factor = linalg.cholesky(tiled(symmetric, devices), **options)
    pd.placement(factor).verify()
    np.testing.assert_allclose(as_numpy(factor), lower, atol=30 * near)
    upper = linalg.cholesky(tiled(symmetric, devices), upper=True, **options)
    np.testing.assert_allclose(as_numpy(upper), lower.conj().T, atol=30 * near)
    np.testing.assert_allclose(
        as_numpy(linalg.matmul(tiled(any_matrix, devices), tiled(right, devices), **options)),
        any_matrix.astype(wide) @ right,
        atol=100 * near,
    )
    ours = linalg.lu(tiled(any_matrix, devices), **options)
    for actual, desired in zip(ours, scipy_linalg.lu(any_matrix.astype(wide)), strict=True):
        np.testing.assert_allclose(as_numpy(actual), desired, atol=1000 * near)
    for matrix, kind in ((any_matrix + 9 * np.eye(N, dtype=dtype), "gen"), (symmetric, "pos")):
        for b in (right, right[:, 0]):
            x = linalg.solve(tiled(matrix, devices), tiled(b, devices), assume_a=kind, **options)
            expected = np.linalg.solve(matrix.astype(wide), b.astype(wide))
            np.testing.assert_allclose(as_numpy(x), expected, atol=100 * near)
    for low in (False, True):
        half = np.tril(symmetric) if low else np.triu(symmetric)
        x = linalg.solve_triangular(
            tiled(symmetric, devices), tiled(right, devices), lower=low, **options
        )
        expected = scipy_linalg.solve_triangular(half.astype(wide), right, lower=low)
        np.testing.assert_allclose(as_numpy(x), expected, atol=30 * near)


def test_operations_are_those_of_scipy(device: str, engine: str) -> None:
    checked(device, engine, "float32", 1e-6)


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_tiles_of_several_libraries(engine: str, dtype: str) -> None:
    names_by_library = {device.library: str(device) for device in pa.devices()}
    libraries = ("numpy", "torch", "clarray")
    mixed = [names_by_library[library] for library in libraries if library in names_by_library]
    checked(mixed, engine, dtype, 1e-13)


def test_arrays_are_cut_and_put_together(device: str) -> None:
    x = positive(4)
    whole = pa.asarray(x, device=device)
    for size in (8, None) if device != "numpy:cpu:0" else (1, 5, N, 99, None):
        factor = linalg.cholesky(whole, tiles=size)
        assert factor.device is whole.device
        np.testing.assert_allclose(
            np.asarray(factor.to_device("numpy")), np.linalg.cholesky(x), atol=1e-4
        )
    np.testing.assert_array_equal(np.asarray(whole.to_device("numpy")), x)
    b = pa.asarray(drawn(5, N), device=device)
    factor = linalg.solve(whole, b, tiles=8)
    assert factor.shape == (N,)
    np.testing.assert_allclose(
        np.asarray((whole @ factor).to_device("numpy")), drawn(5, N), atol=1e-3
    )


def test_nothing_that_dask_holds_is_changed(engine: str) -> None:
    x, b = pd.persist(tiled(positive(6), "numpy")), pd.persist(tiled(drawn(7, N, 5), "numpy"))
    copies = as_numpy(x).copy(), as_numpy(b).copy()
    first = as_numpy(linalg.solve(x, b, engine=engine))
    again = as_numpy(linalg.solve(x, b, engine=engine))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(as_numpy(x), copies[0])
    np.testing.assert_array_equal(as_numpy(b), copies[1])


def test_engines_have_the_same_answer() -> None:
    x = tiled(drawn(8, N, N), ["numpy", "torch"])
    lazy = [linalg.lu(x, engine=engine) for engine in ("region", "dask")]
    for first, second in zip(*lazy, strict=True):
        np.testing.assert_allclose(as_numpy(first), as_numpy(second), atol=1e-5)


@pytest.mark.parametrize("lapack", [True, False])
def test_pivots_bound_the_growth(lapack: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix on which elimination without interchanges between tiles loses all digits."""
    x = drawn(9, N, N, dtype="float64")
    x[:8, :8] *= 1e-14
    b = drawn(10, N, dtype="float64")
    if not lapack:
        monkeypatch.setattr(tiles, "_by_lapack", lambda x: None)
    solution = as_numpy(linalg.solve(tiled(x, "numpy"), tiled(b, "numpy")))
    residual = np.linalg.norm(x @ solution - b) / (np.linalg.norm(x) * np.linalg.norm(solution))
    assert residual < 1e-15
    _, lower, _ = linalg.lu(tiled(x, "numpy"))
    assert np.max(np.abs(as_numpy(lower))) <= 1
    for actual, expected in zip(linalg.lu(tiled(x, "numpy")), scipy_linalg.lu(x), strict=True):
        np.testing.assert_allclose(as_numpy(actual), expected, atol=1e-10)


def test_a_singular_matrix_has_factors() -> None:
    x = np.ones((N, N))
    p, lower, upper = (as_numpy(factor) for factor in linalg.lu(tiled(x, "numpy")))
    np.testing.assert_allclose(p @ lower @ upper, x)


@pytest.mark.parametrize("lapack", [True, False])
def test_singular_systems_are_named(
    engine: str, lapack: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not lapack:
        monkeypatch.setattr(tiles, "_lapack", lambda *_: None)
    x = positive(11, "float64")
    x[18], x[:, 18] = 0, 0  # no rounding makes the pivot another number
    right = pd.ones(N, chunks=(ROW_CHUNKS,), devices="numpy")
    with pytest.raises(
        pa.linalg.LinAlgError, match=r"^solve: .* singular: tile \(2, 2\), .* is 16"
    ):
        as_numpy(linalg.solve(tiled(x, "numpy"), right, engine=engine))
    regular = linalg.solve(tiled(positive(11, "float64"), "numpy"), right, engine=engine)
    assert np.isfinite(as_numpy(regular)).all()


def test_indefinite_matrices_are_named(engine: str, device: str) -> None:
    x = positive(11)
    x[17, 17] = -1
    with pytest.raises(pa.linalg.LinAlgError, match=r"cholesky: .* tile \(2, 2\), .* row is 16"):
        as_numpy(linalg.cholesky(tiled(x, device), engine=engine))


def test_on_a_cluster(client: Any) -> None:
    x = pd.persist(tiled(positive(12, "float64"), ["numpy", "torch"]))
    factor = linalg.cholesky(x)
    assert linalg.explain("cholesky", x).engine == "dask"
    pd.placement(pd.persist(factor)).verify()
    np.testing.assert_allclose(as_numpy(factor), np.linalg.cholesky(positive(12, "float64")))


@pytest.mark.one_device
def test_a_plan_counts_tasks_and_bytes() -> None:
    x = tiled(positive(13), "numpy")
    plan = linalg.explain("cholesky", x)
    assert plan.tasks == {"potrf": 3, "rtrsm": 3, "syrk": 3, "gemm": 1}
    assert plan.bytes_moved == 0
    assert plan.chunks == (ROW_CHUNKS, ROW_CHUNKS)
    assert "10 tasks" in str(plan)
    devices = ["numpy", "torch"]
    mixed = linalg.explain("cholesky", pd.to_device(x, lambda position: devices[position[0] % 2]))
    assert mixed.bytes_moved > 0
    assert mixed.flops == pytest.approx(plan.flops)
    assert mixed.flops == pytest.approx(sum(flops for _, flops in mixed.devices.values()))
    square = pd.ones((64, 64), chunks=8)
    assert linalg.explain("matmul", square, square).flops == 2 * 64**3
    large = pd.ones((640, 640), chunks=64)
    assert linalg.explain("cholesky", large).flops == pytest.approx(640**3 / 3, rel=0.2)
    assert linalg.explain("lu", large).flops == pytest.approx(2 * 640**3 / 3, rel=0.2)


def test_qr_is_dasks_where_it_fits() -> None:
    x = drawn(14, N, 5, dtype="float64")
    q, r = linalg.qr(pd.from_array(x, (ROW_CHUNKS, 5), "numpy"))
    np.testing.assert_allclose(as_numpy(q) @ as_numpy(r), x, atol=1e-12)
    for shape, chunks in (
        ((N, 5), (ROW_CHUNKS, 5)),
        ((5, N), (5, ROW_CHUNKS)),
    ):  # over two libraries
        values = drawn(14, *shape, dtype="float64")
        mixed = pd.from_array(values, chunks, ["numpy", "torch"])
        q, r = linalg.qr(mixed)
        assert {row.device for row in pd.placement(mixed).verify()} == {
            "numpy:cpu:0",
            "torch:cpu:0",
        }
        np.testing.assert_allclose(as_numpy(q) @ as_numpy(r), values, atol=1e-12)
    with pytest.raises(ValueError, match="one column of chunks"):
        linalg.qr(tiled(positive(1), "numpy"))


X, Y = pd.ones((6, 6), chunks=2), pd.ones((6, 4), chunks=2)
REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda: linalg.cholesky(Y), ValueError, r"square matrix, got shape \(6, 4\)"),
    (lambda: linalg.lu(pd.ones((6, 6), chunks=(2, 3))), ValueError, r"a\.rechunk"),
    (lambda: linalg.cholesky(X[0]), ValueError, r"a matrix, got shape \(6,\)"),
    (lambda: linalg.cholesky(np.eye(3)), TypeError, "ndarray of shape"),
    (lambda: linalg.cholesky(X.astype("int64")), TypeError, "unsupported dtype int64"),
    (lambda: linalg.cholesky(X, tiles=0), ValueError, "tiles must be .*, got 0"),
    (lambda: linalg.cholesky(X, engine="threads"), ValueError, "engine must be .*, got 'threads'"),
    (
        lambda: linalg.solve(X, Y.astype("float32")),
        TypeError,
        "dtype float64 and b has dtype float32",
    ),
    (lambda: linalg.solve(X, pd.ones(5, chunks=2)), ValueError, "as many rows"),
    (lambda: linalg.solve(X, pd.ones(6, chunks=3)), ValueError, r"b\.rechunk"),
    (lambda: linalg.solve(X, Y, assume_a="sym"), ValueError, "'gen' or 'pos'"),
    (lambda: linalg.matmul(X, pa.ones((6, 6))), TypeError, "must both be"),
    (lambda: linalg.matmul(X, pd.ones((6, 6), chunks=3)), ValueError, r"b\.rechunk"),
    (lambda: linalg.explain("qr", X), ValueError, "got 'qr'"),
]


@pytest.mark.parametrize(("call", "error", "said"), REFUSED)
def test_invalid_calls_are_refused(call: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call()


def test_every_public_name_is_on_its_page() -> None:
    page = ROOT / "docs" / "api" / "dask_linalg.md"
    if not page.is_file():
        pytest.skip("the documentation's source is not beside the tests")
    listed = [line.strip() for line in page.read_text("utf-8").splitlines() if line[:3] == "   "]
    assert sorted(x for x in listed if not x.startswith(":")) == sorted(linalg.__all__)
