/* Products of few rows of a with a matrix that is dense along the summed axis, such as a transposed
   one of weights, where reading the matrix once dominates.

   Follows widening.cl. In addition to the macros of matmul.cl, the including program defines R, the
   type of a and of sums, M, the number of rows computed together, and FUSED or its equivalent in R. */

#if M == 1
#define AT_ONCE 1 /* rows of the matrix */
#define DEEP 4    /* vectors of one row */
#elif M <= 4
#define AT_ONCE 2
#define DEEP 2
#else
#define AT_ONCE 2
#define DEEP 1
#endif
#define UNROLL _Pragma("unroll")

#define SUMMED(i, r) sum[(i) < M ? (i) : 0][r][0]

/* COUNT elements of M rows of the result, from number j on. */
#define PRODUCTS(COUNT) do { \
        const __global S *row = b + j * b_n; \
        V sum[M][COUNT][DEEP]; \
        R rest[M][COUNT]; \
        UNROLL for (int i = 0; i < M; i++) \
            UNROLL for (int r = 0; r < COUNT; r++) { \
                rest[i][r] = bias_at < 0 ? 0 : (R)LOAD_S(bias, bias_at + j + r); \
                UNROLL for (int y = 0; y < DEEP; y++) sum[i][r][y] = (V)(0); \
            } \
        long k = 0; \
        for (; k + DEEP * W <= depth; k += DEEP * W) \
            UNROLL for (int y = 0; y < DEEP; y++) { \
                V of_b[COUNT]; \
                UNROLL for (int r = 0; r < COUNT; r++) of_b[r] = WIDE_LOAD(y, row + r * b_n + k); \
                UNROLL for (int i = 0; i < M; i++) { \
                    const V of_a = VLOAD(y, of + i * a_m + k); \
                    UNROLL for (int r = 0; r < COUNT; r++) \
                        sum[i][r][y] = VMULADD(of_a, of_b[r], sum[i][r][y]); \
                } \
            } \
        for (; k < depth; k++) \
            UNROLL for (int i = 0; i < M; i++) \
                UNROLL for (int r = 0; r < COUNT; r++) \
                    rest[i][r] = MULADD(of[i * a_m + k], (R)LOAD_S(row, r * b_n + k), rest[i][r]); \
        UNROLL for (int r = 0; r < COUNT; r++) \
            UNROLL for (int i = 0; i < M; i += 4) { \
                UNROLL for (int z = i; z < min(i + 4, M); z++) \
                    UNROLL for (int y = 1; y < DEEP; y++) sum[z][r][0] += sum[z][r][y]; \
                R all[4]; \
                if (i + 1 == M) \
                    all[0] = total(sum[i][r][0]); \
                else \
                    vstore4(four_totals(SUMMED(i, r), SUMMED(i + 1, r), SUMMED(i + 2, r), \
                                        SUMMED(i + 3, r)), 0, all); \
                UNROLL for (int z = i; z < min(i + 4, M); z++) \
                    STORE_O(to, z * c_m + (j + r) * c_n, all[z - i] + rest[z][r]); \
            } \
    } while (0)

/* If the number of rows is not a multiple of M, some are computed twice. */
#define ALL_ROWS(COUNT) \
    for (long i0 = 0; i0 < m; i0 += M) { \
        const long first = min(i0, m - M); \
        const __global R *of = a + first * a_m; \
        __global O *to = c + first * c_m; \
        PRODUCTS(COUNT); \
    }

#define PLACE(z, s0, s1, s2) \
    ((z) ? ((z) / (n1 * n2)) * (s0) + ((z) / n2 % n1) * (s1) + ((z) % n2) * (s2) : 0)

/* A work-item is `each` columns of one matrix of the result: rows of b's transpose, b_n apart. Where
   bias_at is not negative, a dense vector is added to each row. */
__attribute__((reqd_work_group_size(1, 1, 1))) __kernel void few_rows(
    const __global R *a, const __global S *b, const __global S *bias, __global O *c, long a_at,
    long b_at, long bias_at, long c_at, long m, long n, long depth, long a_m, long b_n, long c_m,
    long c_n, long each, long n1, long n2, long a_0, long a_1, long a_2, long b_0, long b_1,
    long b_2) {
    const long z = get_global_id(1);
    a += a_at + PLACE(z, a_0, a_1, a_2);
    b += b_at + PLACE(z, b_0, b_1, b_2);
    c += c_at + z * m * n;
    long j = each * get_global_id(0);
    const long end = min(j + each, n);
    for (; j + AT_ONCE <= end; j += AT_ONCE) ALL_ROWS(AT_ONCE);
#if AT_ONCE > 1
    for (; j < end; j++) ALL_ROWS(1);
#endif
}
