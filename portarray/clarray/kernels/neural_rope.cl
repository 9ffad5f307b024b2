/* Rotary position embedding along rows of n features, of which 2 * half are turned; the tables have
   rows of half cosines and half sines, stored as C, parallel to those of the array. Needs
   neural_vectors.cl. */
#if W == 1
#define LOADC(p) LOAD_C(p, 0)
#else
#ifdef NARROW_TABLES
#define LOADC LOADV
#else
#define LOADC(p) vload16(0, p)
#endif
#endif

ROWS_KERNEL void rope(
    __global S *out, const __global S *x, const __global C *cosines, const __global C *sines,
    long x_at, long cosines_at, long sines_at, ROW_PARAMETERS, long half_n,
    long c0, long c1, long c2, long t0, long t1, long t2) {
    FOR_ROWS {
        const __global S *p = x + x_at + ROW_AT;
        __global S *q = out + row * n;
        const __global C *cs = cosines + cosines_at + i0 * c0 + i1 * c1 + i2 * c2;
        const __global C *sn = sines + sines_at + i0 * t0 + i1 * t1 + i2 * t2;
        long i = lane * W;
#ifdef INTERLEAVED
#if W > 1
        for (; i + W <= half_n; i += STEP) {
            const V low = LOADV(p + 2 * i), high = LOADV(p + 2 * i + W);
            const V a = (V)(low.even, high.even), b = (V)(low.odd, high.odd);
            const V c = LOADC(cs + i), s = LOADC(sn + i);
            const V first_turned = a * c - b * s, second = b * c + a * s;
            V found;
            found.even = first_turned.lo;
            found.odd = second.lo;
            STOREV(found, q + 2 * i);
            found.even = first_turned.hi;
            found.odd = second.hi;
            STOREV(found, q + 2 * i + W);
        }
#endif
        for (; i < half_n; i += STEP / W) {
            const T a = LOAD_E(p, 2 * i), b = LOAD_E(p, 2 * i + 1);
            const T c = LOAD_C(cs, i), s = LOAD_C(sn, i);
            STORE_E(q, 2 * i, a * c - b * s);
            STORE_E(q, 2 * i + 1, b * c + a * s);
        }
#else
        for (; i + W <= half_n; i += STEP) {
            const V a = LOADV(p + i), b = LOADV(p + half_n + i);
            const V c = LOADC(cs + i), s = LOADC(sn + i);
            STOREV(a * c - b * s, q + i);
            STOREV(b * c + a * s, q + half_n + i);
        }
        for (; i < half_n; i += STEP / W) {
            const T a = LOAD_E(p, i), b = LOAD_E(p, half_n + i);
            const T c = LOAD_C(cs, i), s = LOAD_C(sn, i);
            STORE_E(q, i, a * c - b * s);
            STORE_E(q, half_n + i, b * c + a * s);
        }
#endif
        for (i = 2 * half_n + lane; i < n; i += STEP / W) q[i] = p[i];
    }
}
