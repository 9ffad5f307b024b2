/* Copies that depend on where an item is. U is an unsigned type of the item's size. A work-item has
   a piece of run_i columns and run_j rows: large ones on processors, single items elsewhere. */

/* One triangle of each matrix of a C-contiguous stack; the other becomes 0. */
__kernel void triangle(__global U *restrict out, const __global U *restrict x, long offset,
                       long columns, long rows, long run_i, long run_j, long diagonal, int upper) {
    const long i = get_global_id(0) * run_i, j = get_global_id(1) * run_j;
    const long width = min(run_i, columns - i), end = min(j + run_j, rows);
    const long matrix = get_global_id(2) * rows;
    for (long row = j; row < end; row++) {
        __global U *restrict o = out + (matrix + row) * columns + i;
        const __global U *restrict a = x + offset + (matrix + row) * columns + i;
        /* Where the diagonal passes: what is kept begins, or ends after it. */
        const long on = clamp(row + diagonal - i + (upper ? 0 : 1), 0L, width);
        const long first = upper ? on : 0, last = upper ? width : on;
        for (long e = 0; e < first; e++) o[e] = (U)0;
        for (long e = first; e < last; e++) o[e] = a[e];
        for (long e = last; e < width; e++) o[e] = (U)0;
    }
}

/* Entries repeated by counts: the j-th of the result is the first whose end is beyond j. Each
   piece searches once. */
__kernel void spread(__global U *restrict out, const __global U *restrict x,
                     const __global long *ends, long offset, long inner, long entries, long total,
                     long run_i, long run_j) {
    const long i = get_global_id(0) * run_i, j = get_global_id(1) * run_j;
    const long width = min(run_i, inner - i), stop = min(j + run_j, total);
    const long stack = get_global_id(2);
    long low = 0, high = entries - 1;
    while (low < high) {
        const long middle = (low + high) / 2;
        if (ends[middle] > j) high = middle;
        else low = middle + 1;
    }
    for (long at = j; at < stop; low++) {
        const __global U *restrict a = x + offset + (stack * entries + low) * inner + i;
        __global U *restrict o = out + (stack * total + at) * inner + i;
        const long end = min(ends[low], stop);
        if (width == 1) {
            const U value = a[0];
            for (; at < end; at++, o += inner) *o = value;
        } else
            for (; at < end; at++, o += inner)
                for (long e = 0; e < width; e++) o[e] = a[e];
    }
}
