// What kernels use of HIP's language and library, for clang without ROCm.
#pragma once
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
struct pa_place { unsigned int x, y, z; };
extern const __device__ pa_place threadIdx, blockIdx, blockDim, gridDim;
__device__ void __syncthreads();
__device__ float __int_as_float(int);
__device__ int __float_as_int(float);
__device__ double __longlong_as_double(long long);
__device__ long long __double_as_longlong(double);
#define HIP_OF(name, parameters)                    \
    __device__ float name(PARAMETERS_##parameters(float)); \
    __device__ double name(PARAMETERS_##parameters(double));
#define PARAMETERS_1(T) T
#define PARAMETERS_2(T) T, T
#define PARAMETERS_3(T) T, T, T
HIP_OF(acos, 1) HIP_OF(acosh, 1) HIP_OF(asin, 1) HIP_OF(asinh, 1) HIP_OF(atan, 1) HIP_OF(atanh, 1)
HIP_OF(cbrt, 1) HIP_OF(ceil, 1) HIP_OF(cos, 1) HIP_OF(cosh, 1) HIP_OF(erf, 1) HIP_OF(erfc, 1)
HIP_OF(exp, 1) HIP_OF(exp2, 1) HIP_OF(expm1, 1) HIP_OF(fabs, 1) HIP_OF(floor, 1) HIP_OF(log, 1)
HIP_OF(log10, 1) HIP_OF(log1p, 1) HIP_OF(log2, 1) HIP_OF(rint, 1) HIP_OF(sin, 1) HIP_OF(sinh, 1)
HIP_OF(lgamma, 1) HIP_OF(tgamma, 1)
HIP_OF(sqrt, 1) HIP_OF(tan, 1) HIP_OF(tanh, 1) HIP_OF(trunc, 1)
HIP_OF(atan2, 2) HIP_OF(copysign, 2) HIP_OF(fmod, 2) HIP_OF(hypot, 2) HIP_OF(pow, 2)
HIP_OF(fma, 3)
#define HIP_TEST(name) __device__ bool name(float); __device__ bool name(double);
HIP_TEST(isinf) HIP_TEST(isfinite) HIP_TEST(signbit)
#define HIP_ATOMIC(name, T) __device__ T name(T*, T);
#define HIP_ATOMICS(T) \
    HIP_ATOMIC(atomicAdd, T) HIP_ATOMIC(atomicMin, T) HIP_ATOMIC(atomicMax, T) \
    HIP_ATOMIC(atomicExch, T) __device__ T atomicCAS(T*, T, T);
HIP_ATOMICS(int)
HIP_ATOMICS(unsigned int)
HIP_ATOMICS(unsigned long long)
HIP_ATOMIC(atomicMin, long long)
HIP_ATOMIC(atomicMax, long long)
HIP_ATOMIC(atomicAdd, float)
HIP_ATOMIC(atomicAdd, double)
