"""
Rounding errors of elementwise functions
========================================

Sums and products are rounded the same everywhere. Functions such as the sine are not: each library
computes them differently, with errors of a few units in the last place. This example measures the
errors on every device.
"""

# %%
# The measure
# -----------
#
# The unit in the last place of a float32 number is the distance to its neighbour. Rounding an exact
# result costs up to half a unit. The reference is NumPy in float64.

import matplotlib.pyplot as plt
import numpy as np

import portarray as pa

FUNCTIONS = {
    "exp": (pa.exp, -10, 10),
    "log": (pa.log, 0.1, 10),
    "sin": (pa.sin, -10, 10),
    "tan": (pa.tan, -1.5, 1.5),
    "tanh": (pa.tanh, -3, 3),
    "sqrt": (pa.sqrt, 0, 10),
    "expm1": (pa.expm1, -1, 1),
    "asin": (pa.asin, -1, 1),
}


def errors(function, low, high, device):
    """Return the errors of a function on a device, in units in the last place."""
    x = np.linspace(low, high, 20_001, dtype=np.float32)
    result = np.asarray(function(pa.asarray(x, device=device)).to_device("numpy"))
    exact = np.asarray(function(pa.asarray(x, device="numpy", dtype=pa.float64)))
    return np.abs(result - exact) / np.spacing(np.abs(exact).astype(np.float32))


# %%
# On every device
# ---------------

worst = {
    str(device): [float(errors(*entry, device).max()) for entry in FUNCTIONS.values()]
    for device in pa.devices()
}
print(f"{'':18}" + "".join(f"{name:>7}" for name in FUNCTIONS))
for device, device_errors in worst.items():
    print(f"{device:18}" + "".join(f"{entry:7.2f}" for entry in device_errors))

# %%
# The picture
# -----------
#
# IEEE 754 prescribes the rounding of the square root. Any error below one unit is as good as a
# table with one more digit. Comparisons between devices need a tolerance for the larger errors:
# :func:`portarray.testing.assert_close` has one for each dtype.

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
width = 0.8 / len(worst)
for n, (device, device_errors) in enumerate(worst.items()):
    at = np.arange(len(FUNCTIONS)) - 0.4 + (n + 0.5) * width
    hatch = ("", "//", "..", "xx", "\\\\", "++", "oo")[n % 7]
    axes.bar(at, device_errors, width, label=device, color=f"C{n}", edgecolor="white", hatch=hatch)
axes.axhline(0.5, color="black", lw=1, ls="--", label="perfect rounding")
axes.set(
    ylabel="largest error [units in the last place]",
    title="Functions in float32, compared with float64",
)
axes.set_xticks(range(len(FUNCTIONS)), FUNCTIONS)
axes.legend()
plt.show()
