/* Reductions on processors: few work-items, each with tasks enough to be worth its start, and
   explicit vectors, because compilers do not vectorize a loop that carries a result. */
#define STEP 64
#define BLOCK (16 * STEP)
#define SUPERBLOCK (16 * BLOCK)

inline T combine_lanes(T16 v) {
    T8 e = OP(v.lo, v.hi);
    T4 q = OP(e.lo, e.hi);
    T2 d = OP(q.lo, q.hi);
    return OP(d.x, d.y);
}

#define TAKE(sum, address, c) \
    do { \
        const E16 v = LOAD_E16(address); \
        const T16 m = MAP16(v, c); \
        sum = OP(sum, m); \
    } while (0)

/* The innermost axis is reduced: a task is one chunk of one result. */
__kernel ONE_ITEM void rows(PARAMETERS) {
    const long first = get_global_id(0) * each_tasks, last = min(first + each_tasks, tasks);
    for (long task = first; task < last; task++) {
        const long o = task / chunks, chunk = task % chunks;
        const long lo = chunk * length, hi = min(lo + length, total);
        const __global IN *from = x + x_at + KEPT(o);
        const T c = CENTRE(o);
        T16 whole = (T16)(IDENTITY);
        T rest = IDENTITY;
        for (long at = lo; at < hi;) {
            const long column = at % r2, size = min(r2 - column, hi - at);
            const __global IN *p = from + GONE(at / r2) + column * sr2;
            long i = 0;
            at += size;
            if (sr2 != 1) {
                for (; i + 16 <= size;) {
                    const long stop = min(size, i + BLOCK);
                    T16 block = (T16)(IDENTITY);
                    for (; i + 16 <= stop; i += 16) {
                        const E16 v = load_strided(p + i * sr2, sr2);
                        const T16 m = MAP16(v, c);
                        block = OP(block, m);
                    }
                    whole = OP(whole, block);
                }
                for (; i < size; i++) {
                    const E v = LOAD_E(p, i * sr2);
                    rest = OP(rest, MAP(v, c));
                }
                continue;
            }
            while (i + STEP <= size) {
                const long end = min(size, i + SUPERBLOCK);
                T16 some = (T16)(IDENTITY);
                while (i + STEP <= end) {
                    const long stop = min(end, i + BLOCK);
                    T16 a0 = (T16)(IDENTITY), a1 = a0, a2 = a0, a3 = a0;
                    for (; i + STEP <= stop; i += STEP) {
                        TAKE(a0, p + i, c);
                        TAKE(a1, p + i + 16, c);
                        TAKE(a2, p + i + 32, c);
                        TAKE(a3, p + i + 48, c);
                    }
                    a0 = OP(a0, a1);
                    a2 = OP(a2, a3);
                    a0 = OP(a0, a2);
                    some = OP(some, a0);
                }
                whole = OP(whole, some);
            }
            for (; i + 16 <= size; i += 16) TAKE(whole, p + i, c);
            for (; i < size; i++) {
                const E v = LOAD_E(p, i);
                rest = OP(rest, MAP(v, c));
            }
        }
        const T lanes = combine_lanes(whole);
        rest = OP(lanes, rest);
        PUT(o, chunk, rest);
    }
}

/* The innermost axis is kept and has at least 16 elements: a task is one chunk of the results of a
   strip, wide enough that rows are read in order, which processors prefetch. The
   last vector of an axis overlaps the one before it; both compute the same. */
#define STRIP 64

__kernel ONE_ITEM void columns(PARAMETERS) {
    const long first = get_global_id(0) * each_tasks, last = min(first + each_tasks, tasks);
    const long strips = (k2 + 16 * STRIP - 1) / (16 * STRIP);
    for (long task = first; task < last; task++) {
        const long chunk = task / strips % chunks, row = task / strips / chunks * k2;
        const long begin = row + task % strips * (16 * STRIP);
        const int vectors = (int)min((long)STRIP, (row + k2 - begin + 15) / 16);
        const int tail = (int)min((long)(16 * STRIP), row + k2 - 16 - begin);
        const long lo = chunk * length, hi = min(lo + length, total);
        const __global IN *from = x + x_at + KEPT(begin);
        T16 sums[STRIP];
        for (int j = 0; j < vectors; j++) sums[j] = (T16)(IDENTITY);
        for (long at = lo; at < hi;) {
            const long column = at % r2, size = min(r2 - column, hi - at);
            const __global IN *p = from + GONE(at / r2) + column * sr2;
            long i = 0;
            at += size;
            for (; sk2 == 1 && i + 8 <= size; i += 8, p += 8 * sr2) {
                for (int j = 0; j < vectors; j++) {
                    const int k = min(16 * j, tail);
                    const T16 c = CENTRE16(begin + k);
                    const __global IN *q = p + k;
                    T16 a = sums[j], b = (T16)(IDENTITY);
                    TAKE(a, q, c);
                    TAKE(b, q + sr2, c);
                    TAKE(a, q + 2 * sr2, c);
                    TAKE(b, q + 3 * sr2, c);
                    TAKE(a, q + 4 * sr2, c);
                    TAKE(b, q + 5 * sr2, c);
                    TAKE(a, q + 6 * sr2, c);
                    TAKE(b, q + 7 * sr2, c);
                    sums[j] = OP(a, b);
                }
            }
            for (; i < size; i++, p += sr2) {
                for (int j = 0; j < vectors; j++) {
                    const int k = min(16 * j, tail);
                    const T16 c = CENTRE16(begin + k);
                    const E16 v = sk2 == 1 ? LOAD_E16(p + k) : load_strided(p + k * sk2, sk2);
                    const T16 m = MAP16(v, c);
                    sums[j] = OP(sums[j], m);
                }
            }
        }
        for (int j = 0; j < vectors; j++) {
            const long o = begin + min(16 * j, tail);
            if (parts) {
                vstore16(sums[j], 0, &PART_OF(o, chunk));
                continue;
            }
            T lanes[16];
            vstore16(sums[j], 0, lanes);
            for (int lane = 0; lane < 16; lane++) STORE_OUT(out, o + lane, lanes[lane]);
        }
    }
}
