/* Read first by every program. Arithmetic rounds as it is written: a*b+c is two roundings. */
#pragma OPENCL FP_CONTRACT OFF
#ifdef HAS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define LOAD(p, i) ((p)[i])
#define STORE(p, i, v) ((p)[i] = (v))
#define STORE_BOOL(p, i, v) ((p)[i] = ((v) != 0))
/* Half precision is storage only: these two are core OpenCL and need no cl_khr_fp16. */
#define LOAD_HALF(p, i) vload_half((i), (const __global half *)(p))
#define STORE_HALF(p, i, v) vstore_half_rte((v), (i), (__global half *)(p))
#define LOAD_BF16(p, i) as_float((uint)((p)[i]) << 16)
#define STORE_BF16(p, i, v) ((p)[i] = bf16_from_float(v))

inline ushort bf16_from_float(float v) {
    uint bits = as_uint(v);
    if (isnan(v)) return (ushort)((bits >> 16) | 0x40); /* rounding could make it infinite */
    return (ushort)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
