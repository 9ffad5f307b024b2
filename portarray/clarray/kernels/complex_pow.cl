/* Complex powers; needs complex_exp.cl, complex_log.cl and their requirements. */

#define C_POW_WHOLE 64 /* real exponents up to here that are integers are taken by squaring */

static C c_pow(C z, C w) {
    if (w.y == 0 && fabs(w.x) <= C_POW_WHOLE && rint(w.x) == w.x) {
        const bool inverse = w.x < 0;
        int rest = (int)fabs(w.x);
        C found = (C)(K(1.0), K(0.0)), power = z;
        for (; rest > 1; rest >>= 1) {
            found = rest & 1 ? c_mul(found, power) : found;
            power = c_mul(power, power);
        }
        found = rest ? c_mul(found, power) : found;
        return inverse ? c_reciprocal(found) : found;
    }
    if (z.x == 0 && z.y == 0 && w.x > 0) return (C)(K(0.0), K(0.0));
    return c_exp(c_mul(w, c_log(z)));
}
