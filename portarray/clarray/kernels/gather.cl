/* Elements of an array `a` at places that an index array names, from or to an array `b` that has
 * the shape of the result (-DINTO: to `a`, an assignment). They move as ITEM, whatever their dtype,
 * WIDTH of them for each element. Each iteration moves `inner` adjacent elements
 * in a and in b. An index out of bounds never leads outside of `a`: its elements are left out.
 */
#if WIDTH == 2
#define MOVE(to, i, from, j) vstore2(vload2((j), (from)), (i), (to))
#else
#define MOVE(to, i, from, j) ((to)[i] = (from)[j])
#endif
#ifdef INTO
#define TRANSFER(i, j) MOVE(a, i, b, j)
#define ROW(i, j) row(a + (i) * WIDTH, b + (j) * WIDTH, inner * WIDTH)
#else
#define TRANSFER(i, j) MOVE(b, j, a, i)
#define ROW(i, j) row(b + (j) * WIDTH, a + (i) * WIDTH, inner * WIDTH)
#endif

#define PARAMETERS __global ITEM *a, __global ITEM *b, WALK

inline void row(__global ITEM *to, const __global ITEM *from, long n) {
    long j = 0;
    for (; j + 8 <= n; j += 8) vstore8(vload8(0, from + j), 0, to + j);
    for (; j < n; j++) to[j] = from[j];
}

KERNEL gather(PARAMETERS) {
    long bad = 0;
    BEGIN
    if (si == 0 && inner == 1) { /* one index for all of them */
        const long v = bounded(index_at(index, ii, code), size, code);
        const long from = ia + v * step;
        if (v < 0 && code) bad = ii + 1;
        else for (long j = 0; j < count; j++) TRANSFER(from + j * sa, ib + j * sb);
    } else {
        long j = 0;
        /* Eight at a time: the loads need not wait for each other. */
        for (; si == 1 && j + 8 <= count; j += 8) {
            long8 v = all_bounded(indices_at(index, ii + j, code), size, code);
            if (code && any(v < 0)) break;
            v = ia + v * step + j * sa;
            const long o = ib + j * sb;
            if (inner == 1) {
                TRANSFER(v.s0, o);
                TRANSFER(v.s1 + sa, o + sb);
                TRANSFER(v.s2 + 2 * sa, o + 2 * sb);
                TRANSFER(v.s3 + 3 * sa, o + 3 * sb);
                TRANSFER(v.s4 + 4 * sa, o + 4 * sb);
                TRANSFER(v.s5 + 5 * sa, o + 5 * sb);
                TRANSFER(v.s6 + 6 * sa, o + 6 * sb);
                TRANSFER(v.s7 + 7 * sa, o + 7 * sb);
            } else {
                long at[8];
                vstore8(v, 0, at);
                #pragma unroll 1 /* eight copies would take long to compile */
                for (int k = 0; k < 8; k++) ROW(at[k] + k * sa, o + k * sb);
            }
        }
        for (; j < count; j++) {
            const long v = bounded(index_at(index, ii + j * si, code), size, code);
            const long from = ia + v * step + j * sa;
            if (v < 0 && code) bad = ii + j * si + 1;
            else if (inner == 1) TRANSFER(from, ib + j * sb);
            else ROW(from, ib + j * sb);
        }
    }
    END
    if (bad) walk[0] = bad;
}

#ifdef INTO
/* a = b where the mask `index` is true. Where it is false, the last assignment is repeated:
 * cheaper than an unpredictable branch, and nothing else is written. */
KERNEL masked(PARAMETERS) {
    BEGIN
    long j = 0;
    while (j < count && !index[ii + j * si]) j++;
    long to = ia + j * sa, from = ib + j * sb;
    while (j < count) {
        if (si == 1 && j + 8 <= count && as_ulong(vload8(0, index + ii + j)) == 0) {
            j += 8;
            continue;
        }
        for (const long end = min(count, j + 8); j < end; j++) {
            const int is = index[ii + j * si] != 0;
            to = is ? ia + j * sa : to;
            from = is ? ib + j * sb : from;
            TRANSFER(to, from);
        }
    }
    END
}
#endif
