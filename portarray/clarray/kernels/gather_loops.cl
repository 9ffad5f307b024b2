/* Loops over a result and an index array: indices have any integer dtype,
 * count from the end where they are negative, and are checked.
 *
 * Sizes and strides are in memory, so that one program serves every rank:
 *   walk[0]            0; becomes the offset in `index` of one that is out of bounds, plus one
 *   walk[1 + 4 * k]    length of axis k, then the steps along it in a, in index and in b
 */

/* 64-bit division costs several times 32-bit division, which suffices for most loops. */
inline ulong quotient(ulong a, ulong b) {
    return (a | b) >> 32 ? a / b : (ulong)((uint)a / (uint)b);
}

/* code: bytes of an index, negative if unsigned; 0: 64-bit offsets computed on the device. */
inline long index_at(const __global uchar *p, long i, int code) {
    if (code == 8) return ((const __global long *)p)[i]; /* no jump for the usual ones */
    switch (code) {
    case 4: return ((const __global int *)p)[i];
    case 2: return ((const __global short *)p)[i];
    case 1: return ((const __global char *)p)[i];
    case -1: return p[i];
    case -2: return ((const __global ushort *)p)[i];
    case -4: return ((const __global uint *)p)[i];
    case -8: { /* more than a long holds is out of every bounds, not negative */
        const ulong v = ((const __global ulong *)p)[i];
        return v >> 63 ? LONG_MIN : (long)v;
    }
    default: return ((const __global long *)p)[i];
    }
}

/* The position along an axis for an index, or -1 if it is out of bounds. */
inline long bounded(long v, long size, int code) {
    if (code == 0) return v;
    v += v < 0 ? size : 0; /* LONG_MIN stays negative */
    return (ulong)v < (ulong)size ? v : -1;
}

/* The next eight indices. */
inline long8 indices_at(const __global uchar *p, long i, int code) {
    switch (code) {
    case 4: return convert_long8(vload8(0, (const __global int *)p + i));
    case 2: return convert_long8(vload8(0, (const __global short *)p + i));
    case 1: return convert_long8(vload8(0, (const __global char *)p + i));
    case -1: return convert_long8(vload8(0, p + i));
    case -2: return convert_long8(vload8(0, (const __global ushort *)p + i));
    case -4: return convert_long8(vload8(0, (const __global uint *)p + i));
    case -8: {
        const long8 v = vload8(0, (const __global long *)p + i);
        return v < 0 ? (long8)LONG_MIN : v;
    }
    default: return vload8(0, (const __global long *)p + i);
    }
}

inline long8 all_bounded(long8 v, long size, int code) {
    if (code == 0) return v;
    v += (v >> 63) & size;
    return v | (v < 0) | (v >= size);
}

#define WALK const __global uchar *index, __global long *walk, long start_a, long start_b, \
    long start_i, int rank, int code, long size, long step, long inner, long total, long chunk

/* Work-items of a CPU are long loops, one to a group: nothing to vectorize across them. */
#ifdef LOOPS
#define KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) __kernel void
#else
#define KERNEL __kernel void
#endif

/* Work-item k takes places [k * chunk, (k + 1) * chunk). Between BEGIN and END are `count` places
 * along the last axis, beginning at ia, ii and ib; only leaving the last axis but one divides. */
#define BEGIN \
    long p = (long)get_global_id(0) * chunk; \
    const long stop = min(total, p + chunk); \
    const __global long *last = walk + 1 + 4 * (rank - 1); \
    const long n = last[0], sa = last[1], si = last[2], sb = last[3]; \
    while (p < stop) { \
        ulong rest = quotient(p, n); \
        const long column = p - (long)rest * n; \
        long ia = start_a + column * sa, ii = start_i + column * si, ib = start_b + column * sb; \
        long lines = 1, line_a = 0, line_i = 0, line_b = 0; \
        for (int k = rank - 2; k >= 0; k--) { \
            const __global long *axis = walk + 1 + 4 * k; \
            const ulong next = k ? quotient(rest, axis[0]) : 0; \
            const long at = rest - next * axis[0]; \
            ia += at * axis[1]; ii += at * axis[2]; ib += at * axis[3]; \
            if (k == rank - 2) { \
                lines = axis[0] - at; line_a = axis[1]; line_i = axis[2]; line_b = axis[3]; \
            } \
            rest = next; \
        } \
        long count = min(stop - p, n - column), back = column; \
        for (;;) {
#define END \
            p += count; \
            if (--lines == 0 || p >= stop) break; \
            ia += line_a - back * sa; ii += line_i - back * si; ib += line_b - back * sb; \
            back = 0; \
            count = min(stop - p, n); \
        } \
    }
