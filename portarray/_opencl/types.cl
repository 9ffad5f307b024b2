/* Read first by every program. Arithmetic rounds as it is written: a*b+c is two roundings. */
#pragma OPENCL FP_CONTRACT OFF
#ifdef HAS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define LOAD(p, i) ((p)[i])
#define STORE(p, i, v) ((p)[i] = (v))
#define STORE_BOOL(p, i, v) ((p)[i] = ((v) != 0))
/* Half precision is storage only, and no device needs cl_khr_fp16 for it. */
#define LOAD_HALF(p, i) float_from_half((p)[i])
#define STORE_HALF(p, i, v) ((p)[i] = half_from_float(v))
#define LOAD_BF16(p, i) as_float((uint)((p)[i]) << 16)
#define STORE_BF16(p, i, v) ((p)[i] = bf16_from_float(v))

/* vload_half and vstore_half_rte in integer arithmetic, which compilers vectorize: ten times as fast
   on Intel's runtime, where those are calls. Numbers below the smallest normal one are rounded by an
   addition that moves their last place to that of 0.5. */
inline float float_from_half(ushort v) {
    const uint size = v & 0x7fff;
    const float found = size < 0x400 ? (float)size * 0x1p-24f
                        : as_float(size < 0x7c00 ? (size << 13) + 0x38000000
                                                 : (size << 13) | 0x7f800000);
    return as_float(as_uint(found) | ((uint)(v & 0x8000) << 16));
}
inline ushort half_from_float(float v) {
    const uint size = as_uint(v) & 0x7fffffff;
    const uint subnormal = as_uint(as_float(size) + 0.5f) - 0x3f000000;
    const uint normal = (size + 0xc8000fff + ((size >> 13) & 1)) >> 13;
    const uint found = size < 0x38800000   ? subnormal
                       : size < 0x47800000 ? normal
                       : size > 0x7f800000 ? 0x7e00
                                           : 0x7c00;
    return (ushort)(found | ((as_uint(v) >> 16) & 0x8000));
}

inline ushort bf16_from_float(float v) {
    uint bits = as_uint(v);
    if (isnan(v)) return (ushort)((bits >> 16) | 0x40); /* rounding could make it infinite */
    return (ushort)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
