/* C11 as GCC and clang have it, for CPUs. No headers: what they declare may be users' names. */
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef unsigned short f16;
typedef unsigned short bf16;
typedef unsigned char pa_bool;
#define bool _Bool
#define true 1
#define false 0
#define PA_GLOBAL
#define PA_LOCAL
#define PA_PRIVATE
#define PA_FUNCTION static inline __attribute__((always_inline, unused))
#define PA_ENTRY __attribute__((visibility("default")))
/* PA_APART: turns of a loop that do not depend on each other. */
#ifdef __clang__
#define PA_UNROLL _Pragma("unroll")
#define PA_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define PA_UNROLL _Pragma("GCC unroll 64")
#define PA_APART _Pragma("GCC ivdep")
#endif
#define PA_LOOP
#define PA_KEEP(x) (x)
#define PA_NAN __builtin_nanf("")
#define PA_INF __builtin_inff()
#define PA_LOCAL_INDEX(d) pa_local_##d
#define PA_GROUP_INDEX(d) pa_group_##d
#define PA_GROUP_SIZE(d) pa_size_##d
#define PA_GROUP_COUNT(d) pa_count_##d

/* What a launch passes, each in 8 bytes. */
#define PA_GIVEN(T, name, n) T name; __builtin_memcpy(&name, pa_values + 8 * (n), sizeof(T))
/* Memory of a thread, for what a group or all its work-items keep. */
#define PA_BYTES(T, n) (((i64)sizeof(T) * (n) + 63) / 64 * 64)
#define PA_TAKE(T, name, n) T* const name = (T*)pa_memory; pa_memory += PA_BYTES(T, n)
#define PA_LEAST(a, b) ((a) < (b) ? (a) : (b))

#define PA_REAL(name, x) _Generic((x), f32: __builtin_##name##f(x), default: __builtin_##name(x))
#define PA_REAL2(name, x, y) \
    _Generic((x), f32: __builtin_##name##f(x, y), default: __builtin_##name(x, y))
#define sqrt(x) PA_REAL(sqrt, x)
#define cbrt(x) PA_REAL(cbrt, x)
#define exp(x) PA_REAL(exp, x)
#define exp2(x) PA_REAL(exp2, x)
#define expm1(x) PA_REAL(expm1, x)
#define log(x) PA_REAL(log, x)
#define log2(x) PA_REAL(log2, x)
#define log10(x) PA_REAL(log10, x)
#define log1p(x) PA_REAL(log1p, x)
#define sin(x) PA_REAL(sin, x)
#define cos(x) PA_REAL(cos, x)
#define tan(x) PA_REAL(tan, x)
#define asin(x) PA_REAL(asin, x)
#define acos(x) PA_REAL(acos, x)
#define atan(x) PA_REAL(atan, x)
#define sinh(x) PA_REAL(sinh, x)
#define cosh(x) PA_REAL(cosh, x)
#define tanh(x) PA_REAL(tanh, x)
#define asinh(x) PA_REAL(asinh, x)
#define acosh(x) PA_REAL(acosh, x)
#define atanh(x) PA_REAL(atanh, x)
#define erf(x) PA_REAL(erf, x)
#define erfc(x) PA_REAL(erfc, x)
#define tgamma(x) PA_REAL(tgamma, x)
#define lgamma(x) PA_REAL(lgamma, x)
#define fabs(x) PA_REAL(fabs, x)
#define floor(x) PA_REAL(floor, x)
#define ceil(x) PA_REAL(ceil, x)
#define trunc(x) PA_REAL(trunc, x)
#define rint(x) PA_REAL(rint, x)
#define pow(x, y) PA_REAL2(pow, x, y)
#define fmod(x, y) PA_REAL2(fmod, x, y)
#define atan2(x, y) PA_REAL2(atan2, x, y)
#define hypot(x, y) PA_REAL2(hypot, x, y)
#define copysign(x, y) PA_REAL2(copysign, x, y)
#define fma(x, y, z) \
    _Generic((x), f32: __builtin_fmaf(x, y, z), default: __builtin_fma(x, y, z))
#define pa_isinf(x) (fabs(x) == PA_INF)
#define pa_isfinite(x) (fabs(x) < PA_INF)
#define pa_signbit(x) (__builtin_signbit(x) != 0)

#define PA_BITS(name, from, to) \
    PA_FUNCTION to name(from x) {                                                                 \
        to out;                                                                                   \
        __builtin_memcpy(&out, &x, sizeof out);                                                   \
        return out;                                                                               \
    }
PA_BITS(PA_BITS_F32, f32, u32)
PA_BITS(PA_FLOAT_BITS, u32, f32)
PA_BITS(pa_bits_f64, f64, u64)
PA_BITS(pa_double_bits, u64, f64)

#ifdef __FLT16_MANT_DIG__
PA_BITS(pa_half_of, f16, _Float16)
PA_BITS(pa_bits_of_half, _Float16, f16)
PA_FUNCTION f32 pa_half_value(f16 bits) { return (f32)pa_half_of(bits); }
PA_FUNCTION f16 pa_half_bits(f32 x) { return pa_bits_of_half((_Float16)x); }
PA_FUNCTION f16 pa_half_bits_f64(f64 x) { return pa_bits_of_half((_Float16)x); }
#else /* compilers without the type */
PA_FUNCTION f32 pa_half_value(f16 bits) {
    const u32 sign = (u32)(bits & 0x8000) << 16, rest = bits & 0x7fff;
    if (rest >= 0x7c00) return PA_FLOAT_BITS(sign | 0x7f800000 | rest << 13);
    const f32 x = (f32)rest * 0x1p-24f; /* of the numbers below the normal ones */
    const f32 y = rest < 0x400 ? x : PA_FLOAT_BITS((rest << 13) + (112u << 23));
    return PA_FLOAT_BITS(PA_BITS_F32(y) | sign);
}
PA_FUNCTION f16 pa_half_bits_f64(f64 x) {
    const u64 bits = pa_bits_f64(x);
    const f16 sign = (f16)(bits >> 48 & 0x8000);
    const f64 y = pa_double_bits(bits & ~(1ull << 63));
    if (x != x) return (f16)(sign | 0x7e00);
    if (y >= 65520) return (f16)(sign | 0x7c00);
    /* The sum's last place is that of the half: it is rounded there, to even. */
    i32 power = (i32)(pa_bits_f64(y) >> 52) - 1023;
    if (power < -14) power = -14;
    const f64 large = pa_double_bits((u64)(power + 42 + 1023) << 52);
    const f64 sum = y + large;
    const f64 kept = sum - large;
    const f64 unit = pa_double_bits((u64)(10 - power + 1023) << 52);
    const u32 digits = (u32)(kept * unit); /* up to 2048 */
    return (f16)(sign | ((u32)(power + 14) * 1024 + digits));
}
PA_FUNCTION f16 pa_half_bits(f32 x) { return pa_half_bits_f64(x); }
#endif
#define pa_load_f16(p) pa_half_value(*(p))
#define pa_store_f16(p, x) (*(p) = pa_half_bits(x))
PA_FUNCTION f32 pa_round_f16_f32(f32 x) { return pa_half_value(pa_half_bits(x)); }
PA_FUNCTION f32 pa_round_f16_f64(f64 x) { return pa_half_value(pa_half_bits_f64(x)); }

#ifdef PA_USES_ATOMICS
/* Work-items of a group run one after another, in one thread: its own memory is nobody else's, and
   one function does for both. */
#define PA_CHANGE(T, W, name, word, from, to, made)                                              \
    PA_FUNCTION T pa_atomic_##name##_##T##_##word(T* p, T x) {                                    \
        W seen = __atomic_load_n((W*)p, __ATOMIC_RELAXED);                                        \
        T old;                                                                                    \
        do {                                                                                      \
            old = from(seen);                                                                     \
        } while (!__atomic_compare_exchange_n((W*)p, &seen, to((T)(made)), 1, __ATOMIC_RELAXED,   \
                     __ATOMIC_RELAXED));                                                          \
        return old;                                                                               \
    }
