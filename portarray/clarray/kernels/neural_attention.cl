/* Attention in one pass over the keys, on CPUs: the softmax of a query is kept as a largest score, a
   sum and weighted values, which are scaled when a larger score is met (Milakov and Gimelshein,
   "Online normalizer calculation for softmax", 2018), and scores exist for one block of keys at a
   time (Dao, Fu, Ermon, Rudra and Re, "FlashAttention", 2022).

   Follows widening.cl. In addition to its macros and those of matmul.cl and matmul_packed.cl, the
   program defines
     FEATURES   for how many numbers of a query and of a value there is room
     EXACT      whether both have just so many
     DOUBLE     whether T is double
   Keys and values are dense along their features. 16-bit types are widened block by block.
   Scores are in multiples of ln 2, so that weights are powers of two. */

#define KEYS 64            /* of a block: it stays in the first-level cache */
#define WIDE (COLUMNS * W) /* queries of a tile */
#define TOGETHER 8         /* queries that `few` takes together */
#define UNROLL _Pragma("unroll")
#define LOG2_E ((T)1.44269504088896340736)

/* Indices of the table: sizes, and strides along batch, heads, rows and columns. */
enum {
    GROUP, QUERIES, WIDTH, OUT_WIDTH, Q_B, Q_H, Q_M, Q_D, K_B, K_H, K_N, V_B, V_H, V_N, O_B, O_H,
    MASK_B, MASK_H, MASK_M, MASK_N, CAUSAL, MASKED
};
#define BOOL_MASK 1

#if EXACT
#define SIZES const int d = FEATURES, dv = FEATURES;
#else
#define SIZES const int d = (int)table[WIDTH], dv = (int)table[OUT_WIDTH];
#endif

#if DENSE
#define SPACE __global
#else
#define SPACE __private
static void widen(const __global S *from, long step, int rows, int width, T *to) {
    for (int r = 0; r < rows; r++, from += step, to += width) {
        int x = 0;
        for (; x + W <= width; x += W) VSTORE(WIDE_LOAD(0, from + x), 0, to + x);
        for (; x < width; x++) to[x] = LOAD_S(from, x);
    }
}
#endif

/* 2^x for x that is not positive, NaN for NaN. */
static V power(V x) {
#if DOUBLE
    return exp2(x);
#else
    /* The fraction's power by a polynomial, 1.3 * 2^-24 off at most. The sum holds the whole part in
       its last bits. Numbers below the smallest normal one are zero. */
    const V sum = x + 0x1.8p23f, part = x - (sum - 0x1.8p23f);
    V found = FUSED(part, (V)(0x1.41d332p-13f), (V)(0x1.5f456ap-10f));
    found = FUSED(found, part, (V)(0x1.3b2dbcp-7f));
    found = FUSED(found, part, (V)(0x1.c6aed4p-5f));
    found = FUSED(found, part, (V)(0x1.ebfbdap-3f));
    found = FUSED(found, part, (V)(0x1.62e43p-1f));
    found = FUSED(found, part, (V)(1.0f));
    found *= CAT(as_float, W)((CAT(as_int, W)(sum) + 127) << 23);
    return x < -126.0f ? (V)(0) : found;
#endif
}

static T largest(V v) {
    T all[W], found;
    VSTORE(v, 0, all);
    found = all[0];
    for (int x = 1; x < W; x++) found = all[x] > found ? all[x] : found;
    return found;
}

/* The number of valid keys: a value, or an element on the device. */
static long keys_of(long n, const __global long *length, long length_at) {
    return length_at < 0 ? n : clamp(length[length_at], 0L, n);
}

/* --- many queries: vectors run along the queries, so that keys and values are single numbers that
   are read in place, and each query's largest score and sum stay in its own slot. */

