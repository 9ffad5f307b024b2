/* x times a transposed matrix for few rows of x, where reading the matrix once is what takes time.
   Follows widening.cl. The including program defines M, the number of rows, and as for matmul.cl S,
   O, R, V, W and FUSED. Rows of the matrix are dense; x is of type R, and dense. */

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

/* COUNT elements of each row of the result, from number j on. */
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
                UNROLL for (int r = 0; r < COUNT; r++) \
                    of_w[r] = WIDENED(VLOAD(y, row + r * w_n + k)); \
                UNROLL for (int i = 0; i < M; i++) { \
                    const V of_x = VLOAD(y, x + i * depth + k); \
                    UNROLL for (int r = 0; r < COUNT; r++) \
                        sum[i][r][y] = FUSED(of_x, of_w[r], sum[i][r][y]); \
                } \
            } \
        for (; k < depth; k++) \
            UNROLL for (int i = 0; i < M; i++) \
                UNROLL for (int r = 0; r < COUNT; r++) \
                    rest[i][r] = FUSED(x[i * depth + k], LOAD_S(row, r * w_n + k), rest[i][r]); \
        UNROLL for (int i = 0; i < M; i++) \
            UNROLL for (int r = 0; r < COUNT; r++) { \
                V all = sum[i][r][0]; \
                UNROLL for (int y = 1; y < DEEP; y++) all += sum[i][r][y]; \
                STORE_O(out, i * n + j + r, total(all) + rest[i][r]); \
            } \
    } while (0)

/* A work-item is `each` rows of the matrix. */
__attribute__((reqd_work_group_size(1, 1, 1))) __kernel void few_rows(
    const __global R *x, const __global S *w, const __global S *bias, __global O *out, long x_at,
    long w_at, long bias_at, long bias_n, long n, long depth, long w_n, long each) {
    x += x_at;
    w += w_at;
    long j = each * get_global_id(0);
    const long end = min(j + each, n);
    for (; j + AT_ONCE <= end; j += AT_ONCE) PRODUCTS(AT_ONCE);
#if AT_ONCE > 1
    for (; j < end; j++) PRODUCTS(1);
#endif
}
