"""SciPy's special functions on every device, against mpmath and SciPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special
from mpmath import mp, mpf
from scipy.special import _ufuncs

import portarray as pa
from portarray._dispatch import categories
from portarray.errors import NoGradientError
from portarray.testing import virtual_devices

SQRT2 = mpmath.sqrt(2)
COUNT = 40


def log_or(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: mpmath.log(abs(function(*args)))


def rel_entr(x: Any, y: Any) -> Any:
    return x * mpmath.log(x / y)


# The function in high precision, the range of each argument (a logarithmic one where it begins
# above 0), the bound in ulps, and the size below which errors are absolute.
BESSEL = mpmath.besseli
SIGNED = (-30.0, 30.0)
REFERENCES: dict[str, tuple[Callable[..., Any], list[tuple[float, float]], float, float]] = {
    "beta": (mpmath.beta, [(0.01, 40.0), (0.01, 40.0)], 150, 0),
    "betainc": (
        lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
        [(0.1, 40.0), (0.1, 40.0), (0.3, 0.9)],
        150,
        1e-3,
    ),
    "betaln": (log_or(mpmath.beta), [(0.01, 40.0), (0.01, 40.0)], 60, 1),
    "digamma": (mpmath.digamma, [SIGNED], 40, 1),
    "entr": (lambda x: -x * mpmath.log(x), [(1e-9, 1e9)], 8, 0),
    "erf": (mpmath.erf, [(-6.0, 6.0)], 8, 0),
    "erfc": (mpmath.erfc, [(-5.0, 9.0)], 60, 0),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), [(-5.0, 1e3)], 16, 0),
    "erfinv": (mpmath.erfinv, [(-0.999, 0.999)], 16, 0),
    "expit": (lambda x: 1 / (1 + mpmath.exp(-x)), [SIGNED], 16, 0),
    "gamma": (mpmath.gamma, [SIGNED], 64, 0),
    "gammainc": (
        lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
        [(0.01, 60.0), (0.01, 60.0)],
        150,
        1e-3,
    ),
    "gammaincc": (
        lambda a, x: mpmath.gammainc(a, x, regularized=True),
        [(0.01, 60.0), (0.01, 60.0)],
        250,
        1e-3,
    ),
    "gammaln": (log_or(mpmath.gamma), [SIGNED], 60, 1),
    "i0": (partial(BESSEL, 0), [SIGNED], 80, 0),
    "i0e": (lambda x: BESSEL(0, x) * mpmath.exp(-abs(x)), [(-90.0, 90.0)], 80, 0),
    "i1": (partial(BESSEL, 1), [SIGNED], 80, 0),
    "i1e": (lambda x: BESSEL(1, x) * mpmath.exp(-abs(x)), [(-90.0, 90.0)], 80, 0),
    "kl_div": (lambda x, y: rel_entr(x, y) - x + y, [(0.01, 1e2), (0.01, 1e2)], 8, 100),
    "log_expit": (lambda x: -mpmath.log1p(mpmath.exp(-x)), [SIGNED], 8, 0),
    "log_ndtr": (lambda x: mpmath.log(mpmath.ncdf(x)), [(-1e2, 12.0)], 150, 0),
    "logit": (lambda x: mpmath.log(x / (1 - x)), [(0.001, 0.999)], 8, 0),
    "ndtr": (mpmath.ncdf, [(-12.0, 12.0)], 150, 0),
    "ndtri": (lambda p: SQRT2 * mpmath.erfinv(2 * p - 1), [(1e-9, 0.999)], 16, 0),
    "rel_entr": (rel_entr, [(1e-9, 1e9), (1e-9, 1e9)], 8, 0),
    "xlog1py": (lambda x, y: x * mpmath.log1p(y), [SIGNED, (1e-9, 1e9)], 8, 0),
    "xlogy": (lambda x, y: x * mpmath.log(y), [SIGNED, (1e-9, 1e9)], 8, 0),
    "zeta": (mpmath.zeta, [(1.01, 9.0), (0.1, 20.0)], 60, 0),
}
APART = {"polygamma", "psi", "logsumexp", "softmax", "log_softmax"}  # tested on their own
# The derivative by these parameters is not known.
NO_DERIVATIVE = {"betainc": (0, 1), "gammainc": (0,), "gammaincc": (0,), "zeta": (0,)}


@cache
def drawn(name: str, dtype: str) -> tuple[list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """Return arguments, and a function of them in high precision."""
    reference, ranges, _, _ = REFERENCES[name]
    rng = np.random.default_rng(len(name))
    args = []
    for low, high in ranges:
        x = rng.uniform(low, high, COUNT)
        if low > 0:
            x[::2] = np.exp(rng.uniform(np.log(low), np.log(high), COUNT // 2))
        args.append(x.astype(dtype))
    with mp.workdps(40):
        values = [reference(*map(mpf, map(float, row))) for row in zip(*args, strict=True)]
        return args, np.array([float(mpmath.re(value)) for value in values])


def dtypes_of(device: Any) -> list[str]:
    available = pa.__array_namespace_info__().dtypes(device=device, kind="real floating")
    return [name for name in ("float32", "float64") if name in available]


def check(name: str, dtype: str, compute: Callable[..., Any]) -> None:
    """Check a function of NumPy's arrays on drawn arguments."""
    args, expected = drawn(name, dtype)
    result = np.asarray(compute(*args))
    assert result.dtype == dtype, name
    _, _, bound, floor = REFERENCES[name]
    size = np.maximum(np.abs(expected), max(floor, float(np.finfo(dtype).tiny)))
    errors = np.abs(result.astype(float) - expected) / size / np.finfo(dtype).eps
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound, (name, dtype, [float(x[worst]) for x in args], errors[worst])


