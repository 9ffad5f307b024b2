#ifdef PA_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#endif
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
#ifdef PA_DOUBLE
typedef double f64;
#endif
typedef ushort f16; /* variables of type half need an extension */
typedef ushort bf16;
typedef uchar pa_bool;
#define PA_GLOBAL __global
#define PA_LOCAL __local
#define PA_PRIVATE __private
#define PA_SHARED __local
#define PA_FUNCTION inline
#define PA_BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define PA_UNROLL _Pragma("unroll")
/* Intel's compiler sums in another order where it vectorizes a loop of one work-item. */
#define PA_LOOP _Pragma("clang loop vectorize(disable)")
/* A condition that stays in its loop: Intel's compiler for CPUs, which alone has this extension,
   takes one that it moves out of a loop for the same in all work-items. */
#ifdef cl_intel_vec_len_hint
inline bool pa_keep(bool x) {
    int kept = x;
    __asm__ volatile("" : "+r"(kept));
    return kept;
}
#define PA_KEEP(x) pa_keep(x)
/* An integer that the compiler does not know. */
inline i32 pa_unknown(i32 x) {
    __asm__("" : "+r"(x));
    return x;
}
/* A number whose value the compiler does not know: of a constant one, Intel's takes 0 * NaN and 0
   times infinity for 0 in products of complex numbers. */
#define PA_HIDDEN(T, x) (__builtin_constant_p(x) ? pa_hidden_##T(x) : (x))
inline f32 pa_hidden_f32(f32 x) { return as_float(as_int(x) | pa_unknown(0)); }
#ifdef PA_DOUBLE
inline f64 pa_hidden_f64(f64 x) { return as_double(as_long(x) | pa_unknown(0)); }
#endif
/* ~x and -x, of which Intel's compiler does not know that they are: it computes wrong numbers for
   ~min(x, y) and min(~x, y), and takes -x < 0 and -x >> 7 for x > 0, also of the lowest integer. */
#define PA_INVERT(T, x) ((T)((x) ^ (T)pa_unknown(-1)))
#define PA_NEGATE(T, U, x) ((T)((U)pa_unknown(0) - (U)(x)))
/* A dividend that may have wrapped around, and of which the compiler does not know that it is -x: it
   makes (-3 - (x - 3)) / 3 and (x * 2 + x * -3) / 3 an x / -3. */
#define PA_OPAQUE(T, x) ((T)(x) ^ (T)pa_unknown(0))
#else
#define PA_KEEP(x) (x)
#endif
#define PA_NAN NAN
#define PA_INF INFINITY
/* Launches have fewer than 2**31 work-items. Compilers that know do not take the conversion for one
   that may wrap around, and so see that neighbours use neighbouring elements: else CPUs' gather. */
#ifdef __has_builtin
#if __has_builtin(__builtin_assume)
#define PA_ASSUME(x) __builtin_assume(x)
#endif
#endif
#ifndef PA_ASSUME
#define PA_ASSUME(x)
#endif
inline i32 pa_place(size_t n) {
    PA_ASSUME(n < 0x80000000u);
    return (i32)n;
}
#define PA_GLOBAL_INDEX(d) pa_place(get_global_id(d))
#define PA_LOCAL_INDEX(d) pa_place(get_local_id(d))
#define PA_GROUP_INDEX(d) pa_place(get_group_id(d))
#define PA_GROUP_SIZE(d) pa_place(get_local_size(d))
#define PA_GROUP_COUNT(d) pa_place(get_num_groups(d))
#define PA_BITS_F32(x) as_uint(x)
#define PA_FLOAT_BITS(x) as_float(x)
#define pa_isinf(x) (fabs(x) == INFINITY)
#define pa_isfinite(x) (fabs(x) < INFINITY)
#define pa_signbit(x) ((bool)signbit(x))

