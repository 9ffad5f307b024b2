/* Copies that depend on where an item is. U is an unsigned type of the item's size. */

/* One triangle of each matrix of a C-contiguous stack; the other becomes 0. */
__kernel void triangle(__global U *out, const __global U *x, long offset, long diagonal, int upper) {
    const long column = get_global_id(0), row = get_global_id(1);
    const long at = (get_global_id(2) * get_global_size(1) + row) * get_global_size(0) + column;
    const long above = column - row - diagonal;
    out[at] = (upper ? above >= 0 : above <= 0) ? x[offset + at] : (U)0;
}

/* Entries repeated by counts: the j-th of the result is the first whose end is beyond j. A
   work-item walks RUN entries of the result, so that it searches once. */
#define RUN 32
__kernel void spread(__global U *out, const __global U *x, const __global long *ends, long offset,
                     long entries, long total) {
    const long inner = get_global_size(0), at = get_global_id(0), outer = get_global_id(2);
    const long from = get_global_id(1) * RUN, to = min(from + RUN, total);
    long low = 0, high = entries - 1;
    while (low < high) {
        const long middle = (low + high) / 2;
        if (ends[middle] > from) high = middle;
        else low = middle + 1;
    }
    for (long j = from; j < to; j++) {
        while (ends[low] <= j) low++;
        out[(outer * total + j) * inner + at] = x[offset + (outer * entries + low) * inner + at];
    }
}
