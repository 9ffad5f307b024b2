/* Evenly spaced numbers. S is the dtype as stored, PUT writes one, R is a real compute type. */

#ifdef INTEGRAL
__kernel void count(__global S *out, long offset, ulong start, ulong step) {
    const ulong i = get_global_id(0);
    out[offset + i] = (S)(start + i * step); /* modulo 2^64, so right for every integer dtype */
}
#else
__kernel void count(__global S *out, long offset, R start, R step) {
    const long i = get_global_id(0);
    PUT(out, offset + i, start + (R)i * step);
}

/* From the nearer end, so that both ends are exact and nothing overflows on the way: distance is
   (stop - start) / scale, and scale is 2 where the difference itself would be infinite. */
__kernel void between(__global S *out, long offset, long stride, long gaps, R start, R stop,
                      R distance, R scale) {
    const long i = get_global_id(0), left = gaps - i;
    R value;
    if (i <= left)
        value = i == 0 ? start : start + scale * (R)i / (R)gaps * distance;
    else
        value = left == 0 ? stop : stop - scale * (R)left / (R)gaps * distance;
    PUT(out, offset + i * stride, value);
}
#endif
