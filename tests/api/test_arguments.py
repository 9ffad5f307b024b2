"""Wrong arguments: one error on every device, with the value, the rule and the fix.

What portarray refuses before any backend is asked is tested on one device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from numpy.exceptions import AxisError

import portarray as pa

ALONG_ONE_AXIS: dict[str, Callable[[Any, int], Any]] = {
    "argmax": lambda x, axis: pa.argmax(x, axis=axis),
    "argmin": lambda x, axis: pa.argmin(x, axis=axis),
    "argsort": lambda x, axis: pa.argsort(x, axis=axis),
    "concat": lambda x, axis: pa.concat([x, x], axis=axis),
    "cumulative_prod": lambda x, axis: pa.cumulative_prod(x, axis=axis),
    "cumulative_sum": lambda x, axis: pa.cumulative_sum(x, axis=axis),
    "diff": lambda x, axis: pa.diff(x, axis=axis),
    "flip": lambda x, axis: pa.flip(x, axis=axis),
    "moveaxis": lambda x, axis: pa.moveaxis(x, axis, 0),
    "repeat": lambda x, axis: pa.repeat(x, 2, axis=axis),
    "roll": lambda x, axis: pa.roll(x, 1, axis=axis),
    "sort": lambda x, axis: pa.sort(x, axis=axis),
    "squeeze": lambda x, axis: pa.squeeze(x, axis),
    "take": lambda x, axis: pa.take(x, pa.asarray([0], device=x.device), axis=axis),
    "unstack": lambda x, axis: pa.unstack(x, axis=axis),
    "vecdot": lambda x, axis: pa.vecdot(x, x, axis=axis),
    "fft": lambda x, axis: pa.fft.fft(x, axis=axis),
    "fftn": lambda x, axis: pa.fft.fftn(x, axes=(axis,)),
    "fftshift": lambda x, axis: pa.fft.fftshift(x, axes=axis),
    "vector_norm": lambda x, axis: pa.linalg.vector_norm(x, axis=axis),
}
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "all": pa.all,
    "any": pa.any,
    "count_nonzero": pa.count_nonzero,
    "max": pa.max,
    "mean": pa.mean,
    "min": pa.min,
    "prod": pa.prod,
    "std": pa.std,
    "sum": pa.sum,
    "var": pa.var,
}


@pytest.mark.one_device
@pytest.mark.parametrize("name", ALONG_ONE_AXIS)
@pytest.mark.parametrize("axis", [2, -3])
def test_axis_out_of_range(device: str, name: str, axis: int) -> None:
    x = pa.ones((2, 3), device=device)
    with pytest.raises(AxisError, match=rf"(?s)axis {axis} is out of bounds for 2 axes.*-2 to 1"):
        ALONG_ONE_AXIS[name](x, axis)


@pytest.mark.one_device
@pytest.mark.parametrize("name", ALONG_ONE_AXIS)
def test_axis_of_zero_dimensional_array(device: str, name: str) -> None:
    with pytest.raises(AxisError, match="0-d array has no axes"):
        ALONG_ONE_AXIS[name](pa.asarray(1.0, device=device), 0)


def test_reductions_take_lists_of_axes(device: str) -> None:
    x = pa.ones((2, 3), device=device)
    zero_dimensional = pa.asarray(1.0, device=device)
    for reduce in REDUCTIONS.values():
        assert reduce(x, axis=[0, 1]).shape == ()
        assert reduce(x, axis=(0, 1), keepdims=True).shape == (1, 1)
        assert reduce(zero_dimensional, axis=()).shape == ()


@pytest.mark.one_device
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction_axes(device: str, name: str) -> None:
    x = pa.ones((2, 3), device=device)
    reduce = REDUCTIONS[name]
    with pytest.raises(IndexError):
        reduce(x, axis=2)
    with pytest.raises(AxisError, match="axis 5 is out of bounds"):
        reduce(x, axis=(0, 5))
    with pytest.raises(ValueError, match="repeats an axis"):
        reduce(x, axis=(1, -1))
    with pytest.raises(AxisError, match="a 0-d array has no axes"):
        reduce(pa.asarray(1.0, device=device), axis=0)


@pytest.mark.one_device
def test_axis_must_be_an_integer(device: str) -> None:
    with pytest.raises(TypeError, match=r"axis must be an integer, not 1\.0"):
        pa.sort(pa.ones((2, 2), device=device), axis=1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("function", [pa.concat, pa.stack])
def test_joining_nothing(function: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="expected at least one array"):
        function([])


def test_axes_of_new_arrays(device: str) -> None:
    x = pa.ones((2, 3), device=device)
    assert pa.stack([x, x], axis=-1).shape == (2, 3, 2)
    assert pa.expand_dims(x, [0, -1]).shape == (1, 2, 3, 1)
    with pytest.raises(AxisError, match="axis 3 is out of bounds for 3 axes"):
        pa.stack([x, x], axis=3)
    with pytest.raises(AxisError, match="axis 4 is out of bounds for 4 axes"):
        pa.expand_dims(x, (0, 4))
    with pytest.raises(ValueError, match="repeats an axis"):
        pa.expand_dims(x, (0, -4))


def test_permutations(device: str) -> None:
    x = pa.ones((2, 3, 4), device=device)
    assert pa.permute_dims(x, [2, 0, -2]).shape == (4, 2, 3)
    with pytest.raises(ValueError, match="must list each of"):
        pa.permute_dims(x, (0, 1))
    with pytest.raises(ValueError, match="repeats an axis"):
        pa.permute_dims(x, (0, 1, 1))
    with pytest.raises(ValueError, match="must have the same length"):
        pa.moveaxis(x, (0, 1), 0)


@pytest.mark.one_device
@pytest.mark.parametrize("function", [pa.empty, pa.ones, pa.zeros])
def test_wrong_shapes(device: str, function: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"shape must not have negative sizes, got \(2, -1\)"):
        function((2, -1), device=device)
    with pytest.raises(TypeError, match="must be an integer or a tuple of integers"):
        function((2, 1.5), device=device)
    with pytest.raises(TypeError, match="must be an integer or a tuple of integers"):
        function(2.0, device=device)


@pytest.mark.one_device
def test_wrong_sizes(device: str) -> None:
    x = pa.ones(3, device=device)
    for call in (
        lambda: pa.eye(-1, device=device),
        lambda: pa.linspace(0, 1, -1, device=device),
        lambda: pa.repeat(x, -1),
        lambda: pa.tile(x, (2, -1)),
        lambda: pa.diff(x, n=-1),
        lambda: pa.tensordot(x, x, axes=-1),
    ):
        with pytest.raises(ValueError, match="not be negative"):
            call()
    with pytest.raises(ValueError, match="one size may be -1, and none less"):
        pa.reshape(x, (-1, -1))
    with pytest.raises(ValueError, match="step must not be zero"):
        pa.arange(0, 3, 0, device=device)
    with pytest.raises(ValueError, match="exceeds the number of axes"):
        pa.tensordot(x, x, axes=2)


@pytest.mark.one_device
def test_unknown_names(device: str) -> None:
    x = pa.eye(2, device=device)
    for call in (
        lambda: pa.searchsorted(x[0], x[1], side="middle"),  # type: ignore[arg-type]
        lambda: pa.meshgrid(x[0], indexing="yx"),  # type: ignore[arg-type]
        lambda: pa.linalg.qr(x, mode="full"),  # type: ignore[arg-type]
        lambda: pa.linalg.matrix_norm(x, ord=3),
        lambda: pa.fft.fft(x, norm="unitary"),  # type: ignore[arg-type]
        lambda: pa.fft.fftn(x, norm="unitary"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match="must be one of "):
            call()
    with pytest.raises(ValueError, match=r"unknown kind .*; use one of bool, signed integer"):
        pa.isdtype(x.dtype, "floating")


@pytest.mark.one_device
@pytest.mark.parametrize(
    "function",
    [
        pa.matrix_transpose,
        pa.tril,
        pa.triu,
        pa.linalg.diagonal,
        pa.linalg.matrix_norm,
        pa.linalg.matrix_rank,
        pa.linalg.pinv,
        pa.linalg.qr,
        pa.linalg.svd,
        pa.linalg.svdvals,
        pa.linalg.trace,
    ],
)
def test_matrices_are_due(device: str, function: Callable[..., Any]) -> None:
    with pytest.raises(
        ValueError,
        match=r"expected matrices of shape .*, got shape \(3,\)",
    ):
        function(pa.ones(3, device=device))


def test_square_matrices_are_due(device: str) -> None:
    names = ("cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "slogdet")
    for name in names:  # the libraries say so
        with pytest.raises(ValueError):
            getattr(pa.linalg, name)(pa.ones((2, 3), device=device))


@pytest.mark.one_device
def test_vectors_are_due(device: str) -> None:
    x = pa.ones((2, 3), device=device)
    with pytest.raises(ValueError, match="outer: expected 1-d arrays, got shape"):
        pa.linalg.outer(x, x[0, :])
    with pytest.raises(ValueError, match="x1 must have one axis"):
        pa.searchsorted(x, x)
    for size in (1, 4):
        with pytest.raises(ValueError, match=r"must have the shape of x1, \(3,\)"):
            pa.searchsorted(x[0, :], x, sorter=pa.arange(size, device=device))
    with pytest.raises(ValueError, match="must have 3"):
        pa.linalg.cross(x, x, axis=-2)
    with pytest.raises(ValueError, match="expected 1-d arrays"):
        pa.meshgrid(x)
    with pytest.raises(ValueError, match="0-d array"):
        pa.nonzero(pa.asarray(1, device=device))


@pytest.mark.one_device
@pytest.mark.parametrize("function", [pa.cumulative_sum, pa.cumulative_prod])
def test_running_needs_an_axis(device: str, function: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="axis is required for an array of 2 axes"):
        function(pa.ones((2, 2), device=device))
    with pytest.raises(ValueError, match="a 0-d array has none"):
        function(pa.asarray(1.0, device=device))


@pytest.mark.one_device
def test_take_needs_an_axis(device: str) -> None:
    x = pa.ones((2, 2), device=device)
    with pytest.raises(ValueError, match="axis is required"):
        pa.take(x, pa.asarray([0], device=device))
    with pytest.raises(ValueError, match="numbers must be equal"):
        pa.take_along_axis(x, pa.asarray([0], device=device))


def test_shapes_that_do_not_broadcast() -> None:
    assert pa.broadcast_shapes() == ()
    assert pa.broadcast_shapes((3, 1), (1, 4), (4,)) == (3, 4)
    assert pa.broadcast_shapes((0,), (1,)) == (0,)
    with pytest.raises(ValueError, match="sizes 3 and 4 differ, and neither is 1"):
        pa.broadcast_shapes((3,), (2, 4))


@pytest.mark.parametrize(
    "function",
    [pa.sum, pa.sort, pa.reshape, pa.linalg.inv, pa.unique_all, pa.zeros_like, pa.fft.fft],
)
def test_lists_are_no_arrays(function: Callable[..., Any]) -> None:
    args = ((1,),) if function is pa.reshape else ()
    with pytest.raises(TypeError, match=r"got list\nHint: make an array of it first: pa\.asarray"):
        function([1.0], *args)


@pytest.mark.one_device
@pytest.mark.parametrize(
    "function", [pa.matmul, pa.tensordot, pa.vecdot, pa.linalg.outer, pa.linalg.solve]
)
def test_second_operands_that_are_lists(device: str, function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"got list\nHint: make an array of it first: pa\.asarray"):
        function(pa.ones(3, device=device), [1.0, 2.0, 3.0])


@pytest.mark.one_device
def test_where_wants_a_boolean_condition(device: str) -> None:
    x = pa.asarray([0, 1], device=device)
    with pytest.raises(TypeError, match=r"(?s)must be boolean.*compare it first, as in x != 0"):
        pa.where(x, x, x)


def test_complex_numbers_have_no_order(device: str) -> None:
    x = pa.asarray([1j, 2.0], device=device)
    for function in (pa.sort, pa.argsort, pa.max, pa.min, pa.argmax, pa.argmin):
        with pytest.raises(TypeError, match="complex"):
            function(x)


@pytest.mark.one_device
def test_dtypes_of_frequencies(device: str) -> None:
    with pytest.raises(TypeError, match="real floating-point"):
        pa.fft.fftfreq(4, dtype=pa.int64, device=device)
    with pytest.raises(ValueError, match="n must not be 0"):
        pa.fft.fftfreq(0, device=device)


def test_limits_of_the_wrong_kind() -> None:
    with pytest.raises(TypeError, match="use iinfo for integers"):
        pa.finfo(pa.int8)
    with pytest.raises(TypeError, match="use finfo for floating-point"):
        pa.iinfo(pa.float32)
    with pytest.raises(ValueError, match="at least one array, dtype or scalar"):
        pa.result_type()
    with pytest.raises(TypeError, match="uint64"):
        pa.result_type(pa.uint64, pa.int8)


@pytest.mark.one_device
def test_sizes_below_minus_one(device: str) -> None:
    with pytest.raises(ValueError, match="one size may be -1, and none less"):
        pa.reshape(pa.ones(3, device=device), (-2,))


@pytest.mark.one_device
def test_indices_are_integers(device: str) -> None:
    x = pa.ones(3, device=device)
    for wrong in (x, x > 0):
        for call in (
            lambda: pa.take(x, wrong),  # noqa: B023  (called at once)
            lambda: pa.take_along_axis(x, wrong),  # noqa: B023
            lambda: pa.repeat(x, wrong),  # noqa: B023
            lambda: pa.searchsorted(x, x, sorter=wrong),  # noqa: B023
        ):
            with pytest.raises(TypeError, match="must have an integer dtype"):
                call()


@pytest.mark.one_device
def test_joined_arrays_have_equally_many_axes(device: str) -> None:
    with pytest.raises(ValueError, match="concat: arrays have 1, 2 axes"):
        pa.concat([pa.ones(0, device=device), pa.ones((2, 0), device=device)])


@pytest.mark.one_device
def test_sums_are_numbers(device: str) -> None:
    x = pa.ones(3, device=device)
    for function in (pa.sum, pa.prod, pa.cumulative_sum, pa.cumulative_prod):
        with pytest.raises(TypeError, match="unsupported dtype bool"):
            function(x, dtype=pa.bool)
    with pytest.raises(TypeError, match="unsupported dtype bool"):
        pa.linalg.trace(pa.eye(2, device=device), dtype=pa.bool)


def test_ranges_are_of_finite_real_numbers(device: str) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        pa.arange(0, float("inf"), device=device)
    with pytest.raises(TypeError, match="unsupported dtype bool"):
        pa.arange(3, dtype=pa.bool, device=device)
    with pytest.raises(TypeError, match="must be a real number"):
        pa.arange(1j, device=device)  # type: ignore[arg-type]
    assert pa.arange(3, dtype=pa.complex64, device=device).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="use a complex dtype"):
        pa.linspace(0, 1j, 3, dtype=pa.float32, device=device)


def test_integers_too_large_for_the_default(device: str) -> None:
    with pytest.raises(OverflowError, match="does not fit int64"):
        pa.full((2,), 2**63, device=device)
    assert pa.full((1,), 2**70, dtype=pa.float32, device=device).tolist() == [2.0**70]
    assert pa.full((1,), 2**63, dtype=pa.uint64, device=device).tolist() == [2**63]


@pytest.mark.one_device
def test_transforms_of_zero_dimensional_arrays(device: str) -> None:
    with pytest.raises(AxisError, match="no axes to transform"):
        pa.fft.fftn(pa.asarray(1.0, device=device))


def test_empty_matrices_and_sets(device: str) -> None:
    assert int(pa.linalg.matrix_rank(pa.ones((2, 0), device=device))) == 0
    assert pa.unique_values(pa.asarray([3, 1, 2, 1], device=device)).tolist() == [1, 2, 3]
    assert pa.unique_values(pa.asarray([float("nan")] * 2, device=device)).shape == (2,)


def test_powers_that_change_the_dtype_after_powers_that_keep_it(device: str) -> None:
    x = pa.asarray([[2, 0], [0, 4]], device=device)
    assert pa.linalg.matrix_power(x, 2).dtype == x.dtype
    inverse = pa.linalg.matrix_power(x, -1)
    assert (inverse.dtype.kind, inverse.tolist()) == ("f", [[0.5, 0], [0, 0.25]])


@pytest.mark.one_device
def test_functions_of_real_numbers_refuse_complex_ones(device: str) -> None:
    x = pa.ones((2, 4), dtype="complex64", device=device)
    for call in (
        pa.fft.rfft,
        pa.fft.rfftn,
        pa.fft.ihfft,
        pa.max,
        pa.argmin,
        pa.sort,
        pa.std,
        pa.signbit,
        lambda x: pa.atan2(x, x),
        lambda x: pa.less(x, x),
        lambda x: pa.minimum(x, x),
        lambda x: pa.floor_divide(x, x),
        lambda x: pa.logaddexp(x, x),
    ):
        with pytest.raises(TypeError, match="unsupported dtype complex64"):
            call(x)
