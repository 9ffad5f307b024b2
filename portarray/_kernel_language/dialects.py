"""What differs between the C-like languages that kernels are printed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

RESERVED = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while bool true false half uchar ushort uint ulong size_t ptrdiff_t
    kernel global local constant private generic image sampler_t event_t queue_t pipe
    abs acos acosh add_sat all any asin asinh atan atan2 atanh barrier cbrt ceil clamp clz copysign
    cos cosh cospi cross degrees distance dot erf erfc exp exp10 exp2 expm1 fabs fdim floor fma fmax
    fmin fmod fract frexp hypot ilogb isequal isfinite isinf isnan ldexp length lgamma log log10
    log1p log2 logb mad mad24 max min mix modf mul24 mul_hi nan native nextafter normalize pow pown
    powr printf prefetch radians remainder rint rootn rotate round rsqrt select shuffle sign signbit
    sin sincos sinh sinpi smoothstep sqrt step sub_sat tan tanh tanpi tgamma trunc upsample vload
    vstore as_int as_uint as_float i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64
    asm class catch delete explicit export friend mutable namespace new operator protected public
    template this throw try typename using virtual wchar_t and or not xor thread device threadgroup
    vertex fragment metal linux unix NULL NAN INFINITY M_PI M_E
    alignas alignof and_eq bitand bitor char16_t char32_t char8_t co_await co_return co_yield compl
    concept const_cast consteval constexpr constinit decltype dynamic_cast noexcept not_eq nullptr
    or_eq reinterpret_cast requires static_assert static_cast thread_local typeid
    xor_eq threadIdx blockIdx blockDim gridDim warpSize clock clock64 assert
    cyl_bessel_i0 erfcinv erfcx erfinv j0 j1 jn y0 y1 yn llrint llround lrint lround nearbyint
    nexttoward norm normcdf rcbrt rhypot rnorm scalbn sincospi free malloc memcpy memset
    """.split()
)
"""Words that mean something in one of the languages; users' names that are one get a ``_``."""


@dataclass(frozen=True)
class Dialect:
    """A language that programs are printed in."""

    name: str
    signature: str  # of the entry point: a format of {name} and {parameters}
    pointer: str = "{pointer}"  # a pointer parameter; {n} is its place
    value: str = "const {kind} {name}"
    plain: str = ""  # what keeps a compiler from vectorizing a kernel over work-items
    inherited: tuple[str, ...] = ()
    inherited_declared: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()  # of the prelude, after its own
    long_suffix: str = "L"  # of literals of 64 bits
    double: bool = True  # whether the language has double precision

    @cached_property
    def prelude(self) -> str:
        """Macros and functions that programs begin with."""
        folder = files("portarray._kernel_language") / "preludes"
        names = (self.name, *self.headers, "common")
        return "".join((folder / f"{name}.h").read_text("utf-8") for name in names)

    def head(
        self, name: str, pointers: Sequence[str], values: Sequence[tuple[str, str]], *, plain: bool
    ) -> str:
        """Return the line that a kernel's body follows; a plain one must not be vectorized."""
        given = [self.pointer.format(pointer=one, n=n) for n, one in enumerate(pointers)]
        for n, (kind, value) in enumerate(values, len(given)):
            given.append(self.value.format(kind=kind, name=value, n=n))
        text = self.signature.format(name=name, parameters=", ".join(given))
        return f"{self.plain}\n{text}" if plain and self.plain else text


_CUDA = 'extern "C" __global__ void {name}({parameters}) {{'

DIALECTS: Mapping[str, Dialect] = {
    "opencl": Dialect(
        "opencl",
        "__kernel void {name}({parameters}) {{",
        plain="__attribute__((intel_vec_len_hint(1)))",
    ),
    # "L" is 32 bits in CUDA on Windows, and "LL" is none of OpenCL C's or Metal's suffixes.
    "cuda": Dialect("cuda", _CUDA, headers=("cuda_and_hip",), long_suffix="LL"),
    "hip": Dialect("hip", _CUDA, headers=("cuda_and_hip",), long_suffix="LL"),
    "metal": Dialect(
        "metal",
        "kernel void {name}({parameters}, "
        "uint3 pa_global_id [[thread_position_in_grid]], "
        "uint3 pa_local_id [[thread_position_in_threadgroup]], "
        "uint3 pa_group_id [[threadgroup_position_in_grid]], "
        "uint3 pa_group_size [[threads_per_threadgroup]], "
        "uint3 pa_group_count [[threadgroups_per_grid]]) {{",
        pointer="{pointer} [[buffer({n})]]",
        value="constant {kind}& {name} [[buffer({n})]]",
        inherited=("pa_global_id", "pa_local_id", "pa_group_id", "pa_group_size", "pa_group_count"),
        inherited_declared=(
            *("uint3 pa_global_id", "uint3 pa_local_id", "uint3 pa_group_id"),
            *("uint3 pa_group_size", "uint3 pa_group_count"),
        ),
        double=False,
    ),
}
