/* Reductions on devices with local memory: a group of GROUP work-items has one chunk of one
   result. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void groups(PARAMETERS) {
    __local T shared[GROUP];
    const int lane = get_local_id(0);
    const long task = get_group_id(0), o = task / chunks, chunk = task % chunks;
    const long lo = chunk * length, hi = min(lo + length, total);
    const __global IN *from = x + x_at + KEPT(o);
    const T c = CENTRE(o);
    T mine = IDENTITY;
    for (long at = lo + lane; at < hi;) {
        /* Sums of up to 16 elements, and of those: rounding errors do not pile up. */
        const long stop = min(at + 16 * GROUP, hi);
        T block = IDENTITY;
        for (; at < stop; at += GROUP) {
            const E v = LOAD_E(from, GONE(at / r2) + at % r2 * sr2);
            block = OP(block, MAP(v, c));
        }
        mine = OP(mine, block);
    }
    shared[lane] = mine;
    for (int half_size = GROUP / 2; half_size > 0; half_size /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < half_size) {
            const T other = shared[lane + half_size];
            mine = OP(mine, other);
            shared[lane] = mine;
        }
    }
    if (lane == 0) PUT(o, chunk, mine);
}
