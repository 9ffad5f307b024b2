"""
Heat through a plate that two libraries share
=============================================

A plate is cut in two. Each half lives on a device of its own, by two libraries where two are
functional, and after each step the halves exchange the rows at the cut. A
:class:`~portarray.tasks.Region` runs both at once, moves the rows, and keeps the order.
"""

# %%
# The devices
# -----------

import matplotlib.pyplot as plt

import portarray as pa
from portarray.tasks import In, InOut, Out, Region

devices = pa.devices()
upper_device, lower_device = pa.device("numpy"), devices[1 if len(devices) > 1 else 0]
print(upper_device, lower_device)

# %%
# The halves
# ----------
#
# Each has a row more at the cut: the neighbour's. The plate is hot along a part of its upper edge
# and in a spot on the cut, and cold along the others.

HEIGHT, WIDTH = 60, 160


def plate():
    """Return the whole plate at the beginning."""
    x = pa.zeros((2 * HEIGHT, WIDTH), dtype=pa.float32, device="numpy")
    x[0, 30:90] = 1.0
    x[45:85, 105:135] = 1.0
    return x


def diffuse(half):
    """Make one step in place; the border stays as it is."""
    inner = half[1:-1, 1:-1]
    around = half[2:, 1:-1] + half[:-2, 1:-1] + half[1:-1, 2:] + half[1:-1, :-2]
    half[1:-1, 1:-1] = inner + 0.25 * (around - 4 * inner)


def copy_row(half, index, row):
    row[...] = half[index, :]


def put_row(half, index, row):
    half[index, :] = row


# %%
# The steps
# ---------
#
# The program says what each function reads and writes, in the order of a serial one. What does
# not depend on each other runs at once. A row is written on one device and read on the other: it
# is copied there by a task of its own, which nobody has to spawn.


def run(steps):
    """Return the plate after some steps, and the region that computed them."""
    whole = plate()
    upper = pa.asarray(whole[: HEIGHT + 1, :], copy=True).to_device(upper_device)
    lower = pa.asarray(whole[HEIGHT - 1 :, :], copy=True).to_device(lower_device)
    down = pa.zeros(WIDTH, dtype=pa.float32, device=upper_device)
    up = pa.zeros(WIDTH, dtype=pa.float32, device=lower_device)
    with Region() as region:
        for _ in range(steps):
            region.spawn(diffuse, InOut(upper))
            region.spawn(diffuse, InOut(lower))
            region.spawn(copy_row, In(upper), -2, Out(down))
            region.spawn(copy_row, In(lower), 1, Out(up))
            region.spawn(put_row, InOut(upper), -1, In(up))
            region.spawn(put_row, InOut(lower), 0, In(down))
    parts = upper.to_device("numpy")[:-1, :], lower.to_device("numpy")[1:, :]
    return pa.concat(parts), region


halves, region = run(400)
print(f"{len(region.graph().nodes)} tasks, {region.graph().moves} of them copies between devices")

# %%
# The whole plate in one piece, on one device, has the same temperatures.

whole = plate()
for _ in range(400):
    diffuse(whole)
print(f"largest difference: {float(pa.max(pa.abs(whole - halves))):.1e}")

# %%
# The picture
# -----------

figure, axes = plt.subplots(figsize=(8, 5.6), layout="constrained")
image = axes.imshow(halves, cmap="inferno", vmin=0, vmax=0.8)
axes.axhline(HEIGHT - 0.5, color="white", ls="--", lw=1)
for row, device in ((HEIGHT - 3, upper_device), (HEIGHT + 5, lower_device)):
    axes.text(2, row, str(device), color="white", va="center")
axes.set(xlabel="x", ylabel="y", title="Temperature after 400 steps")
figure.colorbar(image, label="temperature", shrink=0.8)
plt.show()
