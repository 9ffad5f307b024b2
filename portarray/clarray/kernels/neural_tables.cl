/* Cosines and sines of positions (stored as P) times rates, of which "half_n" belong to each. Rates
   are parts of a turn in units of 2**-64: integers drop whole turns without rounding, so that angles
   at the end of a long text are as exact as those at its beginning, also where A, the type of
   angles, is float. */
__kernel void rope_tables(
    __global C *cosines, __global C *sines, const __global P *positions,
    const __global ulong *rates, long positions_at, long total, long half_n) {
    const long at = get_global_id(0);
    if (at >= total) return;
    const ulong turn = (ulong)positions[positions_at + at / half_n] * rates[at % half_n];
    const A angle = (A)as_long(turn) * TURN; /* between half a turn back and half a turn on */
    STORE_C(cosines, at, (T)cos(angle));
    STORE_C(sines, at, (T)sin(angle));
}
