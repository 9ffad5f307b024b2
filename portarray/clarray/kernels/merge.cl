/* Merging sorted runs of a row in pairs, each work-item a stretch of the result, which it finds by
 * a search along the diagonal of the pair (the merge path; Green, Odeh, Birk, "Merge Path",
 * arXiv:1406.2628). Of equal elements that of the first run comes first; NaN comes last.
 *
 * STORED is the type in memory, VALUE(i) an element to compare, BEFORE(x, y) whether x comes
 * before y by its value.
 */
__kernel void merge(const __global STORED *in, __global STORED *out, long start, long run, long row,
                    long pairs, long chunk) {
    const long pair = get_global_id(1);
    const long begin = pair / pairs * row, end = begin + row;
    const long first = begin + pair % pairs * 2 * run;
    const long second = min(first + run, end), stop = min(first + 2 * run, end);
    const long na = second - first, nb = stop - second;
    long k = (long)get_global_id(0) * chunk;
    if (k >= na + nb) return;
    const long until = min(k + chunk, na + nb);
    long low = max(0L, k - nb), high = min(k, na);
    while (low < high) {
        const long i = (low + high) / 2;
        if (BEFORE(VALUE(start + second + k - 1 - i), VALUE(start + first + i))) high = i;
        else low = i + 1;
    }
    long i = start + first + low, j = start + second + k - low;
    const long last = start + second, over = start + stop;
    out += first;
    while (k < until && i < last && j < over) {
        const int later = BEFORE(VALUE(j), VALUE(i));
        out[k++] = in[later ? j : i];
        j += later;
        i += 1 - later;
    }
    while (k < until) out[k++] = in[i < last ? i++ : j++];
}
