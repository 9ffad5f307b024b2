/* One value everywhere. U is an unsigned type of the item's size; the value comes as two halves
   because an argument can be a plain number only. */
#if ITEM == 16
#define VALUE (ulong2)(low, high)
#else
#define VALUE (U)low
#endif

__kernel void fill(__global U *out, long offset, long size, long run, ulong low, ulong high) {
    const long from = get_global_id(0) * run, to = min(from + run, size);
    const U value = VALUE;
    out += offset;
    for (long i = from; i < to; i++) out[i] = value;
}
