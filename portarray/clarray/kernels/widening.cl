/* Vectors of 16-bit numbers as float, and sums over a vector. The including program defines R, V, W,
   CAT, DENSE and BF16 (whether 16-bit numbers are bfloat16) as for matmul.cl. */

#define VLOAD CAT(vload, W)
#define VSTORE CAT(vstore, W)

/* Vector number i after a pointer to global memory, as R. Of vectors vload_half is one instruction
   where that of single numbers is a call. */
#if DENSE
#define WIDE_LOAD VLOAD
#elif BF16
#define WIDE_LOAD(i, p) CAT(as_float, W)(CAT(convert_uint, W)(VLOAD(i, p)) << 16)
#else
#define WIDE_LOAD(i, p) CAT(vload_half, W)(i, (const __global half *)(p))
#endif

#if W == 16
#define HALVES(v) const CAT(R, 8) v8 = (v).lo + (v).hi; const CAT(R, 4) v4 = v8.lo + v8.hi; \
    const CAT(R, 2) v2 = v4.lo + v4.hi;
#elif W == 8
#define HALVES(v) const CAT(R, 4) v4 = (v).lo + (v).hi; const CAT(R, 2) v2 = v4.lo + v4.hi;
#elif W == 4
#define HALVES(v) const CAT(R, 2) v2 = (v).lo + (v).hi;
#else
#define HALVES(v) const V v2 = (v);
#endif
static R total(V v) {
    HALVES(v)
    return v2.x + v2.y;
}

/* The sums over four vectors: neighbours are added until a number of each is left. */
#define NEIGHBOURS(a, b) ((V)((a).even, (b).even) + (V)((a).odd, (b).odd))
static CAT(R, 4) four_totals(V a, V b, V c, V d) {
#if W == 2
    return (CAT(R, 4))(a.x + a.y, b.x + b.y, c.x + c.y, d.x + d.y);
#else
    const V ab = NEIGHBOURS(a, b), cd = NEIGHBOURS(c, d), all = NEIGHBOURS(ab, cd);
#if W == 4
    return all;
#elif W == 8
    return all.even + all.odd;
#else
    const CAT(R, 8) half_of = all.even + all.odd;
    return half_of.even + half_of.odd;
#endif
#endif
}
