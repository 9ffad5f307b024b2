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
__kernel void count(__global S *out, long offset, long size, long run, R start, R by) {
    PIECE
    out += offset;
    for (long i = first; i < last; i++) PUT(out, i, start + (R)i * by);
}

/* From the nearer end, so that both ends are exact and nothing overflows on the way: distance is
   (stop - start) / scale, and scale is 2 where the difference itself would be infinite. */
__kernel void between(__global S *out, long offset, long size, long run, long stride, long gaps,
                      R start, R stop, R distance, R scale) {
    PIECE
    out += offset;
    for (long i = first; i < last; i++) {
        const long left = gaps - i;
        const bool ahead = i <= left;
        const R steps = (R)(ahead ? i : left);
        const R way = steps == 0 ? 0 : scale * steps / (R)gaps * distance;
        PUT(out, i * stride, ahead ? start + way : stop - way);
    }
}
#endif
