/* Evenly spaced numbers. S is the dtype as stored, PUT writes one, R is a real compute type. A
   work-item writes `run` of them. */
#define PIECE const long first = get_global_id(0) * run, last = min(first + run, size);

#ifdef INTEGRAL
__kernel void count(__global S *out, long offset, long size, long run, ulong start, ulong by) {
    PIECE
    out += offset;
    /* Modulo 2^64, so right for every integer dtype. */
    for (long i = first; i < last; i++) out[i] = (S)(start + (ulong)i * by);
}
#else
/* Counting in int within a piece: wider counters are slow to convert in vectors. */
__kernel void count(__global S *out, long offset, long size, long run, R start, R by) {
    PIECE
    const int length = last - first;
    const R base = (R)first;
    out += offset + first;
    for (int i = 0; i < length; i++) PUT(out, i, start + (base + (R)i) * by);
}

/* From the nearer end, so that both ends are exact and nothing overflows on the way: distance is
   (stop - start) / scale, and scale is 2 where the difference itself would be infinite. */
#define PLACE(number) (((number) == 0) ? (R)0 : scale * (number) / (R)gaps * distance)
__kernel void between(__global S *out, long offset, long size, long run, long stride, long gaps,
                      R start, R stop, R distance, R scale) {
    PIECE
    const int length = last - first, ahead = clamp(gaps / 2 + 1 - first, 0L, (long)length);
    const R base = (R)first, left = (R)(gaps - first);
    out += offset + first * stride;
    if (stride == 1) {
        for (int i = 0; i < ahead; i++) PUT(out, i, start + PLACE(base + (R)i));
        for (int i = ahead; i < length; i++) PUT(out, i, stop - PLACE(left - (R)i));
    } else {
        for (int i = 0; i < ahead; i++) PUT(out, i * stride, start + PLACE(base + (R)i));
        for (int i = ahead; i < length; i++) PUT(out, i * stride, stop - PLACE(left - (R)i));
    }
}
#endif
