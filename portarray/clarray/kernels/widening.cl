/* Vectors of 16-bit numbers as float, and sums over a vector. The including program defines R, V, W,
   CAT, DENSE and BF16 (whether 16-bit numbers are bfloat16) as for matmul.cl. */

#define VLOAD CAT(vload, W)
#define VSTORE CAT(vstore, W)

#if DENSE
#define WIDENED(v) (v)
#else
#define UINTS CAT(uint, W)
static V widened(CAT(ushort, W) v) {
    const UINTS all = CAT(convert_uint, W)(v);
#if BF16
    return CAT(as_float, W)(all << 16);
#else /* float_from_half of types.cl */
    const UINTS size = all & 0x7fff;
    const UINTS normal = (size << 13) + (size < 0x7c00 ? (UINTS)(0x38000000) : (UINTS)(0x70000000));
    const V subnormal = CAT(convert_float, W)(size) * 0x1p-24f;
    const UINTS found = size < 0x400 ? CAT(as_uint, W)(subnormal) : normal;
    return CAT(as_float, W)(found | ((all & 0x8000) << 16));
#endif
}
#define WIDENED widened
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
