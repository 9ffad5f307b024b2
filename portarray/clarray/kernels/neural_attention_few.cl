/* Few queries, as in decoding, where reading keys and values dominates: all queries that
   share a key head read them once, vectors run along the features, and a long row of keys is cut
   into ranges, so that every unit has one. Follows neural_attention.cl. */

/* to[c] = to * scale + the weighted sum of COUNT vectors of all values. */
#define WEIGHTED(COUNT, values, to) do { \
        V sum[COUNT]; \
        UNROLL for (int c = 0; c < COUNT; c++) sum[c] = VLOAD(c, to) * (V)(scaled[r]); \
        const SPACE T *value = values; \
        for (int j = 0; j < count; j++, value += v_step) { \
            const V one = (V)(scores[r][j]); \
            UNROLL for (int c = 0; c < COUNT; c++) sum[c] = FUSED(one, VLOAD(c, value), sum[c]); \
        } \
        UNROLL for (int c = 0; c < COUNT; c++) VSTORE(sum[c], c, to); \
    } while (0)

/* A work-item is a range of the keys of one key head, and some of the queries that look at it. With
   one range it writes results, with more for each query (largest score, sum, weighted values). */
__attribute__((reqd_work_group_size(1, 1, 1))) __kernel void few(
    const __global S *q, const __global S *k, const __global S *v, __global O *o,
    const __global uchar *mask, const __global long *length, const __global long *table,
    __global R *parts, long q_at, long k_at, long v_at, long o_at, long mask_at, long length_at,
    long n, R scale) {
    const long range = get_global_id(0), ranges = get_global_size(0), z = get_global_id(2);
    const long group = table[GROUP], queries = table[QUERIES];
    const long strips = (group * queries + TOGETHER - 1) / TOGETHER;
    const long shared = get_global_id(1) / strips;
    const long first = get_global_id(1) % strips * TOGETHER;
    const int here = (int)min((long)TOGETHER, group * queries - first);
    SIZES
    n = keys_of(n, length, length_at);
    const long ahead = n - queries, q_d = table[Q_D];
    const long begin = n * range / ranges, end = n * (range + 1) / ranges;
    k += k_at + z * table[K_B] + shared * table[K_H];
    v += v_at + z * table[V_B] + shared * table[V_H];
    const long k_n = table[K_N], v_n = table[V_N];
    const int masked = (int)table[MASKED];
    const long mask_n = table[MASK_N];

    T of_q[TOGETHER][FEATURES], sums[TOGETHER][FEATURES], scores[TOGETHER][KEYS];
    T best[TOGETHER], all[TOGETHER], scaled[TOGETHER];
    long limits[TOGETHER], places[TOGETHER], masks[TOGETHER];
#if !DENSE
    T held[KEYS * FEATURES];
#endif
    for (int r = 0; r < here; r++) {
        const long head = shared * group + (first + r) / queries, i = (first + r) % queries;
        const long from = q_at + z * table[Q_B] + head * table[Q_H] + i * table[Q_M];
        for (int x = 0; x < d; x++) of_q[r][x] = LOAD_S(q, from + x * q_d) * scale;
        for (int x = 0; x < dv; x++) sums[r][x] = 0;
        best[r] = -INFINITY;
        all[r] = 0;
        limits[r] = table[CAUSAL] ? i + ahead : n;
        masks[r] = mask_at + z * table[MASK_B] + head * table[MASK_H] + i * table[MASK_M];
        places[r] = z * table[O_B] + head * table[O_H] + i * dv;
    }
    for (long j0 = begin; j0 < end; j0 += KEYS) {
        const int count = (int)min((long)KEYS, end - j0);
#if DENSE
        const __global T *keys = k + j0 * k_n, *values = v + j0 * v_n;
        const long k_step = k_n, v_step = v_n;
#else
        const T *keys = held, *values = held;
        const int k_step = d, v_step = dv;
        widen(k + j0 * k_n, k_n, count, d, held);
#endif
        for (int r = 0; r < here; r++) {
            const SPACE T *key = keys;
            int j = 0;
            for (; j + 4 <= count; j += 4, key += 4 * k_step) {
                V s0 = (V)(0), s1 = (V)(0), s2 = (V)(0), s3 = (V)(0);
                CAT(R, 4) rest = (CAT(R, 4))(0);
                int x = 0;
                for (; x + W <= d; x += W) {
                    const V of = VLOAD(0, of_q[r] + x);
                    s0 = FUSED(VLOAD(0, key + x), of, s0);
                    s1 = FUSED(VLOAD(0, key + k_step + x), of, s1);
                    s2 = FUSED(VLOAD(0, key + 2 * k_step + x), of, s2);
                    s3 = FUSED(VLOAD(0, key + 3 * k_step + x), of, s3);
                }
                for (; x < d; x++)
                    rest = FUSED((CAT(R, 4))(key[x], key[k_step + x], key[2 * k_step + x],
                                             key[3 * k_step + x]),
                                 (CAT(R, 4))(of_q[r][x]), rest);
                vstore4(four_totals(s0, s1, s2, s3) + rest, 0, scores[r] + j);
            }
            for (; j < count; j++, key += k_step) {
                T sum = 0;
                for (int x = 0; x < d; x++) sum = FUSED(key[x], of_q[r][x], sum);
                scores[r][j] = sum;
            }
        }
        for (int r = 0; r < here; r++) {
            for (int j = 0; masked && j < count; j++) {
                const long at = masks[r] + (j0 + j) * mask_n;
                if (masked == BOOL_MASK)
                    scores[r][j] = mask[at] ? scores[r][j] : (T)(-INFINITY);
                else
                    scores[r][j] = FUSED(LOAD_S((const __global S *)mask, at), LOG2_E, scores[r][j]);
            }
            const int seen = (int)clamp(limits[r] + 1 - j0, 0L, (long)count);
            const int vectors = (count + W - 1) / W;
            for (int j = seen; j < vectors * W; j++) scores[r][j] = -INFINITY;
            V top = (V)(best[r]);
            for (int x = 0; x < vectors; x++) {
                const V one = VLOAD(x, scores[r]);
                top = one > top ? one : top;
            }
            const T found = largest(top);
            const T from = found == -INFINITY ? 0 : found;
            scaled[r] = exp2(best[r] - from);
            best[r] = found;
            V sum = (V)(0);
            for (int x = 0; x < vectors; x++) {
                const V one = power(VLOAD(x, scores[r]) - (V)(from));
                sum += one;
                VSTORE(one, x, scores[r]);
            }
            all[r] = all[r] * scaled[r] + total(sum);
        }
#if !DENSE
        widen(v + j0 * v_n, v_n, count, dv, held);
#endif
        int x = 0;
        for (; x + 4 * W <= dv; x += 4 * W)
            for (int r = 0; r < here; r++) WEIGHTED(4, values + x, sums[r] + x);
        for (; x + W <= dv; x += W)
            for (int r = 0; r < here; r++) WEIGHTED(1, values + x, sums[r] + x);
        for (; x < dv; x++)
            for (int r = 0; r < here; r++) {
                T sum = sums[r][x] * scaled[r];
                for (int j = 0; j < count; j++) sum = FUSED(scores[r][j], values[j * v_step + x], sum);
                sums[r][x] = sum;
            }
    }
    for (int r = 0; r < here; r++) {
        if (ranges == 1) {
            const T part = all[r] == 0 ? 0 : 1 / all[r];
            for (int x = 0; x < dv; x++) STORE_O(o, o_at + places[r] + x, sums[r][x] * part);
        } else {
            __global R *to = parts + (places[r] / dv * ranges + range) * (dv + 2);
            to[0] = best[r];
            to[1] = all[r];
            for (int x = 0; x < dv; x++) to[2 + x] = sums[r][x];
        }
    }
}

/* The ranges of one query become its result. */
__attribute__((reqd_work_group_size(1, 1, 1))) __kernel void join(
    __global O *o, const __global R *parts, long o_at, long ranges, long dv) {
    parts += get_global_id(0) * ranges * (dv + 2);
    o += o_at + get_global_id(0) * dv;
    T best = -INFINITY, all = 0;
    for (long one = 0; one < ranges; one++) best = max(best, parts[one * (dv + 2)]);
    const T from = best == -INFINITY ? 0 : best;
    for (long one = 0; one < ranges; one++)
        all += parts[one * (dv + 2) + 1] * exp2(parts[one * (dv + 2)] - from);
    const T scale = all == 0 ? 0 : 1 / all;
    for (long x = 0; x < dv; x++) {
        T sum = 0;
        for (long one = 0; one < ranges; one++)
            sum += parts[one * (dv + 2) + 2 + x] * exp2(parts[one * (dv + 2)] - from);
        STORE_O(o, x, sum * scale);
    }
}
