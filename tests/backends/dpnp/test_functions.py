"""Functions that dpnp gets wrong and its backend corrects."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

dpnp = pytest.importorskip("dpnp")

import portarray as pa  # noqa: E402

if not pa.functional("dpnp"):
    pytest.skip("dpnp has no device here", allow_module_level=True)

DEVICE = pa.device("dpnp")

INVERSE = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "log", "log2", "log10"]
NUMPY = {name: "arc" + name[1:] for name in INVERSE if name.startswith("a")}


@pytest.mark.parametrize("layout", ["packed", "every second", "single"])
@pytest.mark.parametrize("name", INVERSE)
def test_complex_functions_keep_their_digits(name: str, layout: str) -> None:
    """dpnp's own kernels overflow from 1e4 on and lose digits of logarithms near 1."""
    z = np.asarray(
        [-1017603.6 - 2.5j, 1 + 6.5j, -8 + 3j, 0.99941 + 0.00026j, -24288.7 + 0.4j, 90 + 1e6j],
        np.complex64,
    )
    expected = getattr(np, NUMPY.get(name, name))(z.astype(np.complex128))
    function = getattr(pa, name)
    if layout == "packed":
        result = function(pa.asarray(z, device=DEVICE))
    elif layout == "every second":
        wide = pa.asarray(np.repeat(z, 2), device=DEVICE)
        result = function(wide[::2])
    else:
        result = pa.stack([function(pa.asarray(value, device=DEVICE)) for value in z])
    values = result.to_device("numpy").native
    assert np.all(np.abs(values - expected) <= 6e-7 * np.abs(expected))


def test_the_shared_compositions_serve_devices_without_onemkl(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from portarray.backends.dpnp.namespace import complex

    monkeypatch.setattr(complex, "_has_exact_functions", lambda device: False)
    for name in INVERSE:
        test_complex_functions_keep_their_digits(name, "every second")


def same(result: pa.Array, expected: complex) -> None:
    value = complex(result)
    np.testing.assert_array_equal(value.real, expected.real)
    np.testing.assert_array_equal(value.imag, expected.imag)


def test_special_values_of_complex_functions() -> None:
    nan, inf = float("nan"), float("inf")

    def at(re: float, im: float) -> pa.Array:
        return pa.asarray(complex(re, im), dtype=pa.complex64, device=DEVICE)

    same(pa.tanh(at(0, inf)), complex(0, nan))
    same(pa.tan(at(inf, 0)), complex(nan, 0))
    assert complex(pa.acosh(at(0, nan))).imag == pytest.approx(np.pi / 2)
    same(pa.expm1(at(1e30, 0)), complex(inf, 0))
    same(pa.sign(at(inf, 2)), complex(1, 0))
    same(pa.sign(at(1, -inf)), complex(0, -1))


@pytest.mark.parametrize(("a", "b"), [(1.0, -1e-7), (2.5, -1e-7), (1e-300, -1e300), (7.0, -2.0)])
def test_quotients_are_rounded_down_once(a: float, b: float) -> None:
    x, y = (pa.asarray(v, device=DEVICE) for v in (a, b))
    assert float(x // y) == a // b
    assert float(x // y) * b + float(x % y) == pytest.approx(a)


def test_scalars_keep_their_sign_of_zero_and_kind() -> None:
    x = pa.asarray([1.0, -1.0], device=DEVICE)
    for zero in (0.0, -0.0, 0.0):
        signs = pa.signbit(pa.copysign(x, zero)).tolist()
        assert signs == [bool(np.signbit(zero))] * 2
    truth = pa.asarray([True, False], device=DEVICE)
    assert pa.equal(pa.asarray([1, 2], device=DEVICE), 1).tolist() == [True, False]
    assert pa.equal(truth, True).tolist() == [True, False]


def test_keys_that_dpnp_refuses() -> None:
    a = np.arange(24).reshape(2, 3, 4)
    x = pa.asarray(a, device=DEVICE)
    rows, columns = np.asarray([0, 1, 1]), np.asarray([3, 0, 2], np.uint64)
    first, second = (pa.asarray(index, device=DEVICE) for index in (rows, columns))
    for key, equivalent in (
        ((first, slice(None), second), (rows, slice(None), columns)),
        ((0, slice(None), second), (0, slice(None), columns)),
        ((first, None, 1), (rows, None, 1)),
        ((slice(None), first, second), (slice(None), rows, columns)),
        ((second[:1] - 3, ..., first), (columns[:1] - 3, ..., rows)),
    ):
        assert x[key].tolist() == a[equivalent].tolist()
        b, y = a.copy(), pa.asarray(a, device=DEVICE, copy=True)
        y[key] = 100
        b[equivalent] = 100
        assert y.tolist() == b.tolist()
        value = np.arange(a[equivalent].size).reshape(a[equivalent].shape)
        y[key] = pa.asarray(value, device=DEVICE)
        b[equivalent] = value
        assert y.tolist() == b.tolist()


def test_overlapping_operands_in_place() -> None:
    x = pa.arange(6, device=DEVICE)
    y = np.arange(6)
    x[1:] += x[:-1]
    y[1:] += y[:-1].copy()
    assert x.tolist() == y.tolist()


def test_where_reads_each_layout() -> None:
    """dpnp's own reads other memory if operands are broadcast and have negative strides."""
    values = np.linspace(0.2, 1.7, 6, dtype=np.float32).reshape(3, 2)
    x = pa.asarray(values, device="dpnp")
    layouts: list[Callable[[Any], Any]] = [
        lambda x: x,
        lambda x: x[::-1, ::-1],
        lambda x: x[:, ::-1],
        lambda x: x[:1, ::-1],
        lambda x: x[::-1, :1],
        lambda x: 2.0,
    ]
    for first, second, third in itertools.product(layouts[:-1], layouts, layouts):
        want = np.where(first(values) > 0.8, second(values), third(values))
        got = pa.where(first(x) > 0.8, second(x), third(x))
        np.testing.assert_array_equal(np.asarray(got.to_device("numpy")), want)
