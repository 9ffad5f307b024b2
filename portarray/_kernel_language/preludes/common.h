/* Programs define PA_USES_... for the parts that they use: compilers spend as long on the rest as on
   a small kernel. */
#ifndef PA_INVERT
#define PA_INVERT(T, x) ((T)~(x))
#define PA_NEGATE(T, U, x) ((T)(-(U)(x))) /* wraps around */
#define PA_OPAQUE(T, x) (x)
#endif
#ifdef PA_USES_WHOLE
#define PA_WHOLE(T, U, name, bits)                                                               \
    PA_FUNCTION T pa_floordiv_##name(T a, T b) {                                                  \
        if (b == 0) return 0;                                                                     \
        if (b == (T)-1) return PA_NEGATE(T, U, a);                                                \
        const T q = a / b;                                                                        \
        return q - ((U)q * (U)b != (U)a && (a < 0) != (b < 0));                                   \
    }                                                                                             \
    PA_FUNCTION T pa_mod_##name(T a, T b) {                                                       \
        if (b == 0 || b == (T)-1) return 0;                                                       \
        const T r = a % b;                                                                        \
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;                                          \
    }
#define PA_WHOLE_UNSIGNED(T, name)                                                               \
    PA_FUNCTION T pa_floordiv_##name(T a, T b) { return b ? a / b : 0; }                          \
    PA_FUNCTION T pa_mod_##name(T a, T b) { return b ? a % b : 0; }
#define PA_POWER(T, U, name)                                                                     \
    PA_FUNCTION T pa_pow_##name(T a, T n) {                                                       \
        if (n < 0) return a == 1 ? 1 : a == (T)-1 ? (n % 2 ? (T)-1 : 1) : 0;                      \
        U out = 1, factor = (U)a;                                                                 \
        for (; n; n >>= 1, factor *= factor)                                                      \
            if (n & 1) out *= factor;                                                             \
        return (T)out;                                                                            \
    }
#define PA_POWER_UNSIGNED(T, name)                                                               \
    PA_FUNCTION T pa_pow_##name(T a, T n) {                                                       \
        T out = 1;                                                                                \
        for (; n; n >>= 1, a *= a)                                                                \
            if (n & 1) out *= a;                                                                  \
        return out;                                                                               \
    }
#define PA_SHIFTS(T, U, name, bits, rest)                                                        \
    PA_FUNCTION T pa_shl_##name(T a, i64 n) { return n >= 0 && n < bits ? (T)((U)a << n) : (T)0; } \
    PA_FUNCTION T pa_shr_##name(T a, i64 n) { return n >= 0 && n < bits ? (T)(a >> n) : (T)(rest); }
PA_WHOLE(i32, u32, i32, 32)
PA_WHOLE(i64, u64, i64, 64)
PA_WHOLE_UNSIGNED(u32, u32)
PA_WHOLE_UNSIGNED(u64, u64)
PA_POWER(i32, u32, i32)
PA_POWER(i64, u64, i64)
PA_POWER_UNSIGNED(u32, u32)
PA_POWER_UNSIGNED(u64, u64)
PA_SHIFTS(i8, u8, i8, 8, a < 0 ? -1 : 0)
PA_SHIFTS(i16, u16, i16, 16, a < 0 ? -1 : 0)
PA_SHIFTS(i32, u32, i32, 32, a < 0 ? -1 : 0)
PA_SHIFTS(i64, u64, i64, 64, a < 0 ? -1 : 0)
PA_SHIFTS(u8, u8, u8, 8, 0)
PA_SHIFTS(u16, u16, u16, 16, 0)
PA_SHIFTS(u32, u32, u32, 32, 0)
PA_SHIFTS(u64, u64, u64, 64, 0)
#endif
#ifdef PA_USES_REAL
/* Python's // and % of floats, as NumPy computes them. */
#define PA_DIVISION(T, name)                                                                     \
    PA_FUNCTION T pa_mod_##name(T a, T b) {                                                       \
        T r = fmod(a, b);                                                                         \
        if (b == 0) return r;                                                                     \
        if (r != 0) return (b < 0) != (r < 0) ? r + b : r;                                        \
        return copysign((T)0, b);                                                                 \
    }                                                                                             \
    PA_FUNCTION T pa_floordiv_##name(T a, T b) {                                                  \
        if (b == 0) return a / b;                                                                 \
        T r = fmod(a, b);                                                                         \
        T q = (a - r) / b;                                                                        \
        if (r != 0 && (b < 0) != (r < 0)) q -= 1;                                                 \
        if (q == 0) return copysign((T)0, a / b);                                                 \
        T whole = floor(q);                                                                       \
        return q - whole > (T)0.5 ? whole + 1 : whole;                                            \
    }                                                                                             \
    /* As the standard: the quotient of an infinity, or by one, is rounded down as it is. */       \
    PA_FUNCTION T pa_floor_divide_##name(T a, T b) {                                              \
        return pa_isinf(a) || pa_isinf(b) ? floor(a / b) : pa_floordiv_##name(a, b);              \
    }                                                                                             \
    PA_FUNCTION T pa_sign_##name(T x) { return x != x ? x : (T)((x > 0) - (x < 0)); }             \
    PA_FUNCTION T pa_logaddexp_##name(T a, T b) {                                              \
        if (a == b) return a + (T)0.69314718055994530942;                                         \
        const T d = a - b;                                                                        \
        return d > 0 ? a + log1p(exp(-d)) : d <= 0 ? b + log1p(exp(d)) : d;                       \
    }
