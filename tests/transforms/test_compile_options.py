"""Options of ``pa.compile``: how much may be rewritten, and programs for several sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compiled_arrays import asarray, assert_alike, host
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import portarray as pa

OWN = ("numpy", "clarray", "dpnp", "cupy")
POWERS = (-3, -1, 2, 3, 5, 8.0)


def rewritable(xp: Any, x: Any, y: Any, a: Any, b: Any, v: Any) -> dict[str, Any]:
    """Return the results of calls that are rewritten, each by one rule."""
    return {
        "factors": x * 2.3 * 3.7 / 7.1,
        "divisor": x / 7.3,
        "terms": x + 2.3 - 5.1 + 0.7,
        "rows": x / y,
        "products": a @ b @ v,
        "products, left": v @ (b @ a),
        "sum": xp.sum(xp.sum(x, axis=-1), axis=0),
        "mean": xp.mean(xp.mean(x, axis=0, keepdims=True), axis=1, keepdims=True),
        "max": xp.max(xp.max(x, axis=1), axis=0),
        **{f"power {n}": x**n for n in POWERS},
    }


def scales(x: Any, a: Any, b: Any, v: Any) -> dict[str, Any]:
    """Return what errors are relative to, where that is not the result."""
    x, a, b, v = map(np.abs, (x, a, b, v))
    return {
        "terms": x + 2.3 + 5.1 + 0.7,
        "products": a @ b @ v,
        "products, left": v @ (b @ a),
        "sum": np.sum(x),
        "mean": np.mean(x),
    }


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_errors_are_within_the_bounds_that_explain_states(device: str, dtype: Any) -> None:
    if dtype == "float64" and (pa.device(device).library not in OWN or not has64(device)):
        pytest.skip("float32 shows it there")
    rng = np.random.default_rng(1)
    size = 40

    def drawn(*shape: int) -> Any:
        signs = rng.choice([-1, 1], shape)
        return (signs * 10.0 ** rng.uniform(-3, 3, shape)).astype(dtype)

    x, y, a, b = (drawn(*shape) for shape in ((size, size), (size, 1), (size, size), (size, size)))
    v = drawn(size)
    eps = float(np.finfo(dtype).eps)
    wide = [array.astype(np.longdouble) for array in (x, y, a, b, v)]
    want = rewritable(np, *wide)
    scale = scales(wide[0], *wide[2:])
    compiled = pa.compile(lambda *arrays: rewritable(pa, *arrays), optimize="aggressive")
    arrays = [pa.asarray(array, device=device) for array in (x, y, a, b, v)]
    got = compiled(*arrays)
    rewritings = compiled.explain(*arrays).rewritten
    assert rewritings is not None
    units = {
        "factors": 3, "divisor": 2, "terms": 3, "rows": 2, "products": 80, "products, left": 80,
        "sum": 1600, "mean": 1600, "max": 0, **{f"power {n}": abs(n) for n in POWERS},
    }  # fmt: skip
    assert sorted(array.units for array in rewritings) == sorted(n for n in units.values() if n)
    for name, most in units.items():
        bound = most * eps * np.abs(scale.get(name, want[name]))
        apart = np.abs(host(got[name]).astype(np.longdouble) - want[name])
        assert np.all(apart <= bound), f"{name}: {np.max(apart / bound)} of the bound"


def has64(device: str) -> bool:
    try:
        pa.empty(1, dtype=pa.float64, device=device)
    except pa.DTypeNotSupportedError:
        return False
    return True


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_infinities_and_nan_are_those_of_the_calls() -> None:
    x = asarray([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0] * 8, "numpy").reshape((7, 8))
    square, row = pa.ones((2, 2)), pa.ones(2)

    def function(x: Any) -> dict[str, Any]:
        return rewritable(pa, x, x[:, :1], square, square, row)

    got = pa.compile(function, optimize="aggressive")(x)
    for name, want in function(x).items():
        np.testing.assert_array_equal(np.isnan(host(got[name])), np.isnan(host(want)), name)
        infinite = np.isinf(host(want))
        np.testing.assert_array_equal(host(got[name])[infinite], host(want)[infinite], name)


def test_products_are_made_in_the_cheaper_order() -> None:
    rng = np.random.default_rng(2)
    a, b, c = (asarray(rng.normal(size=(30, 30)), "numpy") for _ in range(3))
    v = asarray(rng.normal(size=30), "numpy")

    def chain(a: Any, b: Any, c: Any, v: Any) -> Any:
        return a @ b @ c @ v

    compiled = pa.compile(chain, optimize="aggressive")
    assert_alike(compiled(a, b, c, v), chain(a, b, c, v))
    explanation = compiled.explain(a, b, c, v)
    assert explanation.rewritten
    assert "in another order: error at most 60 eps of the product" in str(explanation)
    used = pa.compile(lambda a, b, v: ((a @ b) @ v, a @ b), optimize="aggressive")
    assert used.explain(a, b, v).rewritten == []
    same = pa.compile(chain).explain(a, b, c, v)
    assert same.rewritten is None
    assert "optimize" not in str(same)


def test_calls_that_aggressive_optimization_leaves_unchanged() -> None:
    x = asarray(np.linspace(1, 2, 6), "numpy")
    integers = pa.asarray([3, 4, 5], device="numpy")
    for function, unit in (
        (lambda x: x * 1e-30 * 1e-30, x),  # one factor would be 0
        (lambda x: 2.0 / x, x),
        (lambda x: x**0.5, x),
        (lambda x: x**9, x),
        (lambda x: x * 2 * 3 + 4 + 5, integers),
        (lambda x: x / 2 * 3.0, integers),
        (pa.tanh, x),
    ):
        compiled = pa.compile(function, optimize="aggressive")
        np.testing.assert_array_equal(host(compiled(unit)), host(function(unit)))
        assert "optimize='aggressive': changes nothing" in str(compiled.explain(unit))
    with pytest.raises(ValueError, match=r"optimize='fast' is not 'default' or 'aggressive'"):
        pa.compile(pa.tanh, optimize="fast")  # type: ignore[call-overload, unused-ignore]


# --- several sizes ------------------------------------------------------------------------------


def of_sizes(x: Any, w: Any) -> tuple[Any, ...]:
    """Read sizes in every way."""
    e = pa.exp(x - pa.max(x, axis=-1, keepdims=True))
    rows = e / pa.sum(e, axis=-1, keepdims=True)
    scaled = rows * x.shape[0] if x.shape[1] % 2 else rows - 1.0
    z = pa.zeros((x.shape[0] + 1, x.shape[1]), dtype=x.dtype, device=x.device)
    z[1:, ...] = scaled
    flat = pa.reshape(z, (-1,))
    total = pa.mean((x - 0.5) ** 2)
    for n in range(min(x.shape[0], 3)):
        total = total + x[n, 0]
    columns = pa.mean(x + w, axis=1) + pa.sum(pa.broadcast_to(w, x.shape), axis=1)
    return rows @ pa.reshape(w, (-1, 1)), flat[: x.shape[1]], total, columns, scaled


@pytest.mark.parametrize("library", ["numpy", "clarray"])
def test_drawn_sizes(library: str, fuses: None) -> None:
    compiled = pa.compile(of_sizes, dynamic=True)
    compilations = []

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        rows=st.integers(1, 70), columns=st.integers(1, 70), flipped=st.booleans(),
        seed=st.integers(0, 99),
    )  # fmt: skip
    def check(rows: int, columns: int, flipped: bool, seed: int) -> None:
        rng = np.random.default_rng(seed)
        x, w = (asarray(rng.normal(size=shape), library) for shape in ((rows, columns), (columns,)))
        x = x[:, ::-1] if flipped else x
        for got, want in zip(compiled(x, w), of_sizes(x, w), strict=True):
            assert_alike(got, want)
        compilations.append((rows, columns))

    check()
    assert len({*compilations}) > 20


def simple(x: Any) -> Any:
    return pa.exp(x) * 2.0 + pa.sum(x, axis=-1, keepdims=True)


SIZES = ((40, 50), (60, 50), (50, 70))


def test_one_program_for_several_sizes(device: str, fuses: None) -> None:
    compiled = pa.compile(simple, dynamic=True)
    sizes = []
    for size in SIZES:
        x = asarray(np.random.default_rng(0).normal(size=size), device)
        assert_alike(compiled(x), simple(x))
        sizes.append(compiled.explain(x).sizes)
        assert f"dynamic=True: {sizes[-1]}" in str(compiled.explain(x))
    library = pa.device(device).library
    if library in ("numpy", "clarray", "dpnp"):
        sources = {kernel.text for kernel in compiled.explain(x).kernels}
        assert [("0 were compiled" in single) for single in sizes] == [False, True, True]
        assert not any(str(n) in text for text in sources for n in (40, 50, 60, 70))
    elif library == "torch":
        assert sizes == ["compiled for several sizes", *["compiled before, for other sizes"] * 2]
    else:
        assert all("compiles for each shape" in single for single in sizes)
    assert pa.compile(simple).explain(x).sizes == ""


def test_one_program_of_pytorch_for_equal_calls_alone() -> None:
    pytest.importorskip("torch")
    constant = asarray(np.arange(7), "torch")
    for function in (
        lambda x: x * x.shape[0],
        lambda x: x + constant[x.shape[0] - 2],
        lambda x: pa.sum(x, axis=0) if x.shape[0] > 3 else pa.max(x, axis=0),
        lambda x: x[::-2] + 1.0,  # PyTorch has no guard of a size that is fixed while it traces
    ):
        compiled = pa.compile(function, dynamic=True)
        for size in (3, 4):
            x = asarray(np.linspace(0, 2, size), "torch")
            assert_alike(compiled(x), function(x))
            assert compiled.explain(x).sizes == "compiled for several sizes"


def test_pytorch_compiles_for_each_shape_where_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    backend = pa.device("torch")._backend
    own_shape = type(backend).compiled

    def refusing(self: Any, *args: Any, dynamic: bool = False) -> Any:
        if dynamic:
            raise NotImplementedError("no sizes that are not known")
        return own_shape(self, *args)

    monkeypatch.setattr(type(backend), "compiled", refusing)
    compiled = pa.compile(lambda x: x * 2.0, dynamic=True)
    x = asarray(np.ones(3), "torch")
    assert_alike(compiled(x), x * 2.0)
    explanation = compiled.explain(x)
    assert explanation.by == "PyTorch's compiler"
    assert explanation.sizes == "PyTorch compiles for each shape"
    assert "no sizes that are not known" in explanation.reasons["several sizes"]
