/* Bit representations of real numbers and functions on them; one source for two precisions.

   The including program defines R (float or double) first. */

#define R_IS_DOUBLE_float 0
#define R_IS_DOUBLE_double 1
#define R_JOIN_(a, b) a##b
#define R_JOIN(a, b) R_JOIN_(a, b)
#if R_JOIN(R_IS_DOUBLE_, R)
#define R_IS_DOUBLE 1
#define K(v) v
#define R_BITS ulong
#define R_INT long
#define AS_R as_double
#define AS_BITS as_ulong
#define R_MANTISSA 52
#define R_BIAS 1023
#else
#define R_IS_DOUBLE 0
#define K(v) v##f
#define R_BITS uint
#define R_INT int
#define AS_R as_float
#define AS_BITS as_uint
#define R_MANTISSA 23
#define R_BIAS 127
#endif
#define R_INFINITY ((R)INFINITY)
#define R_NAN ((R)NAN)
#define K_LN2 K(0.693147180559945309417232121458176568)

/* 2**k as a number, for -R_BIAS < k <= R_BIAS. */
static R r_power_of_two(R_INT k) {
    return AS_R((R_BITS)(k + R_BIAS) << R_MANTISSA);
}

/* An exponent k for which x * 2**-k is near one: in [1, 2), but below one for subnormal x and up
   to four at the top of the range, where 2**-k would be subnormal itself. Needs x >= 0. */
static R_INT r_exponent(R x) {
    const R_INT biased = (R_INT)(AS_BITS(x) >> R_MANTISSA);
    return clamp(biased, (R_INT)1, (R_INT)(2 * R_BIAS - 1)) - R_BIAS;
}

/* x * 2**k for any k that two exponents can differ by: both steps but the last are exact. */
static R r_scale(R x, R_INT k) {
    const R_INT first = k / 2;
    return x * r_power_of_two(first) * r_power_of_two(k - first);
}

/* sqrt(x*x + y*y) without overflow or underflow on the way: 1 ULP. Infinity wins over NaN. */
static R r_hypot(R x, R y) {
    const R a = fabs(x), b = fabs(y);
    const R_INT k = r_exponent(a > b ? a : b);
    const R scale = r_power_of_two(-k), as = a * scale, bs = b * scale;
    const R size = sqrt(as * as + bs * bs) * r_power_of_two(k);
    return isinf(a) || isinf(b) ? R_INFINITY : size;
}

