/* HIP, for hipRTC. */
#pragma clang fp contract(off)
typedef _Float16 f16;
#define PA_UNROLL _Pragma("unroll")
#define PA_KEEP(x) (x)
#define PA_LOOP
static __device__ inline float pa_load_f16(const f16* p) { return (float)*p; }
static __device__ inline void pa_store_f16(f16* p, float x) { *p = (f16)x; }
static __device__ inline float pa_round_f16_f32(float x) { return (float)(f16)x; }
#ifdef PA_DOUBLE
static __device__ inline float pa_round_f16_f64(double x) { return (float)(f16)x; }
#endif
