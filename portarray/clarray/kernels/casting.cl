/* Between dtypes where C's own conversion is undefined or would round twice. */

/* To float for a value that is rounded further, to 16 bits: rounding to odd, after which rounding
   to nearest is as if it had been done once (Boldo and Melquiond, 2005). */
inline float odd_from_long(long v) {
    const float near = convert_float_rtz(v);
    return (long)near == v ? near : as_float(as_uint(near) | 1);
}
inline float odd_from_ulong(ulong v) {
    const float near = convert_float_rtz(v);
    return (ulong)near == v ? near : as_float(as_uint(near) | 1);
}
#ifdef HAS_DOUBLE
inline float odd_from_double(double v) {
    const float near = convert_float_rtz(v);
    return (double)near == v ? near : as_float(as_uint(near) | 1);
}
#endif

/* A value as float16 and bfloat16 hold it. */
inline float rounded_half(float v) { return float_from_half(half_from_float(v)); }
inline float rounded_bf16(float v) { return as_float((uint)bf16_from_float(v) << 16); }
