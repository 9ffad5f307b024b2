"""Special values and accuracy that PyTorch's functions get wrong."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from portarray._dispatch import native_functions  # noqa: E402
from portarray.backends import registry  # noqa: E402

xp = native_functions.NativeFunctions(registry.load_backend("torch"), torch.device("cpu")).namespace

INF, NAN = float("inf"), float("nan")
REAL = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e-310, -1e308, INF, -INF, NAN]
COMPLEX = [
    complex(a, b) for a, b in itertools.product([0.0, -0.0, 1.0, -2.5, INF, -INF, NAN], repeat=2)
]


def same(got: Any, expected: np.ndarray[Any, Any], *, rtol: float = 0.0) -> None:
    got = got.numpy()
    parts = (
        [(got.real, expected.real), (got.imag, expected.imag)]
        if np.iscomplexobj(got)
        else [(got, expected)]
    )
    for a, b in parts:
        np.testing.assert_allclose(a, b, rtol=rtol, atol=0)
        zero = b == 0
        np.testing.assert_array_equal(np.signbit(a)[zero], np.signbit(b)[zero])


def grid(values: list[Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    x1, x2 = np.broadcast_arrays(np.array(values)[:, None], np.array(values))
    return x1.copy(), x2.copy()


@pytest.mark.parametrize("name", ["add", "subtract"])
def test_complex_sums_keep_infinities(name: str) -> None:
    x1, x2 = grid(COMPLEX)
    with np.errstate(invalid="ignore"):
        expected = getattr(np, name)(x1, x2)
    same(getattr(xp, name)(torch.from_numpy(x1), torch.from_numpy(x2)), expected)


@pytest.mark.parametrize("name", ["negative", "sign"])
def test_complex_signs(name: str) -> None:
    z = np.array(COMPLEX)
    # NumPy's own sign of a number that is half NaN depends on its release.
    z = z[~np.isnan(z)] if name == "sign" else z
    with np.errstate(invalid="ignore"):
        expected = getattr(np, name)(z)
    if name == "sign":
        # NumPy's own is 0+1j for every -2.5+infj, whatever the sign of the finite part.
        for got, part in ((expected.real, z.real), (expected.imag, z.imag)):
            got[:] = np.where((got == 0) & (z != 0), np.copysign(got, part), got)
    same(getattr(xp, name)(torch.from_numpy(z)), expected, rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_remainders_are_exact(dtype: str, data: st.DataObject) -> None:
    finite = st.floats(width=np.dtype(dtype).itemsize * 8, allow_nan=False, allow_infinity=False)
    pairs = data.draw(st.lists(st.tuples(finite, finite), min_size=8, max_size=8))
    x1, x2 = np.array(pairs, dtype=dtype).T.copy()
    with np.errstate(all="ignore"):
        expected = np.remainder(x1, x2)
    same(xp.remainder(torch.from_numpy(x1), torch.from_numpy(x2)), expected)


def test_floor_division_of_special_values() -> None:
    x1, x2 = grid(REAL)
    with np.errstate(all="ignore"):
        expected = np.where(np.isinf(x1) | np.isinf(x2), x1 / x2, np.floor_divide(x1, x2))
    same(xp.floor_divide(torch.from_numpy(x1), torch.from_numpy(x2)), expected)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_integer_division_never_kills(dtype: str) -> None:
    limits = np.iinfo(dtype)
    x1, x2 = grid([limits.min, limits.min + 1, limits.max, 0, 1, -1 if limits.min else 1, 3])
    x1, x2 = x1.astype(dtype), x2.astype(dtype)
    with np.errstate(all="ignore"):
        quotient, remainder = np.floor_divide(x1, x2), np.remainder(x1, x2)
    same(xp.floor_divide(torch.from_numpy(x1), torch.from_numpy(x2)), quotient)
    same(xp.remainder(torch.from_numpy(x1), torch.from_numpy(x2)), remainder)


def test_powers_with_a_scalar_are_powers_and_no_roots() -> None:
    x = torch.tensor([-INF, -0.0, 0.0, 4.0], dtype=torch.float64)
    same(xp.pow(x, 0.5), np.array([INF, 0.0, 0.0, 2.0]))
    same(xp.pow(x, -0.5), np.array([0.0, INF, INF, 0.5]))


def test_powers_of_zero() -> None:
    zero = torch.zeros(3, dtype=torch.complex128)
    assert xp.pow(zero, torch.tensor([0, 1, 1 + 1j], dtype=torch.complex128)).tolist() == [1, 0, 0]
    with pytest.raises(ValueError, match="negative powers"):
        xp.pow(torch.tensor([2]), torch.tensor([-1]))


@pytest.mark.parametrize("name", ["log1p", "expm1", "acos", "asin", "tanh"])
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_complex_accuracy(name: str, data: st.DataObject) -> None:
    numpy_name = {"acos": "arccos", "asin": "arcsin"}.get(name, name)
    reach = 0.3 if name == "log1p" else 3
    part = st.floats(-reach, reach, allow_subnormal=False)
    z = np.array([data.draw(st.builds(complex, part, part))])
    got = getattr(xp, name)(torch.from_numpy(z)).numpy()
    wide = z.astype(np.clongdouble)
    expected = getattr(np, numpy_name)(wide).astype(complex)
    if name == "log1p":
        # NumPy's own real part loses digits near 0.
        modulus = np.log1p(wide.real * (2 + wide.real) + wide.imag**2) / 2
        expected = modulus.astype(float) + 1j * expected.imag
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-300)


def test_searches_know_that_nan_sorts_last() -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        values = torch.tensor([-INF, -1, -0.0, 2, INF, NAN, NAN], dtype=dtype)
        sought = torch.tensor([NAN, INF, 3, 0.0, -2], dtype=dtype)
        assert xp.searchsorted(values, sought).tolist() == [5, 4, 4, 2, 1]
        assert xp.searchsorted(values, sought, side="right").tolist() == [7, 5, 4, 3, 1]


def test_unused_degrees_of_freedom_do_not_warn() -> None:
    x = torch.tensor([[1.0, 2.0, 4.0]], dtype=torch.float64)
    assert xp.std(x, correction=0.5).item() == np.std(x.numpy(), ddof=0.5)
    assert np.isnan(xp.var(x[:, :1], correction=1).item())
    assert np.isnan(xp.var(x[:, :0]).item())
    assert np.isnan(xp.var(x, correction=3).item())


def test_zero_dimensional_operands_promote() -> None:
    assert xp.add(
        torch.ones(2, dtype=torch.float32), torch.ones((), dtype=torch.float64)
    ).dtype is (torch.float64)
    assert xp.multiply(2, torch.ones(2, dtype=torch.int8)).dtype is torch.int8
    assert xp.add(torch.ones(2, dtype=torch.int64), torch.ones(2)).dtype is torch.float32


FLOATING = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "floor",
    "log",
    "log10",
    "log1p",
    "log2",
    "negative",
    "reciprocal",
    "round",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "sum",
    "prod",
    "mean",
    "std",
    "var",
    "max",
    "min",
    "sort",
    "argsort",
    "argmax",
    "cumulative_sum",
    "unique_values",
    "isfinite",
]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", FLOATING)
def test_half_precision(name: str, dtype: Any) -> None:
    function = getattr(xp, name)
    x = torch.tensor([1.0, 1.5, 1.25])
    x = 1 / x if name in ("acos", "asin", "atanh") else x
    got = function(x.to(dtype))
    assert got.dtype in (dtype, torch.int64, torch.bool)
    torch.testing.assert_close(
        got.double(), function(x.to(dtype).double()).double(), rtol=0.02, atol=0.02
    )


def test_gradients_flow() -> None:
    for name in ("log1p", "expm1", "acos", "tanh", "sign", "square"):
        z = torch.tensor([0.3 + 0.2j], dtype=torch.complex128, requires_grad=True)
        assert torch.autograd.gradcheck(getattr(xp, name), (z,)), name
    x = torch.tensor([0.3, -1.2, 2.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.7, 0.5, -1.5], dtype=torch.float64, requires_grad=True)
    for name in ("remainder", "add", "divide", "maximum", "hypot", "copysign", "atan2"):
        assert torch.autograd.gradcheck(getattr(xp, name), (x, y)), name
    assert torch.autograd.gradcheck(lambda a: xp.var(a, correction=0.5), (x,))
    assert torch.autograd.gradcheck(lambda a: xp.getitem(a, (slice(None, None, -1),)), (x,))


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_no_extreme_of_nothing(name: str) -> None:
    with pytest.raises(ValueError, match="empty array"):
        getattr(xp, name)(torch.ones(2, 0))
    assert getattr(xp, name)(torch.ones(0, 2), axis=1).shape == (0,)


def test_values_of_sets_have_a_gradient() -> None:
    x = torch.tensor([2.0, 1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    for values in (xp.unique_values(x), xp.unique_counts(x)[0], xp.unique_inverse(x)[0]):
        assert values.tolist() == [1.0, 2.0, 3.0]
        (gradient,) = torch.autograd.grad(values.sum(), x)
        assert gradient.sum() == 3
        assert gradient[1] == gradient[3] == 1


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "uint64"])
def test_large_and_small_tensors_divide_alike(name: str, dtype: str) -> None:
    # Small ones are computed by NumPy.
    values = np.arange(60).astype(dtype)
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            values = np.array(REAL * 6).astype(dtype)
    x1, x2 = np.tile(values, 700), np.repeat(values, 700)
    divide = getattr(xp, name)
    got = divide(torch.from_numpy(x1), torch.from_numpy(x2)).numpy()
    parts = [divide(torch.from_numpy(x1[i::70]), torch.from_numpy(x2[i::70])) for i in range(70)]
    for i, part in enumerate(parts):
        same(part, got[i::70])


@pytest.mark.parametrize("dtype", ["int64", "float32", "uint16"])
@pytest.mark.parametrize("invert", [False, True])
def test_membership_in_large_and_small_tensors(dtype: str, invert: bool) -> None:
    x1 = np.arange(6000).reshape(2, -1).astype(dtype)
    x2 = np.arange(0, 4000, 3).astype(dtype)
    if dtype == "float32":
        x1[0, 5] = x2[7] = np.nan
        x1[0, 0], x2[0] = -0.0, 0.0
    got = xp.isin(torch.from_numpy(x1), torch.from_numpy(x2), invert=invert)
    same(got, np.isin(x1, x2, invert=invert))
    small = xp.isin(torch.from_numpy(x1[:, ::4]), torch.from_numpy(x2), invert=invert)
    same(small, got.numpy()[:, ::4])
