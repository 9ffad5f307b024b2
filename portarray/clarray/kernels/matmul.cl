/* Products of matrices where packing does not pay: small, narrow, or one vector.

   The including program defines
     S          the storage type, with LOAD_S and STORE_S
     T          compute type: a real type, an unsigned one (products wrap), or a pair
     ZERO       0 in T
     MULADD(a, b, c)   a*b + c in T
     CONJ(v)    v, or its conjugate where T is complex
     V, W       a vector of W of T, where S is T and T no pair: then DENSE is 1

   Element (i, j) of matrix number z is c[z*m*n + i*c_m + j*c_n] = sum over k of
   a[.. + i*a_m + k*a_k] * b[.. + k*b_k + j*b_n]. The matrices are along three batch axes of n1 and n2
   elements (the first one's length is not needed) with strides of their own. */

#define PLACE(z, s0, s1, s2) \
    ((z) ? ((z) / (n1 * n2)) * (s0) + ((z) / n2 % n1) * (s1) + ((z) % n2) * (s2) : 0)

/* One work-item for each element; neighbours share a row, so that their loads of b do too. */
__kernel void each(
    const __global S *a, const __global S *b, __global O *c, long a_at, long b_at, long c_at,
    long count, long m, long n, long depth, long a_m, long a_k, long b_k, long b_n, long c_m,
    long c_n, long n1, long n2, long a_0, long a_1, long a_2, long b_0, long b_1, long b_2,
    long conjugate) {
    const long id = get_global_id(0);
    if (id >= count) return;
    /* Divisions of 64 bits take longer than short sums. */
    const bool few = count <= UINT_MAX;
    const long line = few ? (long)((uint)id / (uint)n) : id / n, j = id - line * n;
    const long z = few ? (long)((uint)line / (uint)m) : line / m, i = line - z * m;
    a += a_at + PLACE(z, a_0, a_1, a_2) + i * a_m;
    b += b_at + PLACE(z, b_0, b_1, b_2) + j * b_n;
    T sum = ZERO;
    for (long k = 0; k < depth; k++) {
        const T left = LOAD_S(a, k * a_k);
        sum = MULADD(conjugate ? CONJ(left) : left, LOAD_S(b, k * b_k), sum);
    }
    STORE_O(c, c_at + z * m * n + i * c_m + j * c_n, sum);
}

#if DENSE
#define VLOAD CAT(vload, W)
#define VSTORE CAT(vstore, W)

/* Small matrices with b and c dense along their rows: register tiles of four rows without packing.
   A work-item takes some rows of some matrices. Rows that are not there repeat the last one; the
   last columns are computed again where vectors do not fit, hence n >= W. */
#define TILE(at, COUNT) do { \
        V sum[4][COUNT]; \
        _Pragma("unroll") for (int r = 0; r < 4; r++) \
            _Pragma("unroll") for (int v = 0; v < COUNT; v++) sum[r][v] = (V)(0); \
        const __global T *row = right + (at); \
        for (long k = 0, x = 0; k < depth; k++, x += a_k, row += b_k) { \
            const T f[4] = {left[0][x], left[1][x], left[2][x], left[3][x]}; \
            _Pragma("unroll") for (int v = 0; v < COUNT; v++) { \
                const V of_b = VLOAD(v, row); \
                _Pragma("unroll") for (int r = 0; r < 4; r++) \
                    sum[r][v] = VMULADD((V)(f[r]), of_b, sum[r][v]); \
            } \
        } \
        _Pragma("unroll") for (int r = 0; r < 4; r++) \
            _Pragma("unroll") for (int v = 0; v < COUNT; v++) \
                VSTORE(sum[r][v], v, out[r] + (at)); \
    } while (0)

