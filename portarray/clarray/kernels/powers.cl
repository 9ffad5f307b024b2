/* Powers and sums of exponentials of real numbers; needs real.cl and functions.cl. */

/* The larger operand and what the smaller one adds. Equal operands may both be infinite. */
static R r_logaddexp(R x, R y) {
    const R high = fmax(x, y), low = fmin(x, y);
    const R found = high + log1p(exp(high == low ? K(0.0) : low - high));
    return isnan(x) || isnan(y) ? R_NAN : isinf(high) ? high : found;
}

/* pow(x, 1/2): a square root, but that of -0 is 0 and that of -infinity is infinity. */
static R r_pow_half(R x) {
    return x == -R_INFINITY ? R_INFINITY : sqrt(x) + K(0.0);
}
