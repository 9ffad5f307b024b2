/* The place along one axis of elements given by their number in C order. */
__kernel void unravel(
    __global long *out, const __global long *numbers, long step, long size, long tasks) {
    const long i = get_global_id(0);
    if (i < tasks) out[i] = numbers[i] / step % size;
}
