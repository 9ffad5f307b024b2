"""
Digits in a plane: principal components
=======================================

Pictures of digits are points in a space of 256 dimensions, one for each pixel. Principal
components are the directions in which the points differ most. Two of them are enough to draw a
map on which digits of one kind lie together.
"""

# %%
# The digits
# ----------
#
# Matplotlib's fonts give ten digits each. Turned and slanted a little at random they make a data
# set that needs no download: 600 pictures of 16 by 16 pixels.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

import portarray as pa

rng = np.random.default_rng(1)
FONTS = [
    FontProperties(family=family, weight=weight)
    for family in ("DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono", "STIXGeneral")
    for weight in ("normal", "bold")
]
grid = np.stack(np.meshgrid(np.linspace(-0.7, 0.7, 48), np.linspace(0.7, -0.7, 48)), axis=-1)


def drawn(digit):
    """Return a picture of a digit in one of the fonts, turned and slanted."""
    path = TextPath((0, 0), str(digit), size=1, prop=FONTS[rng.integers(len(FONTS))])
    low, high = path.vertices.min(axis=0), path.vertices.max(axis=0)
    turn = Affine2D().translate(*(-(low + high) / 2)).scale(1 / (high - low)[1])
    turn = turn.rotate(rng.normal(0, 0.1)).skew(rng.normal(0, 0.15), 0)
    outlines = turn.transform_path(path).to_polygons()
    inside = [Path(outline).contains_points(grid.reshape(-1, 2)) for outline in outlines]
    # Within an odd number of outlines is ink; within two is the hole of a zero.
    ink = np.sum(inside, axis=0) % 2
    return ink.reshape(16, 3, 16, 3).mean(axis=(1, 3))


labels = np.arange(600) % 10
pictures = np.stack([drawn(digit) for digit in labels]).astype(np.float32)

# %%
# Principal components
# --------------------
#
# They are the right singular vectors of the centred rows. A singular vector's sign is arbitrary:
# the largest entry of each is made positive, and then every device finds the same ones.


def principal_components(x, count):
    """Return the first directions, one in each row, and the coordinates of x along them."""
    xp = x.__array_namespace__()
    centred = x - xp.mean(x, axis=0)
    axes = xp.linalg.svd(centred, full_matrices=False).Vh[:count, :]
    largest = xp.argmax(xp.abs(axes), axis=1, keepdims=True)
    axes = axes * xp.sign(xp.take_along_axis(axes, largest, axis=1))
    return axes, centred @ axes.T


rows = pa.asarray(pictures.reshape(600, -1), device="numpy")
components, places = principal_components(rows, 3)
for device in pa.devices():
    _, scores = principal_components(rows.to_device(device), 3)
    difference = pa.max(pa.abs(scores.to_device("numpy") - places))
    print(f"{device!s:20} differs by {float(difference):.1e}")

# %%
# The map
# -------
#
# The components are pictures too: blue pixels count for, red ones against. The first tells 0, 6
# and 8, which have ink on both sides, from 1 and 7, which have it in the middle.

figure, several = plt.subplot_mosaic(
    [["map", "0"], ["map", "1"], ["map", "2"]],
    figsize=(8, 5.5),
    layout="constrained",
    width_ratios=(4, 1),
)
axes = several["map"]
for digit in range(10):
    here = places[pa.asarray(labels == digit, device="numpy"), :]
    colour = plt.cm.viridis(digit / 9)
    axes.scatter(here[:, 0], here[:, 1], s=8, color=colour, alpha=0.7)
    middle = pa.mean(here, axis=0)
    axes.text(
        float(middle[0]),
        float(middle[1]),
        str(digit),
        fontsize=16,
        fontweight="bold",
        ha="center",
        va="center",
        bbox={"boxstyle": "circle", "facecolor": "white", "edgecolor": colour, "lw": 2},
    )
axes.set(xlabel="first component", ylabel="second component", title="600 digits on two axes")
for n in range(3):
    image = pa.reshape(components[n, :], (16, 16))
    several[str(n)].imshow(image, cmap="RdBu", vmin=-0.2, vmax=0.2)
    several[str(n)].set_axis_off()
    several[str(n)].set_title(f"component {n + 1}", fontsize=10)
plt.show()
