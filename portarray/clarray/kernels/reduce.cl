/* Reductions: kernels that every device has, and those of processors.

   Defined before:
     IN, E           how elements are stored, and their compute type; LOAD_E(p, i) gives one
     T               the type that values are combined in
     MAP(v, c)       the T that an E contributes; c is the centre of its result where CENTRED
     OP(a, b)        combines two; IDENTITY changes nothing
     OUT             how results are stored; STORE_OUT(p, i, a) writes one, using divisor
     DIVISOR         the type of divisor
     VECTORS         where the types have vectors of 16: E16, T16, T8, T4, T2, LOAD_E16(p), MAP16

   An array is seen as up to three kept axes (k0, k1, k2, steps sk0, ...) and up to three
   reduced ones (r0, r1, r2, steps sr0, ...), looped over in that order. The reduced axes are cut
   into chunks of a length; where there are several (parts != 0) each leaves a partial result, and
   finish combines those. Partial results are ordered [k0 * k1][chunk][k2]. */
#define PARAMETERS \
    __global OUT *out, __global T *part, const __global IN *x, const __global T *centre, \
    long x_at, long k1, long k2, long sk0, long sk1, long sk2, \
    long r1, long r2, long sr0, long sr1, long sr2, \
    long total, long chunks, long length, long parts, long tasks, long each_tasks, DIVISOR divisor

#define SQUARE(v) ((v) * (v))
#define ONE_ITEM __attribute__((reqd_work_group_size(1, 1, 1)))

/* Where the elements of result o begin. */
#define KEPT(o) ((o) < k2 ? (o) * sk2 \
    : (o) % k2 * sk2 + ((o) / k2) % k1 * sk1 + ((o) / k2) / k1 * sk0)
/* The offset of element r of the reduced axes from there. */
#define GONE(q) ((q) < r1 ? (q) * sr1 : (q) / r1 * sr0 + (q) % r1 * sr1)

#define PART_OF(o, chunk) part[((o) / k2 * chunks + (chunk)) * k2 + (o) % k2]
#define PUT(o, chunk, a) \
    do { \
        if (parts) PART_OF(o, chunk) = (a); \
        else STORE_OUT(out, o, a); \
    } while (0)

#ifdef CENTRED
#define CENTRE(o) centre[o]
#define CENTRE16(o) vload16(0, centre + (o))
#else
#define CENTRE(o) 0
#define CENTRE16(o) 0
#endif

/* Any layout: a work-item has one result and one chunk. Sums are of up to 64 elements, of up to 64
   such sums, and of those, so that rounding errors do not accumulate. */
__kernel void items(PARAMETERS) {
    const long o = get_global_id(0), chunk = get_global_id(1);
    if (o >= tasks) return;
    const long lo = chunk * length, hi = min(lo + length, total);
    const __global IN *from = x + x_at + KEPT(o);
    const T c = CENTRE(o);
    T result = IDENTITY, some = IDENTITY;
    int blocks = 0;
    for (long at = lo; at < hi;) {
        const long column = at % r2, size = min(min(r2 - column, hi - at), 64L);
        const __global IN *p = from + GONE(at / r2) + column * sr2;
        T block = IDENTITY;
        for (long i = 0; i < size; i++) {
            const E v = LOAD_E(p, i * sr2);
            block = OP(block, MAP(v, c));
        }
        some = OP(some, block);
        if ((++blocks & 63) == 0) {
            result = OP(result, some);
            some = IDENTITY;
        }
        at += size;
    }
    result = OP(result, some);
    PUT(o, chunk, result);
}

/* Combines partial results, and with them the elements from number "length" on, which no chunk
   had. */
__kernel void finish(PARAMETERS) {
    const long o = get_global_id(0);
    if (o >= tasks) return;
    const __global T *p = part + o / k2 * parts * k2 + o % k2;
    T result = IDENTITY;
    for (long i = 0; i < parts;) {
        const long stop = min(i + 32, parts);
        T a0 = IDENTITY, a1 = IDENTITY, a2 = IDENTITY, a3 = IDENTITY;
        for (; i + 4 <= stop; i += 4) {
            a0 = OP(a0, p[i * k2]);
            a1 = OP(a1, p[(i + 1) * k2]);
            a2 = OP(a2, p[(i + 2) * k2]);
            a3 = OP(a3, p[(i + 3) * k2]);
        }
        for (; i < stop; i++) a0 = OP(a0, p[i * k2]);
        a0 = OP(a0, a1);
        a2 = OP(a2, a3);
        a0 = OP(a0, a2);
        result = OP(result, a0);
    }
    const __global IN *from = x + x_at + KEPT(o);
    const T c = CENTRE(o);
    for (long r = length; r < total; r++) {
        const E v = LOAD_E(from, r * sr2);
        result = OP(result, MAP(v, c));
    }
    STORE_OUT(out, o, result);
}
