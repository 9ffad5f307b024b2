typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
#ifdef PA_DOUBLE
typedef double f64;
#endif
typedef unsigned short bf16;
typedef unsigned char pa_bool;
#define PA_GLOBAL
#define PA_LOCAL
#define PA_PRIVATE
#define PA_SHARED __shared__
#define PA_FUNCTION static __device__ inline
#define PA_BARRIER __syncthreads()
#define PA_NAN __int_as_float(0x7fc00000)
#define PA_INF __int_as_float(0x7f800000)
#define PA_AXIS_0 x
#define PA_AXIS_1 y
#define PA_AXIS_2 z
#define PA_MEMBER(place, axis) place.axis
#define PA_ALONG(place, axis) PA_MEMBER(place, axis)
#define PA_LOCAL_INDEX(d) PA_ALONG(threadIdx, PA_AXIS_##d)
#define PA_GROUP_INDEX(d) PA_ALONG(blockIdx, PA_AXIS_##d)
#define PA_GROUP_SIZE(d) PA_ALONG(blockDim, PA_AXIS_##d)
#define PA_GROUP_COUNT(d) PA_ALONG(gridDim, PA_AXIS_##d)
#define PA_GLOBAL_INDEX(d) (PA_GROUP_INDEX(d) * PA_GROUP_SIZE(d) + PA_LOCAL_INDEX(d))
#define PA_BITS_F32(x) ((u32)__float_as_int(x))
#define PA_FLOAT_BITS(x) __int_as_float((i32)(x))
#define pa_isinf(x) ((bool)isinf(x))
#define pa_isfinite(x) ((bool)isfinite(x))
#define pa_signbit(x) ((bool)signbit(x))

#ifdef PA_USES_ATOMICS
/* An address says whether it is in shared memory: one function does for both. W is what the
   hardware's function takes. */
#define PA_ATOMIC(name, function, T, short, W)                                                   \
    PA_FUNCTION T pa_atomic_##name##_##short##_global(T* p, T x) { return (T)function((W*)p, (W)x); } \
    PA_FUNCTION T pa_atomic_##name##_##short##_local(T* p, T x) { return (T)function((W*)p, (W)x); }
#define PA_ATOMIC_COMPARE(T, short, W, word, space, to, from)                                    \
    PA_FUNCTION T pa_atomic_compare_exchange_##short##_##space(T* p, T e, T x) {                  \
        return (T)from(atomicCAS((W*)p, (W)to(e), (W)to(x)));                                     \
    }
#define PA_ATOMICS(T, short, W)                                                                  \
    PA_ATOMIC(add, atomicAdd, T, short, W)                                                        \
    PA_ATOMIC(min, atomicMin, T, short, W)                                                        \
    PA_ATOMIC(max, atomicMax, T, short, W)                                                        \
    PA_ATOMIC(exchange, atomicExch, T, short, W)                                                  \
    PA_ATOMIC_COMPARE(T, short, W, W, global, , )                                                 \
    PA_ATOMIC_COMPARE(T, short, W, W, local, , )
#define PA_FLOAT_ATOMIC(T, short, W, name, space, to, from, made)                                \
    PA_FUNCTION T pa_atomic_##name##_##short##_##space(T* p, T x) {                               \
        W seen = *(W*)p, before;                                                                  \
        do {                                                                                      \
            const T old = from(seen);                                                             \
            before = seen;                                                                        \
            seen = atomicCAS((W*)p, before, (W)to((T)(made)));                                    \
        } while (seen != before);                                                                 \
        return from(seen);                                                                        \
    }
#define PA_FLOAT_ATOMICS(T, short, W, space, to, from)                                           \
    PA_FLOAT_ATOMIC(T, short, W, min, space, to, from, x < old ? x : old)                         \
    PA_FLOAT_ATOMIC(T, short, W, max, space, to, from, x > old ? x : old)                         \
    PA_FLOAT_ATOMIC(T, short, W, exchange, space, to, from, x)                                    \
    PA_ATOMIC_COMPARE(T, short, W, W, space, to, from)
PA_ATOMICS(i32, i32, i32)
PA_ATOMICS(u32, u32, u32)
PA_ATOMIC(add, atomicAdd, f32, f32, f32)
PA_FLOAT_ATOMICS(f32, f32, u32, global, PA_BITS_F32, PA_FLOAT_BITS)
PA_FLOAT_ATOMICS(f32, f32, u32, local, PA_BITS_F32, PA_FLOAT_BITS)
PA_ATOMIC(add, atomicAdd, i64, i64, u64)
PA_ATOMIC(min, atomicMin, i64, i64, i64)
PA_ATOMIC(max, atomicMax, i64, i64, i64)
PA_ATOMIC(exchange, atomicExch, i64, i64, u64)
PA_ATOMIC_COMPARE(i64, i64, u64, u64, global, , )
PA_ATOMIC_COMPARE(i64, i64, u64, u64, local, , )
PA_ATOMICS(u64, u64, u64)
#ifdef PA_DOUBLE
PA_ATOMIC(add, atomicAdd, f64, f64, f64)
PA_FLOAT_ATOMICS(f64, f64, u64, global, __double_as_longlong, __longlong_as_double)
PA_FLOAT_ATOMICS(f64, f64, u64, local, __double_as_longlong, __longlong_as_double)
#endif
#endif
