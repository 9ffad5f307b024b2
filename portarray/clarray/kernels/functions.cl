/* Real functions; needs real.cl. The driver's, except where those are slow.

   PoCL takes the functions of one work-item from SLEEF's scalar half, which is not faster than one
   element in 10 to 70 ns, and cannot vectorize loops that call them: see
   https://github.com/shibatch/sleef/issues/225 and https://github.com/pocl/pocl/pull/2320.
   The functions here do not branch, so that work-items share vector instructions: 20 to
   100 times as fast. The methods are those of fdlibm (reduction to a small interval, an odd series
   there) and the coefficients are minimax fits (Chebyshev's, in 60 digits) with an error below a
   tenth of an ULP. */
#ifdef POCL_DEVICE_ADDRESS_BITS /* PoCL defines it for every program */

#define P2(x, a, b) fma(x, b, a)
#define P3(x, a, b, c) fma(x, P2(x, b, c), a)
#define P4(x, a, b, c, d) fma(x, P3(x, b, c, d), a)
#define P5(x, a, b, c, d, e) fma(x, P4(x, b, c, d, e), a)
#define P6(x, a, b, c, d, e, f) fma(x, P5(x, b, c, d, e, f), a)
#define P7(x, a, b, c, d, e, f, g) fma(x, P6(x, b, c, d, e, f, g), a)

#if R_IS_DOUBLE
#define R_TINY DBL_MIN
#define R_MAGNITUDE 0x7fffffffffffffffUL
#define R_LOG2_MAX K(1024.0)
#define R_SQRT_HALF_BITS 0x3fe6a09e667f3bcdUL
#define K_LN2_HIGH K(0.693147180559890330187)
#define K_LN2_LOW K(5.497923018708371174712e-14)
#define K_LOG10_2_HIGH K(0.3010299956639528318192)
#define K_LOG10_2_LOW K(2.836339455104496443748e-14)
#define K_PI_4_LOW K(3.0616169978683829430e-17)
#define R_SURE K(1152921504606846976.0)
/* (2*atanh(s) - 2*s) / s**3 in s**2, for abs(s) <= 0.1717. */
#define LOG_SERIES(z) P7(z, K(0.66666666666666697181), K(0.39999999999898593194), \
    K(0.28571428626388530927), K(0.22222211067419393419), K(0.18182894030543296767), \
    K(0.15331558670323325552), K(0.14618462083796982475))
/* (expm1(r) - r - r*r/2) / r**3, for abs(r) <= log(2)/2. */
#define EXP_SERIES(r) P5(r, K(0.16666666666666666667), K(0.041666666666666669763), \
    K(0.0083333333333333335397), K(0.0013888888888883737405), \
    P7(r, K(0.00019841269841266407493), K(0.000024801587325585838877), \
       K(2.7557319239982491693e-6), K(2.7557273594799413187e-7), K(2.5052077970128780588e-8), \
       K(2.0914707069612353372e-9), K(1.6084341282207346822e-10)))
/* (atan(t) - t) / t**3 in t**2, for abs(t) <= sqrt(2) - 1. */
#define ATAN_SERIES(z) P7(z, K(-0.33333333333333333329), K(0.19999999999999991538), \
    K(-0.14285714285711517444), K(0.11111111110754595079), K(-0.09090909067001964713), \
    K(0.076923067357183861421), \
    P7(z, K(-0.066666420138028236127), K(0.058819251621305091288), K(-0.05258040671813482635), \
       K(0.047193893943800498757), K(-0.041044134902075012145), K(0.030635176368556079867), \
       K(-0.013917695219310572561)))
#else
#define R_TINY FLT_MIN
#define R_MAGNITUDE 0x7fffffffU
#define R_LOG2_MAX K(128.0)
#define R_SQRT_HALF_BITS 0x3f3504f3U
#define K_LN2_HIGH K(0.693145751953125)
#define K_LN2_LOW K(1.42860682030942e-6)
#define K_LOG10_2_HIGH K(0.301025390625)
#define K_LOG10_2_LOW K(4.60503898119521e-6)
#define K_PI_4_LOW K(-2.1855695e-8)
#define R_SURE K(1073741824.0)
#define LOG_SERIES(z) \
    P4(z, K(0.66666666554), K(0.40000122392), K(0.28550758267), K(0.23332167964))
#define EXP_SERIES(r) P5(r, K(0.16666666667), K(0.041666554498), K(0.008333320874), \
    K(0.0013926203362), K(0.00019882720298))
