/* x times a transposed matrix for few rows of x, where reading the matrix once is what takes time.
   Follows widening.cl. The including program defines M, how many rows are computed together, and as
   for matmul.cl S, O, R, V, W and FUSED. Rows of the matrix are dense; x is of type R, and dense. */

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
        const __global S *row = w + j * w_n; \
        V sum[M][COUNT][DEEP]; \
        R rest[M][COUNT]; \
        UNROLL for (int i = 0; i < M; i++) \
            UNROLL for (int r = 0; r < COUNT; r++) { \
                rest[i][r] = bias_at < 0 ? 0 : LOAD_S(bias, bias_at + (j + r) * bias_n); \
                UNROLL for (int y = 0; y < DEEP; y++) sum[i][r][y] = (V)(0); \
            } \
        long k = 0; \
        for (; k + DEEP * W <= depth; k += DEEP * W) \
            UNROLL for (int y = 0; y < DEEP; y++) { \
                V of_w[COUNT]; \
                UNROLL for (int r = 0; r < COUNT; r++) of_w[r] = WIDE_LOAD(y, row + r * w_n + k); \
                UNROLL for (int i = 0; i < M; i++) { \
                    const V of_x = VLOAD(y, of + i * depth + k); \
                    UNROLL for (int r = 0; r < COUNT; r++) \
                        sum[i][r][y] = FUSED(of_x, of_w[r], sum[i][r][y]); \
                } \
            } \
        for (; k < depth; k++) \
            UNROLL for (int i = 0; i < M; i++) \
                UNROLL for (int r = 0; r < COUNT; r++) \
                    rest[i][r] = FUSED(of[i * depth + k], LOAD_S(row, r * w_n + k), rest[i][r]); \
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
                    STORE_O(to, z * n + j + r, all[z - i] + rest[z][r]); \
            } \
    } while (0)

/* Where rows of x are no multiple of M, some are computed twice. */
#define ALL_ROWS(COUNT) \
    for (long i0 = 0; i0 < rows; i0 += M) { \
        const long first = min(i0, rows - M); \
        const __global R *of = x + first * depth; \
        __global O *to = out + first * n; \
        PRODUCTS(COUNT); \
    }

/* A work-item is `each` rows of the matrix. */
__attribute__((reqd_work_group_size(1, 1, 1))) __kernel void few_rows(
    const __global R *x, const __global S *w, const __global S *bias, __global O *out, long x_at,
    long w_at, long bias_at, long bias_n, long rows, long n, long depth, long w_n, long each) {
    x += x_at;
    w += w_at;
    long j = each * get_global_id(0);
    const long end = min(j + each, n);
    for (; j + AT_ONCE <= end; j += AT_ONCE) ALL_ROWS(AT_ONCE);
#if AT_ONCE > 1
    for (; j < end; j++) ALL_ROWS(1);
#endif
}
