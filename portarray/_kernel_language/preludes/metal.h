#include <metal_stdlib>
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
using namespace metal;
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
typedef half f16;
typedef ushort bf16;
typedef uchar pa_bool;
typedef float2 c64; /* a structure would be copied between address spaces by constructors */
#define PA_COMPLEX_TYPES
#define PA_GLOBAL device
#define PA_LOCAL threadgroup
#define PA_PRIVATE thread
#define PA_SHARED threadgroup
#define PA_FUNCTION static inline
#define PA_BARRIER threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device)
#define PA_UNROLL _Pragma("unroll")
#define PA_KEEP(x) (x)
#define PA_LOOP
#define PA_NAN NAN
#define PA_INF INFINITY
#define PA_GLOBAL_INDEX(d) pa_global_id[d]
#define PA_LOCAL_INDEX(d) pa_local_id[d]
#define PA_GROUP_INDEX(d) pa_group_id[d]
#define PA_GROUP_SIZE(d) pa_group_size[d]
#define PA_GROUP_COUNT(d) pa_group_count[d]
#define PA_BITS_F32(x) as_type<u32>(x)
#define PA_FLOAT_BITS(x) as_type<f32>((u32)(x))
#define pa_isinf(x) isinf(x)
#define pa_isfinite(x) isfinite(x)
#define pa_signbit(x) signbit(x)
#define pa_load_f16(p) ((f32)*(p))
#define pa_store_f16(p, x) (*(p) = (f16)(x))
PA_FUNCTION f32 pa_round_f16_f32(f32 x) { return (f32)(f16)x; }

/* What Metal's library lacks. */
PA_FUNCTION f32 expm1(f32 x) {
    const f32 y = precise::exp(x), d = y - 1;
    if (y == 1 || x != x) return x;
    return d == -1 || pa_isinf(y) ? d : d * (x / precise::log(y));
}
PA_FUNCTION f32 log1p(f32 x) {
    const f32 y = 1 + x;
    return y == 1 || x == PA_INF ? x : precise::log(y) * (x / (y - 1));
}
PA_FUNCTION f32 cbrt(f32 x) {
    if (x == 0 || x != x || pa_isinf(x)) return x;
    const f32 scaled = fabs(x) < 1e-30f ? x * 16777216.0f : x;
    const f32 y = copysign(precise::pow(fabs(scaled), 1.0f / 3.0f), x);
    const f32 better = y - (y - scaled / (y * y)) / 3;
    return scaled == x ? better : better / 256;
}
PA_FUNCTION f32 hypot(f32 x, f32 y) {
    const f32 a = fabs(x), b = fabs(y);
    if (pa_isinf(a) || pa_isinf(b)) return PA_INF;
    const f32 large = a < b ? b : a, small = a < b ? a : b;
    if (large == 0 || a != a || b != b) return a + b;
    const f32 ratio = small / large;
    return large * precise::sqrt(fma(ratio, ratio, 1.0f));
}
PA_FUNCTION f32 erf(f32 x) {
    const f32 t = fabs(x), s = x * x;
    f32 r;
    if (t > 0.927734375f) {
        r = fma(-1.72853470e-5f, t, 3.83197126e-4f);
        r = fma(r, s, fma(-3.88396438e-3f, t, 2.42546219e-2f));
        r = fma(r, t, -1.06777877e-1f);
        r = fma(r, t, -6.34846687e-1f);
        r = fma(r, t, -1.28717512e-1f);
        r = fma(r, t, -t);
        return copysign(1.0f - precise::exp(r), x);
    }
    r = fma(-5.96761703e-4f, s, 4.99119423e-3f);
    r = fma(r, s, -2.67681349e-2f);
    r = fma(r, s, 1.12819925e-1f);
    r = fma(r, s, -3.76125336e-1f);
    r = fma(r, s, 1.28379166e-1f);
    return fma(r, x, x);
}
PA_FUNCTION f32 erfc(f32 x) {
    if (fabs(x) < 0.5f || x != x) return 1.0f - erf(x);
    if (fabs(x) > 11) return x < 0 ? 2.0f : 0.0f;
    /* A Chebyshev fit of exp(x**2) erfc(x), relative error 1.2e-7. */
    const f32 z = fabs(x), t = 1.0f / fma(0.5f, z, 1.0f);
    f32 r = 0.17087277f;
    r = fma(r, t, -0.82215223f);
    r = fma(r, t, 1.48851587f);
    r = fma(r, t, -1.13520398f);
    r = fma(r, t, 0.27886807f);
    r = fma(r, t, -0.18628806f);
    r = fma(r, t, 0.09678418f);
    r = fma(r, t, 0.37409196f);
    r = fma(r, t, 1.00002368f);
    r = fma(r, t, -1.26551223f);
    /* exp(-z**2 + r): the square's rounding error is added back. */
    const f32 square = z * z, rest = fma(z, z, -square);
    const f32 out = t * precise::exp(-square) * precise::exp(r - rest);
    return x < 0 ? 2.0f - out : out;
}
/* Lanczos' series, of x > 0: about 1e-6. */
PA_FUNCTION f32 pa_lanczos(f32 x) {
    return 1.0f + 76.18009172947146f / (x + 1) - 86.50532032941677f / (x + 2) +
           24.01409824083091f / (x + 3) - 1.231739572450155f / (x + 4) +
           0.001208650973866179f / (x + 5) - 0.000005395239384953f / (x + 6);
}
PA_FUNCTION f32 pa_sin_pi(f32 x) {
    const f32 rest = x - 2 * rint(x / 2);
    return precise::sin(3.14159265f * (rest > 0.5f ? 1 - rest : rest < -0.5f ? -1 - rest : rest));
}
PA_FUNCTION f32 pa_gamma(f32 x) {
    const f32 t = x + 5.5f, half_power = precise::pow(t, 0.5f * (x + 0.5f));
    return half_power * precise::exp(-t) * half_power * 2.5066282746310005f * pa_lanczos(x) / x;
}
PA_FUNCTION f32 tgamma(f32 x) {
    if (x == 0) return copysign(PA_INF, x);
    if (x < 0 && x == floor(x)) return PA_NAN;
    if (x < 0.5f) return 3.14159265f / (pa_sin_pi(x) * pa_gamma(1 - x));
    return x > 36 ? PA_INF : pa_gamma(x);
}
PA_FUNCTION f32 pa_lgamma(f32 x) {
    if (x < 8) return precise::log(fabs(pa_gamma(x)));
    const f32 r = 1 / x;
    return (x - 0.5f) * precise::log(x) - x + 0.918938533f + r * (0.0833333333f - r * r / 360);
}
PA_FUNCTION f32 lgamma(f32 x) {
    if (pa_isinf(x) || (x <= 0 && x == floor(x))) return PA_INF;
    if (x >= 0.5f || x != x) return pa_lgamma(x);
    return 1.14472989f - precise::log(fabs(pa_sin_pi(x))) - pa_lgamma(1 - x);
}

