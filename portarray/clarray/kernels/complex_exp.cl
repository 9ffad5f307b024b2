/* Complex exponentials and functions of them; needs real.cl, functions.cl and complex.cl.

   Special values: C99, Annex G.6, as in the Python array API standard. */

#if R_IS_DOUBLE
#define R_TANH_ONE K(22.0) /* tanh(x) rounds to 1 from here */
#else
#define R_TANH_ONE K(11.0)
#endif

/* Beyond the range of exp the factor is taken in two steps, exp(x/2) twice: the product with a
   small sine or cosine may still be in range. */
static C c_exp(C z) {
    const R x = z.x, y = z.y;
    const bool far = fabs(x) > R_EXP_SAFE;
    const R first = exp(far ? x * K(0.5) : x), second = far ? first : K(1.0);
    R real = first * cos(y) * second, imaginary = first * sin(y) * second;
    imaginary = y == 0 ? y : imaginary;
    if (isinf(x) && !isfinite(y)) {
        real = x > 0 ? x : K(0.0);
        imaginary = x > 0 ? R_NAN : K(0.0);
    }
    return (C)(real, imaginary);
}

/* exp(x)*cos(y) - 1 = expm1(x)*cos(y) - 2*sin(y/2)**2 does not cancel near zero. */
static C c_expm1(C z) {
    const R x = z.x, y = z.y;
    const bool far = x > R_EXP_SAFE;
    const R first = expm1(far ? x * K(0.5) : x);
    const R cosine = cos(y), middle = sin(y * K(0.5));
    /* For large negative x the sum first + 1 would lose digits. */
    const R factor = x < K(-0.5) ? exp(x) : first + K(1.0);
    R real = far ? factor * cosine * factor : first * cosine - K(2.0) * middle * middle;
    R imaginary = factor * sin(y);
    imaginary = far ? imaginary * factor : imaginary;
    imaginary = y == 0 ? y : imaginary;
    real = x == 0 && y == 0 ? K(0.0) : real; /* as in the standard, for both zeros */
    real = x == -R_INFINITY ? K(-1.0) : real;
    if (isinf(x) && !isfinite(y)) {
        real = x > 0 ? x : real;
        imaginary = x > 0 ? R_NAN : K(0.0);
    }
    return (C)(real, imaginary);
}

static C c_sinh(C z) {
    const R x = z.x, y = z.y;
    R cosine, factor;
    const R sine = r_sinh_cosh(x, &cosine, &factor);
    R real = sine * cos(y) * factor;
    const R imaginary = y == 0 ? y : cosine * sin(y) * factor;
    real = (x == 0 || isinf(x)) && !isfinite(y) ? x : real;
    return (C)(real, imaginary);
}

static C c_cosh(C z) {
    const R x = z.x, y = z.y;
    R cosine, factor;
    const R sine = r_sinh_cosh(x, &cosine, &factor);
    R real = cosine * cos(y) * factor;
    R imaginary = sine * sin(y) * factor;
    real = isinf(x) && !isfinite(y) ? R_INFINITY : real;
    imaginary = x == 0 && !isfinite(y) ? x : imaginary;
    imaginary = y == 0 ? (signbit(x) ? -y : y) : imaginary;
    return (C)(real, imaginary);
}

/* W. Kahan, "Branch cuts for complex elementary functions", 1987: from tan(y) and sinh(x). */
static C c_tanh(C z) {
    const R x = z.x, y = z.y;
    R cosine, factor;
    const R sine = r_sinh_cosh(x, &cosine, &factor) * factor;
    const R tangent = tan(y);
    const R square = K(1.0) / (K(1.0) + tangent * tangent); /* cos(y)**2 */
    const R under = square + sine * sine;
    const R one = copysign(K(1.0), x);
    const bool far = fabs(x) > R_TANH_ONE; /* sine * sine may overflow */
    R real = cosine * sine / under;
    R imaginary = tangent * square / (far ? sine : under) / (far ? sine : K(1.0));
    real = far && isfinite(y) ? one : real;
    imaginary = y == 0 ? y : imaginary;
    if (isinf(x)) {
        real = one;
        imaginary = copysign(K(0.0), y);
    }
    real = x == 0 && !isfinite(y) ? x : real;
    return (C)(real, imaginary);
}

/* f(z) = -i * g(i * z) for the circular function f of the hyperbolic function g. */
static C c_sin(C z) {
    const C found = c_sinh((C)(-z.y, z.x));
    return (C)(found.y, -found.x);
}

static C c_cos(C z) {
    return c_cosh((C)(-z.y, z.x));
}

static C c_tan(C z) {
    const C found = c_tanh((C)(-z.y, z.x));
    return (C)(found.y, -found.x);
}
