/* Products of large matrices on CPUs, after Goto and van de Geijn, "Anatomy of high-performance
   matrix multiplication" (2008), and Van Zee and van de Geijn, "BLIS" (2015): both operands are
   packed into panels in the order in which a register tile reads them, whatever their strides.

   In addition to the macros of matmul.cl, the including program defines
     R          the type of the parts: T, or the component type of a pair T (COMPLEX is 1)
     V, W       a vector of W of R
     ROWS       rows of the register tile
     COLUMNS    columns of it, in vectors
     U          the widest vector length that divides ROWS

   A panel holds for each k its PARTS (real and imaginary) of ROWS, or COLUMNS*W, neighbours; what
   the matrix does not have is filled with zeros. One work-item is one tile or panel: the compiler
   must not spread vectors over work-items, hence groups of one. */

#define WIDE (COLUMNS * W)
#define PARTS (COMPLEX + 1)
#define VLOAD CAT(vload, W)
#define VSTORE CAT(vstore, W)
#define STEPS 256 /* of the summed axis that one work-item packs */

#define PLACE(z, s0, s1, s2) \
    (((z) / (n1 * n2)) * (s0) + ((z) / n2 % n1) * (s1) + ((z) % n2) * (s2))

#if COMPLEX
#define PUT(to, width, x, v) do { \
        const T pair = (v); \
        (to)[x] = pair.x; \
        (to)[(width) + (x)] = pair.y; \
    } while (0)
#else
#define PUT(to, width, x, v) ((to)[x] = (v))
#endif

/* Neighbours are s apart; the summed axis has steps s_k. A loop that reads a cache line of each
   neighbour in turn is three times as fast as one that takes a number of each: rows of 4096 bytes
   fall into one set of the first-level cache. */
#if DENSE
#define UNROLL _Pragma("unroll")
#else
#define UNROLL /* conversions make these loops too long to compile */
#endif
#define PACK(name, WIDTH, COPY) \
__attribute__((reqd_work_group_size(1, 1, 1))) __kernel void name( \
    const __global S *from, __global R *to, long at, long count, long depth, long s, long s_k, \
    long n1, long n2, long s_0, long s_1, long s_2) { \
    const long panel = get_global_id(0), z = get_global_id(2); \
    const long panels = get_global_size(0); \
    long k = STEPS * get_global_id(1); \
    const long end = min(k + STEPS, depth); \
    const int here = (int)min((long)WIDTH, count - panel * WIDTH); \
    from += at + PLACE(z, s_0, s_1, s_2) + panel * WIDTH * s + k * s_k; \
    to += ((z * panels + panel) * depth + k) * (PARTS * WIDTH); \
    if (here == WIDTH) { \
        if (DENSE && s == 1) { \
            for (; k < end; k++, from += s_k, to += PARTS * WIDTH) { \
                COPY \
            } \
        } else if (s_k == 1) { \
            for (; k + 16 <= end; k += 16, from += 16, to += 16 * PARTS * WIDTH) { \
                UNROLL for (int x = 0; x < WIDTH; x++) { \
                    const __global S *row = from + x * s; \
                    UNROLL for (int y = 0; y < 16; y++) \
                        PUT(to + y * PARTS * WIDTH, WIDTH, x, LOAD_S(row, y)); \
                } \
            } \
        } \
        for (; k < end; k++, from += s_k, to += PARTS * WIDTH) \
            for (int x = 0; x < WIDTH; x++) PUT(to, WIDTH, x, LOAD_S(from, x * s)); \
    } else { \
        for (; k < end; k++, from += s_k, to += PARTS * WIDTH) \
            for (int x = 0; x < WIDTH; x++) \
                PUT(to, WIDTH, x, x < here ? LOAD_S(from, x * s) : ZERO); \
    } \
}

#if DENSE
#define COPY_BY(width, length) \
    _Pragma("unroll") for (int x = 0; x < (width) / (length); x++) \
        CAT(vstore, length)(CAT(vload, length)(x, from), x, to);
#else
#define COPY_BY(width, length)
#endif
PACK(pack_rows, ROWS, COPY_BY(ROWS, U))
PACK(pack_columns, WIDE, COPY_BY(WIDE, W))

