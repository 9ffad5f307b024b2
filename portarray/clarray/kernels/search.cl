/* Binary search in a sorted array. Defined
   before: IN, E, LOAD_E(p, i); SORTED where places go through a sorter. NaN comes last. */
#define COMES_BEFORE(a, b) ((a) < (b) || ((b) != (b) && (a) == (a)))

__kernel void search(
    __global long *out, const __global IN *x1, const __global IN *x2, const __global long *sorter,
    long x1_at, long step, long n, long x2_at, long sorter_at, long sorter_step, long tasks,
    long right) {
    const long o = get_global_id(0);
    if (o >= tasks) return;
    const E v = LOAD_E(x2, x2_at + o);
    long low = 0, left = n;
    while (left > 0) {
        const long half_left = left / 2;
        long at = low + half_left;
#ifdef SORTED
        /* A wrong sorter gives wrong results, but nothing is read beyond the array. */
        at = clamp(sorter[sorter_at + at * sorter_step], 0L, n - 1);
#endif
        const E a = LOAD_E(x1, x1_at + at * step);
        const bool after = right ? !COMES_BEFORE(v, a) : COMES_BEFORE(a, v);
        low = after ? low + half_left + 1 : low;
        left = after ? left - half_left - 1 : half_left;
    }
    out[o] = low;
}
