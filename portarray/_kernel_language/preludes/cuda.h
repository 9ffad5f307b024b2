/* CUDA, for NVRTC without the toolkit's headers. Multiplications and additions are not to be
   contracted, which no pragma says here: programs are compiled with --fmad=false. */
typedef unsigned short f16;
#define PA_UNROLL _Pragma("unroll")
#define PA_KEEP(x) (x)
#define PA_LOOP
static __device__ inline float pa_load_f16(const f16* p) {
    float out;
    asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(*p));
    return out;
}
static __device__ inline void pa_store_f16(f16* p, float x) {
    f16 out;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out) : "f"(x));
    *p = out;
}
static __device__ inline float pa_round_f16_f32(float x) {
    f16 kept;
    pa_store_f16(&kept, x);
    return pa_load_f16(&kept);
}
#ifdef PA_DOUBLE
static __device__ inline float pa_round_f16_f64(double x) {
    f16 kept;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(kept) : "d"(x));
    return pa_load_f16(&kept);
}
#endif
