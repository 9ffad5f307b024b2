"""
How exact are a library's functions?
====================================

Sums and products are rounded the same everywhere. Functions such as the sine are not: each
library computes them in its own way, and is off by a few units in the last place. This example
measures that on every device.
"""

# %%
# The measure
# -----------
#
# The unit in the last place of a float32 number is the distance to its neighbour. An error of
# half a unit is what rounding a perfect result costs. The perfect one is NumPy's in float64.

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
    computed = np.asarray(function(pa.asarray(x, device=device)).to_device("numpy"))
    exact = np.asarray(function(pa.asarray(x, device="numpy", dtype=pa.float64)))
    return np.abs(computed - exact) / np.spacing(np.abs(exact).astype(np.float32))


# %%
# On every device
# ---------------

worst = {
    str(device): [
        float(errors(*function_and_range, device).max())
        for function_and_range in FUNCTIONS.values()
    ]
    for device in pa.devices()
}
print(f"{'':18}" + "".join(f"{name:>7}" for name in FUNCTIONS))
for device, values in worst.items():
    print(f"{device:18}" + "".join(f"{function_and_range:7.2f}" for function_and_range in values))

# %%
# The picture
# -----------
#
# The square root is the one that IEEE 754 prescribes. What else is below one unit is as good as a
# table with one digit more. Comparisons between devices need a tolerance that allows for the
# rest: :func:`portarray.testing.assert_close` has one for each dtype.

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
width = 0.8 / len(worst)
for n, (device, values) in enumerate(worst.items()):
    at = np.arange(len(FUNCTIONS)) - 0.4 + (n + 0.5) * width
    hatch = ("", "//", "..", "xx", "\\\\", "++", "oo")[n % 7]
    axes.bar(at, values, width, label=device, color=f"C{n}", edgecolor="white", hatch=hatch)
axes.axhline(0.5, color="black", lw=1, ls="--", label="perfect rounding")
axes.set(
    ylabel="largest error [units in the last place]",
    title="Functions in float32, beside float64",
)
axes.set_xticks(range(len(FUNCTIONS)), FUNCTIONS)
axes.legend()
plt.show()
