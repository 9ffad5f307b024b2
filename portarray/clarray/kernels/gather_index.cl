/* Reading index arrays: of any integer dtype, negative ones counted from the end, checked. */

/* 64-bit division costs several times 32-bit division, which most walks can do with. */
inline ulong quotient(ulong a, ulong b) {
    return (a | b) >> 32 ? a / b : (ulong)((uint)a / (uint)b);
}

/* code: bytes of an index, negative where it is unsigned; 0: offsets made here, 64 bits. */
inline long index_at(const __global uchar *p, long i, int code) {
    switch (code) {
    case 4: return ((const __global int *)p)[i];
    case 2: return ((const __global short *)p)[i];
    case 1: return ((const __global char *)p)[i];
    case -1: return p[i];
    case -2: return ((const __global ushort *)p)[i];
    case -4: return ((const __global uint *)p)[i];
    case -8: { /* more than a long holds is out of every bounds, not negative */
        const ulong v = ((const __global ulong *)p)[i];
        return v >> 63 ? LONG_MIN : (long)v;
    }
    default: return ((const __global long *)p)[i];
    }
}

/* The place along an axis that an index names, or -1 where it is out of bounds. */
inline long bounded(long v, long size, int code) {
    if (code == 0) return v;
    v += v < 0 ? size : 0; /* LONG_MIN stays negative */
    return (ulong)v < (ulong)size ? v : -1;
}