def to_host(x: pa.Array) -> np.ndarray[Any, Any]:
    return np.asarray(x.to_device("numpy").native)


def test_values_that_can_be_checked_in_the_head() -> None:
    x = pa.asarray([0.0, 1.0])
    assert pa.special.erf(x)[0] == 0
    assert pa.special.gamma(pa.asarray([1.0, 2.0, 5.0])).tolist() == [1.0, 1.0, 24.0]
    assert pa.special.xlogy(x, 0.0).tolist() == [0.0, -pa.inf]
    assert pa.special.gammaln(x).tolist() == [pa.inf, 0.0]


def test_every_function_is_tested() -> None:
    assert set(REFERENCES) | APART == set(pa.special.__all__)


def test_functions_agree_with_high_precision(device: Any) -> None:
    for name, dtype in itertools.product(REFERENCES, dtypes_of(device)):
        function = getattr(pa.special, name)

        def compute(*args: Any, function: Any = function) -> Any:
            return to_host(function(*[pa.asarray(x, device=device) for x in args]))

        check(name, dtype, compute)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_compositions_agree_with_high_precision_on_numpy(dtype: str) -> None:
    """NumPy has none of SciPy's functions where SciPy is not installed."""
    xp = pa.namespace("numpy")
    for name in REFERENCES:
        composition = categories.composition(f"special.{name}")
        assert composition is not None, name
        with np.errstate(all="ignore"):
            check(name, dtype, partial(composition, xp))


EDGES = [0.0, -0.0, 1.0, -1.0, -2.0, 0.5, 2.0, 1e-25, 1e25, -1e25, np.inf, -np.inf, np.nan]
DOMAINS = {
    # SciPy's i0 and i1 are NaN at infinity, and betaln of negative integers has a rule of its own.
    **dict.fromkeys(("i0", "i1"), lambda x: not np.isinf(x)),
    **dict.fromkeys(("beta", "betaln", "betainc"), lambda *args: all(x >= 0 for x in args)),
    # SciPy's zeta is NaN for large numbers, and infinite for some NaN.
    "zeta": lambda x, q: x < 9 and q > -np.inf,
}


