/* Complex numbers as two-component vectors: arithmetic; needs real.cl.

   The including program defines R (float or double) and C (float2 or double2) first. Almost
   nothing here branches, so that work-items can share vector instructions: special values are
   chosen at the end.

   Infinities are recovered as in C99, Annex G.5.1: a product or quotient with an infinite operand
   is infinite even where the textbook formula gives two NaN. */

static C c_conj(C z) {
    return (C)(z.x, -z.y);
}

static R c_abs(C z) {
    return r_hypot(z.x, z.y);
}

/* 1 with the sign of x where x is infinite, 0 with its sign elsewhere. */
static R r_box(R x) {
    return copysign(isinf(x) ? K(1.0) : K(0.0), x);
}

/* The textbook product, for matrices and sums of products. */
static C c_mul_plain(C p, C q) {
    return (C)(p.x * q.x - p.y * q.y, p.x * q.y + p.y * q.x);
}

static C c_mul(C p, C q) {
    C found = c_mul_plain(p, q);
    if (isnan(found.x) && isnan(found.y)) {
        R a = p.x, b = p.y, c = q.x, d = q.y;
        bool again = false;
        if (isinf(a) || isinf(b)) {
            a = r_box(a);
            b = r_box(b);
            c = isnan(c) ? copysign(K(0.0), c) : c;
            d = isnan(d) ? copysign(K(0.0), d) : d;
            again = true;
        }
        if (isinf(c) || isinf(d)) {
            c = r_box(c);
            d = r_box(d);
            a = isnan(a) ? copysign(K(0.0), a) : a;
            b = isnan(b) ? copysign(K(0.0), b) : b;
            again = true;
        }
        if (!again && (isinf(a * c) || isinf(b * d) || isinf(a * d) || isinf(b * c))) {
            /* Overflow of finite operands next to NaN. */
            a = isnan(a) ? copysign(K(0.0), a) : a;
            b = isnan(b) ? copysign(K(0.0), b) : b;
            c = isnan(c) ? copysign(K(0.0), c) : c;
            d = isnan(d) ? copysign(K(0.0), d) : d;
            again = true;
        }
        if (again) {
            found.x = R_INFINITY * (a * c - b * d);
            found.y = R_INFINITY * (a * d + b * c);
        }
    }
    return found;
}

/* Both operands are scaled to be near one, so that nothing overflows that need not. */
static C c_div(C p, C q) {
    const R_INT kp = r_exponent(fmax(fabs(p.x), fabs(p.y)));
    const R_INT kq = r_exponent(fmax(fabs(q.x), fabs(q.y)));
    const R up = r_power_of_two(-kp), uq = r_power_of_two(-kq);
    const R a = p.x * up, b = p.y * up, c = q.x * uq, d = q.y * uq;
    const R size = c * c + d * d;
    const R_INT k = kp - kq;
    C found = (C)(r_scale((a * c + b * d) / size, k), r_scale((b * c - a * d) / size, k));
    if (isnan(found.x) && isnan(found.y)) {
        const bool wide = isinf(a) || isinf(b), under = isinf(c) || isinf(d);
        if (size == 0 && (!isnan(a) || !isnan(b))) {
            found = copysign(R_INFINITY, c) * p;
        } else if (wide && isfinite(c) && isfinite(d)) {
            const R s = r_box(a), t = r_box(b);
            found = R_INFINITY * (C)(s * c + t * d, t * c - s * d);
        } else if (under && isfinite(a) && isfinite(b)) {
            const R s = r_box(c), t = r_box(d);
            found = K(0.0) * (C)(a * s + b * t, b * s - a * t);
        }
    }
    return found;
}

static C c_reciprocal(C z) {
    return c_div((C)(K(1.0), K(0.0)), z);
}

/* (x - y)*(x + y) does not cancel. */
static C c_square(C z) {
    const C found = (C)((z.x - z.y) * (z.x + z.y), K(2.0) * z.x * z.y);
    return isnan(found.x) && isnan(found.y) ? c_mul(z, z) : found;
}

/* z / abs(z); 0 for zeros, NaN in both components for any NaN, and along an axis for infinities. */
static C c_sign(C z) {
    const R_INT k = r_exponent(fmax(fabs(z.x), fabs(z.y)));
    const C near = z * r_power_of_two(-k);
    const R size = sqrt(near.x * near.x + near.y * near.y);
    C found = near / size;
    if (isinf(size)) {
        const bool both = isinf(z.x) && isinf(z.y);
        found = both ? (C)(R_NAN, R_NAN)
                     : (C)(copysign(isinf(z.x) ? K(1.0) : K(0.0), z.x),
                           copysign(isinf(z.y) ? K(1.0) : K(0.0), z.y));
    }
    found = z.x == 0 && z.y == 0 ? (C)(K(0.0), K(0.0)) : found;
    return isnan(z.x) || isnan(z.y) ? (C)(R_NAN, R_NAN) : found;
}
