/* Running results along the middle one of three axes (outer, n, inner), whose steps are so, sn, si;
   the outermost and the innermost one together number the lines. Results are contiguous.

   Defined before:
     IN, E           how elements are stored, and their compute type; LOAD_E(p, i) gives one
     T, MAP(v, 0)    the type that values are combined in, and the conversion to it
     OP(a, b)        combines two; IDENTITY changes nothing
     OUT             how results are stored; STORE_OUT(p, i, a) writes one
     INITIAL         the result of an empty run, as T
     VECTORS         where the types have vectors of 16: E16, T16, LOAD_E16(p), MAP16(v, 0), and
                     STORE_OUT16(p, a) where results are stored as they are combined
     SINGLE          where IN, E and OUT are float and T is double: sixteen numbers are added in
                     float, and their sums in double

   A line is cut into chunks of a length. Where there are several, kernels run twice: first
   (summing != 0) each chunk but the last leaves what its elements come to, ordered
   [line][chunk], then each begins with what those before it come to. With initial != 0 the
   result of no elements precedes the others. */
#define PARAMETERS \
    __global OUT *out, __global T *part, const __global IN *x, \
    long x_at, long n, long inner, long so, long sn, long si, long initial, \
    long chunks, long length, long tasks, long each_tasks, long summing

#define ONE_ITEM __attribute__((reqd_work_group_size(1, 1, 1)))

#define FROM(line) (x + x_at + (line) / inner * so + (line) % inner * si)
/* Where the results of a line's elements begin; they are inner apart. */
#define INTO(line) (out + ((line) / inner * (n + initial) + initial) * inner + (line) % inner)

inline T carried(const __global T *part, long line, long chunk, long chunks) {
    T carry = IDENTITY;
    if (chunks == 1) return carry;
    for (long k = 0; k < chunk; k++) carry = OP(carry, part[line * chunks + k]);
    return carry;
}

/* Any layout: a work-item has one chunk of one line. */
__kernel void items(PARAMETERS) {
    const long line = get_global_id(0), chunk = get_global_id(1);
    if (line >= tasks) return;
    const long lo = chunk * length, hi = min(lo + length, n);
    const __global IN *from = FROM(line);
    __global OUT *into = INTO(line);
    if (summing) {
        T sum = IDENTITY;
        for (long i = lo; i < hi; i++) {
            const E v = LOAD_E(from, i * sn);
            sum = OP(sum, MAP(v, 0));
        }
        part[line * chunks + chunk] = sum;
        return;
    }
    if (initial && chunk == 0) STORE_OUT(into - inner, 0, INITIAL);
    T sum = carried(part, line, chunk, chunks);
    for (long i = lo; i < hi; i++) {
        const E v = LOAD_E(from, i * sn);
        sum = OP(sum, MAP(v, 0));
        STORE_OUT(into, i * inner, sum);
    }
}

#ifdef VECTORS
#define SHUFFLE(v, z, ...) __builtin_shufflevector(v, z, __VA_ARGS__)

#ifndef STORE_OUT16
#define STORE_OUT16(p, a) store_each(p, a)
inline void store_each(__global OUT *p, T16 v) {
    T values[16];
    vstore16(v, 0, values);
    for (int k = 0; k < 16; k++) STORE_OUT(p, k, values[k]);
}
#endif

#ifdef SINGLE
#define V16 E16
#else
#define V16 T16
#endif

/* Running results within a vector, in four steps. Compilers make an instruction of a shuffle; of a
   vector put together from parts they make loads and stores. */
