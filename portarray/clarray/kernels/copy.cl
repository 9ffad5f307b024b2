/* Moving items without looking at them: U is an unsigned type of the item's size. */

/* The value comes as two halves because an argument can be a plain number only. */
#if ITEM == 16
#define VALUE (ulong2)(low, high)
#else
#define VALUE (U)low
#endif

__kernel void fill(__global U *out, long offset, ulong low, ulong high) {
    out[offset + get_global_id(0)] = VALUE;
}

/* One triangle of each matrix of a C-contiguous stack; the other becomes 0. */
__kernel void triangle(__global U *out, const __global U *x, long offset, long diagonal, int upper) {
    const long column = get_global_id(0), row = get_global_id(1);
    const long at = (get_global_id(2) * get_global_size(1) + row) * get_global_size(0) + column;
    const long above = column - row - diagonal;
    out[at] = (upper ? above >= 0 : above <= 0) ? x[offset + at] : (U)0;
}
