/* Copies of items whatever their dtype: U is an unsigned type of the item's size. The host defines
   the name of the one kernel it wants.

   Each kernel walks two axes, i and j, in pieces of run_i and run_j; up to three more, k, l and m,
   are numbered by the third dimension. out_ and x_ are steps, to and from where things begin. */
#define PARAMETERS                                                                             \
    __global U *restrict out, const __global U *restrict x, long to, long from, long size_i,   \
        long size_j, long run_i, long run_j, long out_i, long x_i, long out_j, long x_j,       \
        long size_k, long size_l, long out_k, long x_k, long out_l, long x_l, long out_m, long x_m
#define BEGIN                                                                                  \
    const long number = get_global_id(2), above = number / size_k, k = number - above * size_k; \
    const long m = above / size_l, l = above - m * size_l;                                     \
    to += k * out_k + l * out_l + m * out_m;                                                   \
    from += k * x_k + l * x_l + m * x_m;
#define PIECE                                                                                  \
    const long i = get_global_id(0) * run_i, j = get_global_id(1) * run_j;                     \
    const long columns = min(run_i, size_i - i), rows = min(run_j, size_j - j);                \
    out += to + i * out_i + j * out_j;                                                         \
    x += from + i * x_i + j * x_j;
/* Pointers that move: an index times an unknown step tempts compilers into scatters, which take
   several times as long. */
#define ROW                                                                                    \
    for (long e = 0; e < columns; e++) {                                                       \
        *o = *a;                                                                               \
        o += out_i;                                                                            \
        a += x_i;                                                                              \
    }

#ifdef BLOCK
/* For processors, a block of rows for each work-item: the compiler makes vectors of the inner
   loops, for which it must know their steps. */
__kernel void block(PARAMETERS) {
    BEGIN
    PIECE
    for (long row = 0; row < rows; row++) {
        __global U *restrict o = out + row * out_j;
        const __global U *restrict a = x + row * x_j;
        if (out_i == 1 && x_i == 1)
            for (long e = 0; e < columns; e++) o[e] = a[e];
        else if (out_i == 1 && x_i == 0) {
            const U value = a[0];
            for (long e = 0; e < columns; e++) o[e] = value;
        } else if (out_i == 1 && x_i == 2)
            for (long e = 0; e < columns; e++) o[e] = a[2 * e];
        else if (out_i == 1 && x_i == -1)
            for (long e = 0; e < columns; e++) o[e] = a[-e];
        else
            ROW
    }
}
#endif

#ifdef TILE
/* For processors, neighbours along j in x and along i in out: a tile of whole cache lines for each
   work-item, in squares of W = 8 rows that are transposed in registers: rows r and r + 4 are
   interleaved, and three such rounds transpose a square. W is 0 where an item fills a register. */
#if W
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define V JOIN(U, W)
#define SHUFFLE(to, from)                                                                      \
    _Pragma("unroll") for (int h = 0; h < W / 2; h++) {                                        \
        to[2 * h].even = from[h].lo;                                                           \
        to[2 * h].odd = from[h + W / 2].lo;                                                    \
        to[2 * h + 1].even = from[h].hi;                                                       \
        to[2 * h + 1].odd = from[h + W / 2].hi;                                                \
    }

inline void square(__global U *restrict out, const __global U *restrict x, long out_j, long x_i) {
    V p[W], q[W];
    _Pragma("unroll") for (int e = 0; e < W; e++) p[e] = JOIN(vload, W)(0, x + e * x_i);
    SHUFFLE(q, p)
    SHUFFLE(p, q)
    SHUFFLE(q, p)
    _Pragma("unroll") for (int e = 0; e < W; e++) JOIN(vstore, W)(q[e], 0, out + e * out_j);
}
#endif

__kernel void tile(PARAMETERS) {
    BEGIN
    PIECE
    long row = 0;
#if W
    if (out_i == 1 && x_j == 1)
        for (; row + W <= rows; row += W) {
            long column = 0;
            for (; column + W <= columns; column += W)
                square(out + row * out_j + column, x + column * x_i + row, out_j, x_i);
            for (; column < columns; column++)
                for (int e = 0; e < W; e++)
                    out[(row + e) * out_j + column] = x[column * x_i + row + e];
        }
#endif
    for (; row < rows; row++) {
        __global U *restrict o = out + row * out_j;
        const __global U *restrict a = x + row * x_j;
        ROW
    }
}
#endif

#ifdef WALK
/* For devices that read and write a group's neighbours at once: an item for each work-item. */
__kernel void walk(PARAMETERS) {
    BEGIN
    PIECE
    *out = *x;
}
#endif

#ifdef EXCHANGE
/* For the same devices, neighbours along j in x and along i in out: a group reads along the one and
   writes along the other, through local memory. */
__kernel __attribute__((reqd_work_group_size(EXCHANGE, EXCHANGE, 1))) void exchange(PARAMETERS) {
    __local U held[EXCHANGE][EXCHANGE + 1];
    BEGIN
    const long a = get_local_id(0), b = get_local_id(1);
    const long i = get_group_id(0) * run_i, j = get_group_id(1) * run_j;
    if (i + b < size_i && j + a < size_j)
        held[b][a] = x[from + (i + b) * x_i + (j + a) * x_j];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i + a < size_i && j + b < size_j)
        out[to + (i + a) * out_i + (j + b) * out_j] = held[a][b];
}
#endif
