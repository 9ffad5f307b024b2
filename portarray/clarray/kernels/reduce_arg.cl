/* Positions of extremes: the first of the best along the one reduced axis (total elements, step
   sr), for up to three kept axes (k0, k1, k2, steps sk0, ...).

   Defined before: IN, E, LOAD_E(p, i) and, with VECTORS, E16 and LOAD_E16(p) as for reduce.cl;
   BETTER(b, a), whether b comes before a: not where they are equal, and NaN before all. Where
   there are several chunks (parts != 0) each leaves its best, ordered [result][chunk]. */
#define PARAMETERS \
    __global long *out, __global E *part, __global long *part_at, const __global IN *x, \
    long x_at, long k1, long k2, long sk0, long sk1, long sk2, long sr, \
    long total, long chunks, long length, long tasks, long each_tasks

#define ONE_ITEM __attribute__((reqd_work_group_size(1, 1, 1)))

#define KEPT(o) ((o) < k2 ? (o) * sk2 \
    : (o) % k2 * sk2 + ((o) / k2) % k1 * sk1 + ((o) / k2) / k1 * sk0)

#define PUT(o, chunk, a, at) \
    do { \
        if (chunks > 1) { \
            part[(o) * chunks + (chunk)] = (a); \
            part_at[(o) * chunks + (chunk)] = (at); \
        } else { \
            out[o] = (at); \
        } \
    } while (0)

/* Of two that are equally good, or of two NaN, the first is taken. */
#define TAKE_FIRST(a, a_at, b, b_at) \
    do { \
        if (BETTER(b, a) || (!(BETTER(a, b)) && (b_at) < (a_at))) { \
            a = b; \
            a_at = b_at; \
        } \
    } while (0)

/* Any layout: a work-item has one result and one chunk. */
__kernel void items(PARAMETERS) {
    const long o = get_global_id(0), chunk = get_global_id(1);
    if (o >= tasks) return;
    const long lo = chunk * length, hi = min(lo + length, total);
    const __global IN *from = x + x_at + KEPT(o);
    E best = LOAD_E(from, lo * sr);
    long best_at = lo;
    for (long i = lo + 1; i < hi; i++) {
        const E v = LOAD_E(from, i * sr);
        if (BETTER(v, best)) {
            best = v;
            best_at = i;
        }
    }
    PUT(o, chunk, best, best_at);
}

__kernel void finish(PARAMETERS) {
    const long o = get_global_id(0);
    if (o >= tasks) return;
    E best = part[o * chunks];
    long at = part_at[o * chunks];
    for (long i = 1; i < chunks; i++) {
        const E v = part[o * chunks + i];
        if (BETTER(v, best)) {
            best = v;
            at = part_at[o * chunks + i];
        }
    }
    out[o] = at;
}

#ifdef VECTORS
#define KEEP_BETTER(best, where, v, number) \
    do { \
        const int16 better = convert_int16(BETTER(v, best)); \
        best = BETTER(v, best) ? v : best; \
        where = better ? (int16)(number) : where; \
    } while (0)

/* On processors, the innermost axis is reduced: a task is one chunk of one result. */
__kernel ONE_ITEM void rows(PARAMETERS) {
    const long first = get_global_id(0) * each_tasks, last = min(first + each_tasks, tasks);
    for (long task = first; task < last; task++) {
        const long o = task / chunks, chunk = task % chunks;
        const long lo = chunk * length, hi = min(lo + length, total);
        const __global IN *from = x + x_at + KEPT(o) + lo * sr;
        const int size = (int)(hi - lo);
        E result = LOAD_E(from, 0);
        int result_at = 0, i = 0;
        if (size >= 16) {
            E16 best = sr == 1 ? LOAD_E16(from) : load_strided(from, sr);
            int16 where = (int16)(0);
            for (i = 16; i + 16 <= size; i += 16) {
                const E16 v = sr == 1 ? LOAD_E16(from + i) : load_strided(from + i * sr, sr);
                KEEP_BETTER(best, where, v, i);
            }
            E lanes[16];
            int lanes_at[16];
            vstore16(best, 0, lanes);
            vstore16(where, 0, lanes_at);
            for (int k = 0; k < 16; k++) {
                const int at = lanes_at[k] + k;
                TAKE_FIRST(result, result_at, lanes[k], at);
            }
        }
        for (; i < size; i++) {
            const E v = LOAD_E(from, i * sr);
            if (BETTER(v, result)) {
                result = v;
                result_at = i;
            }
        }
        PUT(o, chunk, result, lo + result_at);
    }
}

