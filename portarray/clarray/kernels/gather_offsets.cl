/* Several index arrays, or a mask over several axes, as one array of offsets. The walk is as in
 * gather.cl: walk[0] reports, walk[1 + 2 * k] is the length of axis k and the step along it. */

/* mode 0: only check; 1: write offsets; 2: add them to those that other indices gave. */
__kernel void offsets(__global long *out, const __global uchar *index, __global long *walk,
                      long start, int rank, int code, long size, long step, int mode) {
    ulong rest = get_global_id(0);
    for (int k = rank - 1; k >= 0; k--) {
        const ulong n = walk[1 + 2 * k], next = quotient(rest, n);
        start += (long)(rest - next * n) * walk[2 + 2 * k];
        rest = next;
    }
    long v = bounded(index_at(index, start, code), size, code);
    if (v < 0 && code) {
        walk[0] = start + 1;
        v = 0;
    }
    const size_t g = get_global_id(0);
    if (mode == 1) out[g] = v * step;
    if (mode == 2) out[g] += v * step;
}

/* Flat places in an array, in C order, become offsets in its memory. */
__kernel void unravel(__global long *places, const __global long *walk, int rank) {
    ulong rest = places[get_global_id(0)];
    long offset = 0;
    for (int k = rank - 1; k >= 0; k--) {
        const ulong n = walk[1 + 2 * k], next = quotient(rest, n);
        offset += (long)(rest - next * n) * walk[2 + 2 * k];
        rest = next;
    }
    places[get_global_id(0)] = offset;
}
