/* Powers of integers by squaring; they wrap. Needs U, the unsigned type they are computed in. */
static U u_pow(U base, U exponent) {
    U found = 1;
    for (; exponent; exponent >>= 1) {
        found = exponent & 1 ? found * base : found;
        base *= base;
    }
    return found;
}
