"""
Two galaxies pass each other
============================

Many light bodies around two heavy ones, which pass each other: what happened to galaxies that
have tails today. Attraction is a sum over all pairs, by array functions alone, and runs on
every device.
"""

# %%
# Two discs
# ---------
#
# Bodies on circles around each middle, with the speed that keeps them there. The numbers of rings
# and bodies make 600 of them.

import matplotlib.pyplot as plt
import numpy as np

import portarray as pa


def disc(centre, velocity, turn):
    """Return places and velocities of bodies on rings around a heavy one."""
    radius = np.repeat(np.linspace(0.25, 0.9, 15), 20)
    angle = np.linspace(0, 30 * np.pi, 300) + radius
    position = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    speed = turn * np.stack([-position[:, 1], position[:, 0]], axis=1) / radius[:, None] ** 1.5
    return position + centre, speed + velocity


first_disc = disc((-2, -1.1), (0.75, 0.0), 1)
second_disc = disc((2, 1.1), (-0.75, 0.0), 1)
places = np.concatenate([[[-2, -1.1], [2, 1.1]], first_disc[0], second_disc[0]]).astype(np.float32)
speeds = np.concatenate([[[0.75, 0.0], [-0.75, 0.0]], first_disc[1], second_disc[1]]).astype(
    np.float32
)

# %%
# Attraction
# ----------
#
# Only the two middles are heavy, so that 602 bodies have 1204 pairs. The step is that of
# leapfrog: half a kick, a drift, half a kick. It keeps the energy for long times. Ten steps are
# one program.

DT = 0.01


def attraction(x):
    """Return the acceleration of each body by the first two."""
    apart = x[None, :2, :] - x[:, None, :]
    squares = pa.sum(apart**2, axis=2, keepdims=True) + 0.02
    return pa.sum(apart / (squares * pa.sqrt(squares)), axis=1)


@pa.compile
def ten_steps(x, v):
    for _ in range(10):
        v = v + DT / 2 * attraction(x)
        x = x + DT * v
        v = v + DT / 2 * attraction(x)
    return x, v


def fly(device, moments=4, between=18):
    """Return where the bodies are at some moments."""
    x, v = pa.asarray(places, device=device), pa.asarray(speeds, device=device)
    snapshots = [x]
    for _ in range(moments - 1):
        for _ in range(between):
            x, v = ten_steps(x, v)
        snapshots.append(x)
    return pa.stack(snapshots).to_device("numpy")


# %%
# On every device
# ---------------
#
# Bodies that come close to a middle are thrown far, and rounding grows there: the median
# difference says more than the largest.

positions = fly("numpy")
for device in pa.devices():
    apart = pa.linalg.vector_norm(fly(device)[-1, ...] - positions[-1, ...], axis=1)
    median = float(pa.sort(apart)[apart.shape[0] // 2])
    print(f"{device!s:20} median difference {median:.1e}, largest {float(pa.max(apart)):.1e}")

# %%
# The picture
# -----------

figure, several = plt.subplots(
    1, 4, figsize=(11, 3.4), layout="constrained", sharex=True, sharey=True
)
for n, axes in enumerate(several):
    axes.scatter(positions[n, 2:302, 0], positions[n, 2:302, 1], s=2, color="C0")
    axes.scatter(positions[n, 302:, 0], positions[n, 302:, 1], s=2, color="C1")
    axes.plot(positions[n, :2, 0], positions[n, :2, 1], "k*", ms=8)
    axes.set(title=f"time {n * 1.8:.1f}", aspect="equal", xlim=(-4, 4), ylim=(-4, 4), xlabel="x")
several[0].set_ylabel("y")
figure.suptitle("Two galaxies pass each other")
plt.show()