/* On processors, at least 16 kept elements are contiguous: a task is one chunk of the results of a
   strip. The last vector of an axis overlaps the one before it; both compute the same. */
#define STRIP 8

__kernel ONE_ITEM void columns(PARAMETERS) {
    const long first = get_global_id(0) * each_tasks, last = min(first + each_tasks, tasks);
    const long strips = (k2 + 16 * STRIP - 1) / (16 * STRIP);
    for (long task = first; task < last; task++) {
        const long chunk = task / strips % chunks, row = task / strips / chunks * k2;
        const long begin = row + task % strips * (16 * STRIP);
        const int vectors = (int)min((long)STRIP, (row + k2 - begin + 15) / 16);
        const int tail = (int)min((long)(16 * STRIP), row + k2 - 16 - begin);
        const long lo = chunk * length, hi = min(lo + length, total);
        const __global IN *p = x + x_at + KEPT(begin) + lo * sr;
        E16 best[STRIP];
        int16 where[STRIP];
        for (int j = 0; j < vectors; j++) {
            const int k = min(16 * j, tail);
            best[j] = sk2 == 1 ? LOAD_E16(p + k) : load_strided(p + k * sk2, sk2);
            where[j] = (int16)(0);
        }
        for (int i = 1; i < (int)(hi - lo); i++) {
            p += sr;
            for (int j = 0; j < vectors; j++) {
                const int k = min(16 * j, tail);
                const E16 v = sk2 == 1 ? LOAD_E16(p + k) : load_strided(p + k * sk2, sk2);
                KEEP_BETTER(best[j], where[j], v, i);
            }
        }
        for (int j = 0; j < vectors; j++) {
            E lanes[16];
            int lanes_at[16];
            vstore16(best[j], 0, lanes);
            vstore16(where[j], 0, lanes_at);
            const long o = begin + min(16 * j, tail);
            for (int k = 0; k < 16; k++) PUT(o + k, chunk, lanes[k], lo + lanes_at[k]);
        }
    }
}
#endif

#ifdef GROUP
/* On devices with local memory: a group has one chunk of one result. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void groups(PARAMETERS) {
    __local E shared[GROUP];
    __local long shared_at[GROUP];
    const int me = get_local_id(0);
    const long task = get_group_id(0), o = task / chunks, chunk = task % chunks;
    const long lo = chunk * length, hi = min(lo + length, total);
    const __global IN *from = x + x_at + KEPT(o);
    /* Work-items beyond the last element begin with the first one: it takes no other's place. */
    long best_at = lo + me < hi ? lo + me : lo;
    E best = LOAD_E(from, best_at * sr);
    for (long i = lo + me + GROUP; i < hi; i += GROUP) {
        const E v = LOAD_E(from, i * sr);
        if (BETTER(v, best)) {
            best = v;
            best_at = i;
        }
    }
    shared[me] = best;
    shared_at[me] = best_at;
    for (int part_size = GROUP / 2; part_size > 0; part_size /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < part_size) {
            const E other = shared[me + part_size];
            const long other_at = shared_at[me + part_size];
            TAKE_FIRST(best, best_at, other, other_at);
            shared[me] = best;
            shared_at[me] = best_at;
        }
    }
    if (me == 0) PUT(o, chunk, best, best_at);
}
#endif
