"""The comparators accept correct results and find the smallest errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_compat.numpy as xp
import numpy as np
import pytest
from portarray_conformance import Target, compare
from portarray_conformance.compare import Call

INF, NAN = np.inf, np.nan
CALL = Call("f(x)", {"x": np.arange(2.0)})
TARGET = Target(label="numpy", xp=xp, library="numpy")
FLOATS = ("float32", "float64")
COMPLEXES = ("complex64", "complex128")


def fails(check: Callable[[], None], *messages: str) -> None:
    """Check that a comparator fails with a message that has these words."""
    with pytest.raises(AssertionError) as caught:
        check()
    assert str(caught.value).startswith("f(x): ")
    assert [word for word in messages if word not in str(caught.value)] == []


# same


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEXES])
def test_equal_values_are_the_same(dtype: str) -> None:
    x = np.array([0.0, -0.0, NAN, INF, -INF, 1.5], dtype=dtype)
    compare.same(TARGET, x, x.copy(), CALL)
    if dtype in COMPLEXES:
        y = x.copy()
        y.imag = x.real[::-1]
        compare.same(TARGET, y, y.copy(), CALL)


@pytest.mark.parametrize(
    ("got", "want"),
    [(0.0, -0.0), (-0.0, 0.0), (NAN, 1.0), (1.0, NAN), (INF, -INF), (1.0, INF), (1.5, 1.25)],
)
@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEXES])
def test_a_single_different_value_is_found(dtype: str, got: float, want: float) -> None:
    expected = np.array([1.0, want, 2.0], dtype=dtype)
    actual = np.array([1.0, got, 2.0], dtype=dtype)
    fails(lambda: compare.same(TARGET, actual, expected, CALL), "1 of 3", "(1,)", "x: float64 (2,)")
    if dtype in COMPLEXES:
        parts = expected.copy(), expected.copy()
        parts[0].imag, parts[1].imag = [0, got, 0], [0, want, 0]
        fails(lambda: compare.same(TARGET, parts[0], parts[1], CALL), "1 of 3")


def test_the_sign_of_zero_may_be_ignored() -> None:
    zeros = np.array([0.0, -0.0]), np.array([-0.0, 0.0])
    compare.same(TARGET, *zeros, CALL, signed_zeros=False)
    both = zeros[0] + 1j * zeros[1], zeros[1] + 1j * zeros[0]
    compare.same(TARGET, *both, CALL, signed_zeros=False)
    fails(lambda: compare.same(TARGET, np.ones(2), zeros[0], CALL, signed_zeros=False))


def test_dtype_shape_and_class_are_compared() -> None:
    x = np.arange(3)
    fails(lambda: compare.same(TARGET, x, x.astype("int32"), CALL), "int64", "int32")
    fails(lambda: compare.same(TARGET, x, x, CALL, dtype="int32"), "int64", "int32")
    fails(lambda: compare.same(TARGET, x[None], x, CALL), "(1, 3)", "(3,)")
    fails(lambda: compare.same(TARGET, x[:0], x[:0, None], CALL), "(0,)", "(0, 1)")
    fails(lambda: compare.same(TARGET, [0, 1, 2], x, CALL), "list")
    fails(lambda: compare.close(TARGET, [0.0], x[:1], CALL, dtype="float64", bound=1), "list")
    compare.same(TARGET, x.astype("int32"), x, CALL, dtype="int32")


# close


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("steps", [3, -3])
def test_close_counts_ulp(dtype: str, steps: int) -> None:
    want = np.array([1.5, 1e-20, -7e18], dtype=dtype)
    ulp_of_value = np.spacing(np.abs(want[1]))
    got = want.copy()
    got[1] += steps * ulp_of_value
    wide = want.astype(np.float64 if dtype == "float32" else np.longdouble)
    allowed = 1 if dtype == "float64" and compare.ulp.REFERENCE_ERROR else 0
    compare.close(TARGET, got, wide, CALL, dtype=dtype, bound=3)
    fails(
        lambda: compare.close(TARGET, got, wide, CALL, dtype=dtype, bound=2.9 - allowed),
        "1 of 3",
        "(1,)",
    )
    others = np.array([True, False, True])
    compare.close(TARGET, got, wide, CALL, dtype=dtype, bound=0, where=others)
    fails(lambda: compare.close(TARGET, got, wide, CALL, dtype=dtype, bound=1, where=~others))


@pytest.mark.parametrize("dtype", COMPLEXES)
@pytest.mark.parametrize("turn", [1, -1, 1j, -1j])
def test_close_counts_ulp_in_the_plane(dtype: str, turn: complex) -> None:
    want = np.array([3 + 4j], dtype=np.clongdouble)  # of magnitude 5
    ulp_of_value = 4 * float(np.finfo(dtype).eps)
    got = (want + 3 * ulp_of_value * turn).astype(dtype)
    compare.close(TARGET, got, want, CALL, dtype=dtype, bound=3)
    fails(lambda: compare.close(TARGET, got, want, CALL, dtype=dtype, bound=1.9), "1 of 1")


@pytest.mark.parametrize(("got", "want"), [(0.0, -0.0), (NAN, 1.0), (1.0, NAN), (INF, 1.0)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_no_bound_covers_another_kind_of_value(dtype: str, got: float, want: float) -> None:
    actual, expected = np.array([got], dtype=dtype), np.array([want], dtype=np.longdouble)
    fails(lambda: compare.close(TARGET, actual, expected, CALL, dtype=dtype, bound=1e6))
    if got == 0:
        compare.close(TARGET, actual, expected, CALL, dtype=dtype, bound=0, signed_zeros=False)


# within


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEXES])
@pytest.mark.parametrize("size", [1.0, 1e-3, 40.0])
def test_within_counts_epsilons_at_scale(dtype: str, size: float) -> None:
    want = np.array([[3.0, -2.0], [0.5, 0.25]], dtype=np.clongdouble if dtype[0] == "c" else "g")
    eps = float(np.finfo(dtype).eps)

    def judged(epsilons: float, scale: Any = size, turned: complex = 1) -> None:
        got = want.copy()
        got[1, 0] = 0.0
        exact = want.copy()
        exact[1, 0] = epsilons * eps * size * turned
        compare.within(TARGET, got.astype(dtype), exact, CALL, dtype=dtype, size=scale, bound=10)

    for sign in (1, -1):
        judged(9.99 * sign)
        fails(lambda sign=sign: judged(10.01 * sign), "1 of 4", "(1, 0)")
    if dtype[0] == "c":
        judged(9.99, turned=1j)
        fails(lambda: judged(10.01, turned=1j), "1 of 4")
    # A scale for each element holds for that element.
    scales = np.array([[1.0, 1.0], [size, 1.0]])
    judged(9.99, scales)
    scales[1, 0] /= 2
    fails(lambda: judged(9.99, scales), "1 of 4")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("got", "want"), [(NAN, 1.0), (1.0, NAN), (INF, 1.0), (1.0, INF), (INF, -INF), (NAN, INF)]
)
def test_within_no_distance_of_nan_and_infinity(dtype: str, got: float, want: float) -> None:
    actual, expected = np.array([1.0, got], dtype=dtype), np.array([1.0, want], dtype=np.longdouble)
    options: dict[str, Any] = {"dtype": dtype, "size": 1e30, "bound": 1e3}
    fails(lambda: compare.within(TARGET, actual, expected, CALL, **options), "1 of 2")
    fails(
        lambda: compare.within(TARGET, actual, expected, CALL, **options | {"size": INF}), "1 of 2"
    ) if np.isfinite(got) else None
    compare.within(TARGET, actual, actual.astype(np.longdouble), CALL, **options)


@pytest.mark.parametrize("dtype", FLOATS)
def test_within_the_smallest_normal_number(dtype: str) -> None:
    tiny = float(np.finfo(dtype).smallest_normal)
    options: dict[str, Any] = {"dtype": dtype, "size": 0.0, "bound": 1}
    zero = np.zeros(1, dtype=dtype)
    compare.within(TARGET, zero, np.array([tiny], dtype=np.longdouble), CALL, **options)
    fails(
        lambda: compare.within(
            TARGET, zero, np.array([2 * tiny], dtype=np.longdouble), CALL, **options
        )
    )


# raises


class OwnError(Exception):
    """An exception class of a library."""


def raising(error: BaseException) -> Callable[..., None]:
    def function(*arguments: object, **keywords: object) -> None:
        assert (arguments, keywords) == ((1,), {"axis": 2})
        raise error

    return function


REFUSALS = (TypeError, ValueError, IndexError, OverflowError, BufferError, RuntimeError)
NO_REFUSALS = (
    *(AttributeError, NotImplementedError, RecursionError, SystemError, AssertionError),
    *(MemoryError, KeyError, NameError, ZeroDivisionError, Warning, OwnError),
)


@pytest.mark.parametrize("kind", [*REFUSALS, np.exceptions.AxisError, np.linalg.LinAlgError])
def test_exceptions_that_count_as_refusals(kind: type[Exception]) -> None:
    compare.raises(raising(kind("no")), CALL, "the rule", 1, axis=2)


@pytest.mark.parametrize("kind", NO_REFUSALS)
def test_exceptions_that_do_not_count_as_refusals(kind: type[Exception]) -> None:
    error = kind("it broke")
    fails(
        lambda: compare.raises(raising(error), CALL, "the rule", 1, axis=2),
        kind.__name__,
        "it broke",
        "the rule",
    )
    if kind is not NotImplementedError and kind is not RecursionError:
        compare.raises(raising(error), CALL, "the rule", 1, axis=2, also=(kind,))


def test_no_exception_is_a_failure() -> None:
    fails(lambda: compare.raises(lambda x: x + 1, CALL, "the rule", 1), "got 2", "the rule")
    with pytest.raises(KeyboardInterrupt):
        compare.raises(raising(KeyboardInterrupt()), CALL, "the rule", 1, axis=2)
