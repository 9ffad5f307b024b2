"""Distributions with parameters: their laws, their edges, and the same numbers on every device."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray.random import laws, repeating

stats = pytest.importorskip("scipy.stats")

LEVEL = 1e-4
N = 1_000_000

Values = np.ndarray[Any, np.dtype[Any]]
INF = float("inf")


def key(seed: int, device: Any = "numpy") -> pa.Array:
    return pa.random.key(seed, device=device)


def as_numpy(x: pa.Array) -> Values:
    return np.asarray(x.to_device("numpy"))


@pytest.mark.one_device
def test_the_numbers_of_a_key_stay_the_same() -> None:
    k = key(42)
    assert pa.random.poisson(k, 4.0, 8).tolist() == [5, 7, 4, 6, 2, 2, 3, 7]
    assert pa.random.poisson(k, 1000.0, 4).tolist() == [974, 991, 936, 993]
    assert pa.random.binomial(k, 10, 0.3, 8).tolist() == [4, 4, 2, 3, 2, 1, 3, 6]
    assert pa.random.binomial(k, 1000, 0.7, 4).tolist() == [712, 704, 686, 703]
    assert pa.random.gamma(k, 3.0, 3, dtype="float64").tolist() == pytest.approx(
        [2.3231064468011637, 2.2693219124672876, 0.5365893351536952]
    )
    low = pa.random.truncated_normal(k, 2.0, INF, 3, dtype="float64")
    assert low.tolist() == pytest.approx(
        [2.1113221946444782, 2.2096568252144833, 3.2724831466026805]
    )


# --- laws ---------------------------------------------------------------------------------------


class Truncated:
    """SciPy's ``truncnorm``, whose own ``cdf`` takes long."""

    def __init__(self, low: float, high: float, loc: float = 0.0, scale: float = 1.0) -> None:
        self.low, self.high, self.loc, self.scale = low, high, loc, scale
        law = stats.truncnorm(low, high, loc=loc, scale=scale)
        self.mean, self.std = law.mean, law.std

    def cdf(self, x: Values) -> Values:
        low, high = stats.norm.cdf([self.low, self.high])
        inner: Values = (stats.norm.cdf((x - self.loc) / self.scale) - low) / (high - low)
        return inner


CONTINUOUS: dict[str, tuple[Callable[..., pa.Array], Any]] = {
    "gamma 0.3": (lambda k, n, **o: pa.random.gamma(k, 0.3, n, scale=2, **o),
                  stats.gamma(0.3, scale=2)),
    "gamma 40": (lambda k, n, **o: pa.random.gamma(k, 40, n, **o), stats.gamma(40)),
    "beta": (lambda k, n, **o: pa.random.beta(k, 0.5, 3, n, **o), stats.beta(0.5, 3)),
    "student_t": (lambda k, n, **o: pa.random.student_t(k, 3.5, n, loc=1, **o),
                  stats.t(3.5, loc=1)),
    "laplace": (lambda k, n, **o: pa.random.laplace(k, n, loc=1, scale=2, **o),
                stats.laplace(1, 2)),
    "short around 0": (lambda k, n, **o: pa.random.truncated_normal(k, -0.4, 1.4, n, **o),
                       Truncated(-0.4, 1.4)),
    "around 0": (lambda k, n, **o: pa.random.truncated_normal(k, -0.7, 3, n, **o),
                 Truncated(-0.7, 3)),
    "from 0.2": (lambda k, n, **o: pa.random.truncated_normal(k, 0.2, INF, n, **o),
                 Truncated(0.2, INF)),
    "tail": (lambda k, n, **o: pa.random.truncated_normal(k, -INF, -3, n, loc=1, scale=2, **o),
             Truncated(-INF, -2, loc=1, scale=2)),
}  # fmt: skip


