/* Cosines and sines of positions (stored as P) times rates, of which "half_n" belong to each. A is
   the type of angles, the widest that the device has. */
__kernel void rope_tables(
    __global C *cosines, __global C *sines, const __global P *positions, const __global A *rates,
    long positions_at, long total, long half_n) {
    const long at = get_global_id(0);
    if (at >= total) return;
    const A angle = (A)positions[positions_at + at / half_n] * rates[at % half_n];
    STORE_C(cosines, at, (T)cos(angle));
    STORE_C(sines, at, (T)sin(angle));
}
