/* The next number after a towards b, counted in the bits of the dtype that is stored: the built-in
   would give a neighbour in float where the dtype is float16 or bfloat16.
   Formula: positive numbers are ordered as their bits are (IEEE 754). */
#if STORED_HALF
#define BITS_TYPE ushort
inline ushort bits_of(float v) { return half_from_float(v); }
inline float number_of(ushort bits) { return float_from_half(bits); }
#elif STORED_BF16
#define BITS_TYPE ushort
inline ushort bits_of(float v) { return (ushort)(as_uint(v) >> 16); }
inline float number_of(ushort bits) { return as_float((uint)bits << 16); }
#elif R_IS_DOUBLE
#define BITS_TYPE ulong
inline ulong bits_of(double v) { return as_ulong(v); }
inline double number_of(ulong bits) { return as_double(bits); }
#else
#define BITS_TYPE uint
inline uint bits_of(float v) { return as_uint(v); }
inline float number_of(uint bits) { return as_float(bits); }
#endif

inline R nextafter_of(R a, R b) {
    if (isnan(a) || isnan(b)) return a + b;
    if (a == b) return b;
    /* Comparing bits finds zero where a device takes subnormal numbers for it. */
    const BITS_TYPE bits = bits_of(a);
    if ((BITS_TYPE)(bits << 1) == 0) return copysign(number_of((BITS_TYPE)1), b);
    return number_of((BITS_TYPE)((a < b) == (a > 0) ? bits + 1 : bits - 1));
}
