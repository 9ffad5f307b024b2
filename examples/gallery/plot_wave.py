"""
Waves behind two slits
======================

A wave meets a wall with two slits. Behind it two waves meet, and add up or cancel each other.
The wave equation is a few lines of array code with shifted slices; :func:`portarray.compile`
makes one loop over memory of them.
"""

# %%
# The equation
# ------------
#
# The second derivative in time is the sum of those in space. In differences: what comes next
# depends on now, on before, and on four neighbours. The wall is a mask of zeros, and a layer at
# the border swallows what arrives there.

import math

import matplotlib.pyplot as plt

import portarray as pa

HEIGHT, WIDTH = 240, 320


def step(previous, now, medium):
    """Return the wave after one step of time."""
    inner = now[1:-1, 1:-1]
    neighbours = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2]
    after = 2 * inner - previous[1:-1, 1:-1] + 0.25 * (neighbours - 4 * inner)
    padded = pa.zeros_like(now)
    padded[1:-1, 1:-1] = after
    return padded * medium


# %%
# The medium
# ----------
#
# One where waves pass, zero in the wall, a little less than one near the border.


def medium_of(device):
    x = pa.arange(WIDTH, dtype=pa.float32, device=device)
    y = pa.arange(HEIGHT, dtype=pa.float32, device=device)[:, None]
    edge = pa.minimum(pa.minimum(x, WIDTH - 1 - x), pa.minimum(y, HEIGHT - 1 - y))
    absorbing = 1 - 0.04 * pa.clip(1 - edge / 25, 0.0, None) ** 2
    slit = (pa.abs(pa.abs(y - HEIGHT / 2) - 28) < 6) | (pa.abs(x - 90) > 2)
    return pa.astype(slit, pa.float32) * absorbing


# %%
# On every device
# ---------------
#
# A line on the left swings. Compiled or not, the answer is the same.


def run(advance, device, steps=500):
    """Return the wave after a number of steps."""
    medium = medium_of(device)
    previous = now = pa.zeros((HEIGHT, WIDTH), dtype=pa.float32, device=device)
    for n in range(steps):
        previous, now = now, advance(previous, now, medium)
        now[:, 30] += 0.1 * math.sin(0.4 * n)
    return now


waves = {str(device): run(pa.compile(step), device) for device in pa.devices()}
reference = waves["numpy:cpu:0"]
for name, wave in waves.items():
    difference = float(pa.max(pa.abs(wave.to_device("numpy") - reference)))
    print(f"{name:20} differs by {difference:.1e}")

print(
    float(pa.max(pa.abs(run(step, "numpy") - reference))), "is the difference without compilation"
)

# %%
# The picture
# -----------
#
# Rays leave the wall where the waves of both slits agree, and between them is calm.

figure, axes = plt.subplots(figsize=(8, 5.5), layout="constrained")
shown = axes.imshow(reference, cmap="RdBu", vmin=-0.6, vmax=0.6, interpolation="bilinear")
wall = medium_of(pa.device("numpy")) == 0
axes.imshow(pa.where(wall, 1.0, pa.nan), cmap="gray", vmin=1, vmax=2, interpolation="nearest")
axes.set(xlabel="x", ylabel="y", title="Two slits: a wave after 500 steps")
figure.colorbar(shown, label="height", shrink=0.8)
plt.show()