/* A block of block_m by block_n elements: its panels of a and b stay in the second-level cache. */
__attribute__((reqd_work_group_size(1, 1, 1))) __kernel void tiles(
    const __global R *a, const __global R *b, __global O *c, long c_at, long c_m, long c_z,
    long m, long n, long depth, long block_m, long block_n, long add, long n1, long n2, long a_0,
    long a_1, long a_2, long b_0, long b_1, long b_2) {
    const long i0 = get_global_id(0) * block_m, i1 = min(i0 + block_m, m);
    const long j0 = get_global_id(1) * block_n, j1 = min(j0 + block_n, n);
    const long z = get_global_id(2);
    a += PLACE(z, a_0, a_1, a_2) * ((m + ROWS - 1) / ROWS * ROWS * depth * PARTS);
    b += PLACE(z, b_0, b_1, b_2) * ((n + WIDE - 1) / WIDE * WIDE * depth * PARTS);
    c += c_at + z * c_z;
    for (long j = j0; j < j1; j += WIDE) {
        for (long i = i0; i < i1; i += ROWS) {
            const __global R *left = a + i * depth * PARTS;
            const __global R *right = b + j * depth * PARTS;
            V sum[PARTS][ROWS][COLUMNS];
            _Pragma("unroll") for (int p = 0; p < PARTS; p++)
                _Pragma("unroll") for (int r = 0; r < ROWS; r++)
                    _Pragma("unroll") for (int v = 0; v < COLUMNS; v++) sum[p][r][v] = (V)(0);
            for (long k = 0; k < depth; k++) {
                V of_b[PARTS][COLUMNS];
                _Pragma("unroll") for (int p = 0; p < PARTS; p++)
                    _Pragma("unroll") for (int v = 0; v < COLUMNS; v++)
                        of_b[p][v] = VLOAD(p * COLUMNS + v, right);
                _Pragma("unroll") for (int r = 0; r < ROWS; r++) {
                    const V of_a = (V)(left[r]);
#if COMPLEX
                    const V imag = (V)(left[ROWS + r]);
#endif
                    _Pragma("unroll") for (int v = 0; v < COLUMNS; v++) {
                        sum[0][r][v] = VMULADD(of_a, of_b[0][v], sum[0][r][v]);
#if COMPLEX
                        sum[0][r][v] = VMULADD(-imag, of_b[1][v], sum[0][r][v]);
                        sum[1][r][v] = VMULADD(of_a, of_b[1][v], sum[1][r][v]);
                        sum[1][r][v] = VMULADD(imag, of_b[0][v], sum[1][r][v]);
#endif
                    }
                }
                left += PARTS * ROWS;
                right += PARTS * WIDE;
            }
            __global O *out = c + i * c_m + j;
#if DENSE && OUT_DENSE
            if (i + ROWS <= m && j + WIDE <= n) {
                _Pragma("unroll") for (int r = 0; r < ROWS; r++)
                    _Pragma("unroll") for (int v = 0; v < COLUMNS; v++) {
                        V found = sum[0][r][v];
                        if (add) found += VLOAD(v, out + r * c_m);
                        VSTORE(found, v, out + r * c_m);
                    }
                continue;
            }
#endif
            R part[PARTS][ROWS * WIDE];
            _Pragma("unroll") for (int p = 0; p < PARTS; p++)
                _Pragma("unroll") for (int r = 0; r < ROWS; r++)
                    _Pragma("unroll") for (int v = 0; v < COLUMNS; v++)
                        VSTORE(sum[p][r][v], v, part[p] + r * WIDE);
            for (int r = 0; r < ROWS && i + r < m; r++)
                for (int x = 0; x < WIDE && j + x < n; x++) {
#if COMPLEX
                    T found = (T)(part[0][r * WIDE + x], part[1][r * WIDE + x]);
#else
                    T found = part[0][r * WIDE + x];
#endif
                    if (add) found += LOAD_O(out, r * c_m + x);
                    STORE_O(out, r * c_m + x, found);
                }
        }
    }
}