#define ATAN_SERIES(z) P6(z, K(-0.33333333279), K(0.19999977254), K(-0.14284150959), \
    K(0.11071360682), K(-0.086246437844), K(0.050480550102))
#endif
#define K_PI_4 K(0.785398163397448309615660845819875721)
#define K_LOG2_E K(1.44269504088896340735992468100189214)
#define K_LOG10_E K(0.434294481903251827651128918916605082)

/* f and k with x = 2**k * (1 + f) and 1 + f between sqrt(1/2) and sqrt(2), for x > 0. */
static R r_log_reduced(R x, R *k) {
    const bool small = x < R_TINY;
    const R_BITS bits = AS_BITS(small ? x * r_power_of_two(R_MANTISSA + 2) : x);
    const R_INT exponent = (R_INT)(bits - R_SQRT_HALF_BITS) >> R_MANTISSA;
    *k = (R)(exponent - (small ? R_MANTISSA + 2 : 0));
    return AS_R(bits - ((R_BITS)exponent << R_MANTISSA)) - K(1.0);
}

/* log(1 + f) + low, and the small terms that must be added last. */
static R r_log_series(R f, R low) {
    const R s = f / (K(2.0) + f), z = s * s, square = K(0.5) * f * f;
    return f - (square - (s * (square + z * LOG_SERIES(z)) + low));
}

static R r_log_special(R found, R x) {
    found = x == 0 ? -R_INFINITY : found;
    found = x < 0 ? R_NAN : found;
    return x == R_INFINITY || isnan(x) ? x : found;
}

static R r_log(R x) {
    R k;
    const R f = r_log_reduced(x, &k);
    return r_log_special(k * K_LN2_HIGH + r_log_series(f, k * K_LN2_LOW), x);
}

static R r_log2(R x) {
    R k;
    const R f = r_log_reduced(x, &k);
    return r_log_special(fma(r_log_series(f, K(0.0)), K_LOG2_E, k), x);
}

static R r_log10(R x) {
    R k;
    const R f = r_log_reduced(x, &k);
    const R low = fma(r_log_series(f, K(0.0)), K_LOG10_E, k * K_LOG10_2_LOW);
    return r_log_special(k * K_LOG10_2_HIGH + low, x);
}

/* The logarithm of the rounded 1 + x, and the rounding error. */
static R r_log1p(R x) {
    const R u = K(1.0) + x;
    const bool near = x > K(-0.29) && x < K(0.41);
    R k;
    const R g = r_log_reduced(u, &k);
    const R lost = (x < 1 ? x - (u - K(1.0)) : K(1.0) - (u - x)) / u;
    const R f = near ? x : g;
    k = near ? K(0.0) : k;
    const R low = near ? K(0.0) : lost + k * K_LN2_LOW;
    const R found = k * K_LN2_HIGH + r_log_series(f, low);
    return x == 0 ? x : r_log_special(found, x == R_INFINITY ? x : u);
}

/* 2**n * expm1(r) + (2**n - 1) with x = n*log(2) + r. */
static R r_expm1(R x) {
    const R bounded = clamp(x, K(-40.0), (R_LOG2_MAX + K(1.0)) * K_LN2);
    const R n = rint(bounded * K_LOG2_E);
    const R r = fma(-n, K_LN2_LOW, fma(-n, K_LN2_HIGH, bounded));
    const R p = fma(r * r, fma(r, EXP_SERIES(r), K(0.5)), r);
    const R_INT k = (R_INT)n;
    const R one = k > 64 ? K(1.0) : K(1.0) - r_power_of_two(min((R_INT)64, -k));
    const R found = k == 0 ? p : r_scale(p + one, k);
    return x == 0 || isnan(x) || x == R_INFINITY ? x : found;
}

/* The angle is one of five multiples of pi/4 and that of a point within pi/8 of the axis. Larger
   and smaller are distinguished by bits: as a pair of the same operations on x and y the compiler would put
   them into a vector of two, and then no longer the work-items. */
