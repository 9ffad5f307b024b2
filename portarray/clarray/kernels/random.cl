/* Random numbers by Philox4x32-10: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
   easy as 1, 2, 3" (SC 2011). Four words are a function of a counter and a key, so that every
   element has its own, whatever computes it.

   The counter is a block's number in its lower half and the stream in its upper; the top 16 bits
   of the stream count draws of one element that were refused. Sixteen blocks are computed side by
   side in vectors and make a group of 64 words: first the first word of each block, then the
   second words, and so on. A number of 64 bits has its lower half in an even word and its upper
   half in the next word of the block.

   The including program defines S and STORE_S for the results and EACH, how many groups a
   work-item makes; for real results T, PER (sixteenths of a group's elements: 4 in float, 2 in
   double) and SHIFT and SCALE, which make a fraction of a word. */

typedef struct { uint16 w[4]; } Group;

static uint16 high(uint16 x, uint factor) {
    return convert_uint16((convert_ulong16(x) * factor) >> 32);
}

static Group philox(ulong block, ulong stream, ulong key) {
    const ulong16 number = block + (ulong16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    uint16 a = convert_uint16(number), b = convert_uint16(number >> 32);
    uint16 c = (uint16)((uint)stream), d = (uint16)((uint)(stream >> 32));
    uint k0 = (uint)key, k1 = (uint)(key >> 32);
    for (int round = 0; round < 10; round++) {
        const uint first = 0xD2511F53u, second = 0xCD9E8D57u;
        const uint16 of_a = high(a, first), of_c = high(c, second);
        const uint16 next_b = second * c, next_d = first * a;
        a = of_c ^ b ^ k0;
        c = of_a ^ d ^ k1;
        b = next_b;
        d = next_d;
        k0 += 0x9E3779B9u; /* the golden ratio */
        k1 += 0xBB67AE85u; /* sqrt(3) - 1 */
    }
    Group found;
    found.w[0] = a;
    found.w[1] = b;
    found.w[2] = c;
    found.w[3] = d;
    return found;
}

static ulong16 number_64(const Group *g, int part) {
    return convert_ulong16(g->w[2 * part]) | convert_ulong16(g->w[2 * part + 1]) << 32;
}

/* The word of one element that is drawn again. */
static ulong again(ulong block, ulong stream, ulong key, int lane, int part, bool wide) {
    const Group next = philox(block, stream, key);
    uint words[16];
    ulong numbers[16];
    if (wide) {
        vstore16(number_64(&next, part), 0, numbers);
        return numbers[lane];
    }
    vstore16(next.w[part], 0, words);
    return words[lane];
}

#if EACH > 1
#define ITEM __attribute__((reqd_work_group_size(1, 1, 1))) __kernel
#else
#define ITEM __kernel
#endif
/* One group after the other: g counts blocks, at counts elements of sixteen times PARTS. */
#define GROUPS(PARTS) \
    for (long n = 0, g = 16 * EACH * (long)get_global_id(0), at = g * PARTS; \
         n < EACH && at < count; n++, g += 16, at += 16 * PARTS)

#ifdef PER
#if PER == 4
#define TV float16
#define WORDS(g, part) ((g).w[part])
#define FRACTION(w) (convert_float16((w) >> SHIFT) * SCALE)
#define ABOVE_ZERO(w) ((convert_float16(w) + 1.0f) * 0x1p-32f)
#else
#define TV double16
#define WORDS(g, part) number_64(&(g), part)
#define FRACTION(w) (convert_double16((w) >> SHIFT) * SCALE)
#define ABOVE_ZERO(w) ((convert_double16((w) >> 11) + 1.0) * 0x1p-53)
#endif

static void put(__global S *out, long at, long count, TV v) {
#if PLAIN
    if (at + 16 <= count) {
        vstore16(v, 0, out + at);
        return;
    }
#endif
    T numbers[16];
    vstore16(v, 0, numbers);
    for (int x = 0; x < 16 && at + x < count; x++) STORE_S(out, at + x, numbers[x]);
}

/* From low on, below low + width; what rounding makes too large becomes top. */
ITEM void uniform(
    __global S *out, ulong block, ulong stream, ulong key, long count, T low, T width, T top) {
    GROUPS(PER) {
        const Group words = philox(block + g, stream, key);
        for (int part = 0; part < PER; part++) {
            const TV found = low + width * FRACTION(WORDS(words, part));
            put(out, at + 16 * part, count, fmin(found, (TV)(top)));
        }
    }
}

/* Box and Muller, "A note on the generation of random normal deviates" (1958). */
ITEM void normal(
    __global S *out, ulong block, ulong stream, ulong key, long count, T mean, T deviation) {
    GROUPS(PER) {
        const Group words = philox(block + g, stream, key);
        for (int part = 0; part < PER; part += 2) {
            const TV size = sqrt((T)-2 * log(ABOVE_ZERO(WORDS(words, part))));
            const TV turns = (T)2 * FRACTION(WORDS(words, part + 1));
            put(out, at + 16 * part, count, mean + deviation * (size * cospi(turns)));
            put(out, at + 16 * part + 16, count, mean + deviation * (size * sinpi(turns)));
        }
    }
}
#else

/* Whole numbers from low on, below low + range, all equally likely: Lemire, "Fast random integer
   generation in an interval" (2019). A draw whose product's lower half is below 2**bits % range
   is refused, and the element draws again from its own next block. A range of 0 stands for all
   2**bits numbers. */
static void put(__global S *out, long at, long count, ulong low, const ulong *numbers) {
    if (at + 16 <= count) {
        _Pragma("unroll") for (int x = 0; x < 16; x++) STORE_S(out, at + x, (S)(low + numbers[x]));
    } else {
        for (int x = 0; at + x < count; x++) STORE_S(out, at + x, (S)(low + numbers[x]));
    }
}

ITEM void integers_32(
    __global S *out, ulong block, ulong stream, ulong key, long count, ulong low, uint range,
    uint refused) {
    GROUPS(4) {
        const Group words = philox(block + g, stream, key);
        for (int part = 0; part < 4; part++) {
            const uint16 w = words.w[part];
            ulong numbers[16];
            vstore16(convert_ulong16(range ? high(w, range) : w), 0, numbers);
            if (any(w * range < refused)) {
                uint drawn[16];
                vstore16(w, 0, drawn);
                for (int x = 0; x < 16; x++) {
                    uint found = drawn[x];
                    for (ulong n = 1; found * range < refused; n++)
                        found = (uint)again(block + g, stream + (n << 48), key, x, part, false);
                    numbers[x] = mul_hi(found, range);
                }
            }
            put(out, at + 16 * part, count, low, numbers);
        }
    }
}

ITEM void integers_64(
    __global S *out, ulong block, ulong stream, ulong key, long count, ulong low, ulong range,
    ulong refused) {
    GROUPS(2) {
        const Group words = philox(block + g, stream, key);
        for (int part = 0; part < 2; part++) {
            const ulong16 w = number_64(&words, part);
            ulong numbers[16];
            vstore16(range ? mul_hi(w, (ulong16)(range)) : w, 0, numbers);
            if (any(w * range < refused)) {
                ulong drawn[16];
                vstore16(w, 0, drawn);
                for (int x = 0; x < 16; x++) {
                    ulong found = drawn[x];
                    for (ulong n = 1; found * range < refused; n++)
                        found = again(block + g, stream + (n << 48), key, x, part, true);
                    numbers[x] = mul_hi(found, range);
                }
            }
            put(out, at + 16 * part, count, low, numbers);
        }
    }
}
#endif
