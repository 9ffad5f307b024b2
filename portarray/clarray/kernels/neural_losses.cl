/* Cross-entropy. A row of n logits and the
   target of each, stored as I, make a loss; ignored targets make 0; all others are in range.
   Needs neural_vectors.cl. */
ROWS_KERNEL void losses(
    __global T *out, const __global S *x, const __global I *targets, long x_at, long targets_at,
    ROW_PARAMETERS, long ignored, T smoothing) {
    FOR_ROWS {
        const __global S *p = x + x_at + ROW_AT;
        const long due = (long)targets[targets_at + row];
        if (due == ignored) {
            if (lane == 0) out[row] = 0;
            continue;
        }
        FOLD(top, MAX, -INFINITY, v)
        FOLD(total, ADD, 0, exp(v - top))
        const T size = log(total);
        T loss = size - (LOAD_E(p, due) - top);
        if (smoothing != 0) {
            FOLD(below, ADD, 0, v - top)
            loss = (1 - smoothing) * loss + smoothing * (size - below / n);
        }
        if (lane == 0) out[row] = loss;
    }
}

/* The sum of all losses, or their mean over the targets that are not ignored, by one work-item. */
__kernel void joined(
    __global S *out, const __global T *losses, const __global I *targets, long targets_at,
    long rows, long ignored, int mean) {
    T sum = 0;
    long kept = 0;
    for (long row = 0; row < rows;) {
        T some = 0;
        for (const long stop = min(rows, row + 256); row < stop; row++) {
            some += losses[row];
            kept += (long)targets[targets_at + row] != ignored;
        }
        sum += some;
    }
    STORE_E(out, 0, mean ? sum / kept : sum);
}