@pytest.mark.one_device
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_numbers_follow_their_laws(name: str) -> None:
    make, law = CONTINUOUS[name]
    for dtype, count in (("float32", N), ("float64", N // 10)):
        x = as_numpy(make(key(0), count, dtype=dtype)).astype(np.float64)
        assert stats.kstest(x, law.cdf).pvalue > LEVEL
        for power in (1, 2) if name != "student_t" else (1,):
            central = ((x - law.mean()) / law.std()) ** power
            assert abs(central.mean() - (power == 2)) < 4.5 * central.std() / np.sqrt(count)


DISCRETE: dict[str, tuple[Callable[[pa.Array], pa.Array], Any]] = {
    **{f"poisson {lam}": (lambda k, lam=lam: pa.random.poisson(k, lam, N), stats.poisson(lam))
       for lam in (0.02, 9.99, 11.5, 1e4 + 0.5)},
    **{f"binomial {n} {p}": (lambda k, n=n, p=p: pa.random.binomial(k, n, p, N), stats.binom(n, p))
       for n, p in ((1, 0.3), (30, 0.97), (21, 0.5), (10**6, 0.4), (10**9, 3e-9))},
    "categorical": (lambda k: pa.random.categorical(k, pa.log(pa.asarray(CHANCES)), N),
                    stats.rv_discrete(values=(range(4), [0.05, 0.6, 0.25, 0.1]))),
}  # fmt: skip
CHANCES = [0.05, 0.6, 0.25, 0.1]


@pytest.mark.one_device
@pytest.mark.parametrize("name", DISCRETE)
def test_integers_follow_their_laws(name: str) -> None:
    make, law = DISCRETE[name]
    x = as_numpy(make(key(5)))
    low, high = int(law.ppf(1e-5)), int(law.ppf(1 - 1e-5))
    ends = np.unique(np.linspace(low, high, min(high - low + 1, 300)).astype(np.int64))[:-1]
    expected = N * np.diff(np.concatenate([[0.0], law.cdf(ends), [1.0]]))
    got = np.bincount(np.searchsorted(ends, x), minlength=expected.size)
    frequent = expected > 4
    assert stats.chisquare(got[frequent], expected[frequent] * got[frequent].sum()
                           / expected[frequent].sum()).pvalue > LEVEL  # fmt: skip
    assert got[~frequent].sum() < 60
    assert abs(x.mean() - law.mean()) < 4.5 * law.std() / np.sqrt(N)


@pytest.mark.one_device
@pytest.mark.parametrize(("n", "p"), [(21, 0.5), (40, 0.3), (1000, 0.011), (2000, 0.4)])
def test_probabilities_of_counts(n: int, p: float) -> None:
    """Those by which counts are accepted, which no number of draws would tell from others."""
    k = np.arange(n + 1.0)
    for law, mean in ((stats.binom(n, p), n * p), (stats.poisson(n * p), n * p)):
        expected = law.logpmf(k)
        x = [pa.asarray(v, dtype="float32", device="numpy") for v in (k, n, p, mean, k - mean)]
        if law.dist.name == "binom":
            factor, exponent = laws.binomial_probability(*x)
            factor = factor * (2 * np.pi)
        else:
            factor, exponent = laws.poisson_probability(x[0], x[3], x[4])
        got = as_numpy(exponent - laws.log(factor) * 0.5).astype(float)
        frequent = expected > -25
        assert np.abs(got - expected)[frequent].max() < 1e-4
        assert np.abs(got / expected - 1)[~frequent].max(initial=0) < 2e-4


@pytest.mark.one_device
def test_points_follow_their_laws() -> None:
    alpha = np.array([0.4, 2.0, 3.0])
    x = as_numpy(pa.random.dirichlet(key(1), pa.asarray(alpha, device="numpy"), N // 5))
    np.testing.assert_allclose(x.sum(axis=-1), 1, rtol=1e-12)
    for i, a in enumerate(alpha):
        assert stats.kstest(x[:, i], stats.beta(a, alpha.sum() - a).cdf).pvalue > LEVEL
    mean, cov = np.array([1.0, -2.0, 0.0]), np.array([[2.0, 1, 0], [1, 2, 0.5], [0, 0.5, 1]])
    arrays = [pa.asarray(v, device="numpy") for v in (mean, cov)]
    x = as_numpy(pa.random.multivariate_normal(key(2), *arrays, N // 5))
    z = np.linalg.solve(np.linalg.cholesky(cov), (x - mean).T)
    assert np.abs(np.cov(z) - np.eye(3)).max() < 5 / np.sqrt(N // 5)
    for row in z:
        assert stats.kstest(row, stats.norm.cdf).pvalue > LEVEL


# --- devices ------------------------------------------------------------------------------------


def draws(device: Any, dtype: str) -> dict[str, Callable[[pa.Array], pa.Array]]:
    """Return draws whose parameters are arrays, over all branches of the methods."""
    n = 300

    def array(*values: float, dtype: str = dtype) -> pa.Array:
        return pa.asarray(list(values), dtype=dtype, device=device)

    a = array(0.3, 1.0, 5.0, 1e4)
    return {
        "gamma": lambda k: pa.random.gamma(k, a, (n, 4), dtype=dtype, scale=2.0),
        "beta": lambda k: pa.random.beta(k, a, 0.5, (n, 4), dtype=dtype),
        "student_t": lambda k: pa.random.student_t(k, a, (n, 4), dtype=dtype),
        "laplace": lambda k: pa.random.laplace(k, (n, 4), dtype=dtype, loc=a),
        "dirichlet": lambda k: pa.random.dirichlet(k, a, n, dtype=dtype),
        "truncated_normal": lambda k: pa.random.truncated_normal(
            k, array(-1, -0.3, 2, -INF), array(1, 5, INF, -3), (n, 4), dtype=dtype
        ),
        "multivariate_normal": lambda k: pa.random.multivariate_normal(
            k, array(1.0, 2.0), pa.reshape(array(2, 1, 1, 2), (2, 2)), n, dtype=dtype
        ),
        "poisson": lambda k: pa.random.poisson(
            k, array(0, 0.3, 9.9, 10, 30, 1e4), (n, 6), dtype="int32"
        ),
        "binomial": lambda k: pa.random.binomial(
            k, array(3, 30, 500, 0, 10000, dtype="int32"), array(0.3, 0.9, 0.5, 0.5, 0.01), (n, 5),
            dtype="int32",
        ),
        "categorical": lambda k: pa.random.categorical(k, array(-1, 2, -INF, 0.3), n),
    }  # fmt: skip


EQUAL = ("poisson", "binomial", "categorical")
_expected: dict[tuple[str, str], Values] = {}


def compare(name: str, dtype: str, got: Values) -> None:
    if (name, dtype) not in _expected:
        _expected[name, dtype] = as_numpy(draws("numpy", dtype)[name](key(3)))
    expected = _expected[name, dtype]
    if name in EQUAL:
        np.testing.assert_array_equal(got, expected)
    else:
        # Differences of the exponential function count by their arguments; sums by their terms.
        eps = float(np.finfo(dtype).eps)
        np.testing.assert_allclose(got, expected, rtol=300 * eps, atol=8 * eps)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("path", ["host", "functions"])
def test_numbers_are_the_same_on_every_device(
    device: str, dtype: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if device.startswith("jax") and (path == "functions" or dtype == "float64"):
        pytest.skip("JAX compiles each of its functions for each size; jax.jit is tested below")
    if path == "functions":
        monkeypatch.setattr(repeating, "_HOST", ())
    try:
        drawn_by_name = draws(device, dtype)
    except pa.DTypeNotSupportedError:
        pytest.skip(f"{device} has no {dtype}")
    for name, draw in drawn_by_name.items():
        x = draw(key(3, device))
        assert x.device is pa.device(device)
        compare(name, dtype, as_numpy(x))


@pytest.mark.one_device
@pytest.mark.parametrize("name", ["gamma", "truncated_normal", "poisson", "binomial"])
def test_compiled_draws_are_the_same(name: str) -> None:
    draw = draws("numpy", "float32")[name]
    compare(name, "float32", as_numpy(pa.compile(draw)(key(3))))


@pytest.mark.one_device
def test_draws_under_jit_are_the_same() -> None:
    jax = pytest.importorskip("jax")
    if not pa.functional("jax"):
        pytest.skip("JAX does not run here")

    def drawn(native: Any) -> Any:
        return pa.random.poisson(pa.asarray(native), 30.0, 50, dtype="int32").native

    expected = pa.random.poisson(key(3), 30.0, 50, dtype="int32")
    assert np.asarray(jax.jit(drawn)(key(3, "jax").native)).tolist() == expected.tolist()


def test_a_scale_of_zero_leaves_the_location_of_infinite_tails(device: str) -> None:
    df = pa.asarray([1e-3, 3.0], dtype="float32", device=device)
    x = pa.random.student_t(key(4, device), df, (500, 2), loc=2.0, scale=0.0, dtype="float32")
    np.testing.assert_array_equal(as_numpy(x), 2.0)
    x = pa.random.student_t(key(4, device), df, (500, 2), dtype="float32")
    assert np.isinf(as_numpy(x)[:, 0]).any()
    assert not np.isnan(as_numpy(x)).any()


@pytest.mark.one_device
def test_parts_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers depend on their position and their parameters alone."""
    k = key(9)
    a = pa.asarray([0.2, 3.0, 700.0], device="numpy")
    for make in (pa.random.gamma, pa.random.poisson, pa.random.student_t):
        whole = as_numpy(make(k, a, (500, 3)))
        np.testing.assert_array_equal(as_numpy(make(k, a, (40, 3))), whole[:40])
        for column in range(3):
            alone = as_numpy(make(k, a[column].item(), (500, 3)))
            np.testing.assert_array_equal(alone[:, column], whole[:, column])
        with monkeypatch.context() as patch:
            patch.setattr(repeating.drawing, "BLOCK", 64)
            np.testing.assert_array_equal(as_numpy(make(k, a, (500, 3))), whole)


# --- parameters ---------------------------------------------------------------------------------


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_parameters_at_the_edges(dtype: str) -> None:
    k, options = key(0), {"dtype": dtype}
    assert pa.random.gamma(k, 0.0, 3, **options).tolist() == [0.0] * 3
    assert pa.random.gamma(k, 2.0, 3, scale=0.0, **options).tolist() == [0.0] * 3
    assert pa.random.laplace(k, 3, loc=2.0, scale=0.0, **options).tolist() == [2.0] * 3
    tiny = as_numpy(pa.random.beta(k, 1e-3, 1e-3, 1000, **options))
    assert ((tiny >= 0) & (tiny <= 1)).all()  # no NaN of 0 / 0
    assert 400 < (tiny < 0.5).sum() < 600
    tail = as_numpy(pa.random.truncated_normal(k, 1e3, INF, 100, **options))
    assert ((tail >= 1e3) & (tail < 1e3 + 0.05)).all()
    narrow = as_numpy(pa.random.truncated_normal(k, 1.0, 1.0 + 1e-5, 100, **options))
    assert ((narrow >= np.dtype(dtype).type(1.0)) & (narrow <= np.dtype(dtype).type(1.00001))).all()
    assert pa.random.poisson(k, 0.0, 3).tolist() == [0, 0, 0]
    assert pa.random.poisson(k, 3.0, (0, 2)).shape == (0, 2)
    large = as_numpy(pa.random.poisson(k, 1e15, 1000, dtype="int64")) - 1e15
    assert abs(large.mean()) < 5 * 1e15**0.5 / 1000**0.5
    assert pa.random.binomial(k, 7, pa.asarray([0.0, 1.0], device="numpy")).tolist() == [0, 7]
    assert pa.random.binomial(k, 0, 0.5).tolist() == 0
    assert pa.random.gamma(k, 3.0, 2, dtype="float16").dtype == np.float16
    x = pa.random.multivariate_normal(
        k, pa.zeros(2, device="numpy"), pa.ones((2, 2), device="numpy"), 5, **options
    )
    assert x[:, 0].tolist() == x[:, 1].tolist()


EDGES: dict[str, list[tuple[Any, ...]]] = {
    "gamma": [(0.0,), (-1.0,), (INF,), (math.nan,)],
    "beta": [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (INF, 1.0), (1.0, math.nan)],
    "poisson": [(0.0,), (-1.0,), (INF,), (math.nan,), (1e20,)],
    "binomial": [(0, 0.5), (5, 0.0), (5, 1.0), (-1, 0.5), (5, 1.5), (5, -0.1), (5, math.nan)],
    "student_t": [(0.0,), (-1.0,), (INF,), (math.nan,)],
    "laplace": [(3.0, 0.0), (0.0, -1.0), (0.0, INF), (math.nan, 1.0)],
    "dirichlet": [([0.0, 1.0],), ([1.0, 0.0, 0.0],), ([0.0, 0.0],), ([-1.0, 1.0],), ([1.0],),
                  ([],), ([INF, 1.0],), ([math.nan, 1.0],)],
    "multivariate_normal": [([1.0, 2.0], [[0.0, 0.0], [0.0, 0.0]])],
}  # fmt: skip
"""Parameters at the edges and beyond, whose numbers do not vary where they are numbers."""


def at_the_edge(draw: Callable[[], Any]) -> Any:
    """Return the numbers, ValueError if the parameters are refused."""
    try:
        numbers = np.asarray(draw(), np.float64)
    except ValueError:
        return ValueError
    return numbers if np.isfinite(numbers).all() else ValueError


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", EDGES)
def test_edges_are_those_of_numpy(name: str, device: str) -> None:
    """Where NumPy returns infinities or NaN, these parameters are refused."""
    generator = np.random.default_rng(0)
    standard = {"gamma": generator.standard_gamma, "student_t": generator.standard_t}
    draw = getattr(pa.random, name)
    k = key(0).to_device(device)
    for parameters in EDGES[name]:
        arrays = [pa.asarray(np.asarray(x, "f4"), device=device) if type(x) is list else x
                  for x in parameters]  # fmt: skip
        expected = at_the_edge(
            lambda p=parameters: standard.get(name, getattr(generator, name, None))(*p, size=3)
        )
        if name == "laplace":
            actual = at_the_edge(lambda p=parameters: draw(k, 3, loc=p[0], scale=p[1]).tolist())
        else:
            actual = at_the_edge(lambda a=arrays: draw(k, *a, shape=3).tolist())
        assert np.shape(actual) == np.shape(expected), parameters
        if expected is ValueError:
            assert actual is ValueError, parameters
        else:
            np.testing.assert_allclose(actual, expected, rtol=1e-6, err_msg=str(parameters))


@pytest.mark.one_device
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_parameters_near_the_ends_of_the_range(dtype: str) -> None:
    """Nothing overflows on the way to a number that the dtype holds."""
    k, options, limits = key(5), {"dtype": dtype}, np.finfo(dtype)
    tiny, huge = float(limits.tiny), float(limits.max) * 0.9
    for small in (tiny, float(limits.smallest_subnormal) * 4):
        numbers = as_numpy(pa.random.beta(k, 3 * small, small, 4000, **options))
        assert set(numbers) == {0.0, 1.0}
        assert abs(numbers.mean() - 0.75) < 0.04
        alpha = pa.asarray([small, small, 2 * small], device="numpy", **options)
        points = as_numpy(pa.random.dirichlet(k, alpha, 4000, **options))
        assert (points.sum(axis=1) == 1).all()
        assert np.abs(points.mean(axis=0) - [0.25, 0.25, 0.5]).max() < 0.04
    assert as_numpy(pa.random.beta(k, huge, huge, 100, **options)) == pytest.approx(0.5, abs=1e-3)
    alpha = pa.asarray([huge] * 4, device="numpy", **options)
    thirds = as_numpy(pa.random.dirichlet(k, alpha, 100, **options))
    assert thirds == pytest.approx(0.25, abs=1e-3)


@pytest.mark.one_device
def test_variables_in_very_different_units() -> None:
    units = np.array([1e4, 1.0, 1e-6], np.float32)
    relative = np.array([[1, 0.5, 0], [0.5, 1, -0.5], [0, -0.5, 1]], np.float32)
    cov = pa.asarray(relative * units[:, None] * units, device="numpy")
    x = as_numpy(pa.random.multivariate_normal(key(1), pa.zeros(3, device="numpy"), cov, 20_000))
    assert np.abs(np.corrcoef(x.T) - relative).max() < 0.04
    assert x.std(axis=0) / units == pytest.approx(1.0, abs=0.04)


@pytest.mark.one_device
def test_large_logits_leave_the_choice_open() -> None:
    logits = pa.asarray(np.array([1e30, 1e30, 0.0], np.float32), device="numpy")
    counts = np.bincount(as_numpy(pa.random.categorical(key(1), logits, 1000)), minlength=3)
    assert counts[2] == 0
    assert abs(counts[0] - 500) < 100


WRONG: list[tuple[Callable[..., Any], str]] = [
    (lambda k: pa.random.gamma(k, -1.0), r"gamma: a is -1.0; it must be at least 0"),
    (lambda k: pa.random.gamma(k, pa.asarray([1.0, -3.0])), r"gamma: a has -3.0; its elements"),
    (lambda k: pa.random.gamma(k, pa.nan), r"a is nan"),
    (lambda k: pa.random.gamma(k, 1.0, scale=-1), r"scale is -1; it must be at least 0"),
    (lambda k: pa.random.gamma(k, pa.ones(3), 2), r"shape \(3,\) cannot be broadcast to .*\(2,\)"),
    (lambda k: pa.random.beta(k, 0.0, 1.0), r"beta: a is 0.0; it must be positive"),
    (lambda k: pa.random.beta(k, pa.ones(2), pa.ones(3)), r"shapes \(2,\), \(3,\) cannot be broad"),
    (lambda k: pa.random.student_t(k, 0.0), r"df is 0.0"),
    (lambda k: pa.random.poisson(k, -1.0), r"lam is -1.0"),
    (lambda k: pa.random.poisson(k, 1e3, dtype="int8"), r"do not fit int8 \(up to 127\)\nHint"),
    (lambda k: pa.random.binomial(k, 3, 1.5), r"p is 1.5; it must be from 0 to 1"),
    (lambda k: pa.random.binomial(k, 2.5, 0.5), r"n is 2.5; it must be an integer"),
    (lambda k: pa.random.truncated_normal(k, 2, 1), r"low is 2.0 and high is 1.0"),
    (lambda k: pa.random.categorical(k, pa.asarray([-INF, -INF])), r"all logits are -inf"),
    (lambda k: pa.random.multivariate_normal(k, pa.ones(2), pa.asarray([[1.0, 2], [2, 1]])),
     r"cov has the eigenvalue -1"),
    (lambda k: pa.random.multivariate_normal(k, pa.ones(2), pa.asarray([[1.0, 2], [0, 1]])),
     r"cov is not symmetric"),
    (lambda k: pa.random.multivariate_normal(k, pa.ones(2), pa.eye(3)), r"cov must end with"),
]  # fmt: skip


@pytest.mark.one_device
def test_invalid_values_are_named() -> None:
    for draw, message in WRONG:
        with pa.device("numpy"), pytest.raises(ValueError, match=message):
            draw(key(0))


@pytest.mark.one_device
def test_arguments_of_other_types_are_named(fake: str) -> None:
    k = key(0)
    with pytest.raises(TypeError, match=r"list, not a number.*\nHint: pass pa.asarray\(a, "):
        pa.random.gamma(k, [1.0])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="supported: integers"):
        pa.random.poisson(k, 1.0, dtype="float32")
    with pytest.raises(TypeError, match="n has dtype float64"):
        pa.random.binomial(k, pa.ones(2, device="numpy"), 0.5)
    with pytest.raises(pa.DeviceMismatchError, match="gamma"):
        pa.random.gamma(k, pa.ones(2, dtype="float32", device=fake))


@pytest.mark.one_device
def test_gradients() -> None:
    k, x = key(0), pa.asarray([1.0, 2.0], device="numpy")
    slope = pa.grad(lambda s: pa.sum(pa.random.gamma(k, 3.0, 2, scale=s)))(x)
    assert slope.tolist() == pytest.approx(pa.random.gamma(k, 3.0, 2).tolist())
    with pytest.raises(pa.NoGradientError, match=r"stop_gradient\(a\)"):
        pa.grad(lambda a: pa.sum(pa.random.gamma(k, a)))(x)
    weighted = pa.grad(lambda v: pa.sum(v * pa.random.poisson(k, v, dtype="int32")))(x)
    assert weighted.tolist() == pa.random.poisson(k, x, dtype="int32").tolist()


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logarithms_and_roots(dtype: str) -> None:
    x = 2 ** np.random.default_rng(0).uniform(-100, 100, 5000)
    x = np.concatenate([x, 2.0 ** np.arange(-100, 101), np.linspace(0.5, 2, 999)]).astype(dtype)
    there = pa.asarray(x, device="numpy")
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(as_numpy(laws.log(there)), np.log(x), rtol=4 * eps, atol=2 * eps)
    np.testing.assert_allclose(as_numpy(laws.root(there)), np.sqrt(x), rtol=4 * eps)