static R r_atan2(R y, R x) {
    const R_BITS x_bits = AS_BITS(x) & R_MAGNITUDE, y_bits = AS_BITS(y) & R_MAGNITUDE;
    const bool steep = y_bits > x_bits, back = signbit(x), same = x_bits == y_bits;
    const R_BITS large = steep ? y_bits : x_bits;
    const R scale = large > AS_BITS(R_SURE * R_SURE) ? K(0.25) : K(1.0);
    const R b = AS_R(large) * scale, a = AS_R(x_bits + y_bits - large) * scale;
    const bool upper = same ? large > 0 : a > K(0.414213562373095048801688724209698079) * b;
    const R quotient = (upper ? a - b : a) / (upper ? a + b : b);
    const R t = same ? K(0.0) : quotient, z = t * t;
    const R p = fma(t * z, ATAN_SERIES(z), t);
    const R eighths = upper ? K(1.0) : steep ? K(2.0) : K(0.0);
    const R turns = back ? K(4.0) - eighths : eighths;
    const R angle = fma(turns, K_PI_4, fma(turns, K_PI_4_LOW, steep != back ? -p : p));
    return copysign(large > AS_BITS(R_INFINITY) ? R_NAN : angle, y);
}

static R r_atan(R x) {
    return r_atan2(x, K(1.0));
}

static R r_asin(R x) {
    return r_atan2(x, sqrt((K(1.0) - x) * (K(1.0) + x)));
}

static R r_acos(R x) {
    return r_atan2(sqrt((K(1.0) - x) * (K(1.0) + x)), x);
}

static R r_asinh(R x) {
    const R a = fabs(x);
    const bool far = a > R_SURE;
    const R found = r_log1p(far ? a : a + a * a / (K(1.0) + sqrt(K(1.0) + a * a)));
    return copysign(found + (far ? K_LN2 : K(0.0)), x);
}

static R r_acosh(R x) {
    const bool far = x > R_SURE;
    const R t = x - K(1.0);
    const R found = r_log1p(far ? x : t + sqrt(t * (t + K(2.0)))) + (far ? K_LN2 : K(0.0));
    return x < 1 ? R_NAN : found;
}

static R r_atanh(R x) {
    const R a = fabs(x);
    return copysign(K(0.5) * r_log1p(K(2.0) * a / (K(1.0) - a)), x);
}

static R r_tanh(R x) {
    const R a = fmin(fabs(x), K(22.0));
    const R e = r_expm1(K(2.0) * a);
    return isnan(x) ? x : copysign(e / (e + K(2.0)), x);
}

#define acos r_acos
#define acosh r_acosh
#define asin r_asin
#define asinh r_asinh
#define atan r_atan
#define atan2 r_atan2
#define atanh r_atanh
#define expm1 r_expm1
#define log r_log
#define log10 r_log10
#define log1p r_log1p
#define log2 r_log2
#define tanh r_tanh
#endif

#if R_IS_DOUBLE
#define R_EXP_SAFE K(700.0) /* exp(+-x) is normal up to here */
#else
#define R_EXP_SAFE K(85.0)
#endif

/* The hyperbolic sine and cosine of x as sine * factor and cosine * factor: from one expm1, and
   beyond the range of exp as exp(x/2) twice. */
static R r_sinh_cosh(R x, R *cosine, R *factor) {
    const R a = fabs(x);
    const bool far = a > R_EXP_SAFE;
    const R e = expm1(far ? a * K(0.5) : a);
    const R large = (e + K(1.0)) * K(0.5);
    const R fraction = e / (e + K(1.0));
    *factor = far ? e + K(1.0) : K(1.0);
    *cosine = far ? large : K(1.0) + K(0.5) * e * fraction;
    return copysign(far ? large : K(0.5) * (e + fraction), x);
}

#ifdef POCL_DEVICE_ADDRESS_BITS
static R r_sinh(R x) {
    R cosine, factor;
    const R sine = r_sinh_cosh(x, &cosine, &factor);
    return sine * factor;
}

static R r_cosh(R x) {
    R cosine, factor;
    r_sinh_cosh(x, &cosine, &factor);
    return cosine * factor;
}

#define cosh r_cosh
#define sinh r_sinh

#if defined(HAS_DOUBLE) && !R_IS_DOUBLE
/* Float only, through double and 64-bit integers. */

__constant uint TWO_OVER_PI[9] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                  0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};

/* x modulo pi/2 and the quadrant, for x >= 0: by a product with pi/2 in two parts, and for large x
   (M. Payne, R. Hanek, 1983) by that of the mantissa with those 96 bits of 2/pi that count. */
