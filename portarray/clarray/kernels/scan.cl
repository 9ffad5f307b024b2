/* Running results along the middle one of three axes (outer, n, inner), whose steps are so, sn, si;
   the outermost and the innermost one together number the lanes. Results are contiguous.

   Defined before:
     IN, E           how elements are stored, and their compute type; LOAD_E(p, i) gives one
     T, MAP(v, 0)    the type that values are combined in, and the conversion to it
     OP(a, b)        combines two; IDENTITY changes nothing
     OUT             how results are stored; STORE_OUT(p, i, a) writes one
     INITIAL         what an empty run gives, as T
     VECTORS         where the types have vectors of 16: E16, T16, LOAD_E16(p), MAP16(v, 0), and
                     STORE_OUT16(p, a) where results are stored as they are combined

   A lane is cut into chunks of a length. Where there are several, kernels run twice: first
   (summing != 0) each chunk but the last leaves what its elements come to, ordered
   [lane][chunk], then each begins with what those before it come to. With initial != 0 a result
   for no element stands before the others. */
#define PARAMETERS \
    __global OUT *out, __global T *part, const __global IN *x, \
    long x_at, long n, long inner, long so, long sn, long si, long initial, \
    long chunks, long length, long tasks, long each_tasks, long summing

#define ONE_ITEM __attribute__((reqd_work_group_size(1, 1, 1)))

#define FROM(lane) (x + x_at + (lane) / inner * so + (lane) % inner * si)
/* Where the results of a lane's elements begin; they are inner apart. */
#define INTO(lane) (out + ((lane) / inner * (n + initial) + initial) * inner + (lane) % inner)

inline T carried(const __global T *part, long lane, long chunk, long chunks) {
    T carry = IDENTITY;
    if (chunks == 1) return carry;
    for (long k = 0; k < chunk; k++) carry = OP(carry, part[lane * chunks + k]);
    return carry;
}

/* Any layout: a work-item has one chunk of one lane. */
__kernel void items(PARAMETERS) {
    const long lane = get_global_id(0), chunk = get_global_id(1);
    if (lane >= tasks) return;
    const long lo = chunk * length, hi = min(lo + length, n);
    const __global IN *from = FROM(lane);
    __global OUT *into = INTO(lane);
    if (summing) {
        T sum = IDENTITY;
        for (long i = lo; i < hi; i++) {
            const E v = LOAD_E(from, i * sn);
            sum = OP(sum, MAP(v, 0));
        }
        part[lane * chunks + chunk] = sum;
        return;
    }
    if (initial && chunk == 0) STORE_OUT(into - inner, 0, INITIAL);
    T sum = carried(part, lane, chunk, chunks);
    for (long i = lo; i < hi; i++) {
        const E v = LOAD_E(from, i * sn);
        sum = OP(sum, MAP(v, 0));
        STORE_OUT(into, i * inner, sum);
    }
}

#ifdef VECTORS
#ifndef STORE_OUT16
#define STORE_OUT16(p, a) store_each(p, a)
inline void store_each(__global OUT *p, T16 v) {
    T lanes[16];
    vstore16(v, 0, lanes);
    for (int k = 0; k < 16; k++) STORE_OUT(p, k, lanes[k]);
}
#endif

/* Running results within a vector, in four steps. */
inline T16 scan_lanes(T16 v) {
    const T z = IDENTITY;
    const T4 zzzz = (T4)(z);
    T16 w = (T16)(z, v.s0, v.s12, v.s3456, v.s789abcde);
    v = OP(w, v);
    w = (T16)(z, z, v.s01, v.s2345, v.s6789abcd);
    v = OP(w, v);
    w = (T16)(zzzz, v.s0123, v.s456789ab);
    v = OP(w, v);
    w = (T16)(zzzz, zzzz, v.s01234567);
    return OP(w, v);
}

/* On processors, one element inside: a task is one chunk of one lane. */
__kernel ONE_ITEM void rows(PARAMETERS) {
    const long first = get_global_id(0) * each_tasks, last = min(first + each_tasks, tasks);
    for (long task = first; task < last; task++) {
        const long lane = task / chunks, chunk = task % chunks;
        const long lo = chunk * length, hi = min(lo + length, n);
        const __global IN *from = x + x_at + lane * so;
        __global OUT *into = out + lane * (n + initial) + initial;
        long i = lo;
        if (summing) {
            if (chunk == chunks - 1) continue;
            T16 a = (T16)(IDENTITY), b = a;
            for (; i + 32 <= hi; i += 32) {
                const E16 v = sn == 1 ? LOAD_E16(from + i) : load_strided(from + i * sn, sn);
                const E16 w = sn == 1 ? LOAD_E16(from + i + 16)
                                      : load_strided(from + (i + 16) * sn, sn);
                const T16 tv = MAP16(v, 0), tw = MAP16(w, 0);
                a = OP(a, tv);
                b = OP(b, tw);
            }
            a = OP(a, b);
            const T16 running = scan_lanes(a);
            T sum = running.sf;
            for (; i < hi; i++) {
                const E v = LOAD_E(from, i * sn);
                sum = OP(sum, MAP(v, 0));
            }
            part[lane * chunks + chunk] = sum;
            continue;
        }
        if (initial && chunk == 0) STORE_OUT(into - 1, 0, INITIAL);
        T carry = carried(part, lane, chunk, chunks);
        for (; i + 16 <= hi; i += 16) {
            const E16 v = sn == 1 ? LOAD_E16(from + i) : load_strided(from + i * sn, sn);
            const T16 running = scan_lanes(MAP16(v, 0));
            const T16 before = (T16)(carry);
            const T16 results = OP(before, running);
            STORE_OUT16(into + i, results);
            carry = OP(carry, running.sf);
        }
        for (; i < hi; i++) {
            const E v = LOAD_E(from, i * sn);
            carry = OP(carry, MAP(v, 0));
            STORE_OUT(into, i, carry);
        }
    }
}

/* On processors, at least 16 contiguous elements inside: a task is one chunk of a strip of lanes.
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
        T lanes[16];
        for (int j = 0; j < vectors; j++) {
            const long lane = begin + min(16 * j, tail);
            if (!summing) {
                for (int k = 0; k < 16; k++) lanes[k] = carried(part, lane + k, chunk, chunks);
                sums[j] = vload16(0, lanes);
                if (initial && chunk == 0) {
                    for (int k = 0; k < 16; k++) STORE_OUT(into - inner, lane - begin + k, INITIAL);
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
            const long lane = begin + min(16 * j, tail);
            vstore16(sums[j], 0, lanes);
            for (int k = 0; k < 16; k++) part[(lane + k) * chunks + chunk] = lanes[k];
        }
    }
}
#endif
