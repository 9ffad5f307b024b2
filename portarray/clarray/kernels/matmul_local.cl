/* Products of matrices on devices whose work-groups share fast memory: a group of GROUP by GROUP
   work-items computes a square of SIDE by SIDE elements, each work-item PER by PER of them that lie
   GROUP apart, so that neighbours touch neighbouring memory. Macros as in matmul.cl. */

#define GROUP 16
#define PER 4
#define SIDE (GROUP * PER)
#define DEEP (sizeof(T) > 8 ? 8 : 16) /* 32 KiB are all that some devices have */

#define PLACE(z, s0, s1, s2) \
    (((z) / (n1 * n2)) * (s0) + ((z) / n2 % n1) * (s1) + ((z) % n2) * (s2))

__attribute__((reqd_work_group_size(GROUP, GROUP, 1))) __kernel void squares(
    const __global S *a, const __global S *b, __global O *c, long a_at, long b_at, long c_at,
    long m, long n, long depth, long a_m, long a_k, long b_k, long b_n, long c_m, long c_n, long n1,
    long n2, long a_0, long a_1, long a_2, long b_0, long b_1, long b_2) {
    __local T of_a[DEEP][SIDE + 1], of_b[DEEP][SIDE + 1]; /* + 1: columns fall into other banks */
    const int x = get_local_id(0), y = get_local_id(1), id = y * GROUP + x;
    const long j0 = get_group_id(0) * SIDE, i0 = get_group_id(1) * SIDE, z = get_global_id(2);
    a += a_at + PLACE(z, a_0, a_1, a_2);
    b += b_at + PLACE(z, b_0, b_1, b_2);
    c += c_at + z * m * n;
    T sum[PER][PER];
    for (int r = 0; r < PER; r++)
        for (int s = 0; s < PER; s++) sum[r][s] = ZERO;
    for (long k0 = 0; k0 < depth; k0 += DEEP) {
        for (int at = id; at < SIDE * DEEP; at += GROUP * GROUP) {
            /* Neighbouring work-items read along the axis that is denser in memory. */
            const int ak = a_k <= a_m ? at % DEEP : at / SIDE;
            const int ai = a_k <= a_m ? at / DEEP : at % SIDE;
            const int bk = b_n <= b_k ? at / SIDE : at % DEEP;
            const int bj = b_n <= b_k ? at % SIDE : at / DEEP;
            of_a[ak][ai] = i0 + ai < m && k0 + ak < depth
                               ? LOAD_S(a, (i0 + ai) * a_m + (k0 + ak) * a_k) : ZERO;
            of_b[bk][bj] = j0 + bj < n && k0 + bk < depth
                               ? LOAD_S(b, (k0 + bk) * b_k + (j0 + bj) * b_n) : ZERO;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < DEEP; k++)
            for (int r = 0; r < PER; r++)
                for (int s = 0; s < PER; s++)
                    sum[r][s] = MULADD(of_a[k][y + r * GROUP], of_b[k][x + s * GROUP], sum[r][s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int r = 0; r < PER; r++)
        for (int s = 0; s < PER; s++) {
            const long i = i0 + y + r * GROUP, j = j0 + x + s * GROUP;
            if (i < m && j < n) STORE_O(c, i * c_m + j * c_n, sum[r][s]);
        }
}
