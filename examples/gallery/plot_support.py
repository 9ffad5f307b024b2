"""
Supported functions and dtypes of your devices
==============================================

portarray has every function of the standard on every device. If the library has the function,
portarray calls it. Otherwise the function is *composed* of others on the device, or computed on the
*host*. :func:`portarray.support` returns which, and for which dtypes.
"""

# %%
# The table
# ---------
#
# The table has a row for each device and function.

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

import portarray as pa

rows = pa.support()
print(rows[0])
print(len(rows), "rows,", len({row.function for row in rows}), "functions")

# %%
# Implementations
# ---------------

devices = list(dict.fromkeys(row.device for row in rows))
counts = Counter((row.device, row.served) for row in rows)
for device in devices:
    summary = ", ".join(
        f"{counts[device, implementation]} {implementation}"
        for implementation in ("native", "composed", "host")
    )
    print(f"{device:20} {summary}")

# %%
# Dtypes
# ------
#
# For each category of the standard, this is the share of functions that accept a dtype. Yellow
# dtypes are missing on a device, or meaningless for the functions, as bitwise operations are for
# floating-point numbers.

categories = list(dict.fromkeys(row.category for row in rows))
dtypes = list(dict.fromkeys(dtype for row in rows for dtype in row.dtypes))


def share(device):
    """Return the share of functions in each category that accept each dtype."""
    shares = np.zeros((len(categories), len(dtypes)))
    for category in categories:
        category_rows = [row for row in rows if row.device == device and row.category == category]
        for row in category_rows:
            for dtype in row.dtypes:
                shares[categories.index(category), dtypes.index(dtype)] += 1 / len(category_rows)
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
    axes.set_yticks(
        range(len(categories)), [category_name.replace("_", " ") for category_name in categories]
    )
    axes.set_title(device)
figure.colorbar(image, ax=several, label="share of the category's functions", shrink=0.8)
figure.suptitle("Dtypes of the standard's functions on each device")
plt.show()