__attribute__((reqd_work_group_size(1, 1, 1))) __kernel void direct(
    const __global T *a, const __global T *b, __global T *c, long a_at, long b_at, long c_at,
    long m, long n, long depth, long a_m, long a_k, long b_k, long c_m, long n1, long n2, long a_0,
    long a_1, long a_2, long b_0, long b_1, long b_2, long rows, long each, long count) {
    const long i0 = rows * get_global_id(0), i1 = min(i0 + rows, m);
    const long z0 = each * get_global_id(1), z1 = min(z0 + each, count);
    for (long z = z0; z < z1; z++) {
        const __global T *of_a = a + a_at + PLACE(z, a_0, a_1, a_2);
        const __global T *right = b + b_at + PLACE(z, b_0, b_1, b_2);
        for (long i = i0; i < i1; i += 4) {
            const __global T *left[4];
            __global T *out[4];
            _Pragma("unroll") for (int r = 0; r < 4; r++) {
                left[r] = of_a + min(i + r, m - 1) * a_m;
                out[r] = c + c_at + z * m * n + min(i + r, m - 1) * c_m;
            }
            long j = 0;
            for (; j + 2 * W <= n; j += 2 * W) TILE(j, 2);
            for (; j < n; j += W) TILE(min(j, n - W), 1);
        }
    }
}

/* Few rows in a, and b dense along its rows: every work-item walks down a band of columns, reading
   whole cache lines, with the sums of up to four rows of the result in fast memory. Four rows of b
   are added at a time, so that sums are not loaded and stored for each. */
#define SUMS 2048 /* of all rows of a band */

__attribute__((reqd_work_group_size(1, 1, 1))) __kernel void bands(
    const __global T *a, const __global T *b, __global O *c, long a_at, long b_at, long c_at,
    long m, long n, long depth, long a_m, long a_k, long b_k, long c_m, long c_n, long n1, long n2,
    long a_0, long a_1, long a_2, long b_0, long b_1, long b_2, long band) {
    const long j = band * get_global_id(0), i = 4 * get_global_id(1), z = get_global_id(2);
    const long wide = min(band, n - j), vectors = wide / W, rows = min(4L, m - i);
    a += a_at + PLACE(z, a_0, a_1, a_2) + i * a_m;
    b += b_at + PLACE(z, b_0, b_1, b_2) + j;
    c += c_at + z * m * n + i * c_m + j * c_n;
    T all[SUMS];
    for (long x = 0; x < rows * wide; x++) all[x] = 0;
    long k = 0;
    for (; k + 4 <= depth; k += 4) {
        const __global T *b0 = b + k * b_k, *b1 = b0 + b_k, *b2 = b1 + b_k, *b3 = b2 + b_k;
        for (long r = 0; r < rows; r++) {
            T *sums = all + r * wide;
            const __global T *f = a + r * a_m + k * a_k;
            const T f0 = f[0], f1 = f[a_k], f2 = f[2 * a_k], f3 = f[3 * a_k];
            for (long x = 0; x < vectors; x++) {
                V sum = VLOAD(x, sums);
                sum = VMULADD((V)(f0), VLOAD(x, b0), sum);
                sum = VMULADD((V)(f1), VLOAD(x, b1), sum);
                sum = VMULADD((V)(f2), VLOAD(x, b2), sum);
                sum = VMULADD((V)(f3), VLOAD(x, b3), sum);
                VSTORE(sum, x, sums);
            }
            for (long x = vectors * W; x < wide; x++) {
                T sum = MULADD(f0, b0[x], sums[x]);
                sum = MULADD(f1, b1[x], sum);
                sum = MULADD(f2, b2[x], sum);
                sums[x] = MULADD(f3, b3[x], sum);
            }
        }
    }
    for (; k < depth; k++) {
        const __global T *row = b + k * b_k;
        for (long r = 0; r < rows; r++) {
            T *sums = all + r * wide;
            const T f = a[r * a_m + k * a_k];
            for (long x = 0; x < wide; x++) sums[x] = MULADD(f, row[x], sums[x]);
        }
    }
    for (long r = 0; r < rows; r++)
        for (long x = 0; x < wide; x++) STORE_O(c, r * c_m + x * c_n, all[r * wide + x]);
}
#endif