static float r_angle(float x, int *quadrant) {
    const double wide = x, whole = rint(wide * 0.63661977236758134308);
    const double near =
        fma(-whole, 6.1232339957367658861e-17, fma(-whole, 1.5707963267948965580, wide));
    const uint bits = as_uint(x), mantissa = (bits & 0x7fffffu) | 0x800000u;
    const int first = max((int)((bits >> 23) & 255) - 120, 0), word = first >> 5;
    const int shift = first & 31;
    const ulong a = TWO_OVER_PI[word], b = TWO_OVER_PI[word + 1], c = TWO_OVER_PI[word + 2];
    const ulong d = TWO_OVER_PI[word + 3];
    const ulong w0 = (((a << 32) | b) << shift) >> 32, w1 = (((b << 32) | c) << shift) >> 32;
    const ulong w2 = (((c << 32) | d) << shift) >> 32;
    const ulong turns = ((mantissa * w0) << 32) + mantissa * w1 + ((mantissa * w2) >> 32);
    const ulong nearest = (turns + (1UL << 61)) >> 62;
    const double part = (double)(long)(turns - (nearest << 62));
    const double far = part * (1.5707963267948965580 / 4611686018427387904.0);
    const bool large = x > 1e6f;
    *quadrant = large ? (int)nearest : (int)whole;
    return isinf(x) ? NAN : large ? (float)far : (float)near;
}

static float r_sin_series(float r) {
    const float z = r * r;
    return fma(
        r * z, P4(z, -0.16666666664f, 0.0083333318738f, -0.00019840086264f, 2.7249864655e-6f), r);
}

static float r_cos_series(float r) {
    const float z = r * r;
    const float tail =
        P4(z, 0.041666666664f, -0.0013888887671f, 2.4800599984e-5f, -2.7300908168e-7f);
    return fma(z, fma(z, tail, -0.5f), 1.0f);
}

static float r_sin(float x) {
    int quadrant;
    const float r = r_angle(fabs(x), &quadrant);
    const float found = quadrant & 1 ? r_cos_series(r) : r_sin_series(r);
    const float turned = quadrant & 2 ? -found : found;
    return x == 0 ? x : signbit(x) ? -turned : turned;
}

static float r_cos(float x) {
    int quadrant;
    const float r = r_angle(fabs(x), &quadrant);
    const float found = quadrant & 1 ? r_sin_series(r) : r_cos_series(r);
    return (quadrant + 1) & 2 ? -found : found;
}

static float r_tan(float x) {
    int quadrant;
    const float r = r_angle(fabs(x), &quadrant);
    const float sine = r_sin_series(r), cosine = r_cos_series(r);
    const float found = quadrant & 1 ? -cosine / sine : sine / cosine;
    return x == 0 ? x : signbit(x) ? -found : found;
}

/* 2**(y*log2(x)) in double; its rounding to float is the only one that counts. */
static float r_pow(float x, float y) {
    const double a = fabs(x), b = y;
    const ulong bits = as_ulong(a);
    const long exponent = (long)(bits - 0x3fe6a09e667f3bcdUL) >> 52;
    const double f = as_double(bits - ((ulong)exponent << 52)) - 1.0;
    const double s = f / (2.0 + f), z = s * s;
    const double series = P6(z, 0.66666666666662042, 0.40000000011291143, 0.28571424111467305,
                             0.22222865200872601, 0.18140066212067054, 0.16623743506983998);
    const double logarithm =
        fma(fma(s * z, series, 2.0 * s), 1.4426950408889634074, (double)exponent);
    const double t = clamp(b * logarithm, -300.0, 300.0), n = rint(t);
    const double r = (t - n) * 0.69314718055994530942;
    const double p = P5(r, 0.16666666667, 0.041666554498, 0.008333320874, 0.0013926203362,
                        0.00019882720298);
    const double power = fma(r * r, fma(r, p, 0.5), r) + 1.0;
    const double scaled = power * as_double((ulong)((long)n + 1023) << 52);
    const bool whole = rint(y) == y;
    const bool odd = whole && fabs(y) < 16777216.0f && ((int)clamp(y, -3e7f, 3e7f) & 1);
    const bool up = (fabs(x) > 1) == (y > 0);
    float found = (float)scaled;
    found = x == 0 || isinf(x) || isinf(y) ? (up ? INFINITY : 0.0f) : found;
    found = isinf(y) && fabs(x) == 1 ? 1.0f : found;
    found = signbit(x) && odd ? -found : found;
    found = x < 0 && !whole && !isinf(x) ? NAN : found;
    found = isnan(x) || isnan(y) ? NAN : found;
    return x == 1 || y == 0 ? 1.0f : found;
}

#define cos r_cos
#define pow r_pow
#define sin r_sin
#define tan r_tan
#endif
#endif
