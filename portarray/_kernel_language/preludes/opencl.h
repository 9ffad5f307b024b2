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

inline f32 pa_half_value(f16 bits) { return vload_half(0, (const half*)&bits); }
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

#define PA_ATOMICS(space, word)                                                                  \
    inline i32 pa_atomic_add_i32_##word(volatile space i32* p, i32 x) { return atomic_add(p, x); } \
    inline u32 pa_atomic_add_u32_##word(volatile space u32* p, u32 x) { return atomic_add(p, x); } \
    inline i32 pa_atomic_min_i32_##word(volatile space i32* p, i32 x) { return atomic_min(p, x); } \
    inline u32 pa_atomic_min_u32_##word(volatile space u32* p, u32 x) { return atomic_min(p, x); } \
    inline i32 pa_atomic_max_i32_##word(volatile space i32* p, i32 x) { return atomic_max(p, x); } \
    inline u32 pa_atomic_max_u32_##word(volatile space u32* p, u32 x) { return atomic_max(p, x); } \
    inline i32 pa_atomic_exchange_i32_##word(volatile space i32* p, i32 x) { return atomic_xchg(p, x); } \
    inline u32 pa_atomic_exchange_u32_##word(volatile space u32* p, u32 x) { return atomic_xchg(p, x); } \
    inline f32 pa_atomic_exchange_f32_##word(volatile space f32* p, f32 x) { return atomic_xchg(p, x); } \
    inline i32 pa_atomic_compare_exchange_i32_##word(volatile space i32* p, i32 e, i32 x) { return atomic_cmpxchg(p, e, x); } \
    inline u32 pa_atomic_compare_exchange_u32_##word(volatile space u32* p, u32 e, u32 x) { return atomic_cmpxchg(p, e, x); } \
    inline f32 pa_atomic_compare_exchange_f32_##word(volatile space f32* p, f32 e, f32 x) {      \
        return as_float(atomic_cmpxchg((volatile space u32*)p, as_uint(e), as_uint(x)));          \
    }                                                                                             \
    PA_F32_ATOMIC(space, word, add, old + x)                                                      \
    PA_F32_ATOMIC(space, word, min, x < old ? x : old)                                            \
    PA_F32_ATOMIC(space, word, max, x > old ? x : old)
#define PA_F32_ATOMIC(space, word, name, made)                                                   \
    inline f32 pa_atomic_##name##_f32_##word(volatile space f32* p, f32 x) {                     \
        u32 seen = *(volatile space u32*)p, before;                                               \
        do {                                                                                      \
            const f32 old = as_float(seen);                                                       \
            before = seen;                                                                        \
            seen = atomic_cmpxchg((volatile space u32*)p, before, as_uint((f32)(made)));          \
        } while (seen != before);                                                                 \
        return as_float(seen);                                                                    \
    }
PA_ATOMICS(__global, global)
PA_ATOMICS(__local, local)
#ifdef cl_khr_int64_base_atomics
#define PA_ATOMICS64(space, word)                                                                \
    inline i64 pa_atomic_add_i64_##word(volatile space i64* p, i64 x) { return atom_add(p, x); } \
    inline u64 pa_atomic_add_u64_##word(volatile space u64* p, u64 x) { return atom_add(p, x); } \
    inline i64 pa_atomic_min_i64_##word(volatile space i64* p, i64 x) { return atom_min(p, x); } \
    inline u64 pa_atomic_min_u64_##word(volatile space u64* p, u64 x) { return atom_min(p, x); } \
    inline i64 pa_atomic_max_i64_##word(volatile space i64* p, i64 x) { return atom_max(p, x); } \
    inline u64 pa_atomic_max_u64_##word(volatile space u64* p, u64 x) { return atom_max(p, x); } \
    inline i64 pa_atomic_exchange_i64_##word(volatile space i64* p, i64 x) { return atom_xchg(p, x); } \
    inline u64 pa_atomic_exchange_u64_##word(volatile space u64* p, u64 x) { return atom_xchg(p, x); } \
    inline i64 pa_atomic_compare_exchange_i64_##word(volatile space i64* p, i64 e, i64 x) { return atom_cmpxchg(p, e, x); } \
    inline u64 pa_atomic_compare_exchange_u64_##word(volatile space u64* p, u64 e, u64 x) { return atom_cmpxchg(p, e, x); }
PA_ATOMICS64(__global, global)
PA_ATOMICS64(__local, local)
#ifdef PA_DOUBLE
#define PA_F64_ATOMIC(space, word, name, made)                                                   \
    inline f64 pa_atomic_##name##_f64_##word(volatile space f64* p, f64 x) {                     \
        u64 seen = *(volatile space u64*)p, before;                                               \
        do {                                                                                      \
            const f64 old = as_double(seen);                                                      \
            before = seen;                                                                        \
            seen = atom_cmpxchg((volatile space u64*)p, before, as_ulong((f64)(made)));           \
        } while (seen != before);                                                                 \
        return as_double(seen);                                                                   \
    }
#define PA_F64_ATOMICS(space, word)                                                              \
    PA_F64_ATOMIC(space, word, add, old + x)                                                      \
    PA_F64_ATOMIC(space, word, min, x < old ? x : old)                                            \
    PA_F64_ATOMIC(space, word, max, x > old ? x : old)                                            \
    PA_F64_ATOMIC(space, word, exchange, x)                                                       \
    inline f64 pa_atomic_compare_exchange_f64_##word(volatile space f64* p, f64 e, f64 x) {      \
        return as_double(atom_cmpxchg((volatile space u64*)p, as_ulong(e), as_ulong(x)));         \
    }
PA_F64_ATOMICS(__global, global)
PA_F64_ATOMICS(__local, local)
#endif
#endif
