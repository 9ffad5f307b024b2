/* Floor division and its remainder. Integers never trap: a zero divisor gives 0, and the lowest
   value by -1 wraps. SIGNED is 1 for signed integers, 0 for unsigned ones, and absent for reals. */
#ifdef SIGNED

inline T floor_divide_of(T a, T b) {
    /* Divisors that may trap are replaced, so that vector lanes share one division. */
#if SIGNED
    const T safe = (b == 0 || b == -1) ? (T)1 : b;
    const T quotient = a / safe, rest = a % safe;
    const T floored = quotient - (rest != 0 && ((rest < 0) != (b < 0)));
    return b == 0 ? (T)0 : b == -1 ? (T)((U)0 - (U)a) : floored;
#else
    const T safe = b == 0 ? (T)1 : b;
    return b == 0 ? (T)0 : (T)(a / safe);
#endif
}

inline T remainder_of(T a, T b) {
#if SIGNED
    const T safe = (b == 0 || b == -1) ? (T)1 : b;
    const T rest = a % safe;
    return b == 0 || b == -1 ? (T)0 : (rest != 0 && ((rest < 0) != (b < 0))) ? (T)(rest + b) : rest;
#else
    const T safe = b == 0 ? (T)1 : b;
    return b == 0 ? (T)0 : (T)(a % safe);
#endif
}

#else

/* As Python's float.__mod__: fmod is exact, the result has the divisor's sign. */
inline R remainder_of(R a, R b) {
    const R rest = fmod(a, b);
    if (rest == 0) return copysign((R)0, b);
    return (rest < 0) != (b < 0) && !isnan(rest) ? rest + b : rest;
}

/* As Python's float.__floordiv__: the exact quotient's floor, not that of the rounded quotient.
   In the standard, a finite number by an infinity of the opposite sign is -0, not -1. */
inline R floor_divide_of(R a, R b) {
    if (b == 0 || isinf(a) || isinf(b)) return a / b;
    const R rest = fmod(a, b);
    R quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
    /* a - rest is a multiple of b, but for rounding. */
    if (quotient == 0) return copysign((R)0, a / b);
    const R whole = floor(quotient);
    return quotient - whole > (R)0.5 ? whole + 1 : whole;
}

#endif
