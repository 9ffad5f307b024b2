/* Where elements are not zero, or the values there, in order: each chunk counts its own, and then
   writes from where the counts before it add up to. Defined before: IN, the storage of the tested
   array, and IS(i), whether its element i is to be kept; OUT, PUT(k, i) writes for element i the
   result k.

   A mask that someone changes between the two passes gives wrong results, but no chunk writes more
   than it counted. On processors a work-item has a chunk. Positions are collected without branches,
   for a mask that no processor can predict costs ten times a walk. */
#define BLOCK 128
#define ONE_ITEM __attribute__((reqd_work_group_size(1, 1, 1)))

#ifndef GROUP
__kernel ONE_ITEM void count(
    __global long *counts, const __global IN *x, long x_at, long n, long length) {
    const long lo = get_global_id(0) * length, hi = min(lo + length, n);
    x += x_at;
    long total = 0;
    for (long at = lo; at < hi;) {
        const long stop = min(at + (1L << 20), hi);
        int some = 0;
        for (; at < stop; at++) some += IS(at);
        total += some;
    }
    counts[get_global_id(0)] = total;
}

__kernel ONE_ITEM void fill(
    __global OUT *out, const __global long *counts, const __global IN *x,
    const __global OUT *values, long out_at, long x_at, long values_at, long n, long length) {
    const long chunk = get_global_id(0), lo = chunk * length, hi = min(lo + length, n);
    for (long k = 0; k < chunk; k++) out_at += counts[k];
    x += x_at;
    values += values_at;
    out += out_at;
    long room = counts[chunk];
    uchar found[BLOCK];
    for (long at = lo; at < hi; at += BLOCK) {
        const int size = (int)min((long)BLOCK, hi - at);
        int kept = 0;
        for (int i = 0; i < size; i++) kept += IS(at + i);
        if (kept == size && kept <= room) {
            for (int k = 0; k < size; k++) PUT(k, at + k);
        } else if (kept != 0) {
            kept = 0;
            for (int i = 0; i < size; i++) {
                found[kept] = (uchar)i;
                kept += IS(at + i);
            }
            kept = (int)min((long)kept, room);
            for (int k = 0; k < kept; k++) PUT(k, at + found[k]);
        }
        out += kept;
        room -= kept;
    }
}
#else
/* On other devices a group has a chunk, GROUP elements of it at a time. */
#define A_GROUP __attribute__((reqd_work_group_size(GROUP, 1, 1)))

/* The sum of the values of the work-items up to and with this one; *total gets that of all. */
inline int group_scan(__local int *shared, int value, int *total) {
    const int item = get_local_id(0);
    shared[item] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < GROUP; step *= 2) {
        const int before = item >= step ? shared[item - step] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[item] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const int result = shared[item];
    *total = shared[GROUP - 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    return result;
}

__kernel A_GROUP void count(
    __global long *counts, const __global IN *x, long x_at, long n, long length) {
    __local int shared[GROUP];
    const long lo = get_group_id(0) * length, hi = min(lo + length, n);
    x += x_at;
    long sum = 0;
    for (long at = lo; at < hi; at += GROUP) {
        const long i = at + get_local_id(0);
        int total;
        group_scan(shared, i < hi ? IS(i) : 0, &total);
        sum += total;
    }
    if (get_local_id(0) == 0) counts[get_group_id(0)] = sum;
}

__kernel A_GROUP void fill(
    __global OUT *out, const __global long *counts, const __global IN *x,
    const __global OUT *values, long out_at, long x_at, long values_at, long n, long length) {
    __local int shared[GROUP];
    const long chunk = get_group_id(0), lo = chunk * length, hi = min(lo + length, n);
    for (long k = 0; k < chunk; k++) out_at += counts[k];
    x += x_at;
    values += values_at;
    out += out_at;
    long room = counts[chunk];
    for (long at = lo; at < hi; at += GROUP) {
        const long i = at + get_local_id(0);
        const int is = i < hi ? IS(i) : 0;
        int total;
        const int place = group_scan(shared, is, &total) - is;
        if (is && place < room) PUT(place, i);
        out += total;
        room -= total;
    }
}
#endif