def test_edges_are_scipys(device: Any) -> None:
    for name, dtype in itertools.product(REFERENCES, dtypes_of(device)):
        arity = len(REFERENCES[name][1])
        values = EDGES if arity < 3 else [0.0, 0.5, 1.0, np.inf, np.nan]
        rows = [
            row
            for row in itertools.product(values, repeat=arity)
            if name not in DOMAINS or DOMAINS[name](*row)
        ]
        # One shape for all, as compilers compile for each.
        args = [np.resize(np.asarray(x, dtype), 169) for x in zip(*rows, strict=True)]
        with np.errstate(all="ignore"):
            expected = np.asarray(getattr(scipy.special, name)(*[x.astype(float) for x in args]))
            expected = expected.astype(dtype)
        x = [pa.asarray(x, device=device) for x in args]
        result = to_host(getattr(pa.special, name)(*x))
        with np.errstate(all="ignore"):
            message = f"{name} {dtype}"
            np.testing.assert_allclose(result, expected, 1e-4, 1e-30, err_msg=message)


def test_zeta_and_polygamma_of_negative_numbers(device: Any) -> None:
    x = np.array([-0.3, -1.5, -7.25, 0.5, 12.0])
    operand = pa.asarray(x, dtype="float32", device=device)
    for n in range(4):
        expected = scipy.special.polygamma(n, x)
        np.testing.assert_allclose(to_host(pa.special.polygamma(n, operand)), expected, 2e-4)
    s = np.array([-3.5, -20.5, 0.0, 0.5, 1.0, 3.0])
    riemann = pa.special.zeta(pa.asarray(s, dtype="float32", device=device))
    np.testing.assert_allclose(to_host(riemann), scipy.special.zeta(s), 1e-4)


def test_sums_are_scipys(device: Any) -> None:
    x = np.array([[1000.0, 1000.5, -np.inf], [0.0, -3.0, 2.0]], np.float32)
    operand = pa.asarray(x, device=device)
    for axis in (None, 0, 1, (0, 1)):
        for name in ("logsumexp", "softmax", "log_softmax"):
            expected = getattr(scipy.special, name)(x, axis=axis)
            result = getattr(pa.special, name)(operand, axis=axis)
            assert result.dtype == np.float32
            np.testing.assert_allclose(to_host(result), expected, 1e-5)
    result = pa.special.logsumexp(operand, axis=1, b=2.0, keepdims=True)
    np.testing.assert_allclose(
        to_host(result), scipy.special.logsumexp(x, axis=1, b=2.0, keepdims=True), 1e-5
    )


def inner(name: str, dtype: str) -> list[np.ndarray[Any, Any]]:
    """Return some of the drawn arguments, away from poles."""
    args = [x[:6] for x in drawn(name, dtype)[0]]
    if name in ("gamma", "gammaln", "digamma", "i0", "i1", "erfcx"):
        args = [(np.abs(args[0]) % 5 + 0.25).astype(dtype)]
    return args


@cache
def derivatives(name: str, dtype: str, n: int) -> list[float]:
    """Return derivatives by a parameter at the arguments of ``inner``, in high precision."""
    reference, ranges, _, _ = REFERENCES[name]
    order = tuple(int(k == n) for k in range(len(ranges)))
    with mp.workdps(30):
        return [
            float(mpmath.re(mpmath.diff(reference, tuple(map(mpf, map(float, row))), order)))
            for row in zip(*inner(name, dtype), strict=True)
        ]


def test_gradients_agree_with_high_precision(device: Any) -> None:
    dtype = dtypes_of(device)[-1]
    bound = 1e-3 if dtype == "float32" else 1e-9
    for name, (_, ranges, _, _) in REFERENCES.items():
        args = inner(name, dtype)
        differentiable = [n for n in range(len(ranges)) if n not in NO_DERIVATIVE.get(name, ())]
        function = getattr(pa.special, name)
        operand = [pa.asarray(x, device=device) for x in args]
        gradients = pa.grad(lambda *x, f=function: pa.sum(f(*x)), argnums=differentiable)(*operand)
        for n, gradient in zip(differentiable, gradients, strict=True):
            expected = derivatives(name, dtype, n)
            np.testing.assert_allclose(
                to_host(gradient), expected, bound, bound / 10, err_msg=f"{name} {n}"
            )


def test_gradients_are_zero_where_the_cotangent_is(device: Any) -> None:
    x = pa.asarray([-1.0, 0.5, 2.0], dtype="float32", device=device)
    for function in (pa.special.logit, pa.special.ndtri, pa.special.entr, pa.special.gammaln):
        inside = pa.grad(lambda x, f=function: pa.sum(pa.where((x > 0) & (x < 1), f(x), 0 * x)))(x)
        assert inside[0] == inside[2] == 0 != inside[1]