#ifdef PA_USES_ATOMICS
#define PA_ATOMIC(name, function, T, A, space, word)                                             \
    PA_FUNCTION T pa_atomic_##name##_##T##_##word(space T* p, T x) {                              \
        return function((space A*)p, x, memory_order_relaxed);                                    \
    }
#define PA_ATOMIC_COMPARE(T, W, A, space, word)                                                  \
    PA_FUNCTION T pa_atomic_compare_exchange_##T##_##word(space T* p, T e, T x) {                 \
        W seen;                                                                                   \
        do {                                                                                      \
            seen = as_type<W>(e);                                                                 \
        } while (!atomic_compare_exchange_weak_explicit((space A*)p, &seen, as_type<W>(x),        \
                     memory_order_relaxed, memory_order_relaxed) && seen == as_type<W>(e));       \
        return as_type<T>(seen);                                                                  \
    }
#define PA_ATOMICS(T, A, space, word)                                                            \
    PA_ATOMIC(add, atomic_fetch_add_explicit, T, A, space, word)                                  \
    PA_ATOMIC(min, atomic_fetch_min_explicit, T, A, space, word)                                  \
    PA_ATOMIC(max, atomic_fetch_max_explicit, T, A, space, word)                                  \
    PA_ATOMIC(exchange, atomic_exchange_explicit, T, A, space, word)                              \
    PA_ATOMIC_COMPARE(T, T, A, space, word)
#define PA_F32_ATOMIC(name, space, word, made)                                                   \
    PA_FUNCTION f32 pa_atomic_##name##_f32_##word(space f32* p, f32 x) {                          \
        u32 seen = atomic_load_explicit((space atomic_uint*)p, memory_order_relaxed);             \
        f32 old;                                                                                  \
        do {                                                                                      \
            old = as_type<f32>(seen);                                                             \
        } while (!atomic_compare_exchange_weak_explicit((space atomic_uint*)p, &seen,             \
                     as_type<u32>((f32)(made)), memory_order_relaxed, memory_order_relaxed));     \
        return old;                                                                               \
    }
#define PA_F32_ATOMICS(space, word)                                                              \
    PA_F32_ATOMIC(add, space, word, old + x)                                                      \
    PA_F32_ATOMIC(min, space, word, x < old ? x : old)                                            \
    PA_F32_ATOMIC(max, space, word, x > old ? x : old)                                            \
    PA_F32_ATOMIC(exchange, space, word, x)                                                       \
    PA_ATOMIC_COMPARE(f32, u32, atomic_uint, space, word)
PA_ATOMICS(i32, atomic_int, device, global)
PA_ATOMICS(i32, atomic_int, threadgroup, local)
PA_ATOMICS(u32, atomic_uint, device, global)
PA_ATOMICS(u32, atomic_uint, threadgroup, local)
PA_F32_ATOMICS(device, global)
PA_F32_ATOMICS(threadgroup, local)
#endif
