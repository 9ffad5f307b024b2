"""Kernels where CuPy's functions are wrong, missing or need several launches.

CuPy compiles a kernel on its first call for the dtypes of the operands, and caches the binary on
disk. A scalar operand takes the array's dtype. CuPy compiles with ``-ftz=true``, so that subnormal
float32 numbers count as 0.
"""

from __future__ import annotations

import cupy

from portarray.backends.cupy.widening import WIDE

# --- real numbers -------------------------------------------------------------------------------

# CuPy's functions divide first, which loses the remainder of large quotients, and are wrong for the
# standard's special cases.
_DIVISION = (
    WIDE
    + """
template <typename W> __device__ inline W portarray_remainder(W x, W y) {
    W rest = fmod(x, y);
    if (rest != 0 && (rest < 0) != (y < 0)) rest += y;
    return rest == 0 ? copysign(rest, y) : rest;
}

template <typename W> __device__ inline W portarray_floor_divide(W x, W y) {
    const W ratio = x / y;
    if (isinf(x) || isinf(y) || y == 0 || !isfinite(ratio)) return ratio;
    const W rest = fmod(x, y);
    // x - rest is a multiple of y, so this quotient is within rounding of an integer.
    W quotient = (x - rest) / y;
    if (rest != 0 && (rest < 0) != (y < 0)) quotient -= 1;
    W whole = floor(quotient);
    if (quotient - whole > W(0.5)) whole += 1;
    return whole == 0 ? copysign(whole, ratio) : whole;
}
"""
)

floor_divide = cupy.ElementwiseKernel(
    "T x, T y",
    "T z",
    "z = T(portarray_floor_divide(portarray_wide(x), portarray_wide(y)))",
    "portarray_floor_divide",
    preamble=_DIVISION,
)
"""Divide floating-point numbers and round down; infinite operands give their quotient."""

remainder = cupy.ElementwiseKernel(
    "T x, T y",
    "T z",
    "z = T(portarray_remainder(portarray_wide(x), portarray_wide(y)))",
    "portarray_remainder",
    preamble=_DIVISION,
)
"""The remainder of floating-point numbers, exact, with the divisor's sign."""

sign = cupy.ElementwiseKernel(
    "T x",
    "T y",
    "y = x > T(0) ? T(1) : x < T(0) ? T(-1) : T(x - x)",
    "portarray_sign",
)
"""The sign of floating-point numbers; before version 14 CuPy's sign of NaN is 0."""

# On the bits: floating-point arithmetic would flush subnormal numbers to 0.
nextafter = cupy.ElementwiseKernel(
    "float32 x, float32 y",
    "float32 z",
    """
    const int from = __float_as_int(x), to = __float_as_int(y);
    const int a = from < 0 ? (int)(0x80000000u - (unsigned)from) : from;
    const int b = to < 0 ? (int)(0x80000000u - (unsigned)to) : to;
    int next = a;
    if (isnan(x) || isnan(y)) {
        next = 0x7fc00000;
    } else if (a == b) {
        next = to;
    } else {
        next = a < b ? a + 1 : a - 1;
        if (next < 0) next = (int)(0x80000000u - (unsigned)next);
        else if (next == 0 && from < 0) next = (int)0x80000000u;
    }
    z = __int_as_float(next);
    """,
    "portarray_nextafter",
)
"""The next float32 number after x towards y."""

clip = cupy.ElementwiseKernel(
    "T x, T low, T high",
    "T y",
    """
    T kept = x < low ? low : x;
    kept = kept > high ? high : kept;
    y = x != x ? x : low != low ? low : high != high ? high : kept;
    """,
    "portarray_clip",
)
"""Limit real numbers; NaN in any operand gives NaN."""

fill = cupy.ElementwiseKernel("T x", "T y", "y = x", "portarray_fill")
"""Fill an array with a scalar; ndarray.fill writes 0.0 for -0.0 (it clears the memory)."""

put = cupy.ElementwiseKernel("bool mask, T value", "T x", "if (mask) x = value", "portarray_put")
"""Assign one value where a mask is true; CuPy first counts the elements, and waits."""

one_nan = cupy.ElementwiseKernel("T x", "T y", 'y = x != x ? T(nan("")) : x', "portarray_one_nan")
"""Copy with every NaN positive, so that sorting by the bits puts them last."""

# --- integers -----------------------------------------------------------------------------------

# Shifting by all bits depends on the processor: AMD's GPUs take the amount modulo the width.
left_shift = cupy.ElementwiseKernel(
    "T x, T by", "T y", "y = by < T(8 * sizeof(T)) ? T(x << by) : T(0)", "portarray_left_shift"
)
"""Shift bits to the left; 0 where all are shifted out."""

right_shift = cupy.ElementwiseKernel(
    "T x, T by",
    "T y",
    "y = by < T(8 * sizeof(T)) ? T(x >> by) : T(x < T(0) ? -1 : 0)",
    "portarray_right_shift",
)
"""Shift bits to the right, filling with the sign."""

ramp = cupy.ElementwiseKernel(
    "uint64 start, uint64 step",
    "T y",
    "y = T(start + (unsigned long long)i * step)",
    "portarray_ramp",
)
"""``start + i * step`` of integers, modulo 2**64, so that steps may leave the dtype."""

arange = cupy.ElementwiseKernel(
    "float64 start, float64 step", "T y", "y = T(start + double(i) * step)", "portarray_arange"
)
"""``start + i * step`` with one rounding to the dtype at the end."""