PA_DIVISION(f32, f32)
#ifdef PA_DOUBLE
PA_DIVISION(f64, f64)
#endif
#endif
#ifdef PA_USES_COMPLEX
#ifndef PA_HIDDEN
#define PA_HIDDEN(T, x) (x)
#endif
/* Products as NumPy's, without recovering infinities. Quotients do not overflow where their parts do
   not: M. Baudin, R. L. Smith, "A Robust Complex Division in Scilab", 2012. `small` is the least
   normal number times 2 / epsilon, `up` is 2 / epsilon**2. Beyond `most` exp takes two steps. */
#define PA_COMPLEX(T, C, large, small, up, most)                                                  \
    PA_FUNCTION C pa_make_##C(T x, T y) {                                                         \
        C z;                                                                                      \
        z.x = x;                                                                                  \
        z.y = y;                                                                                  \
        return z;                                                                                 \
    }                                                                                             \
    PA_FUNCTION bool pa_eq_##C(C p, C q) { return p.x == q.x && p.y == q.y; }                     \
    PA_FUNCTION T pa_abs_##C(C z) { return hypot(z.x, z.y); }                                     \
    PA_FUNCTION C pa_neg_##C(C z) { return pa_make_##C(-z.x, -z.y); }                             \
    PA_FUNCTION C pa_conj_##C(C z) { return pa_make_##C(z.x, -z.y); }                             \
    PA_FUNCTION C pa_add_##C(C p, C q) { return pa_make_##C(p.x + q.x, p.y + q.y); }              \
    PA_FUNCTION C pa_sub_##C(C p, C q) { return pa_make_##C(p.x - q.x, p.y - q.y); }              \
    PA_FUNCTION C pa_mul_##C(C p, C q) {                                                          \
        const T a = PA_HIDDEN(T, p.x), b = PA_HIDDEN(T, p.y);                                     \
        const T c = PA_HIDDEN(T, q.x), d = PA_HIDDEN(T, q.y);                                     \
        return pa_make_##C(a * c - b * d, a * d + b * c);                                         \
    }                                                                                             \
    PA_FUNCTION T pa_quotient_##C(T a, T b, T c, T d, T ratio, T inverse) {                       \
        const T product = b * ratio;                                                              \
        if (ratio == 0) return (a + d * (b / c)) * inverse;                                       \
        return product != 0 ? (a + product) * inverse : a * inverse + (b * inverse) * ratio;      \
    }                                                                                             \
    PA_FUNCTION C pa_div_##C(C p, C q) {                                                          \
        T a = p.x, b = p.y, c = q.x, d = q.y, scale = 1;                                          \
        if (c == 0 && d == 0) return pa_make_##C(a / fabs(c), b / fabs(c));                       \
        if (fabs(a) >= large || fabs(b) >= large) a *= (T)0.5, b *= (T)0.5, scale *= 2;           \
        if (fabs(c) >= large || fabs(d) >= large) c *= (T)0.5, d *= (T)0.5, scale *= (T)0.5;      \
        if (fabs(a) <= small && fabs(b) <= small) a *= up, b *= up, scale /= up;                  \
        if (fabs(c) <= small && fabs(d) <= small) c *= up, d *= up, scale *= up;                  \
        const bool swap = fabs(d) > fabs(c);                                                      \
        const T e = swap ? b : a, f = swap ? a : b, g = swap ? d : c, h = swap ? c : d;           \
        const T ratio = h / g, inverse = 1 / (g + h * ratio);                                     \
        const T x = pa_quotient_##C(e, f, g, h, ratio, inverse) * scale;                          \
        const T y = pa_quotient_##C(f, -e, g, h, ratio, inverse) * scale;                         \
        return pa_make_##C(x, swap ? -y : y);                                                     \
    }                                                                                             \
    /* Special values as in C99, Annex G. */                                                      \
    PA_FUNCTION C pa_exp_##C(C z) {                                                               \
        if (z.y == 0) return pa_make_##C(exp(z.x), z.y);                                          \
        if (pa_isinf(z.x) && !pa_isfinite(z.y))                                                   \
            return z.x < 0 ? pa_make_##C(0, 0) : pa_make_##C(z.x, z.y - z.y);                     \
        const bool far = z.x > most;                                                              \
        const T first = exp(far ? z.x * (T)0.5 : z.x), second = far ? first : (T)1;               \
        return pa_make_##C(first * cos(z.y) * second, first * sin(z.y) * second);                 \
    }
#ifndef PA_COMPLEX_TYPES
typedef struct { f32 x, y; } c64;
#endif
PA_COMPLEX(f32, c64, 1.7014117e38f, 1.9721523e-31f, 1.4073749e14f, 88.0f)
#ifdef PA_DOUBLE
typedef struct { f64 x, y; } c128;
PA_COMPLEX(f64, c128, 8.988465674311579e307, 2.004168360008973e-292, 4.056481920730334e31, 709.0)
PA_FUNCTION c64 pa_c64_of_c128(c128 z) { return pa_make_c64((f32)z.x, (f32)z.y); }
PA_FUNCTION c128 pa_c128_of_c64(c64 z) { return pa_make_c128(z.x, z.y); }
#endif
#endif
PA_FUNCTION f32 pa_load_bf16_bits(bf16 x) { return PA_FLOAT_BITS((u32)x << 16); }
PA_FUNCTION bf16 pa_bf16_bits(f32 x) {
    const u32 bits = PA_BITS_F32(x);
    if (x != x) return (bf16)((bits >> 16) | 64);
    return (bf16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
PA_FUNCTION f32 pa_round_bf16_f32(f32 x) { return pa_load_bf16_bits(pa_bf16_bits(x)); }
#ifdef PA_DOUBLE
PA_FUNCTION f32 pa_round_bf16_f64(f64 x) { return pa_round_bf16_f32((f32)x); }
#endif
#define pa_load_bf16(p) pa_load_bf16_bits(*(p))
#define pa_store_bf16(p, x) (*(p) = pa_bf16_bits(x))
