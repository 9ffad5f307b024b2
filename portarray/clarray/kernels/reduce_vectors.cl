/* Vectors of 16 for reductions and scans on processors. */
inline E16 load_strided(const __global IN *p, long s) {
    return (E16)(
        LOAD_E(p, 0), LOAD_E(p, s), LOAD_E(p, 2 * s), LOAD_E(p, 3 * s),
        LOAD_E(p, 4 * s), LOAD_E(p, 5 * s), LOAD_E(p, 6 * s), LOAD_E(p, 7 * s),
        LOAD_E(p, 8 * s), LOAD_E(p, 9 * s), LOAD_E(p, 10 * s), LOAD_E(p, 11 * s),
        LOAD_E(p, 12 * s), LOAD_E(p, 13 * s), LOAD_E(p, 14 * s), LOAD_E(p, 15 * s));
}