/* to[r][query] = the product of row r and the query, for COUNT rows. */
#define SCORES(COUNT, rows, step, to) do { \
        V sum[COUNT][COLUMNS]; \
        UNROLL for (int r = 0; r < COUNT; r++) \
            UNROLL for (int c = 0; c < COLUMNS; c++) sum[r][c] = (V)(0); \
        const SPACE T *row = rows; \
        const T *right = of_q; \
        for (int x = 0; x < d; x++, row++, right += WIDE) { \
            V of[COLUMNS]; \
            UNROLL for (int c = 0; c < COLUMNS; c++) of[c] = VLOAD(c, right); \
            UNROLL for (int r = 0; r < COUNT; r++) { \
                const V one = (V)(row[r * step]); \
                UNROLL for (int c = 0; c < COLUMNS; c++) sum[r][c] = FUSED(one, of[c], sum[r][c]); \
            } \
        } \
        UNROLL for (int r = 0; r < COUNT; r++) \
            UNROLL for (int c = 0; c < COLUMNS; c++) VSTORE(sum[r][c], c, to + r * WIDE); \
    } while (0)

/* to[r][query] = to * scale + the weighted sum of the r-th numbers of all values, for COUNT of them. */
#define VALUES(COUNT, values, step, to) do { \
        V sum[COUNT][COLUMNS]; \
        UNROLL for (int r = 0; r < COUNT; r++) \
            UNROLL for (int c = 0; c < COLUMNS; c++) \
                sum[r][c] = VLOAD(c, to + r * WIDE) * scaled[c]; \
        const SPACE T *value = values; \
        const T *weight = scores; \
        for (int j = 0; j < count; j++, value += step, weight += WIDE) { \
            V of[COLUMNS]; \
            UNROLL for (int c = 0; c < COLUMNS; c++) of[c] = VLOAD(c, weight); \
            UNROLL for (int r = 0; r < COUNT; r++) { \
                const V one = (V)(value[r]); \
                UNROLL for (int c = 0; c < COLUMNS; c++) sum[r][c] = FUSED(one, of[c], sum[r][c]); \
            } \
        } \
        UNROLL for (int r = 0; r < COUNT; r++) \
            UNROLL for (int c = 0; c < COLUMNS; c++) VSTORE(sum[r][c], c, to + r * WIDE); \
    } while (0)