#define PA_EXCHANGES(T, W, word, from, to)                                                       \
    PA_CHANGE(T, W, min, word, from, to, x < old ? x : old)                                       \
    PA_CHANGE(T, W, max, word, from, to, x > old ? x : old)                                       \
    PA_FUNCTION T pa_atomic_exchange_##T##_##word(T* p, T x) {                                    \
        return from(__atomic_exchange_n((W*)p, to(x), __ATOMIC_RELAXED));                         \
    }                                                                                             \
    PA_FUNCTION T pa_atomic_compare_exchange_##T##_##word(T* p, T e, T x) {                       \
        W seen = to(e);                                                                           \
        __atomic_compare_exchange_n((W*)p, &seen, to(x), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);  \
        return from(seen);                                                                        \
    }
#define PA_INTEGER_ATOMICS(T, word)                                                              \
    PA_FUNCTION T pa_atomic_add_##T##_##word(T* p, T x) {                                         \
        return __atomic_fetch_add(p, x, __ATOMIC_RELAXED);                                        \
    }                                                                                             \
    PA_EXCHANGES(T, T, word, , )
#define PA_FLOAT_ATOMICS(T, W, word, from, to)                                                   \
    PA_CHANGE(T, W, add, word, from, to, old + x)                                                 \
    PA_EXCHANGES(T, W, word, from, to)
#define PA_ATOMICS(word)                                                                         \
    PA_INTEGER_ATOMICS(i32, word)                                                                 \
    PA_INTEGER_ATOMICS(u32, word)                                                                 \
    PA_INTEGER_ATOMICS(i64, word)                                                                 \
    PA_INTEGER_ATOMICS(u64, word)                                                                 \
    PA_FLOAT_ATOMICS(f32, u32, word, PA_FLOAT_BITS, PA_BITS_F32)                                  \
    PA_FLOAT_ATOMICS(f64, u64, word, pa_double_bits, pa_bits_f64)
PA_ATOMICS(global)
PA_ATOMICS(local)
#endif
