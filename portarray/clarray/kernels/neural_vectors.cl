/* Rows of arrays as vectors, on processors, or as one element for each work-item of a group, on
   devices with local memory; one text of a kernel serves both.

   Defined before:
     S               how elements are stored; LOAD_E(p, i) gives a T, STORE_E(p, i, v) writes one
     T               float or double, in which is computed
     NARROW          where S has 16 bits; HALF where that is float16
     LANES           work-items that share a row; on processors it is not defined

   An array is rows of n elements side by side, along up to three axes (k1 and k2 long, the first
   as long as needed; steps s0, s1, s2). A work-item or a group takes "each" of them. */
#define ROW_PARAMETERS \
    long rows, long each, long n, long k1, long k2, long s0, long s1, long s2

#ifdef LANES
#define W 1
#define V T
#define ROWS_KERNEL __kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
#define FIRST_ROW (get_group_id(0) * each)
#define LANE_SETUP \
    __local T shared[LANES]; \
    const long lane = get_local_id(0);
#define STEP LANES
#define LOADV(p) LOAD_E(p, 0)
#define STOREV(v, p) STORE_E(p, 0, v)
#define IN_VECTOR(v, OP) (v)
#define ACROSS(name, OP) \
    do { \
        shared[lane] = name; \
        for (int half_size = LANES / 2; half_size > 0; half_size /= 2) { \
            barrier(CLK_LOCAL_MEM_FENCE); \
            if (lane < half_size) shared[lane] = OP(shared[lane], shared[lane + half_size]); \
        } \
        barrier(CLK_LOCAL_MEM_FENCE); \
        name = shared[0]; \
        barrier(CLK_LOCAL_MEM_FENCE); \
    } while (0)
#else
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define W 16
#define V JOIN(T, 16)
#define ROWS_KERNEL __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
#define FIRST_ROW (get_global_id(0) * each)
#define LANE_SETUP const long lane = 0;
#define STEP 16
#if !defined(NARROW)
#define LOADV(p) vload16(0, p)
#define STOREV(v, p) vstore16(v, 0, p)
#elif defined(HALF)
#define LOADV(p) vload_half16(0, (const __global half *)(p))
#define STOREV(v, p) vstore16(narrowed(v), 0, p)
/* half_from_float of types.cl. */
inline ushort16 narrowed(float16 v) {
    const uint16 size = as_uint16(v) & 0x7fffffff;
    const uint16 subnormal = as_uint16(as_float16(size) + 0.5f) - 0x3f000000;
    const uint16 normal = (size + 0xc8000fff + ((size >> 13) & 1)) >> 13;
    uint16 found = select((uint16)(0x7c00), normal, size < 0x47800000);
    found = select(found, subnormal, size < 0x38800000);
    found = select(found, (uint16)(0x7e00), size > 0x7f800000);
    return convert_ushort16(found | ((as_uint16(v) >> 16) & 0x8000));
}
#else
#define LOADV(p) as_float16(convert_uint16(vload16(0, p)) << 16)
#define STOREV(v, p) vstore16(narrowed(v), 0, p)
/* bf16_from_float of types.cl. */
inline ushort16 narrowed(float16 v) {
    const uint16 bits = as_uint16(v), even = bits + 0x7fff + ((bits >> 16) & 1);
    return convert_ushort16(select(even, bits | 0x400000, isnan(v)) >> 16);
}
#endif
#define IN_VECTOR(v, OP) in_vector_##OP(v)
#define VECTOR_FOLD(OP) \
    inline T in_vector_##OP(V v) { \
        const JOIN(T, 8) e = OP(v.lo, v.hi); \
        const JOIN(T, 4) q = OP(e.lo, e.hi); \
        const JOIN(T, 2) d = OP(q.lo, q.hi); \
        return OP(d.x, d.y); \
    }
#define ACROSS(name, OP)
#endif

#define ADD(a, b) ((a) + (b))
#define MAX(a, b) ((b) > (a) ? (b) : (a)) /* a where b is NaN */
#ifdef VECTOR_FOLD
VECTOR_FOLD(ADD)
VECTOR_FOLD(MAX)
#endif

/* The rows of a work-item, or of a group. */
#define FOR_ROWS \
    LANE_SETUP \
    const long first = FIRST_ROW, last = min(first + each, rows); \
    long i2 = first % k2, i1 = first / k2 % k1, i0 = first / k2 / k1; \
    for (long row = first; row < last; row++, \
         i2 + 1 < k2 ? i2++ : (i2 = 0, i1 + 1 < k1 ? i1++ : (i1 = 0, i0++)))
#define ROW_AT (i0 * s0 + i1 * s1 + i2 * s2)

/* Statements for every place i of the row: as vectors with V, and what is left with T. */
#define EACH(IN_V, IN_T) \
    { \
        long i = lane * W; \
        for (; i + W <= n; i += STEP) { IN_V } \
        for (; i < n; i += STEP / W) { IN_T } \
    }

/* name = all values of EXPR over v, an element of p, combined by OP. Four sums at a time hide how
   long one addition takes; sums of blocks keep rounding errors small. */
#define FOLD_BLOCK 64
#define TAKEV(sum, at, OP, EXPR) { const V v = LOADV(p + (at)); sum = OP(sum, EXPR); }
#define FOLD(name, OP, IDENTITY, EXPR) \
    T name; \
    { \
        V whole = (V)(IDENTITY); \
        long i = lane * W; \
        while (i + 3 * STEP + W <= n) { \
            const long stop = min(n, i + 4 * STEP * FOLD_BLOCK); \
            V a0 = (V)(IDENTITY), a1 = a0, a2 = a0, a3 = a0; \
            for (; i + 3 * STEP + W <= stop; i += 4 * STEP) { \
                TAKEV(a0, i, OP, EXPR) \
                TAKEV(a1, i + STEP, OP, EXPR) \
                TAKEV(a2, i + 2 * STEP, OP, EXPR) \
                TAKEV(a3, i + 3 * STEP, OP, EXPR) \
            } \
            a0 = OP(a0, a1); \
            a2 = OP(a2, a3); \
            a0 = OP(a0, a2); \
            whole = OP(whole, a0); \
        } \
        for (; i + W <= n; i += STEP) TAKEV(whole, i, OP, EXPR) \
        name = IN_VECTOR(whole, OP); \
        for (; i < n; i += STEP / W) { const T v = LOAD_E(p, i); name = OP(name, EXPR); } \
        ACROSS(name, OP); \
    }
