/* Elements of an array `a` at places that an index array names, from or to an array `b` that has
 * the shape of the result (-DINTO: to `a`, an assignment). They move as ITEM, whatever their dtype,
 * WIDTH of them for each element.
 *
 * The walk over the result lies in memory, so that one program serves every rank:
 *   walk[0]            0; becomes the offset in `index` of one that is out of bounds, plus one
 *   walk[1 + 4 * k]    length of axis k, then the steps along it in a, in index and in b
 * An index out of bounds never leads outside of `a`: its element is left out.
 */
#if WIDTH == 2
#define MOVE(to, i, from, j) vstore2(vload2((j), (from)), (i), (to))
#else
#define MOVE(to, i, from, j) ((to)[i] = (from)[j])
#endif
#ifdef INTO
#define TRANSFER(i, j) MOVE(a, i, b, j)
#define TO(i, j) (a + (i) * WIDTH)
#define FROM(i, j) (b + (j) * WIDTH)
#else
#define TRANSFER(i, j) MOVE(b, j, a, i)
#define TO(i, j) (b + (j) * WIDTH)
#define FROM(i, j) (a + (i) * WIDTH)
#endif

/* Work-item k takes elements [k * chunk, (k + 1) * chunk) of the result, row by row. */
#define PARAMETERS __global ITEM *a, __global ITEM *b, const __global uchar *index, \
    __global long *walk, long start_a, long start_b, long start_i, int rank, int code, long size, \
    long step, long total, long chunk
#define BEGIN \
    long p = (long)get_global_id(0) * chunk; \
    const long stop = min(total, p + chunk); \
    const __global long *last = walk + 1 + 4 * (rank - 1); \
    const long sa = last[1], si = last[2], sb = last[3]; \
    while (p < stop) { \
        ulong rest = quotient(p, last[0]); \
        const long column = p - (long)rest * last[0], count = min(stop - p, last[0] - column); \
        long ia = start_a + column * sa, ii = start_i + column * si, ib = start_b + column * sb; \
        for (int k = rank - 2; k >= 0; k--) { \
            const __global long *axis = walk + 1 + 4 * k; \
            const ulong next = k ? quotient(rest, axis[0]) : 0; \
            const long at = rest - next * axis[0]; \
            ia += at * axis[1]; ii += at * axis[2]; ib += at * axis[3]; \
            rest = next; \
        }
#define END p += count; }

inline void run(__global ITEM *to, const __global ITEM *from, long n) {
    long j = 0;
    for (; j + 8 <= n; j += 8) vstore8(vload8(0, from + j), 0, to + j);
    for (; j < n; j++) to[j] = from[j];
}

__kernel void gather(PARAMETERS) {
    long bad = 0;
    BEGIN
    if (si == 0) { /* one index for the whole row */
        const long v = bounded(index_at(index, ii, code), size, code);
        ia += v * step;
        if (v < 0 && code) {
            bad = ii + 1;
        } else if (sa == 1 && sb == 1) {
            run(TO(ia, ib), FROM(ia, ib), count * WIDTH);
        } else {
            for (long j = 0; j < count; j++) TRANSFER(ia + j * sa, ib + j * sb);
        }
    } else {
        long j = 0;
        /* Eight at a time: the loads need not wait for each other. */
        for (; code == 8 && si == 1 && j + 8 <= count; j += 8) {
            long8 v = vload8(0, (const __global long *)index + ii + j);
            v += (v >> 63) & size;
            if (any((v < 0) | (v >= size))) break;
            v = ia + v * step + j * sa;
            const long o = ib + j * sb;
            TRANSFER(v.s0, o);
            TRANSFER(v.s1 + sa, o + sb);
            TRANSFER(v.s2 + 2 * sa, o + 2 * sb);
            TRANSFER(v.s3 + 3 * sa, o + 3 * sb);
            TRANSFER(v.s4 + 4 * sa, o + 4 * sb);
            TRANSFER(v.s5 + 5 * sa, o + 5 * sb);
            TRANSFER(v.s6 + 6 * sa, o + 6 * sb);
            TRANSFER(v.s7 + 7 * sa, o + 7 * sb);
        }
        for (; j < count; j++) {
            const long v = bounded(index_at(index, ii + j * si, code), size, code);
            if (v < 0 && code) bad = ii + j * si + 1;
            else TRANSFER(ia + v * step + j * sa, ib + j * sb);
        }
    }
    END
    if (bad) walk[0] = bad;
}

#ifdef INTO
/* a = b where the mask `index` is true. */
__kernel void masked(PARAMETERS) {
    BEGIN
    for (long j = 0; j < count; j++)
        if (index[ii + j * si]) TRANSFER(ia + j * sa, ib + j * sb);
    END
}
#endif
