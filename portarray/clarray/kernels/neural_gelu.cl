/* x times the distribution function of the normal distribution; needs real.cl. In single precision
   to some ULP for every x: the function's tail is exp(-t*t/2) times a slow function of t, which is a
   polynomial in 1 / (1 + 0.36 t) here, a minimax fit with a relative error of 7e-8. Textbooks make
   it of erf, which says nothing of the tail, and which drivers compute element by element. */
static R r_gelu(R x) {
#if R_IS_DOUBLE
    return K(0.5) * x * erfc(x * -K(0.70710678118654752440));
#else
    R t = fabs(x);
    t = t > K(15.0) ? K(15.0) : t; /* the tail is 0 from there on; NaN stays */
    const R u = 1 / fma(t, K(0.36), K(1.0));
    R p = fma(u, K(-0.02979870295), K(0.1371406412));
    p = fma(p, u, K(-0.2182956119));
    p = fma(p, u, K(0.1009243509));
    p = fma(p, u, K(0.004246707232));
    p = fma(p, u, K(0.0940275189));
    p = fma(p, u, K(0.12452108));
    p = fma(p, u, K(0.1436124918));
    p = fma(p, u, K(0.1436214915));
    const R square = t * t, lost = fma(t, t, -square);
    const R tail = exp(K(-0.5) * square) * fma(lost, K(-0.5), K(1.0)) * p * u;
    return x * (x < 0 ? tail : 1 - tail);
#endif
}

/* GELU with (1 + tanh(y / 2)) / 2 as the distribution function, without its cancellation. */
static R r_gelu_tanh(R x) {
    const R y = x * fma(x * x, K(0.07135481627260025), K(1.5957691216057308));
    const R e = exp(-fabs(y));
    return (x < 0 ? x * e : x) / (1 + e);
}