/* Intel's compiler for CPUs calls a function for vload_half of one number, but not for this. */
#if defined(cl_khr_fp16) && defined(cl_intel_vec_len_hint)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
inline f32 pa_half_value(f16 bits) { return (f32)as_half(bits); }
#else
inline f32 pa_half_value(f16 bits) { return vload_half(0, (const half*)&bits); }
#endif
inline f16 pa_half_bits(f32 x) {
    f16 bits;
    vstore_half_rte(x, 0, (half*)&bits);
    return bits;
}
#define pa_load_f16(p) pa_half_value(*(p))
#define pa_store_f16(p, x) (*(p) = pa_half_bits(x))
inline f32 pa_round_f16_f32(f32 x) {
    ushort kept;
    vstore_half_rte(x, 0, (half*)&kept);
    return vload_half(0, (const half*)&kept);
}
#ifdef PA_DOUBLE
inline f32 pa_round_f16_f64(f64 x) {
    ushort kept;
    vstore_half_rte(x, 0, (half*)&kept);
    return vload_half(0, (const half*)&kept);
}
#endif

#define PA_INTEGER_ATOMIC(space, word, own, kind, name, function)                                  \
    inline kind pa_atomic_##name##_##kind##_##word(volatile space kind* p, kind x) {               \
        return own##function(p, x);                                                                \
    }
#define PA_INTEGER_ATOMICS(space, word, own, kind)                                                 \
    PA_INTEGER_ATOMIC(space, word, own, kind, add, add)                                            \
    PA_INTEGER_ATOMIC(space, word, own, kind, min, min)                                            \
    PA_INTEGER_ATOMIC(space, word, own, kind, max, max)                                            \
    PA_INTEGER_ATOMIC(space, word, own, kind, exchange, xchg)                                      \
    inline kind pa_atomic_compare_exchange_##kind##_##word(volatile space kind* p, kind e, kind x) { \
        return own##cmpxchg(p, e, x);                                                              \
    }
#define PA_FLOAT_ATOMIC(space, word, own, kind, bits, value_of, bits_of, name, made)               \
    inline kind pa_atomic_##name##_##kind##_##word(volatile space kind* p, kind x) {               \
        bits seen = *(volatile space bits*)p, before;                                              \
        do {                                                                                       \
            const kind old = value_of(seen);                                                       \
            before = seen;                                                                         \
            seen = own##cmpxchg((volatile space bits*)p, before, bits_of((kind)(made)));           \
        } while (seen != before);                                                                  \
        return value_of(seen);                                                                     \
    }
#define PA_FLOAT_ATOMICS(space, word, own, kind, bits, value_of, bits_of)                          \
    PA_FLOAT_ATOMIC(space, word, own, kind, bits, value_of, bits_of, add, old + x)                 \
    PA_FLOAT_ATOMIC(space, word, own, kind, bits, value_of, bits_of, min, x < old ? x : old)       \
    PA_FLOAT_ATOMIC(space, word, own, kind, bits, value_of, bits_of, max, x > old ? x : old)       \
    inline kind pa_atomic_exchange_##kind##_##word(volatile space kind* p, kind x) {               \
        return value_of(own##xchg((volatile space bits*)p, bits_of(x)));                           \
    }                                                                                              \
    inline kind pa_atomic_compare_exchange_##kind##_##word(volatile space kind* p, kind e, kind x) { \
        return value_of(own##cmpxchg((volatile space bits*)p, bits_of(e), bits_of(x)));            \
    }
#ifdef PA_USES_ATOMICS
#define PA_ATOMICS(space, word)                                                                    \
    PA_INTEGER_ATOMICS(space, word, atomic_, i32)                                                  \
    PA_INTEGER_ATOMICS(space, word, atomic_, u32)                                                  \
    PA_FLOAT_ATOMICS(space, word, atomic_, f32, u32, as_float, as_uint)
PA_ATOMICS(__global, global)
PA_ATOMICS(__local, local)
#ifdef cl_khr_int64_base_atomics
#define PA_ATOMICS64(space, word)                                                                  \
    PA_INTEGER_ATOMICS(space, word, atom_, i64)                                                    \
    PA_INTEGER_ATOMICS(space, word, atom_, u64)
PA_ATOMICS64(__global, global)
PA_ATOMICS64(__local, local)
#ifdef PA_DOUBLE
PA_FLOAT_ATOMICS(__global, global, atom_, f64, u64, as_double, as_ulong)
PA_FLOAT_ATOMICS(__local, local, atom_, f64, u64, as_double, as_ulong)
#endif
#endif
#endif
