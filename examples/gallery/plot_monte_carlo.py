"""
Pi from random points that are the same everywhere
==================================================

A quarter of a disc fills pi / 4 of a square, so count which random points fall into it. The numbers
of :mod:`portarray.random` depend only on a key and on their position. Every device therefore draws
the same points, and finds the same wrong digits.
"""

# %%
# Drawing points
# --------------
#
# ``uniform`` gives the same bits on all devices. The squares of float32 numbers are rounded in the
# same way everywhere, because IEEE 754 defines products and sums exactly.

import math

import matplotlib.pyplot as plt

import portarray as pa

COUNT = 200_000


def thrown(key, count=COUNT):
    """Return random points of the unit square, and whether each of them is in the disc."""
    points = pa.random.uniform(key, (count, 2), dtype=pa.float32)
    return points, points[:, 0] * points[:, 0] + points[:, 1] * points[:, 1] < 1


# %%
# On every device
# ---------------
#
# The counts are integers and equal, and so is each point.

reference, inside = thrown(pa.random.key(2024, device="numpy"))
for device in pa.devices():
    points, hits = thrown(pa.random.key(2024, device=device))
    hit = int(pa.count_nonzero(hits))
    equal = bool(pa.all(points.to_device("numpy") == reference))
    print(f"{device!s:20} {hit} hits, pi = {4 * hit / COUNT:.5f}, all points equal: {equal}")

# %%
# Convergence
# -----------
#
# Ten experiments run at once: ``split`` returns a key for each. The running mean of each is a
# cumulative sum. The error falls slowly, with the square root of the number of points.

hits = pa.stack(
    [thrown(key, 20_000)[1] for key in pa.random.split(pa.random.key(5, device="numpy"), 10)]
)
counts = pa.arange(1, 20_001, dtype=pa.float64, device="numpy")
estimates = 4 * pa.cumulative_sum(pa.astype(hits, pa.float64), axis=1) / counts

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
few = slice(0, 2000)
colours = ["C0" if is_inside else "C1" for is_inside in inside[few].tolist()]
left.scatter(reference[few, 0], reference[few, 1], s=4, c=colours)
turn = pa.linspace(0, pa.pi / 2, 100, device="numpy")
left.plot(pa.cos(turn), pa.sin(turn), color="black")
left.set(aspect="equal", xlabel="x", ylabel="y", title="The first 2000 points")
deviation = 4 * math.sqrt(math.pi / 4 * (1 - math.pi / 4))
right.loglog(counts, pa.abs(estimates - math.pi).T, color="C0", lw=0.6, alpha=0.6)
right.loglog(counts, deviation / pa.sqrt(counts), color="black", lw=2, label="standard deviation")
right.plot([], [], color="C0", label="ten experiments")
right.set(xlabel="points", ylabel="error of pi", title="The error", ylim=(1e-5, 3))
right.legend(loc="lower left")
plt.show()
