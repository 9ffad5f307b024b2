"""
What your devices can do
========================

portarray has every function of the standard on every device. Where the library has one, that is
called; where not, the function is *composed* of others on the device, or computed on the
*host*. :func:`portarray.support` tells which, and for which dtypes.
"""

# %%
# The table
# ---------
#
# A row for each device and function.

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

import portarray as pa

rows = pa.support()
print(rows[0])
print(len(rows), "rows,", len({row.function for row in rows}), "functions")

# %%
# Who computes
# ------------

devices = list(dict.fromkeys(row.device for row in rows))
counts = Counter((row.device, row.served) for row in rows)
for device in devices:
    totals = ", ".join(f"{counts[device, kind]} {kind}" for kind in ("native", "composed", "host"))
    print(f"{device:20} {totals}")

# %%
# Which dtypes
# ------------
#
# For each chapter of the standard: the share of functions that take a dtype. Chapters are those
# of the standard's own pages. Yellow are dtypes that a device has not, or for which functions
# mean nothing, as the bits of a floating-point number.

categories = list(dict.fromkeys(row.chapter for row in rows))
dtypes = list(dict.fromkeys(dtype for row in rows for dtype in row.dtypes))


def share(device):
    """Return how many functions of each chapter take each dtype, between 0 and 1."""
    shares = np.zeros((len(categories), len(dtypes)))
    for category in categories:
        matching = [row for row in rows if row.device == device and row.chapter == category]
        for row in matching:
            for dtype in row.dtypes:
                shares[categories.index(category), dtypes.index(dtype)] += 1 / len(matching)
    return shares


# %%
# The picture
# -----------

figure, several = plt.subplots(
    1,
    len(devices),
    figsize=(3 + 3.6 * len(devices), 5),
    layout="constrained",
    sharey=True,
    squeeze=False,
)
for axes, device in zip(several[0], devices, strict=True):
    image = axes.imshow(share(device), cmap="cividis_r", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(dtypes)), dtypes, rotation=90)
    axes.set_yticks(range(len(categories)), [name.replace("_", " ") for name in categories])
    axes.set_title(device)
figure.colorbar(image, ax=several, label="share of the chapter's functions", shrink=0.8)
figure.suptitle("Dtypes of the standard's functions on each device")
plt.show()
