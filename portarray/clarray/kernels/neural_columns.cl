/* Softmax along an axis that is not the last one, of an array without gaps: "outer" times n rows of
   "inner" elements. On processors a task is a strip of W columns, elsewhere one column. Needs
   neural_vectors.cl. */
#define COLUMN_PARAMETERS \
    __global S *out, const __global S *x, long x_at, long tasks, long each, long n, long inner

#define FIND_TOP(V, LOAD) \
    V top = (V)(-INFINITY); \
    for (long i = 0; i < n; i++) { \
        const V v = LOAD(p + i * inner); \
        top = MAX(top, v); \
    }
#define SOFTMAX(V, LOAD, STORE) \
    { \
        FIND_TOP(V, LOAD) \
        V total = (V)(0); \
        for (long i = 0; i < n; i++) { \
            const V e = exp(LOAD(p + i * inner) - top); \
            total += e; \
            KEEP_AT(STORE, e) \
        } \
        const V scale = 1 / total; \
        for (long i = 0; i < n; i++) STORE(KEPT_AT(LOAD) * scale, q + i * inner); \
    }
#define LOG_SOFTMAX(V, LOAD, STORE) \
    { \
        FIND_TOP(V, LOAD) \
        V total = (V)(0); \
        for (long i = 0; i < n; i++) total += exp(LOAD(p + i * inner) - top); \
        const V size = log(total); \
        for (long i = 0; i < n; i++) STORE(LOAD(p + i * inner) - top - size, q + i * inner); \
    }
#ifdef NARROW
#define KEEP_AT(STORE, e)
#define KEPT_AT(LOAD) exp(LOAD(p + i * inner) - top)
#else
#define KEEP_AT(STORE, e) STORE(e, q + i * inner);
#define KEPT_AT(LOAD) LOAD(q + i * inner)
#endif
#define LOAD_ONE(p) LOAD_E(p, 0)
#define STORE_ONE(v, p) STORE_E(p, 0, v)

#define COLUMNS(BODY) \
    const long first = get_global_id(0) * each, last = min(first + each, tasks); \
    const long strips = (inner + W - 1) / W; \
    for (long task = first; task < last; task++) { \
        const long begin = task % strips * W, start = task / strips * n * inner + begin; \
        const __global S *p = x + x_at + start; \
        __global S *q = out + start; \
        if (begin + W <= inner) BODY(V, LOADV, STOREV) \
        else for (long left = inner - begin; left > 0; left--, p++, q++) \
            BODY(T, LOAD_ONE, STORE_ONE) \
    }

__kernel void softmax(COLUMN_PARAMETERS) { COLUMNS(SOFTMAX) }

__kernel void log_softmax(COLUMN_PARAMETERS) { COLUMNS(LOG_SOFTMAX) }