def test_second_gradients(device: Any) -> None:
    x = pa.asarray(0.75, dtype="float32", device=device)
    second = pa.grad(pa.grad(pa.special.gammaln))(x)
    np.testing.assert_allclose(float(second), scipy.special.polygamma(1, 0.75), 1e-4)


def test_gradients_that_are_not_known_raise() -> None:
    x = pa.asarray(2.0)
    with pytest.raises(NoGradientError, match=r"gammainc.*derivative by a is not known"):
        pa.grad(lambda a: pa.special.gammainc(a, 1.0))(x)


def test_vmap_and_compile(device: Any) -> None:
    x = pa.asarray([[0.5, 1.5], [2.5, 3.5]], dtype="float32", device=device)

    def function(row: pa.Array) -> pa.Array:
        return pa.special.xlogy(row, pa.special.expit(row))

    expected = to_host(function(x))
    np.testing.assert_allclose(to_host(pa.vmap(function)(x)), expected, 1e-5)
    np.testing.assert_allclose(to_host(pa.compile(function)(x)), expected, 1e-5)


def test_dtypes(device: Any) -> None:
    integers = pa.asarray([1, 2], device=device)
    default = pa.__array_namespace_info__().default_dtypes(device=device)["real floating"]
    assert pa.special.erf(integers).dtype == pa.special.xlogy(integers, 2).dtype == default
    halves = [name for name in ("float16", "bfloat16") if name in dtypes_with_halves(device)]
    for name in halves:
        x = pa.asarray([0.5, 5.0], dtype=name, device=device)
        result = pa.special.gamma(x)
        assert result.dtype == x.dtype
        assert result.astype("float32").tolist() == pytest.approx([1.7725, 24.0], rel=1e-2)
    with pytest.raises(TypeError, match="erf: unsupported dtype complex"):
        pa.special.erf(pa.asarray([1j], device="numpy"))


def dtypes_with_halves(device: Any) -> set[str]:
    from portarray._array import dispatch

    return {dtype.name for dtype in dispatch.dtypes_of(pa.device(device))}


def test_ufuncs_of_scipy_are_computed_on_the_device(device: Any) -> None:
    x = pa.asarray([0.5, 1.5], dtype="float32", device=device)
    with pa.config(host_access="error"):
        results = [_ufuncs.erf(x), _ufuncs.xlogy(x, 2.0), _ufuncs.psi(x), scipy.special.erf(x)]
        results.append(scipy.special.zeta(x + 1, x))
        out = pa.zeros_like(x)
        assert _ufuncs.ndtr(x, out=out) is out
    assert {type(result) for result in results} == {pa.Array}
    assert {result.device for result in results} == {x.device}
    assert to_host(results[0]) == pytest.approx(scipy.special.erf(to_host(x)), rel=1e-5)


def test_devices_without_host_memory() -> None:
    with virtual_devices("cuda") as (device,):
        x = pa.asarray([0.5], device=device)
        assert float(_ufuncs.erf(x)[0]) == pytest.approx(0.5204998778)
        with pytest.raises(TypeError, match="NumPy cannot read"):
            _ufuncs.jv(0, x)


def test_namespaces_have_the_functions(device: Any) -> None:
    x = pa.asarray([0.5], dtype="float32", device=device)
    assert x.__array_namespace__().special is pa.special
    xp = pa.namespace(device)
    native = xp.special.erf(x.native)  # type: ignore[attr-defined]
    assert float(pa.asarray(native)[0]) == pytest.approx(0.52049987, rel=1e-6)


def test_blocks_of_dask() -> None:
    da = pytest.importorskip("dask.array")
    x = da.from_array(pa.asarray([0.5, 1.5], device="numpy"), chunks=1, asarray=False)
    for y in (x.map_blocks(pa.special.erf), _ufuncs.erf(x)):
        result = y.compute()
        assert type(result) is pa.Array
        assert to_host(result) == pytest.approx(scipy.special.erf([0.5, 1.5]))
