/* Rows of a table, of n items side by side, by indices (stored as I) that are in range. A work-item
   takes "each" rows where LOOPS is defined, one item elsewhere. */
__kernel void embedding(
    __global ITEM *out, const __global ITEM *table, const __global I *indices, long table_at,
    long indices_at, long total, long each, long n, long step) {
    indices += indices_at;
    table += table_at;
#ifdef LOOPS
    const long first = get_global_id(0) * each, last = min(first + each, total);
    for (long row = first; row < last; row++) {
        const __global ITEM *p = table + (long)indices[row] * step;
        __global ITEM *q = out + row * n;
        long i = 0;
        for (; i + 16 <= n; i += 16) vstore16(vload16(0, p + i), 0, q + i);
        for (; i < n; i++) q[i] = p[i];
    }
#else
    const long at = get_global_id(0);
    if (at < total * n) out[at] = table[(long)indices[at / n] * step + at % n];
#endif
}
