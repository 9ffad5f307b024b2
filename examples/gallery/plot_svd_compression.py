"""
A map in few numbers: compression by SVD
========================================

The singular value decomposition writes a matrix as a sum of products of a column and a row, the
largest first. The first few are the best approximation of their number that there is. Here the
matrix is a map of heights.
"""

# %%
# The map
# -------
#
# Matplotlib comes with the heights of the mountains around Jacksboro, Tennessee.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import cbook

import portarray as pa

file = cbook.get_sample_data("jacksboro_fault_dem.npz", asfileobj=False)
heights = np.load(file)["elevation"].astype(np.float32)
print(f"{heights.shape[0]} x {heights.shape[1]} heights in metres")

# %%
# The decomposition on each device
# --------------------------------
#
# Singular vectors are not unique: their signs may differ from library to library. Their products
# with the singular values are, and so is the approximation.


def approximation(x, rank):
    """Return the best approximation of a matrix by that many products of a column and a row."""
    xp = x.__array_namespace__()
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    return (u[:, :rank] * s[:rank]) @ vh[:rank, :]


reference = approximation(pa.asarray(heights, device="numpy"), 20)
for device in pa.devices():
    on_device = approximation(pa.asarray(heights, device=device), 20).to_device("numpy")
    print(f"{device!s:20} differs by {float(pa.max(pa.abs(on_device - reference))):.3f} m at most")

# %%
# How much is enough
# ------------------
#
# A product of rank r keeps ``r * (344 + 403 + 1)`` numbers. With 20 of them, a ninth of the
# numbers, the map is off by 26 m. The singular values tell so: the mean square of the error is
# the sum of the squares of those left out, divided by the number of heights.

x = pa.asarray(heights, device="numpy")
s = pa.linalg.svdvals(x)
squares = pa.flip(pa.cumulative_sum(pa.flip(s**2)))
error = pa.sqrt(squares / x.size)  # error[r] is left by r products

figure, several = plt.subplot_mosaic(
    [["5", "20", "map"], ["error", "error", "error"]],
    figsize=(9, 6),
    layout="constrained",
    height_ratios=(3, 2),
)
shown = {"5": approximation(x, 5), "20": reference, "map": x}
for name, axes in list(several.items())[:3]:
    axes.imshow(shown[name], cmap="cividis", vmin=heights.min(), vmax=heights.max())
    axes.set_axis_off()
    axes.set_title("the map" if name == "map" else f"{name} products")
axes = several["error"]
axes.semilogy(error)
for rank in (5, 20):
    axes.plot(rank, float(error[rank]), "o", color="C1")
    axes.annotate(
        f"{rank}: {float(error[rank]):.0f} m",
        (rank, float(error[rank])),
        textcoords="offset points",
        xytext=(6, 6),
    )
axes.set(xlabel="number of products", ylabel="error [m]", ylim=(1e-1, None))
figure.suptitle("Heights around Jacksboro as a sum of few products")
plt.show()