inline V16 scan_vector(V16 v) {
    const V16 z = (V16)(IDENTITY);
    V16 w = SHUFFLE(v, z, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
    v = OP(w, v);
    w = SHUFFLE(v, z, 16, 17, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13);
    v = OP(w, v);
    w = SHUFFLE(v, z, 16, 17, 18, 19, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    v = OP(w, v);
    w = SHUFFLE(v, z, 16, 17, 18, 19, 20, 21, 22, 23, 0, 1, 2, 3, 4, 5, 6, 7);
    return OP(w, v);
}

#define LOAD_STEP(p) (sn == 1 ? LOAD_E16(p) : load_strided(p, sn))

/* Functions that are called, because a compiler that sees such a loop whole takes several vectors
   apart to calculate with their elements side by side. */
__attribute__((noinline)) T step(const __global IN *p, long sn, __global OUT *into, T carry) {
    const E16 v = LOAD_STEP(p);
#ifdef SINGLE
    const E16 running = scan_vector(v), before = (E16)((E)carry);
    vstore16(OP(before, running), 0, into);
    return OP(carry, (T)running.sf);
#else
    const T16 running = scan_vector(MAP16(v, 0));
    const T16 before = (T16)(carry);
    const T16 results = OP(before, running);
    STORE_OUT16(into, results);
    return results.sf;
#endif
}

__attribute__((noinline)) T16 sum_of_four(const __global IN *p, long sn, T16 sum) {
    const E16 v0 = LOAD_STEP(p), v1 = LOAD_STEP(p + 16 * sn);
    const E16 v2 = LOAD_STEP(p + 32 * sn), v3 = LOAD_STEP(p + 48 * sn);
    T16 a = MAP16(v0, 0), b = MAP16(v1, 0), c = MAP16(v2, 0), d = MAP16(v3, 0);
    a = OP(a, b);
    c = OP(c, d);
    a = OP(a, c);
    return OP(sum, a);
}

/* On processors, one element inside: a task is one chunk of one line. */
__kernel ONE_ITEM void rows(PARAMETERS) {
    const long first = get_global_id(0) * each_tasks, last = min(first + each_tasks, tasks);
    for (long task = first; task < last; task++) {
        const long line = task / chunks, chunk = task % chunks;
        const long lo = chunk * length, hi = min(lo + length, n);
        const __global IN *from = x + x_at + line * so;
        __global OUT *into = out + line * (n + initial) + initial;
        long i = lo;
        if (summing) {
            if (chunk == chunks - 1) continue;
            T16 a = (T16)(IDENTITY);
            for (; i + 64 <= hi; i += 64) a = sum_of_four(from + i * sn, sn, a);
            const T8 b = OP(a.lo, a.hi);
            const T4 c = OP(b.lo, b.hi);
            const T2 d = OP(c.lo, c.hi);
            T sum = OP(d.lo, d.hi);
            for (; i < hi; i++) {
                const E v = LOAD_E(from, i * sn);
                sum = OP(sum, MAP(v, 0));
            }
            part[line * chunks + chunk] = sum;
            continue;
        }
        if (initial && chunk == 0) STORE_OUT(into - 1, 0, INITIAL);
        T carry = carried(part, line, chunk, chunks);
        for (; i + 16 <= hi; i += 16) carry = step(from + i * sn, sn, into + i, carry);
        for (; i < hi; i++) {
            const E v = LOAD_E(from, i * sn);
            carry = OP(carry, MAP(v, 0));
            STORE_OUT(into, i, carry);
        }
    }
}

/* On processors, at least 16 contiguous elements inside: a task is one chunk of a strip of lines.
   The last vector of an axis overlaps the one before it; both write the same. */
#define STRIP 8

__kernel ONE_ITEM void columns(PARAMETERS) {
    const long first = get_global_id(0) * each_tasks, last = min(first + each_tasks, tasks);
    const long strips = (inner + 16 * STRIP - 1) / (16 * STRIP);
    for (long task = first; task < last; task++) {
        const long chunk = task / strips % chunks, row = task / strips / chunks * inner;
        const long begin = row + task % strips * (16 * STRIP);
        const int vectors = (int)min((long)STRIP, (row + inner - begin + 15) / 16);
        const int tail = (int)min((long)(16 * STRIP), row + inner - 16 - begin);
        const long lo = chunk * length, hi = min(lo + length, n);
        const __global IN *from = FROM(begin);
        __global OUT *into = INTO(begin);
        T16 sums[STRIP];
        T values[16];
        for (int j = 0; j < vectors; j++) {
            const long line = begin + min(16 * j, tail);
            if (!summing) {
                for (int k = 0; k < 16; k++) values[k] = carried(part, line + k, chunk, chunks);
                sums[j] = vload16(0, values);
                if (initial && chunk == 0) {
                    for (int k = 0; k < 16; k++) STORE_OUT(into - inner, line - begin + k, INITIAL);
                }
            } else {
                sums[j] = (T16)(IDENTITY);
            }
        }
        for (long i = lo; i < hi; i++) {
            for (int j = 0; j < vectors; j++) {
                const int k = min(16 * j, tail);
                const E16 v = LOAD_E16(from + i * sn + k);
                const T16 t = MAP16(v, 0);
                sums[j] = OP(sums[j], t);
                if (!summing) STORE_OUT16(into + i * inner + k, sums[j]);
            }
        }
        if (!summing) continue;
        for (int j = 0; j < vectors; j++) {
            const long line = begin + min(16 * j, tail);
            vstore16(sums[j], 0, values);
            for (int k = 0; k < 16; k++) part[(line + k) * chunks + chunk] = values[k];
        }
    }
}
#endif
