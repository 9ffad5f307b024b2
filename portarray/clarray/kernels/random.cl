/* Random numbers by Philox4x32-10: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
   easy as 1, 2, 3" (SC 2011). Four words are a function of a counter and a key, so that every
   element has its own, whatever computes it.

   The counter is the block's number in its lower half and the stream in its upper; the top 16 bits
   of the stream count draws of one element that were refused.

   The including program defines S and STORE for the results, and for real ones T, PER (numbers of
   a block: 4 in float, 2 in double) and SHIFT and SCALE, which make a fraction of a word. */

static uint4 philox(ulong block, ulong stream, ulong key) {
    uint4 c = (uint4)((uint)block, (uint)(block >> 32), (uint)stream, (uint)(stream >> 32));
    uint k0 = (uint)key, k1 = (uint)(key >> 32);
    for (int round = 0; round < 10; round++) {
        const uint first = 0xD2511F53u, second = 0xCD9E8D57u;
        c = (uint4)(mul_hi(second, c.z) ^ c.y ^ k0, second * c.z,
                    mul_hi(first, c.x) ^ c.w ^ k1, first * c.x);
        k0 += 0x9E3779B9u; /* the golden ratio */
        k1 += 0xBB67AE85u; /* sqrt(3) - 1 */
    }
    return c;
}

static ulong2 pairs(uint4 w) {
    return (ulong2)((ulong)w.x | (ulong)w.y << 32, (ulong)w.z | (ulong)w.w << 32);
}

#ifdef PER
#if PER == 4
#define WORDS(w) (w)
#define TV float4
#define FRACTION(w) (convert_float4((w) >> SHIFT) * SCALE)
#define ABOVE_ZERO(w) ((convert_float4(w) + 1.0f) * 0x1p-32f)
#else
#define WORDS(w) pairs(w)
#define TV double2
#define FRACTION(w) (convert_double2((w) >> SHIFT) * SCALE)
#define ABOVE_ZERO(w) ((convert_double2((w) >> 11) + 1.0) * 0x1p-53)
#endif

static void put(__global S *out, long at, long count, TV v) {
    if (at < count) STORE_S(out, at, v.s0);
    if (at + 1 < count) STORE_S(out, at + 1, v.s1);
#if PER == 4
    if (at + 2 < count) STORE_S(out, at + 2, v.s2);
    if (at + 3 < count) STORE_S(out, at + 3, v.s3);
#endif
}

/* From low on, below low + width; what rounding makes too large becomes top. */
__kernel void uniform(
    __global S *out, ulong block, ulong stream, ulong key, long count, T low, T width, T top) {
    const long id = get_global_id(0);
    const TV part = FRACTION(WORDS(philox(block + id, stream, key)));
    put(out, id * PER, count, fmin(low + width * part, (TV)(top)));
}

/* Box and Muller, "A note on the generation of random normal deviates" (1958). */
__kernel void normal(
    __global S *out, ulong block, ulong stream, ulong key, long count, T mean, T deviation) {
    const long id = get_global_id(0);
    const uint4 w = philox(block + id, stream, key);
    const TV open = ABOVE_ZERO(WORDS(w)), part = FRACTION(WORDS(w));
#if PER == 4
    const float2 size = sqrt(-2.0f * log(open.xz)), turns = 2.0f * part.yw;
    const float2 x = size * cospi(turns), y = size * sinpi(turns);
    const TV z = (TV)(x.x, y.x, x.y, y.y);
#else
    const double size = sqrt(-2.0 * log(open.x)), turns = 2.0 * part.y;
    const TV z = (TV)(size * cospi(turns), size * sinpi(turns));
#endif
    put(out, id * PER, count, mean + deviation * z);
}
#else

/* Whole numbers from low on, below low + range, all equally likely: Lemire, "Fast random integer
   generation in an interval" (2019). A draw whose product's lower half is below 2**bits % range
   is refused, and the element draws again from its own next block. A range of 0 stands for all
   2**bits numbers. */
__kernel void integers_32(
    __global S *out, ulong block, ulong stream, ulong key, long count, ulong low, uint range,
    uint refused) {
    const long id = get_global_id(0);
    if (4 * id >= count) return;
    const uint4 w = philox(block + id, stream, key);
    uint words[4] = {w.x, w.y, w.z, w.w};
    for (int x = 0; x < 4 && 4 * id + x < count; x++) {
        uint found = words[x];
        if (range) {
            for (ulong again = 1; found * range < refused; again++) {
                const uint4 next = philox(block + id, stream + (again << 48), key);
                found = x == 0 ? next.x : x == 1 ? next.y : x == 2 ? next.z : next.w;
            }
            found = mul_hi(found, range);
        }
        STORE_S(out, 4 * id + x, (S)(low + found));
    }
}

__kernel void integers_64(
    __global S *out, ulong block, ulong stream, ulong key, long count, ulong low, ulong range,
    ulong refused) {
    const long id = get_global_id(0);
    if (2 * id >= count) return;
    const ulong2 w = pairs(philox(block + id, stream, key));
    for (int x = 0; x < 2 && 2 * id + x < count; x++) {
        ulong found = x ? w.y : w.x;
        if (range) {
            for (ulong again = 1; found * range < refused; again++) {
                const ulong2 next = pairs(philox(block + id, stream + (again << 48), key));
                found = x ? next.y : next.x;
            }
            found = mul_hi(found, range);
        }
        STORE_S(out, 2 * id + x, (S)(low + found));
    }
}
#endif
