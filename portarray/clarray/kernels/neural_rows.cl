/* Softmax and norms along rows. A kernel sees a row two or three times while it is in the cache: it
   is read from memory once and written once. Needs neural_vectors.cl. */
#ifdef NARROW /* values stored in the result are rounded there */
#define KEEPV(e)
#define KEEP(e)
#define KEPTV exp(LOADV(p + i) - top)
#define KEPT exp(LOAD_E(p, i) - top)
#else
#define KEEPV(e) STOREV(e, q + i);
#define KEEP(e) STORE_E(q, i, e);
#define KEPTV LOADV(q + i)
#define KEPT LOAD_E(q, i)
#endif

ROWS_KERNEL void softmax(__global S *out, const __global S *x, long x_at, ROW_PARAMETERS) {
    FOR_ROWS {
        const __global S *p = x + x_at + ROW_AT;
        __global S *q = out + row * n;
        FOLD(top, MAX, -INFINITY, v)
        V sums = (V)(0);
        T total = 0;
        EACH(const V e = exp(LOADV(p + i) - top); KEEPV(e) sums += e;,
             const T e = exp(LOAD_E(p, i) - top); KEEP(e) total += e;)
        total += IN_VECTOR(sums, ADD);
        ACROSS(total, ADD);
        const T scale = 1 / total;
        EACH(STOREV(KEPTV * scale, q + i);, STORE_E(q, i, KEPT * scale);)
    }
}

ROWS_KERNEL void log_softmax(__global S *out, const __global S *x, long x_at, ROW_PARAMETERS) {
    FOR_ROWS {
        const __global S *p = x + x_at + ROW_AT;
        __global S *q = out + row * n;
        FOLD(top, MAX, -INFINITY, v)
        FOLD(total, ADD, 0, exp(v - top))
        const T size = log(total);
        EACH(STOREV(LOADV(p + i) - top - size, q + i);,
             STORE_E(q, i, LOAD_E(p, i) - top - size);)
    }
}

/* Unused weight and bias are other buffers: not every driver accepts NULL. */
ROWS_KERNEL void rms_norm(
    __global S *out, const __global S *x, const __global S *weight, long x_at, long weight_at,
    ROW_PARAMETERS, int weighted, T eps) {
    const __global S *w = weight + weight_at;
    FOR_ROWS {
        const __global S *p = x + x_at + ROW_AT;
        __global S *q = out + row * n;
        FOLD(squares, ADD, 0, v * v)
        const T scale = 1 / sqrt(squares / n + eps);
        if (weighted)
            EACH(STOREV(LOADV(p + i) * scale * LOADV(w + i), q + i);,
                 STORE_E(q, i, LOAD_E(p, i) * scale * LOAD_E(w, i));)
        else
            EACH(STOREV(LOADV(p + i) * scale, q + i);, STORE_E(q, i, LOAD_E(p, i) * scale);)
    }
}

ROWS_KERNEL void layer_norm(
    __global S *out, const __global S *x, const __global S *weight, const __global S *bias,
    long x_at, long weight_at, long bias_at, ROW_PARAMETERS, int weighted, int biased, T eps) {
    const __global S *w = weight + weight_at, *b = bias + bias_at;
    FOR_ROWS {
        const __global S *p = x + x_at + ROW_AT;
        __global S *q = out + row * n;
        FOLD(sum, ADD, 0, v)
        const T mean = sum / n;
        FOLD(squares, ADD, 0, (v - mean) * (v - mean))
        const T scale = 1 / sqrt(squares / n + eps);
        EACH(V v = (LOADV(p + i) - mean) * scale;
             if (weighted) v *= LOADV(w + i);
             if (biased) v += LOADV(b + i);
             STOREV(v, q + i);,
             T v = (LOAD_E(p, i) - mean) * scale;
             if (weighted) v *= LOAD_E(w, i);
             if (biased) v += LOAD_E(b, i);
             STORE_E(q, i, v);)
    }
}
