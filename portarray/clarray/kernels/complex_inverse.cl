/* Inverse circular and hyperbolic functions of complex numbers; needs real.cl, functions.cl,
   complex.cl and complex_log.cl.

   Special values and branch cuts by the sign of zeros: C99, Annex G.6, as the Python array API
   standard has them. */

#if R_IS_DOUBLE
#define R_FAR K(1073741824.0)             /* 1 is negligible relative to its square */
#define R_FARTHER K(1152921504606846976.0) /* 1 is negligible relative to this */
#else
#define R_FAR K(16384.0)
#define R_FARTHER K(1073741824.0)
#endif
#define K_PI_2 K(1.57079632679489661923132169163975144)

/* T. E. Hull, T. F. Fairgrieve, P. T. P. Tang, "Implementing the complex arcsine and arccosine
   functions using exception handling", ACM TOMS 23 (1997). With r, s the distances of z from -1
   and 1 and a = (r + s)/2: real part atan2(x, beside), imaginary part log1p(a - 1 + sqrt(a*a - 1)),
   in which a - x and a - 1 are written as sums that do not cancel. Their tests for underflow
   are not needed where y*y is never formed alone; far away asin(z) is i*log(2*z) turned.

   Returns the modulus of the imaginary part; ``beside`` gets sqrt(a*a - x*x). */
static R c_arc_parts(R x, R y, R *beside) {
    const R a_x = fabs(x), a_y = fabs(y);
    const R above = a_x + K(1.0), below = a_x - K(1.0);
    const R r = r_hypot(above, a_y), s = r_hypot(below, a_y);
    const R a = K(0.5) * (r + s);
    const bool inside = a_x <= 1;
    const R one = K(1.0) / (r + above);
    const R two = K(1.0) / (inside ? s - below : s + below);
    const R both = K(0.5) * (one + two); /* times y*y is a - 1 inside and a - x outside */
    const R part = K(0.5) * a_y * (a_y * one);
    const R inner = part + K(0.5) * (s - below); /* a - x, inside */
    const R outer = part + K(0.5) * (s + below); /* a - 1, outside */
    const bool far = a_x > R_FAR || a_y > R_FAR;
    const bool strict = a_x < 1;
    const R root = inside ? sqrt(inner * (a + a_x)) : a_y * sqrt(both * (a + a_x));
    *beside = far ? a_y : root;
    const R excess = strict ? a_y * (a_y * both) + a_y * sqrt(both * (a + K(1.0)))
                            : outer + sqrt(outer * (a + K(1.0)));
    R k;
    const R u = r_log_parts(x, y, &k);
    const R found = log1p(far ? u : excess);
    return r_size_special(far ? K(0.5) * found + (k + K(1.0)) * K_LN2 : found, x, y);
}

static C c_asin(C z) {
    R beside;
    const R size = c_arc_parts(z.x, z.y, &beside);
    const R real = z.x == 0 ? z.x : isnan(z.y) ? R_NAN : atan2(z.x, beside);
    return (C)(real, copysign(size, z.y));
}

static C c_acos(C z) {
    R beside;
    const R size = c_arc_parts(z.x, z.y, &beside);
    const R real = z.x == 0 ? K_PI_2 : isnan(z.y) ? R_NAN : atan2(beside, z.x);
    return (C)(real, -copysign(size, z.y));
}

static C c_asinh(C z) {
    const C found = c_asin((C)(-z.y, z.x));
    return (C)(found.y, -found.x);
}

static C c_acosh(C z) {
    const C found = c_acos(z);
    return (C)(fabs(found.y), copysign(found.x, z.y));
}

/* W. Kahan, "Branch cuts for complex elementary functions", 1987: the real part is
   log1p(4*x / ((1 - x)**2 + y*y)) / 4. Closer to 1 than the square of the distance can tell it is
   log(2/distance)/2. */
static C c_atanh(C z) {
    const R x = fabs(z.x), y = z.y;
    const R distance = r_hypot(K(1.0) - x, y);
    const bool close = distance < K(1.0) / R_FARTHER;
    const R u = close ? K(1.41421356237309504880168872420969808) / sqrt(distance) - K(1.0)
                      : x / distance * K(4.0) / distance;
    const R found = log1p(u);
    const bool far = x > R_FARTHER || fabs(y) > R_FARTHER;
    R real = close ? found : K(0.25) * found;
    R imaginary = K(0.5) * atan2(K(2.0) * y, (K(1.0) - x) * (K(1.0) + x) - y * y);
    imaginary = far && !isnan(y) ? copysign(K_PI_2, y) : imaginary;
    real = isinf(x) || isinf(y) || x == 0 ? K(0.0) : real;
    imaginary = isnan(x) && !isinf(y) ? R_NAN : imaginary;
    real = isnan(x) && !isinf(y) ? R_NAN : real;
    return (C)(copysign(real, z.x), imaginary);
}

static C c_atan(C z) {
    const C found = c_atanh((C)(-z.y, z.x));
    return (C)(found.y, -found.x);
}
