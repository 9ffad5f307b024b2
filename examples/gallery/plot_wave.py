"""
Waves behind two slits
======================

A wave meets a wall with two slits. Behind it, two waves add up or cancel each other. The wave
equation is a few lines of array code with shifted slices; :func:`portarray.compile` turns them into
one loop over memory.
"""

# %%
# The equation
# ------------
#
# The second derivative in time equals the sum of those in space. In differences, the next value
# depends on the current one, on the previous one, and on four neighbours. The wall is a mask of
# zeros, and a layer at the border absorbs the waves that reach it.

import math

import matplotlib.pyplot as plt

import portarray as pa

HEIGHT, COLUMNS = 240, 320


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
# The factor is one in the medium, zero in the wall, and a little less than one near the border.


def medium_of(device):
    x = pa.arange(COLUMNS, dtype=pa.float32, device=device)
    y = pa.arange(HEIGHT, dtype=pa.float32, device=device)[:, None]
    edge = pa.minimum(pa.minimum(x, COLUMNS - 1 - x), pa.minimum(y, HEIGHT - 1 - y))
    absorbing = 1 - 0.04 * pa.clip(1 - edge / 25, 0.0, None) ** 2
    slit = (pa.abs(pa.abs(y - HEIGHT / 2) - 28) < 6) | (pa.abs(x - 90) > 2)
    return pa.astype(slit, pa.float32) * absorbing


# %%
# On every device
# ---------------
#
# A line on the left oscillates. The answer is the same with and without compilation.


def run(advance, device, steps=500):
    """Return the wave after a number of steps."""
    medium = medium_of(device)
    previous = now = pa.zeros((HEIGHT, COLUMNS), dtype=pa.float32, device=device)
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
# Beams leave the wall where the waves of both slits agree, with calm regions between them.

figure, axes = plt.subplots(figsize=(8, 5.5), layout="constrained")
shown = axes.imshow(reference, cmap="RdBu", vmin=-0.6, vmax=0.6, interpolation="bilinear")
wall = medium_of(pa.device("numpy")) == 0
axes.imshow(pa.where(wall, 1.0, pa.nan), cmap="gray", vmin=1, vmax=2, interpolation="nearest")
axes.set(xlabel="x", ylabel="y", title="Two slits: a wave after 500 steps")
figure.colorbar(shown, label="height", shrink=0.8)
plt.show()