outside = cupy.ReductionKernel(
    "T index, int64 size",
    "bool found",
    "index < T(0) ? (long long)index < -size"
    " : (unsigned long long)index >= (unsigned long long)size",
    "a || b",
    "found = a",
    "false",
    "portarray_outside",
    reduce_type="bool",
)
"""Whether an index is out of the bounds of an axis; CuPy would take it modulo its length."""

# --- complex numbers ----------------------------------------------------------------------------

# CuPy uses Thrust's functions. Some are wrong for special cases of the standard, and log1p and
# expm1 lose all digits near 0 (cupy/_core/include/cupy/complex.cuh). Where digits would cancel,
# complex64 is computed in double precision.
_COMPLEX = """
template <typename R>
__device__ inline complex<R> portarray_log(complex<R> z) {
    const R a = z.real(), b = z.imag();
    if (!isinf(a) && !isinf(b)) return log(z);
    return complex<R>(isinf(a) ? fabs(a) : fabs(b), atan2(b, a));
}

template <typename R>
__device__ inline complex<R> portarray_log1p(complex<R> z) {
    const double a = z.real(), b = z.imag();
    // abs(1 + z)**2 - 1, which is exact where it is small.
    const double excess = a * (2 + a) + b * b;
    const double modulus = fabs(excess) < 0.5 ? 0.5 * log1p(excess) : log(hypot(1 + a, b));
    return complex<R>(R(modulus), R(atan2(b, 1 + a)));
}

template <typename R>
__device__ inline complex<R> portarray_expm1(complex<R> z) {
    const double a = z.real(), b = z.imag();
    const bool wild = !isfinite(b);
    // W. Kahan, "Branch Cuts for Complex Elementary Functions", 1987. The last term makes +0 of -0.
    const double half = sin(b / 2);
    double real = expm1(a) * cos(b) - 2 * half * half + 0.0;
    double imag = b == 0 ? b : exp(a) * sin(b);
    if (isinf(a) && a < 0) {
        real = -1;
        imag = wild ? 0.0 : imag;
    } else if (isinf(a) && wild) {
        real = a;
    }
    return complex<R>(R(real), R(imag));
}

template <typename R>
__device__ inline complex<R> portarray_tanh(complex<R> z) {
    // Where Thrust says NaN for all, the standard keeps the zero.
    return z.real() == 0 && !isfinite(z.imag()) ? complex<R>(z.real(), R(nan(""))) : tanh(z);
}

template <typename R>
__device__ inline complex<R> portarray_tan(complex<R> z) {
    const complex<R> turned = portarray_tanh(complex<R>(-z.imag(), z.real()));
    return complex<R>(turned.imag(), -turned.real());
}

template <typename R>
__device__ inline complex<R> portarray_acosh(complex<R> z) {
    return z.real() == 0 && isnan(z.imag()) ? complex<R>(R(nan("")), R(M_PI / 2)) : acosh(z);
}

template <typename R>
__device__ inline complex<R> portarray_sign(complex<R> z) {
    R a = z.real(), b = z.imag();
    if (isnan(a) || isnan(b) || (isinf(a) && isinf(b))) return complex<R>(R(nan("")), R(nan("")));
    if (isinf(a)) return complex<R>(copysign(R(1), a), copysign(R(0), b));
    if (isinf(b)) return complex<R>(copysign(R(0), a), copysign(R(1), b));
    const R larger = fmax(fabs(a), fabs(b));
    if (larger == 0) return complex<R>(R(0), R(0));
    a /= larger;
    b /= larger;
    const R size = hypot(a, b);
    return complex<R>(a / size, b / size);
}

template <typename R>
__device__ inline complex<R> portarray_power(complex<R> x, complex<R> y) {
    // Thrust takes the logarithm of 0.
    if (y == complex<R>(0)) return complex<R>(1);
    if (x == complex<R>(0) && y.real() > 0) return complex<R>(0);
    const complex<double> power = pow(
        complex<double>(x.real(), x.imag()), complex<double>(y.real(), y.imag()));
    return complex<R>(R(power.real()), R(power.imag()));
}
"""


def _of_complex(name: str, expression: str) -> cupy.ElementwiseKernel:
    """Return the kernel of a function of complex numbers."""
    return cupy.ElementwiseKernel(
        "T x", "T y", f"y = {expression}", f"portarray_{name}", preamble=_COMPLEX
    )


log = _of_complex("complex_log", "portarray_log(x)")
log2 = _of_complex("complex_log2", "portarray_log(x) / log(decltype(x.real())(2))")
log10 = _of_complex("complex_log10", "portarray_log(x) / log(decltype(x.real())(10))")
log1p = _of_complex("complex_log1p", "portarray_log1p(x)")
expm1 = _of_complex("complex_expm1", "portarray_expm1(x)")
tan = _of_complex("complex_tan", "portarray_tan(x)")
tanh = _of_complex("complex_tanh", "portarray_tanh(x)")
acosh = _of_complex("complex_acosh", "portarray_acosh(x)")
complex_sign = _of_complex("complex_sign", "portarray_sign(x)")

complex_power = cupy.ElementwiseKernel(
    "T x, T y", "T z", "z = portarray_power(x, y)", "portarray_complex_power", preamble=_COMPLEX
)
"""Powers of complex numbers."""
