"""Behaviour beyond the standard that programs for NumPy, SciPy and scikit-learn need."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import portarray as pa


def test_shapes_as_lists_and_integers(device: str) -> None:
    assert pa.zeros([2, 3], device=device).shape == (2, 3)
    assert pa.ones(3, device=device).shape == (3,)
    assert pa.empty((np.int64(2), 3), device=device).shape == (2, 3)
    assert pa.full([2], 1.0, device=device).shape == (2,)
    x = pa.ones((2, 3), device=device)
    assert pa.reshape(x, [3, -1]).shape == (3, 2)
    assert pa.reshape(x, -1).shape == (6,)
    assert pa.broadcast_to(x, [4, 2, 3]).shape == (4, 2, 3)
    assert pa.tile(x, [2, 1]).shape == (4, 3)
    assert pa.tile(x, 2).shape == (2, 6)
    assert pa.sum(x, axis=[0, 1]).shape == ()
    assert pa.flip(x, axis=[0, 1]).shape == (2, 3)
    assert pa.squeeze(pa.ones((1, 2, 1), device=device), [0, 2]).shape == (2,)


def test_full_with_an_array(device: str) -> None:
    value = pa.asarray(2, dtype=pa.float32, device=device)
    x = pa.full((2,), value, device=device)
    assert (x.dtype, x.tolist()) == (pa.float32, [2.0, 2.0])
    assert pa.full_like(x, pa.asarray(3, device=device)).tolist() == [3.0, 3.0]
    info = pa.__array_namespace_info__().default_dtypes(device=device)
    assert pa.full((), np.float32(1.5), device=device).dtype == info["real floating"]
    with pytest.raises(TypeError, match="must be a number"):
        pa.full((2,), pa.ones(2, device=device), device=device)
    with pytest.raises(TypeError, match="must be a number"):
        pa.full((2,), "a", device=device)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, "bool"),
        (1, "signed integer"),
        (1.0, "real floating"),
        (1j, "complex floating"),
    ],
)
def test_full_infers_its_dtype(device: str, value: Any, kind: str) -> None:
    assert pa.isdtype(pa.full((1,), value, device=device).dtype, kind)


def test_full_refuses_values_out_of_range_of_the_dtype(device: str) -> None:
    x = pa.zeros(2, dtype=pa.uint8, device=device)
    with pytest.raises(OverflowError, match=r"300 does not fit uint8 \(0 to 255\)"):
        pa.full((2,), 300, dtype=pa.uint8, device=device)
    with pytest.raises(OverflowError, match="-1 does not fit uint8"):
        pa.full_like(x, -1)
    with pytest.raises(OverflowError, match="nan does not fit uint8"):
        pa.full_like(x, math.nan)
    with pytest.raises(TypeError, match="is complex, and the dtype is float32"):
        pa.full((2,), 1j, dtype=pa.float32, device=device)


def test_likes_stay_on_their_device(device: str) -> None:
    x = pa.asarray([1, 2], device=device)
    for y in (pa.zeros_like(x), pa.ones_like(x), pa.empty_like(x), pa.full_like(x, 3)):
        assert (y.device, y.dtype, y.shape) == (x.device, x.dtype, x.shape)
    for y in (
        pa.zeros_like(x, device="numpy"),
        pa.ones_like(x, device="numpy"),
        pa.empty_like(x, device="numpy"),
        pa.full_like(x, 3, device="numpy"),
    ):
        assert (str(y.device), y.dtype, y.shape) == ("numpy:cpu:0", x.dtype, x.shape)
    assert pa.zeros_like(x, dtype=pa.float32).dtype == pa.float32


def test_default_dtypes_of_ranges(device: str) -> None:
    info = pa.__array_namespace_info__().default_dtypes(device=device)
    assert pa.arange(3, device=device).dtype == info["integral"]
    assert pa.arange(3.0, device=device).dtype == info["real floating"]
    assert pa.arange(0, 3, 0.5, device=device).dtype == info["real floating"]
    assert pa.linspace(0, 1, 3, device=device).dtype == info["real floating"]
    assert pa.linspace(0, 1j, 3, device=device).dtype == info["complex floating"]
    assert pa.arange(np.int32(3), device=device).tolist() == [0, 1, 2]
    assert pa.arange(pa.asarray(3, device=device), device=device).tolist() == [0, 1, 2]
    assert pa.arange(3, 0, device=device).shape == (0,)


def test_logspace(device: str) -> None:
    assert pa.logspace(0, 2, 3, device=device).tolist() == pytest.approx([1, 10, 100])
    assert pa.logspace(0, 2, num=2, endpoint=False, base=4, device=device).tolist() == [1, 4]
    assert pa.logspace(0, 1, device=device).shape == (50,)
    assert pa.logspace(0, 1, 2, dtype=pa.float32, device=device).dtype == pa.float32


def test_booleans_and_integers_in_statistics(device: str) -> None:
    info = pa.__array_namespace_info__().default_dtypes(device=device)
    yes = pa.asarray([True, False, True], device=device)
    for function in (pa.sum, pa.prod, pa.cumulative_sum, pa.cumulative_prod):
        assert function(yes).dtype == info["integral"]
    assert int(pa.sum(yes)) == 2
    whole = pa.asarray([1, 2, 6], dtype=pa.int16, device=device)
    for x in (yes, whole):
        for function in (pa.mean, pa.std, pa.var):
            assert function(x).dtype == info["real floating"]
    assert float(pa.mean(whole)) == 3.0
    assert float(pa.var(whole, correction=1)) == 7.0


def test_booleans_have_an_order(device: str) -> None:
    x = pa.asarray([True, False, True], device=device)
    assert pa.max(x).dtype == pa.bool
    assert (bool(pa.max(x)), bool(pa.min(x))) == (True, False)
    assert (int(pa.argmax(x)), int(pa.argmin(x))) == (0, 1)
    assert pa.sort(x).tolist() == [False, True, True]
    assert pa.argsort(x).tolist() == [1, 0, 2]
    assert pa.searchsorted(pa.sort(x), x).tolist() == [1, 0, 1]
    assert sorted(pa.unique_values(x).tolist()) == [False, True]
    assert pa.diff(x).tolist() == [True, True]


def test_linear_algebra_of_integers(device: str) -> None:
    info = pa.__array_namespace_info__().default_dtypes(device=device)
    x = pa.asarray([[2, 1], [1, 3]], device=device)
    for name in ("det", "inv", "cholesky", "eigvalsh", "svdvals", "pinv", "matrix_norm"):
        assert getattr(pa.linalg, name)(x).dtype == info["real floating"], name
    for name in ("eigh", "qr", "slogdet", "svd"):
        assert all(y.dtype == info["real floating"] for y in getattr(pa.linalg, name)(x)), name
    assert pa.linalg.eigvals(x).dtype == info["complex floating"]
    assert pa.linalg.solve(x, x[0, :]).dtype == info["real floating"]
    assert pa.linalg.matrix_power(x, -1).dtype == info["real floating"]
    assert pa.linalg.matrix_power(x, 2).tolist() == [[5, 5], [5, 10]]
    assert pa.matmul(x, x).dtype == x.dtype
    assert pa.fft.fft(x).dtype == info["complex floating"]


def test_named_results(device: str) -> None:
    x = pa.asarray([[2.0, 1.0], [1.0, 3.0]], device=device)
    fields = {
        "eig": ("eigenvalues", "eigenvectors"),
        "eigh": ("eigenvalues", "eigenvectors"),
        "qr": ("Q", "R"),
        "slogdet": ("sign", "logabsdet"),
        "svd": ("U", "S", "Vh"),
    }
    for name, expected in fields.items():
        result = getattr(pa.linalg, name)(x)
        assert result._fields == expected
        assert all(isinstance(part, pa.Array) for part in result)
    assert pa.unique_all(x)._fields == ("values", "indices", "inverse_indices", "counts")
    assert pa.unique_counts(x)._fields == ("values", "counts")
    assert pa.unique_inverse(x)._fields == ("values", "inverse_indices")


def test_scalars_where_arrays_could_be(device: str) -> None:
    x = pa.asarray([1, 5, 3], device=device)
    yes = x > 2
    assert pa.where(yes, x, 0).tolist() == [0, 5, 3]
    assert pa.where(yes, 1.0, x).dtype == pa.where(yes, 1.0, 0.0).dtype
    assert pa.where(yes, 1, 0).tolist() == [0, 1, 1]
    assert pa.where(yes, 1, 0).device == x.device
    assert pa.isin(x, 5).tolist() == [False, True, False]
    assert pa.isin(5, x).shape == ()
    assert int(pa.searchsorted(pa.sort(x), 4)) == 2
    assert pa.searchsorted(x, x, sorter=pa.argsort(x)).tolist() == [0, 2, 1]


def test_mixed_dtypes_promote(device: str) -> None:
    narrow = pa.asarray([1, 2], dtype=pa.int32, device=device)
    real = pa.asarray([0.5, 1.5], dtype=pa.float32, device=device)
    for y in (
        pa.concat([narrow, real]),
        pa.stack([narrow, real]),
        pa.where(real > 1, narrow, real),
        pa.matmul(narrow, real),
        pa.vecdot(narrow, real),
        pa.tensordot(narrow, real, axes=1),
        pa.linalg.outer(narrow, real),
        pa.diff(narrow, prepend=real),
    ):
        assert y.dtype == pa.float32
    assert pa.searchsorted(narrow, real).tolist() == [0, 1]
    assert pa.isin(narrow, real).tolist() == [False, False]


def test_diff_joins_first(device: str) -> None:
    x = pa.asarray([1, 4, 9], device=device)
    zero = pa.asarray([0], device=device)
    assert pa.diff(x, prepend=zero, append=zero).tolist() == [1, 3, 5, -9]
    assert pa.diff(x, n=0, prepend=zero).tolist() == [0, 1, 4, 9]
    assert pa.diff(x, n=5).shape == (0,)


def test_roll_adds_up_shifts(device: str) -> None:
    x = pa.asarray([1, 2, 3, 4], device=device)
    assert pa.roll(x, (1, 1), axis=(0, 0)).tolist() == [3, 4, 1, 2]
    assert pa.roll(x, [1], axis=[0]).tolist() == [4, 1, 2, 3]
    with pytest.raises(ValueError, match="one shift, or one for each axis"):
        pa.roll(x, (1, 2, 3), axis=(0, 0))


def test_sizes_of_transforms_without_axes(device: str) -> None:
    x = pa.ones((2, 3, 4), device=device)
    assert pa.fft.fftn(x, s=[5, 6]).shape == (2, 5, 6)
    with pytest.raises(ValueError, match="must have the same length"):
        pa.fft.fftn(x, s=(5, 6), axes=(0,))


def test_eye_beyond_the_corners(device: str) -> None:
    assert not pa.any(pa.eye(2, 3, k=10**30, device=device))
    assert not pa.any(pa.eye(2, 3, k=-(10**30), device=device))
    assert pa.eye(2, 3, k=1, device=device).tolist() == [[0, 1, 0], [0, 0, 1]]


def test_astype(device: str) -> None:
    x = pa.asarray([0.0, 2.5], device=device)
    assert pa.astype(x, x.dtype, copy=False) is x
    assert pa.astype(x, x.dtype) is not x
    assert pa.astype(x, "int32").tolist() == [0, 2]
    moved = pa.astype(x, pa.float32, device="numpy")
    assert (str(moved.device), moved.dtype) == ("numpy:cpu:0", pa.float32)
    z = pa.asarray([0j, 1j], device=device)
    assert pa.astype(z, pa.bool).tolist() == [False, True]
    with pytest.raises(TypeError, match="loses the imaginary part"):
        pa.astype(z, pa.float64)


def test_limits_are_python_numbers() -> None:
    info = pa.finfo(pa.complex64)
    assert (info.bits, info.dtype) == (32, pa.float32)
    for field in ("eps", "max", "min", "smallest_normal"):
        assert type(getattr(info, field)) is float
    assert type(pa.iinfo(pa.uint64).max) is int
    assert pa.iinfo(pa.uint64).max == 2**64 - 1


def test_promotion_questions(device: str) -> None:
    info = pa.__array_namespace_info__().default_dtypes(device=device)
    x = pa.asarray([1], device=device)
    assert pa.result_type(x, 1.0) == info["real floating"]
    assert pa.result_type(x, True) == x.dtype
    assert pa.result_type(pa.int64, pa.float32) == pa.float32
    assert pa.result_type(pa.float32, 1j) == pa.complex64
    assert pa.can_cast(pa.int8, pa.int16)
    assert not pa.can_cast(pa.uint64, pa.int64)
    assert not pa.can_cast(x, pa.bool)
    assert pa.isdtype(pa.float32, ("integral", "real floating"))
    assert not pa.isdtype(pa.bool, "numeric")
    assert pa.isdtype(pa.float32, pa.float32)


def test_promotion_on_devices_with_fewer_dtypes(no64bit: str) -> None:
    x = pa.asarray([1], dtype=pa.int32, device=no64bit)
    assert pa.result_type(x, 1.0) == pa.float32
    assert not pa.can_cast(x, pa.float64)
    assert pa.mean(x).dtype == pa.float32
    assert pa.sum(pa.asarray([True], device=no64bit)).dtype == pa.int32
    assert pa.arange(3, device=no64bit).dtype == pa.int32
    assert pa.fft.fftfreq(3, device=no64bit).dtype == pa.float32
