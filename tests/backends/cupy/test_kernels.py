"""The arithmetic of the backend's kernels, compiled for this machine's processor.

Any C++ compiler accepts the kernels with CuPy's header of complex numbers and the keywords of CUDA
defined away.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import shutil
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", exc_type=ImportError)

from portarray.backends.cupy.namespace import kernels  # noqa: E402

COMPLEX_UNARY = pytest.importorskip("portarray_conformance.special_complex").COMPLEX_UNARY

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
if COMPILER is None:
    pytest.skip("needs a C++ compiler", allow_module_level=True)

HEADERS = Path(cupy.__file__).parent / "_core" / "include"

# CuPy's header asks Thrust for its namespace only, before version 14 by another file.
THRUST = """
#pragma once
#define THRUST_NAMESPACE_BEGIN namespace thrust {
#define THRUST_NAMESPACE_END }
"""

PREAMBLE = """
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#define __host__
#define __device__
using std::abs; using std::atan2; using std::copysign; using std::cos; using std::exp;
using std::expm1; using std::fabs; using std::floor; using std::fmax; using std::fmod;
using std::hypot; using std::isfinite; using std::isinf; using std::isnan; using std::log;
using std::log10; using std::log1p; using std::log2; using std::nan; using std::pow;
using std::rint; using std::signbit; using std::sin; using std::sqrt;
#include <cupy/complex.cuh>
using thrust::pow;
static inline int __float_as_int(float x) { int i; memcpy(&i, &x, 4); return i; }
static inline float __int_as_float(int i) { float x; memcpy(&x, &i, 4); return x; }
"""

REALS = {"float64": "double", "float32": "float"}
COMPLEXES = {"complex128": "complex<double>", "complex64": "complex<float>"}
INTEGERS = {
    "int8": "signed char",
    "uint8": "unsigned char",
    "int32": "int",
    "uint32": "unsigned",
    "int64": "long long",
    "uint64": "unsigned long long",
}
DTYPES_OF = {
    **dict.fromkeys(("floor_divide", "remainder", "clip", "sign", "one_nan"), REALS),
    "nextafter": {"float32": "float"},
    **dict.fromkeys(("left_shift", "right_shift"), INTEGERS),
    **dict.fromkeys(
        (
            *("log", "log2", "log10", "log1p", "expm1", "tan", "tanh", "acosh"),
            *("complex_sign", "complex_power"),
        ),
        COMPLEXES,
    ),
}

Call = Callable[..., np.ndarray[Any, Any]]


def _loop(kernel: Any, dtype: str, name: str) -> str:
    """Return a C function that loops over elements like a launch of a kernel."""
    inputs = [parameter.name for parameter in kernel.in_params]
    (result,) = (parameter.name for parameter in kernel.out_params)
    arguments = "".join(f"const {dtype} *{parameter}_, " for parameter in inputs)
    read = " ".join(f"const T {parameter} = {parameter}_[i_];" for parameter in inputs)
    return (
        f'extern "C" void {name}({arguments}{dtype} *{result}_, long count_) {{ typedef {dtype} T; '
        f"for (long i_ = 0; i_ < count_; ++i_) "
        f"{{ {read} T {result}; {kernel.operation}; {result}_[i_] = {result}; }} }}\n"
    )


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("kernels")
    for header in ("thrust/detail/config/namespace.h", "thrust/detail/config.h"):
        (folder / header).parent.mkdir(parents=True, exist_ok=True)
        (folder / header).write_text(THRUST)
    preambles = {getattr(kernels, name).preamble for name in DTYPES_OF}
    text = PREAMBLE + "".join(sorted(preambles))
    for name, dtypes in DTYPES_OF.items():
        for dtype, c_name in dtypes.items():
            text += _loop(getattr(kernels, name), c_name, f"{name}_{dtype}")
    for dtype, c_name in INTEGERS.items():
        text += (
            f'extern "C" bool outside_{dtype}({c_name} index, long long size) '
            f"{{ typedef {c_name} T; return {kernels.outside.map_expr}; }}\n"
            f'extern "C" void ramp_{dtype}('
            f"unsigned long long start, unsigned long long step, {c_name} *y_, long n_) "
            f"{{ typedef {c_name} T; for (long i = 0; i < n_; ++i) "
            f"{{ T y; {kernels.ramp.operation}; y_[i] = y; }} }}\n"
        )
    source, library = folder / "kernels.cpp", folder / "kernels.so"
    source.write_text(text)
    done = subprocess.run(
        [
            *(str(COMPILER), "-std=c++17", "-O1", "-ffp-contract=off", "-w", "-fPIC", "-shared"),
            *(f"-I{folder}", f"-I{HEADERS}", str(source), "-o", str(library)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return ctypes.CDLL(str(library))


@pytest.fixture
def run(compiled: ctypes.CDLL) -> Callable[[str], Call]:
    """Return a kernel as a function of NumPy arrays."""

    def kernel(name: str) -> Call:
        def call(*operands: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            operands = tuple(map(np.ascontiguousarray, operands))
            out = np.empty_like(operands[0])
            pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*operands, out)]
            getattr(compiled, f"{name}_{out.dtype.name}")(*pointers, ctypes.c_long(out.size))
            return out

        return call

    return kernel


def _pairs(values: list[float], dtype: str) -> tuple[np.ndarray[Any, Any], ...]:
    return tuple(
        np.array(column, dtype) for column in zip(*itertools.product(values, values), strict=True)
    )


ODD = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.0, 1e30, -1e30, 1e-30, math.inf, -math.inf, math.nan]


def _same(actual: Any, expected: Any) -> np.ndarray[Any, Any]:
    """Return where values are equal, including signs of zeros; all NaNs are equal."""
    alike = (actual == expected) & (np.signbit(actual) == np.signbit(expected))
    return np.asarray(alike | (np.isnan(actual) & np.isnan(expected)))


@pytest.mark.parametrize("dtype", REALS)
def test_division(run: Callable[[str], Call], dtype: str) -> None:
    x, y = _pairs([*ODD, 5e8, -17.25, 1 / 3], dtype)
    quotients, rests = run("floor_divide")(x, y), run("remainder")(x, y)
    assert quotients.size == 17 * 17
    for a, b, quotient, remainder in zip(
        *map(np.ndarray.tolist, (x, y, quotients, rests)), strict=True
    ):
        if b == 0 or math.isinf(a) or math.isnan(a) or math.isnan(b):
            assert math.isnan(remainder), (a, b)
            with np.errstate(all="ignore"):
                plain = float(np.divide(a, b))
            assert _same(quotient, plain), (a, b)
        elif math.isinf(b):
            expected = math.copysign(a, b) if a == 0 else a if (a < 0) == (b < 0) else b
            assert _same(remainder, expected), (a, b)
            assert quotient == 0, (a, b)
        else:
            exact = Fraction(a) // Fraction(b)
            assert remainder == float(
                np.dtype(dtype).type(float(Fraction(a) - exact * Fraction(b)))
            )
            assert math.copysign(1, remainder) == math.copysign(1, b), (a, b)
            if abs(exact) < 2**22:
                assert quotient == exact, (a, b)


def test_nextafter(run: Callable[[str], Call]) -> None:
    tiny = [1e-45, -1e-45, 1.17549435e-38, 3.4028235e38]
    x, y = _pairs([*ODD[:6], *tiny, math.inf, -math.inf, math.nan], "float32")
    with np.errstate(all="ignore"):
        expected = np.nextafter(x, y)
    assert _same(run("nextafter")(x, y), expected).all()


@pytest.mark.parametrize("dtype", REALS)
def test_limits(run: Callable[[str], Call], dtype: str) -> None:
    values = [-2.0, -1.0, 0.5, 1.0, 3.0, math.nan, math.inf, -math.inf]
    x, low, high = (
        np.array(column, dtype) for column in zip(*itertools.product(*[values] * 3), strict=True)
    )
    assert _same(run("clip")(x, low, high), np.minimum(np.maximum(x, low), high)).all()


@pytest.mark.parametrize("dtype", REALS)
def test_signs_and_nan(run: Callable[[str], Call], dtype: str) -> None:
    x = np.array([*ODD, -math.nan], dtype)
    assert (run("sign")(x) == np.sign(x))[:-2].all()
    assert np.isnan(run("sign")(x)[-2:]).all()
    assert _same(run("one_nan")(x), x).all()
    assert not np.signbit(run("one_nan")(x)[-2:]).any()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts(run: Callable[[str], Call], dtype: str) -> None:
    limits = np.iinfo(dtype)
    values = [limits.min, limits.max, 0, 1, 5, limits.max // 3]
    x, n = (
        np.array(column, dtype)
        for column in zip(*itertools.product(values, range(limits.bits + 6)), strict=True)
    )
    # NumPy: 0, or the sign, where all bits are shifted out.
    assert (run("left_shift")(x, n) == np.left_shift(x, n)).all()
    assert (run("right_shift")(x, n) == np.right_shift(x, n)).all()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bounds_of_indices(compiled: ctypes.CDLL, dtype: str) -> None:
    outside = getattr(compiled, f"outside_{dtype}")
    outside.argtypes = (np.ctypeslib.as_ctypes_type(np.dtype(dtype)), ctypes.c_longlong)
    outside.restype = ctypes.c_bool
    limits = np.iinfo(dtype)
    for index in {limits.min, limits.max, *(i for i in range(-7, 8) if i >= limits.min)}:
        for size in (0, 1, 5):
            assert outside(index, size) == (not -size <= index < size), (index, size)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_ramps(compiled: ctypes.CDLL, dtype: str) -> None:
    ramp = getattr(compiled, f"ramp_{dtype}")
    ramp.argtypes = (ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_long)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    for start, step, count in ((high, -(high // 3), 4), (low, high // 3, 4), (5, -1, 6), (0, 9, 3)):
        out = np.empty(count, dtype)
        ramp(start % 2**64, step % 2**64, out.ctypes.data, count)
        assert out.tolist() == [start + i * step for i in range(count)]


OF_COMPLEX = ("log", "log1p", "expm1", "tan", "tanh", "acosh", "sign")


@pytest.mark.parametrize("dtype", COMPLEXES)
@pytest.mark.parametrize("name", OF_COMPLEX)
def test_special_cases(run: Callable[[str], Call], name: str, dtype: str) -> None:
    function = run("complex_sign" if name == "sign" else name)
    tolerance = {"complex128": 1e-14, "complex64": 1e-6}[dtype]
    rows = COMPLEX_UNARY[name]
    assert len(rows) > 3
    for row in rows:
        z = np.empty(1, dtype)
        z.real, z.imag = row.operand
        (out,) = function(z)
        parts = zip((out.real, out.imag), row.want, row.free_signs, strict=True)
        for actual, want, free in parts:
            if free:
                actual, want = abs(actual), abs(want)
            if want == 0 or not math.isfinite(want):
                assert _same(actual, want), (row, out)
            else:
                assert actual == pytest.approx(want, rel=tolerance), (row, out)


@pytest.mark.parametrize("dtype", COMPLEXES)
@pytest.mark.parametrize("name", [*OF_COMPLEX, "log2", "log10", "power"])
def test_accuracy(run: Callable[[str], Call], name: str, dtype: str) -> None:
    mpmath = pytest.importorskip("mpmath")
    exact: dict[str, Callable[..., Any]] = {
        "log1p": lambda z: mpmath.log(1 + z),
        "expm1": lambda z: mpmath.exp(z) - 1,
        "log2": lambda z: mpmath.log(z) / mpmath.log(2),
        "sign": lambda z: z / abs(z),
    }
    rng = np.random.default_rng(7)

    def drawn() -> np.ndarray[Any, Any]:
        small = np.where(rng.random((2, 200)) < 0.4, 2.0 ** -rng.integers(0, 60, (2, 200)), 1)
        parts = rng.uniform(-8, 8, (2, 200)) * small
        return (parts[0] + 1j * parts[1]).astype(dtype)

    z = drawn()
    operands = (z, rng.uniform(-2, 2, 200).astype(dtype)) if name == "power" else (z,)
    results = run(f"complex_{name}" if name in ("sign", "power") else name)(*operands)
    # Thrust's powers are exponentials of products with logarithms.
    allowed = (64 if name == "power" else 4) * float(np.finfo(dtype).eps)
    with mpmath.workprec(200):
        for *arguments, got in zip(*operands, results, strict=True):
            expected = exact.get(name, getattr(mpmath, name, None))(
                *(mpmath.mpc(complex(argument)) for argument in arguments)
            )
            assert abs(mpmath.mpc(complex(got)) - expected) <= allowed * abs(expected), arguments


def test_powers_of_zero(run: Callable[[str], Call]) -> None:
    base = np.array([0, 0, 0, 1, 2, -0.0], "complex128")
    exponent = np.array([0, 2, 1 + 1j, 0, -1, 3], "complex128")
    assert run("complex_power")(base, exponent).tolist() == pytest.approx([1, 0, 0, 1, 0.5, 0])


def test_kernel_names_are_unique_and_prefixed(kernels_of: Any) -> None:
    """CuPy keeps binaries by a kernel's text, and profilers show its name."""
    named = kernels_of(kernels)
    names = {kernel.name for kernel in named.values()}
    assert len(names) == len(named) > 20
    assert all(name.startswith("portarray_") for name in names)


def test_parameters_have_free_names(kernels_of: Any) -> None:
    """CuPy keeps ``i``, ``n`` and what begins with an underscore for itself."""
    for name, kernel in kernels_of(kernels).items():
        parameters = [parameter.name for parameter in (*kernel.in_params, *kernel.out_params)]
        assert not [
            parameter
            for parameter in parameters
            if parameter in ("i", "n") or parameter.startswith("_")
        ], name
