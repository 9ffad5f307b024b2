/* Sorting numbers of at most 32 bits together with their places: one 64-bit number for each, above
 * a key in the order of the values, below the place along the row. No two of a row are equal, so
 * every sort of them is stable.
 *
 * LOADED(i): the element, as float or as integer. KIND: 0 unsigned, 1 signed, 2 floating-point.
 */
__kernel void pack(const __global STORED *x, __global ulong *out, long start, long total, long row,
                   int descending) {
    const long i = get_global_id(0);
    if (i >= total) return;
#if KIND == 2
    const float v = LOADED(start + i);
    /* Negative values order before positive ones and by descending magnitude; zeros are equal. */
    const uint bits = v == 0 ? 0 : as_uint(v);
    const uint key = isnan(v) ? UINT_MAX : bits ^ ((uint)((int)bits >> 31) | 0x80000000u);
#elif KIND == 1
    const uint key = (uint)(int)LOADED(start + i) ^ 0x80000000u;
#else
    const uint key = LOADED(start + i);
#endif
    out[i] = (ulong)(descending ? ~key : key) << 32 | (ulong)(i % row);
}

/* Leaves the places. */
__kernel void unpack(__global ulong *packed, long total) {
    const long i = get_global_id(0);
    if (i < total) packed[i] &= 0xffffffff;
}
