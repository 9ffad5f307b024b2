/* Running results on devices with local memory: a group has one chunk of one line, GROUP elements
   of it at a time. See scan.cl. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void groups(PARAMETERS) {
    __local T shared[GROUP];
    const int me = get_local_id(0);
    const long task = get_group_id(0), line = task / chunks, chunk = task % chunks;
    const long lo = chunk * length, hi = min(lo + length, n);
    const __global IN *from = FROM(line);
    __global OUT *into = INTO(line);
    T carry = IDENTITY;
    if (!summing) {
        carry = carried(part, line, chunk, chunks);
        if (initial && chunk == 0 && me == 0) STORE_OUT(into - inner, 0, INITIAL);
    }
    for (long at = lo; at < hi; at += GROUP) {
        const long i = at + me;
        T mine = IDENTITY;
        if (i < hi) {
            const E v = LOAD_E(from, i * sn);
            mine = MAP(v, 0);
        }
        shared[me] = mine;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int step = 1; step < GROUP; step *= 2) {
            const T before = me >= step ? shared[me - step] : IDENTITY;
            barrier(CLK_LOCAL_MEM_FENCE);
            mine = OP(before, mine);
            shared[me] = mine;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        const T whole = shared[GROUP - 1];
        if (!summing && i < hi) {
            mine = OP(carry, mine);
            STORE_OUT(into, i * inner, mine);
        }
        carry = OP(carry, whole);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (summing && me == 0) part[line * chunks + chunk] = carry;
}