/* A work-item is a tile of the queries that share a key head, those of one head after another's. */
__attribute__((reqd_work_group_size(1, 1, 1))) __kernel void many(
    const __global S *q, const __global S *k, const __global S *v, __global O *o,
    const __global uchar *mask, const __global long *length, const __global long *table, long q_at,
    long k_at, long v_at, long o_at, long mask_at, long length_at, long n, R scale) {
    const long first = WIDE * get_global_id(0), shared = get_global_id(1), z = get_global_id(2);
    const long queries = table[QUERIES];
    const int here = (int)min((long)WIDE, table[GROUP] * queries - first);
    SIZES
    n = keys_of(n, length, length_at);
    k += k_at + z * table[K_B] + shared * table[K_H];
    v += v_at + z * table[V_B] + shared * table[V_H];
    const long q_d = table[Q_D], k_n = table[K_N], v_n = table[V_N], mask_n = table[MASK_N];
    const int masked = (int)table[MASKED];
    const bool causal = table[CAUSAL];

    T of_q[FEATURES * WIDE], sums[FEATURES * WIDE], scores[KEYS * WIDE];
#if !DENSE
    T held[KEYS * FEATURES];
#endif
    /* For each query: offsets of its result and mask, and the last visible key. */
    long places[WIDE], masks[WIDE], limits[WIDE];
    long head = shared * table[GROUP] + first / queries, m = first % queries;
    long lowest = n, highest = -1;
    bool alike = true; /* the mask is the same for all queries */
    for (int i = 0; i < here; i++) {
        const __global S *from = q + q_at + z * table[Q_B] + head * table[Q_H] + m * table[Q_M];
        for (int x = 0; x < d; x++) of_q[x * WIDE + i] = LOAD_S(from, x * q_d) * scale;
        places[i] = o_at + z * table[O_B] + head * table[O_H] + m * dv;
        masks[i] = mask_at + z * table[MASK_B] + head * table[MASK_H] + m * table[MASK_M];
        alike = alike && masks[i] == masks[0];
        limits[i] = causal ? m + n - queries : n - 1;
        lowest = min(lowest, limits[i]);
        highest = max(highest, limits[i]);
        if (++m == queries) {
            m = 0;
            head++;
        }
    }
    for (int i = here; i < WIDE; i++) {
        for (int x = 0; x < d; x++) of_q[x * WIDE + i] = 0;
        masks[i] = masks[0];
        limits[i] = n - 1;
    }
    for (int x = 0; x < dv * WIDE; x++) sums[x] = 0;
    const long end = highest + 1;
    V best[COLUMNS], all[COLUMNS], scaled[COLUMNS];
    UNROLL for (int c = 0; c < COLUMNS; c++) {
        best[c] = (V)(-INFINITY);
        all[c] = (V)(0);
    }
    for (long j0 = 0; j0 < end; j0 += KEYS) {
        const int count = (int)min((long)KEYS, end - j0);
#if DENSE
        const __global T *keys = k + j0 * k_n, *values = v + j0 * v_n;
        const long k_step = k_n, v_step = v_n;
#else
        const T *keys = held, *values = held;
        const int k_step = d, v_step = dv;
        widen(k + j0 * k_n, k_n, count, d, held);
#endif
        int j = 0;
        for (; j + ROWS <= count; j += ROWS)
            SCORES(ROWS, keys + j * k_step, k_step, scores + j * WIDE);
        for (; j < count; j++) SCORES(1, keys + j * k_step, k_step, scores + j * WIDE);
        if (masked) {
            T given[KEYS * WIDE];
            for (int i = 0; i < (alike ? 1 : WIDE); i++) {
                const long from = masks[i] + j0 * mask_n;
                if (masked == BOOL_MASK)
                    for (j = 0; j < count; j++) given[j * WIDE + i] = mask[from + j * mask_n];
                else
                    for (j = 0; j < count; j++)
                        given[j * WIDE + i] = LOAD_S((const __global S *)mask, from + j * mask_n);
            }
            for (j = 0; j < count; j++)
                UNROLL for (int c = 0; c < COLUMNS; c++) {
                    const V found = VLOAD(c, scores + j * WIDE);
                    const V one = alike ? (V)(given[j * WIDE]) : VLOAD(c, given + j * WIDE);
                    VSTORE(masked == BOOL_MASK ? (one != 0 ? found : (V)(-INFINITY))
                                               : FUSED(one, (V)(LOG2_E), found),
                           c, scores + j * WIDE);
                }
        }
        if (j0 + count - 1 > lowest) {
            T last[WIDE];
            for (int i = 0; i < WIDE; i++) last[i] = clamp(limits[i] - j0, -1L, (long)KEYS);
            UNROLL for (int c = 0; c < COLUMNS; c++)
                for (j = 0; j < count; j++)
                    VSTORE((V)(j) <= VLOAD(c, last) ? VLOAD(c, scores + j * WIDE) : (V)(-INFINITY),
                           c, scores + j * WIDE);
        }
        UNROLL for (int c = 0; c < COLUMNS; c++) {
            V top = best[c];
            for (j = 0; j < count; j++) {
                const V one = VLOAD(c, scores + j * WIDE);
                top = one > top ? one : top;
            }
            /* Where all scores are -inf weights are zero, not NaN. */
            const V from = top == (V)(-INFINITY) ? (V)(0) : top;
            scaled[c] = power(best[c] - from);
            best[c] = top;
            V sum = all[c] * scaled[c];
            for (j = 0; j < count; j++) {
                const V one = power(VLOAD(c, scores + j * WIDE) - from);
                sum += one;
                VSTORE(one, c, scores + j * WIDE);
            }
            all[c] = sum;
        }
#if !DENSE
        widen(v + j0 * v_n, v_n, count, dv, held);
#endif
        int x = 0;
        for (; x + ROWS <= dv; x += ROWS) VALUES(ROWS, values + x, v_step, sums + x * WIDE);
        for (; x < dv; x++) VALUES(1, values + x, v_step, sums + x * WIDE);
    }
    T part[WIDE];
    UNROLL for (int c = 0; c < COLUMNS; c++)
        VSTORE(all[c] == 0 ? (V)(0) : (V)(1) / all[c], c, part);
    for (int i = 0; i < here; i++)
        for (int x = 0; x < dv; x++) STORE_O(o, places[i] + x, sums[x * WIDE + i] * part[i]);
}
