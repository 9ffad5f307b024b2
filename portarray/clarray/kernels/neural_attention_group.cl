/* Attention on devices whose work-groups share fast memory: a group of G work-items is one query of
   one head, and takes G keys at a time; each work-item keeps PER numbers of the result, which lie G
   apart. Macros, table and method as in neural_attention.cl. */

#define LOG2_E ((T)1.44269504088896340736)

enum {
    GROUP, QUERIES, WIDTH, OUT_WIDTH, Q_B, Q_H, Q_M, Q_D, K_B, K_H, K_N, V_B, V_H, V_N, O_B, O_H,
    MASK_B, MASK_H, MASK_M, MASK_N, CAUSAL, MASKED
};
#define BOOL_MASK 1

__attribute__((reqd_work_group_size(G, 1, 1))) __kernel void one(
    const __global S *q, const __global S *k, const __global S *v, __global O *o,
    const __global uchar *mask, const __global long *length, const __global long *table, long q_at,
    long k_at, long v_at, long o_at, long mask_at, long length_at, long n, R scale) {
    const long i = get_group_id(0), head = get_global_id(1), z = get_global_id(2);
    const long shared = head / table[GROUP];
    const int id = get_local_id(0);
    const long d = table[WIDTH], dv = table[OUT_WIDTH];
    if (length_at >= 0) n = clamp(length[length_at], 0L, n);
    const long end = table[CAUSAL] ? clamp(i + 1 + n - table[QUERIES], 0L, n) : n;
    q += q_at + z * table[Q_B] + head * table[Q_H] + i * table[Q_M];
    k += k_at + z * table[K_B] + shared * table[K_H];
    v += v_at + z * table[V_B] + shared * table[V_H];
    o += o_at + z * table[O_B] + head * table[O_H] + i * dv;
    mask_at += z * table[MASK_B] + head * table[MASK_H] + i * table[MASK_M];
    const long q_d = table[Q_D], k_n = table[K_N], v_n = table[V_N];
    __local T scores[G], found[G];
    T best = -INFINITY, all = 0, sums[PER];
    for (int x = 0; x < PER; x++) sums[x] = 0;
    for (long j0 = 0; j0 < end; j0 += G) {
        const long j = j0 + id;
        T score = -INFINITY;
        if (j < end) {
            const long place = mask_at + j * table[MASK_N];
            T sum = 0;
            for (long x = 0; x < d; x++)
                sum = FUSED(LOAD_S(q, x * q_d), LOAD_S(k, j * k_n + x), sum);
            sum *= scale;
            if (table[MASKED] == BOOL_MASK)
                score = mask[place] ? sum : -INFINITY;
            else
                score = table[MASKED]
                            ? FUSED(LOAD_S((const __global S *)mask, place), LOG2_E, sum) : sum;
        }
        found[id] = score;
        for (int half_of = G / 2; half_of; half_of /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (id < half_of && found[id + half_of] > found[id]) found[id] = found[id + half_of];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const T top = found[0] > best ? found[0] : best;
        const T from = top == -INFINITY ? 0 : top;
        const T scaled = exp2(best - from);
        best = top;
        const T weight = exp2(score - from);
        all = all * scaled + weight; /* of this work-item's keys */
        scores[id] = weight;
        barrier(CLK_LOCAL_MEM_FENCE);
        const int count = (int)min((long)G, end - j0);
        for (int x = 0; x < PER; x++) {
            const long at = id + (long)x * G;
            if (at < dv) {
                T sum = sums[x] * scaled;
                for (int y = 0; y < count; y++)
                    sum = FUSED(scores[y], LOAD_S(v, (j0 + y) * v_n + at), sum);
                sums[x] = sum;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE); /* scores and found are written again */
    }
    found[id] = all;
    for (int half_of = G / 2; half_of; half_of /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (id < half_of) found[id] += found[id + half_of];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const T scaled = found[0] == 0 ? 0 : 1 / found[0];
    for (int x = 0; x < PER; x++) {
        const long at = id + (long)x * G;
        if (at < dv) STORE_O(o, at, sums[x] * scaled);
    }
}
