"""Arguments whose values decide the result or the error, on every device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray.errors import DTypeNotSupportedError


def _values(x: pa.Array) -> np.ndarray[Any, Any]:
    return np.asarray(x.to_device("numpy"))


RANGES: list[tuple[tuple[float, ...], str, type[Exception], str]] = [
    ((0, 2, 0.5), "int32", ValueError, "step 0.5 is not an integer, and dtype int32"),
    ((10, 3.5, -0.25), "int64", ValueError, "step -0.25 is not an integer, and dtype int64"),
    ((0.5, 4), "uint8", ValueError, "start 0.5 is not an integer, and dtype uint8"),
    ((0, 300), "uint8", OverflowError, "299 does not fit uint8"),
    ((-1, 3), "uint8", OverflowError, "-1 does not fit uint8"),
    ((0, -200, -1), "int8", OverflowError, "-199 does not fit int8"),
    ((2**63 - 1, 2**63 + 1), "int64", OverflowError, f"{2**63} does not fit int64"),
]


@pytest.mark.parametrize(("bounds", "dtype", "error", "message"), RANGES)
def test_ranges_of_integers_refused(
    device: str, bounds: tuple[float, ...], dtype: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        pa.arange(*bounds, dtype=dtype, device=device)
    xp = pa.namespace(device)
    with pytest.raises(error, match=message):
        xp.arange(*bounds, dtype=getattr(xp, dtype))


def test_ranges_of_integers(device: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        dtype = rng.choice(["int8", "int16", "int32", "int64", "uint8", "uint64"])
        low = 0 if dtype.startswith("u") else -100
        start, stop = (float(n) for n in rng.integers(low, 100, 2))
        stop += float(rng.choice([0.0, 0.25, 0.75]))
        step = float(rng.choice([1, 2, 7, -1, -3]))
        expected, n = [], start
        while (n < stop) if step > 0 else (n > stop):
            expected.append(int(n))
            n += step
        result = pa.arange(start, stop, step, dtype=dtype, device=device)
        assert (result.tolist(), result.dtype) == (expected, np.dtype(dtype)), (start, stop, step)


def test_spaced_integers_are_rounded_down(device: str) -> None:
    for start, stop, num, endpoint in (
        (0, -3, 5, True),
        (0, 3, 5, True),
        (-2.5, 2.5, 4, True),
        (0, 10, 3, False),
        (3, 8, 1, True),
        (3, 8, 0, True),
        (0, 2**31 - 1, 3, True),
    ):
        expected = np.linspace(start, stop, num, endpoint=endpoint, dtype=np.int32)
        result = pa.linspace(start, stop, num, endpoint=endpoint, dtype=pa.int32, device=device)
        assert (result.tolist(), result.dtype) == (expected.tolist(), expected.dtype)
    for stop in (256, -1):
        with pytest.raises(OverflowError, match=f"{stop} does not fit uint8"):
            pa.linspace(0, stop, 3, dtype=pa.uint8, device=device)
    assert pa.linspace(0, 256, 2, dtype=pa.uint8, device=device, endpoint=False).tolist() == [
        0,
        128,
    ]


@pytest.mark.parametrize(
    "name", ["sum", "prod", "cumulative_sum", "cumulative_prod", "linalg.trace"]
)
def test_sums_of_complex_numbers_keep_both_parts(device: str, name: str) -> None:
    x = pa.asarray(np.asarray([1 + 2j], dtype=np.complex64), device=device)
    if name == "linalg.trace":
        x = x[None]

    def of(namespace: Any) -> Callable[..., Any]:
        return namespace.linalg.trace if "." in name else getattr(namespace, name)

    xp = pa.namespace(device)
    base_name = name.removeprefix("linalg.")
    for dtype in ("float32", "int64", "uint8"):
        start = f"^{base_name}: accumulating complex64 elements in {dtype} loses the imaginary part"
        with pytest.raises(TypeError, match=rf"(?s){start}.*pa\.real\(x\)"):
            of(pa)(x, dtype=dtype)
        with pytest.raises(TypeError, match=start):
            of(xp)(x.native, dtype=getattr(xp, dtype))
    assert _values(of(pa)(x, dtype=pa.complex64)).item() == 1 + 2j
    real = pa.asarray(np.asarray([[1.75]], dtype=np.float32), device=device)[0]
    real = real[None] if name == "linalg.trace" else real
    # Elements are converted first.
    assert of(pa)(real, dtype=pa.int32).item() == 1


BOUNDS: list[tuple[str, Any, Any, Any]] = [
    # dtype of x, bounds (pairs are arrays: values and dtype), and the result or an error
    ("int64", 2.5, 7, TypeError),
    ("int64", None, 7.0, TypeError),
    ("int32", ([2.5], "float32"), None, TypeError),
    ("uint8", None, float("inf"), TypeError),
    ("float32", 1j, None, TypeError),
    ("bool", 0.5, None, TypeError),
    ("bool", 0, None, TypeError),
    ("bool", True, ([False], "bool"), [False] * 3),
    ("bool", False, True, [True] * 3),
    ("uint8", 300, None, OverflowError),
    ("int8", None, -200, OverflowError),
    ("uint8", -1, 300, [1, 5, 9]),
    ("uint8", ([-1], "int8"), None, [1, 5, 9]),
    ("uint8", ([-1, 6, 300], "int64"), None, [1, 6, 255]),
    ("int8", None, ([200, -200, 4], "int32"), [1, -128, 4]),
    ("int32", ([2], "int64"), True, [1, 1, 1]),
    ("float32", ([2], "int64"), 6, [2, 5, 6]),
    ("float32", ([2.5], "float64"), None, [2.5, 5, 9]),
    ("float32", None, None, [1, 5, 9]),
]


@pytest.mark.parametrize(("dtype", "low", "high", "expected"), BOUNDS)
def test_bounds_of_clip(device: str, dtype: str, low: Any, high: Any, expected: Any) -> None:
    x = pa.asarray(np.asarray([1, 5, 9]).astype(dtype), device=device)

    def ours(bound: Any) -> Any:
        if not isinstance(bound, tuple):
            return bound
        try:
            return pa.asarray(np.asarray(*bound), device=device)
        except DTypeNotSupportedError:
            pytest.skip(f"no {bound[1]} here")

    pair = ours(low), ours(high)
    natives = [bound.native if isinstance(bound, pa.Array) else bound for bound in pair]
    clip = pa.namespace(device).clip
    if isinstance(expected, list):
        result = pa.clip(x, *pair)
        assert (result.tolist(), result.dtype) == (expected, x.dtype)
        assert pa.asarray(clip(x.native, *natives)).tolist() == expected
    else:
        with pytest.raises(expected, match="clip"):
            pa.clip(x, *pair)
        with pytest.raises(expected, match="clip"):
            clip(x.native, *natives)


def test_negative_powers_of_integers_are_refused(device: str) -> None:
    """Negative powers raise as functions and operators, and leave x unchanged."""
    for dtype in ("int8", "int64"):
        a = np.asarray([2, 3, 1], dtype=dtype)
        x = pa.asarray(a, device=device, copy=True)
        exponents = pa.asarray(np.asarray([1, 2, -1], dtype=dtype), device=device)
        alias = x
        xp = pa.namespace(device)

        def raised(exponent: Any, alias: pa.Array = alias) -> None:
            alias **= exponent

        for refused in (
            lambda x=x, exponents=exponents: x**exponents,
            lambda x=x: x**-1,
            lambda exponents=exponents: 2**exponents,
            lambda exponents=exponents: pa.pow(2, exponents),
            lambda x=x, exponents=exponents: raised(exponents),
            lambda x=x: raised(-1),
            lambda x=x, exponents=exponents, xp=xp: xp.pow(x.native, exponents.native),
            lambda x=x, xp=xp: xp.pow(x.native, -1),
            lambda exponents=exponents, xp=xp: xp.pow(2, exponents.native),
            lambda x=x, exponents=exponents: x.__ipow__(exponents[2:]),
        ):
            for _ in range(2):  # the second call takes the cached function
                with pytest.raises(ValueError, match="negative"):
                    refused()
            assert _values(x).tolist() == a.tolist()
        assert (x**2).tolist() == [4, 9, 1]
        assert (2 ** abs(exponents)).tolist() == [2, 4, 2]
        x **= pa.abs(exponents)
        assert x.tolist() == [2, 9, 1]
        x **= 2
        assert (x.tolist(), x.dtype) == ([4, 81, 1], np.dtype(dtype))


IN_PLACE = {
    "__iadd__": ("int8", 1.5, TypeError),
    "__isub__": ("uint8", -1, OverflowError),
    "__imul__": ("float32", 1j, TypeError),
    "__itruediv__": ("int32", 2, TypeError),
    "__ifloordiv__": ("int16", "shape", ValueError),
    "__imod__": ("float32", "shape", ValueError),
    "__ipow__": ("float32", "shape", ValueError),
    "__iand__": ("bool", 2.5, TypeError),
    "__ior__": ("float32", 1, TypeError),
    "__ixor__": ("uint8", "shape", ValueError),
    "__ilshift__": ("int8", 300, OverflowError),
    "__irshift__": ("int8", "shape", ValueError),
    "__imatmul__": ("float32", "shape", ValueError),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_refused_operators_leave_the_array(device: str, name: str) -> None:
    dtype, operand, error = IN_PLACE[name]
    a = np.asarray([[1, 0], [1, 1]]).astype(dtype)
    x = pa.asarray(a, device=device, copy=True)
    if operand == "shape":
        operand = pa.ones((3, 5), dtype=dtype, device=device)
    with pytest.raises(error):
        getattr(x, name)(operand)
    assert _values(x).tolist() == a.tolist()


def test_repeats_are_not_negative(device: str) -> None:
    x = pa.asarray([1, 2], device=device)
    xp = pa.namespace(device)
    for repeats, error in (
        ([-1, 2], ValueError),
        ([-1], ValueError),
        ([1, 2, 3], ValueError),
        ([[1, 2]], ValueError),
        ([1.0, 2.0], TypeError),
    ):
        counts = pa.asarray(repeats, device=device)
        with pytest.raises(error):
            pa.repeat(x, counts)
        with pytest.raises(error):
            pa.repeat(x, counts, axis=0)
    for wrong, kind in ((-1, ValueError), (1.5, TypeError)):
        with pytest.raises(kind, match="repeats"):
            pa.repeat(x, wrong)  # type: ignore[arg-type]
    with pytest.raises((ValueError, RuntimeError), match=r"negative|positive"):  # PyTorch's own
        xp.repeat(x.native, pa.asarray([-1, 2], device=device).native)
    assert pa.repeat(x, pa.asarray([0, 2], device=device)).tolist() == [2, 2]


TRANSFORMS: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    # name, shape and options of transforms along an axis without elements, or to none
    *[
        (name, (2, 0), options)
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
        for options in ({}, {"n": 3}, {"axis": 1, "norm": "ortho"})
    ],
    *[
        (name, (2, 0), options)
        for name in ("fftn", "ifftn", "rfftn", "irfftn")
        for options in ({}, {"s": (2, 2)}, {"s": (2,), "axes": (1,)}, {"axes": (1, 0)})
    ],
    ("fft", (2, 2), {"n": 0}),
    ("irfft", (2, 1), {}),
    ("hfft", (2, 1), {}),
    ("irfftn", (2, 1), {}),
    ("irfftn", (1, 2), {"axes": (0,)}),
    ("fftn", (2, 2), {"s": (0, 2)}),
    ("fftn", (2, 2), {"s": (-1, 2)}),
    ("rfftn", (2, 2), {"s": (2, 0)}),
    ("rfftn", (2, 2), {"axes": ()}),
    ("irfftn", (2, 2), {"axes": ()}),
    ("fftn", (2, 2), {"axes": (1, -1)}),
]


@pytest.mark.parametrize(("name", "shape", "options"), TRANSFORMS)
def test_transforms_of_nothing(
    device: str, name: str, shape: tuple[int, ...], options: dict[str, Any]
) -> None:
    dtype = "float32" if name in ("rfft", "ihfft", "rfftn") else "complex64"
    x = pa.ones(shape, dtype=dtype, device=device)
    with pytest.raises(ValueError, match=name):
        getattr(pa.fft, name)(x, **options)
    with pytest.raises(ValueError, match=name):
        getattr(pa.namespace(device).fft, name)(x.native, **options)


def test_transforms_of_stacks_of_nothing(device: str) -> None:
    for name, dtype in (("fft", "complex64"), ("irfft", "float32"), ("rfft", "float32")):
        x = pa.ones((0, 4), dtype="complex64" if name == "irfft" else dtype, device=device)
        for suffix, options in (("", {"axis": 1}), ("n", {"axes": (1,)})):
            result = getattr(pa.fft, name + suffix)(x, **options)
            expected = getattr(np.fft, name + suffix)(np.ones((0, 4), x.dtype), **options)
            assert (result.shape, result.dtype) == (expected.shape, expected.dtype)


SCALARS: list[tuple[Any, str]] = [
    # What asarray is given, and the dtype; a kind is the device's default of it.
    (np.float32(1), "float32"),
    (np.int8(1), "int8"),
    ([np.float32(1)], "float32"),
    ([[np.float32(1)], (np.float32(2),)], "float32"),
    ([np.int8(1), np.int16(2)], "int16"),
    ([np.uint8(1), np.float32(2)], "float32"),
    ([np.complex64(1)], "complex64"),
    ([np.float32(1), True], "float32"),
    ([np.bool_(True), False], "bool"),
    ([np.float32(1), 2.0], "real floating"),
    ([2, np.float32(1)], "real floating"),
    ([np.int8(1), 2], "integral"),
    ([np.complex64(1), 2.0], "complex floating"),
    ([np.asarray([1], np.int8), np.asarray([2], np.int16)], "int16"),
    ([[1], np.asarray([2], np.int8)], "integral"),
    ([np.asarray([2], np.float32), [1.0]], "real floating"),
    ([np.float32(2), np.asarray(1, np.float32)], "float32"),
    ([], "real floating"),
    ([[], []], "real floating"),
    (True, "bool"),
]


@pytest.mark.parametrize(("values", "expected"), SCALARS)
def test_numpy_scalars_keep_their_dtype(device: str, values: Any, expected: str) -> None:
    defaults: dict[str, Any] = pa.__array_namespace_info__().default_dtypes(device=device)
    if expected == "complex floating" and expected not in defaults:
        pytest.skip("no complex dtype here")
    x = pa.asarray(values, device=device)
    assert x.dtype == defaults.get(expected, expected)
    assert x.tolist() == np.asarray(values).tolist()


def test_numpy_scalars_where_their_dtype_is_missing(nofloat64: str) -> None:
    """numpy.float64 is accepted as a Python float where an array would be refused."""
    x = pa.asarray([np.float64(0.5), np.float64(2)], device=nofloat64)
    assert (x.dtype, x.tolist()) == (np.dtype("float32"), [0.5, 2.0])
    with pytest.raises(DTypeNotSupportedError):
        pa.asarray([np.asarray([0.5])], device=nofloat64)


def test_native_namespaces_refuse_what_is_not_a_native_array(device: str) -> None:
    xp = pa.namespace(device)
    x = xp.asarray([1.0, 2.0])
    calls: list[Callable[[Any], Any]] = [xp.sum, xp.exp, xp.max, xp.fft.fft]
    calls += [lambda y: xp.add(y, y), lambda y: xp.add(x, y), lambda y: xp.matmul(y, x)]
    calls += [lambda y: xp.concat([x, y])]
    for call in calls:
        with pytest.raises(TypeError, match=r"make one .*xp\.asarray\(x\)"):
            call([1.0, "2"])
    if device.partition(":")[0] not in ("numpy", "jax"):  # JAX takes NumPy's arrays
        for call in calls:
            with pytest.raises(TypeError, match=r"got numpy\.ndarray\nHint: make one"):
                call(np.ones(2))
    for wrong in (xp.sum, xp.exp):
        with pytest.raises(TypeError, match="at least one array, got float"):
            wrong(1.0)


def test_complex_signs_reach_both_ends_of_the_range(device: str) -> None:
    """Signs are right for magnitudes that overflow or underflow, and for infinities."""
    largest, inf, nan = float(np.finfo(np.float32).max), np.inf, np.nan
    pairs = {
        (largest, largest): (0.5**0.5, 0.5**0.5),
        (-largest, 0.0): (-1, 0),
        (3e-38, -4e-38): (0.6, -0.8),
        (0.0, -0.0): (0, 0),
        (inf, -2.0): (1, -0.0),
        (-2.5, inf): (-0.0, 1),
        (inf, -inf): (nan, nan),
        (nan, 1.0): (nan, nan),
    }
    z = np.asarray([complex(*pair) for pair in pairs], dtype=np.complex64)
    got = _values(pa.sign(pa.asarray(z, device=device)))
    expected = np.asarray([complex(*pair) for pair in pairs.values()], dtype=np.complex64)
    for part in ("real", "imag"):
        result_part, expected_part = getattr(got, part), getattr(expected, part)
        np.testing.assert_allclose(result_part, expected_part, rtol=1e-6)
        not_nan = ~np.isnan(expected_part)
        np.testing.assert_array_equal(
            np.signbit(result_part[not_nan]), np.signbit(expected_part[not_nan])
        )


@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "complex64"])
def test_where_of_a_large_array_and_a_scalar(device: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    values = (rng.standard_normal((2, 4200, 2)) * 9).astype(dtype)
    if dtype != "int32" and dtype != "int8":
        values[0, :6, 0] = [np.inf, -np.inf, np.nan, -0.0, 0.0, 1e-40]
    x = pa.asarray(values, device=device)
    for shape, y, y_values in (
        ((2, 4200, 2), x, values),
        ((4200, 2), x, values),
        ((2, 4200, 2), x[1, ...], values[1, ...]),
        ((2, 4200, 1), x[..., ::-1], values[..., ::-1]),
    ):
        mask = rng.random(shape) > 0.4
        condition = pa.asarray(mask, device=device)
        for scalar in (0, 0.0, -0.0, 3) if values.dtype.kind in "fc" else (0, 3):
            for got, expected in (
                (
                    pa.where(condition, y, scalar),
                    np.where(mask, y_values, y_values.dtype.type(scalar)),
                ),
                (
                    pa.where(condition, scalar, y),
                    np.where(mask, y_values.dtype.type(scalar), y_values),
                ),
            ):
                assert got.dtype == dtype
                np.testing.assert_array_equal(_values(got), expected)
                if dtype == "float32" and scalar == 0:
                    signed = np.isfinite(expected) & (np.abs(expected) > 1e-30) | (expected == 0)
                    signs = np.signbit(_values(got)), np.signbit(expected)
                    np.testing.assert_array_equal(signs[0][signed], signs[1][signed])
