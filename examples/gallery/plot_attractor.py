"""
A strange attractor, counted with atomic additions
==================================================

Iterate two lines of sines a million times and count where the point falls. The result is a
two-dimensional histogram that forms a picture. Many work-items add to one array at the same time,
so they use *atomic* operations.
"""

# %%
# One work-item
# -------------
#
# Clifford Pickover's map has four parameters. Each work-item starts at a different point, discards
# its first steps, and counts the remaining ones. ``ndrange`` sets the number of work-items, because
# it differs from the size of the array that they write.

import math

import matplotlib.pyplot as plt
import numpy as np

import portarray as pa
import portarray.kernel_language as kl


@pa.kernel
def visit(counts, starts, steps, a, b, c, d):
    i = kl.index()
    x = starts[i, 0]
    y = starts[i, 1]
    rows, columns = counts.shape
    for n in range(steps):
        x, y = (
            kl.float32(math.sin(a * y) + c * math.cos(a * x)),
            kl.float32(math.sin(b * x) + d * math.cos(b * y)),
        )
        row = int((2.2 - y) / 4.4 * rows)
        column = int((x + 2.2) / 4.4 * columns)
        if n >= 20 and 0 <= row < rows and 0 <= column < columns:
            kl.atomic_add(counts, (row, column), 1)


# %%
# Libraries that share the processor
# ----------------------------------
#
# The starting points are drawn from a key, so they are the same everywhere. Kernels run on the
# arrays of every library with host memory. All CPU devices count the same, because they run the
# same program.


def counted(device, count=2000, steps=1020):
    starts = pa.random.uniform(
        pa.random.key(1, device=device), (count, 2), dtype=pa.float32, low=-2, high=2
    )
    counts = pa.zeros((400, 400), dtype=pa.int32, device=device)
    a, b, c, d = -1.7, 1.8, -0.9, -0.4
    return visit(counts, starts, steps, a, b, c, d, ndrange=(count,))


pictures = {}
for device in pa.devices():
    if device.platform == "cpu":
        pictures[str(device)] = counted(device).to_device("numpy")
reference = pictures["numpy:cpu:0"]
for name, counts in pictures.items():
    different = int(pa.count_nonzero(counts != reference))
    print(f"{name:20} {int(pa.sum(counts))} points, {different} counts differ")

# %%
# The picture
# -----------

figure, axes = plt.subplots(figsize=(6, 5.6), layout="constrained")
axes.imshow(np.log1p(np.asarray(reference)), cmap="inferno", extent=(-2.2, 2.2, -2.2, 2.2))
axes.set(xlabel="x", ylabel="y", title="Clifford's attractor, two million points")
plt.show()
