/* Several index arrays, or a mask over several axes, as one array of offsets. */

/* Offsets in `a` for indices. mode 0: only check; 1: write; 2: add to the existing offsets,
 * the offsets of other indices. */
KERNEL offsets(__global long *a, WALK, int mode) {
    long bad = 0;
    BEGIN
    long j = 0;
    for (; sa == 1 && si == 1 && j + 8 <= count; j += 8) {
        const long8 v = all_bounded(indices_at(index, ii + j, code), size, code);
        if (code && any(v < 0)) break;
        __global long *to = a + ia + j;
        if (mode == 1) vstore8(v * step, 0, to);
        if (mode == 2) vstore8(v * step + vload8(0, to), 0, to);
    }
    for (; j < count; j++) {
        const long v = bounded(index_at(index, ii + j * si, code), size, code);
        if (v < 0 && code) bad = ii + j * si + 1;
        else if (mode) a[ia + j * sa] = v * step + (mode == 2 ? a[ia + j * sa] : 0);
    }
    END
    if (bad) walk[0] = bad;
}

/* Flat places in an array, in C order, become offsets in its memory: `a` of the walk. */
__kernel void unravel(__global long *places, const __global long *walk, long total, int rank) {
    if ((long)get_global_id(0) >= total) return;
    ulong rest = places[get_global_id(0)];
    long offset = 0;
    for (int k = rank - 1; k >= 0; k--) {
        const __global long *axis = walk + 1 + 4 * k;
        const ulong next = quotient(rest, axis[0]);
        offset += (long)(rest - next * axis[0]) * axis[1];
        rest = next;
    }
    places[get_global_id(0)] = offset;
}
