"""
Pi by chance, with the same numbers everywhere
==============================================

A fourth of a disc fills pi / 4 of a square: count which random points fall into it. The numbers
of :mod:`portarray.random` depend on a key and on their position, and on nothing else. So every
device throws the same points, and finds the same wrong digits.
"""

# %%
# Throwing points
# ---------------
#
# ``uniform`` makes the same bits on all devices. The squares of float32 numbers are rounded, but
# rounded the same: IEEE 754 leaves no choice for products and sums.

import math

import matplotlib.pyplot as plt

import portarray as pa

COUNT = 200_000


def thrown(key, count=COUNT):
    """Return random points of the unit square, and which of them lie in the disc."""
    points = pa.random.uniform(key, (count, 2), dtype=pa.float32)
    return points, points[:, 0] * points[:, 0] + points[:, 1] * points[:, 1] < 1


# %%
# On every device
# ---------------
#
# The counts are integers, and equal. So is each point.

reference, inside = thrown(pa.random.key(2024, device="numpy"))
for device in pa.devices():
    points, hits = thrown(pa.random.key(2024, device=device))
    hit = int(pa.count_nonzero(hits))
    equal = bool(pa.all(points.to_device("numpy") == reference))
    print(f"{device!s:20} {hit} hits, pi = {4 * hit / COUNT:.5f}, all points equal: {equal}")

# %%
# How fast does it converge?
# --------------------------
#
# Ten experiments at once: ``split`` makes a key for each. The running mean of each comes from a
# cumulative sum. The error falls with the root of the number of points, slowly.

hits = pa.stack(
    [thrown(key, 20_000)[1] for key in pa.random.split(pa.random.key(5, device="numpy"), 10)]
)
counts = pa.arange(1, 20_001, dtype=pa.float64, device="numpy")
estimates = 4 * pa.cumulative_sum(pa.astype(hits, pa.float64), axis=1) / counts

figure, (points_axes, error_axes) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
few = slice(0, 2000)
colours = ["C0" if is_inside else "C1" for is_inside in inside[few].tolist()]
points_axes.scatter(reference[few, 0], reference[few, 1], s=4, c=colours)
turn = pa.linspace(0, pa.pi / 2, 100, device="numpy")
points_axes.plot(pa.cos(turn), pa.sin(turn), color="black")
points_axes.set(aspect="equal", xlabel="x", ylabel="y", title="The first 2000 points")
deviation = 4 * math.sqrt(math.pi / 4 * (1 - math.pi / 4))
error_axes.loglog(counts, pa.abs(estimates - math.pi).T, color="C0", lw=0.6, alpha=0.6)
error_axes.loglog(
    counts, deviation / pa.sqrt(counts), color="black", lw=2, label="standard deviation"
)
error_axes.plot([], [], color="C0", label="ten experiments")
error_axes.set(xlabel="points", ylabel="error of pi", title="The error", ylim=(1e-5, 3))
error_axes.legend(loc="lower left")
plt.show()
