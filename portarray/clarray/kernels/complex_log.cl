/* Complex logarithms and roots; needs real.cl, functions.cl and complex.cl.

   Special values: C99, Annex G.6, as in the Python array API standard. */

/* a*a + b*b - 1 from the exact products and their exact sum (T. J. Dekker 1971; D. E. Knuth,
   TAOCP 2, 4.2.2): near the unit circle, the logarithm consists of digits that cancel. */
static R r_square_sum_minus_one(R a, R b) {
    const R aa = a * a, bb = b * b;
    const R below = fma(a, a, -aa) + fma(b, b, -bb);
    const R rest = aa - K(1.0); /* exact for aa in [1/2, 2] */
    const R sum = rest + bb;
    const R part = sum - rest;
    return sum + ((rest - (sum - part)) + (bb - part) + below);
}

/* The number u and the exponent k for which log(hypot(x, y)) = log1p(u)/2 + k*log(2). Away from
   the unit circle the operands are scaled to be near it, so that nothing overflows. */
static R r_log_parts(R x, R y, R *k) {
    /* Subnormal numbers are made normal: r_exponent has no less for them than for the rest. */
    const R_INT lifted = fmax(fabs(x), fabs(y)) < r_power_of_two(1 - R_BIAS) ? R_MANTISSA : 0;
    const R lift = r_power_of_two(lifted);
    const R a = fmax(fabs(x), fabs(y)) * lift, b = fmin(fabs(x), fabs(y)) * lift;
    const bool near = a > K(0.5) && a < K(2.0);
    const R_INT exponent = near ? 0 : r_exponent(a);
    const R scale = r_power_of_two(-exponent);
    *k = (R)(exponent - lifted);
    return r_square_sum_minus_one(a * scale, b * scale);
}

/* Infinity wins over NaN, and NaN over numbers. */
static R r_size_special(R size, R x, R y) {
    const R found = isnan(x) || isnan(y) ? R_NAN : size;
    return isinf(x) || isinf(y) ? R_INFINITY : found;
}

/* The logarithm to a base given by 1/log(base) and log(2)/log(base). */
static C c_log_base(C z, R unit, R binary) {
    R k;
    const R u = r_log_parts(z.x, z.y, &k);
    const R size = log1p(u) * (K(0.5) * unit) + k * binary;
    return (C)(r_size_special(size, z.x, z.y), atan2(z.y, z.x) * unit);
}

static C c_log(C z) {
    return c_log_base(z, K(1.0), K_LN2);
}

static C c_log2(C z) {
    return c_log_base(z, K(1.44269504088896340735992468100189214), K(1.0));
}

static C c_log10(C z) {
    return c_log_base(
        z, K(0.434294481903251827651128918916605082), K(0.301029995663981195213738894724493027));
}

/* abs(1 + z)**2 - 1 = x*x + 2*x + y*y near zero, where 1 + x would lose digits of x. */
static C c_log1p(C z) {
    const R x = z.x, y = z.y, moved = K(1.0) + x;
    const R xx = x * x, yy = y * y, twice = K(2.0) * x;
    const R below = fma(x, x, -xx) + fma(y, y, -yy);
    const R squares = xx + yy;
    const R part = squares - xx;
    const R lost = (xx - (squares - part)) + (yy - part);
    const R sum = twice + squares;
    const R other = sum - twice;
    const R excess = sum + ((twice - (sum - other)) + (squares - other) + lost + below);
    const bool near = excess > K(-0.75) && excess < K(3.0);
    R k;
    const R far = r_log_parts(moved, y, &k);
    const R size = log1p(near ? excess : far) * K(0.5) + (near ? K(0.0) : k * K_LN2);
    return (C)(r_size_special(size, x, y), atan2(y, moved));
}

/* T. E. Hull, T. F. Fairgrieve, P. T. P. Tang, "Implementing complex elementary functions using
   exception handling", ACM TOMS 20 (1994): one component from abs(z) + abs(x), which does not
   cancel, the other one by division. Scaling by even powers of two replaces the exceptions. */
static C c_sqrt(C z) {
    const R x = z.x, y = z.y, a = fabs(x), b = fabs(y);
    const R_INT k = r_exponent(a > b ? a : b) / 2;
    const R scale = r_power_of_two(-k);
    const R as = a * scale * scale, bs = b * scale * scale;
    const R large = sqrt(K(0.5) * (as + sqrt(as * as + bs * bs))) * r_power_of_two(k);
    const R small = b / (K(2.0) * large);
    C found = x < 0 ? (C)(small, copysign(large, y)) : (C)(large, copysign(small, y));
    found = x == 0 && y == 0 ? (C)(K(0.0), y) : found;
    if (isinf(x)) {
        const R other = isnan(y) ? R_NAN : K(0.0);
        found = x > 0 ? (C)(x, copysign(other, y)) : (C)(other, copysign(R_INFINITY, y));
    }
    return isinf(y) ? (C)(R_INFINITY, y) : found;
}
