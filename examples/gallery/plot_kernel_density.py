"""
A kernel density estimate
=========================

A kernel density estimate puts a small hill on each point. To choose the width of the hills, leave
out each point in turn and compute its probability from the others. The best width maximizes this
probability.
"""

# %%
# Points on two moons
# -------------------

import matplotlib.pyplot as plt

import portarray as pa


def moons(key, count):
    """Return points around two half circles."""
    angle_key, noise_key = pa.random.split(key)
    angle = pa.random.uniform(angle_key, (count,), dtype=pa.float32, high=pa.pi)
    upper = pa.arange(count, device=key.device) < count // 2
    x = pa.where(upper, pa.cos(angle), 1 - pa.cos(angle))
    y = pa.where(upper, pa.sin(angle), 0.5 - pa.sin(angle))
    noise = pa.random.normal(noise_key, (count, 2), dtype=pa.float32, scale=0.12)
    return pa.stack([x, y], axis=1) + noise


points = moons(pa.random.key(8, device="numpy"), 300)

# %%
# The estimate
# ------------
#
# Squared distances of all pairs form a matrix. Far from every point, their exponentials may all be
# zero in float32. The function therefore computes the logarithm of the sum and factors out the
# largest term first.


def squared_distances(a, b):
    """Return the squared distance of each row of a from each row of b."""
    xp = a.__array_namespace__()
    return xp.sum((a[:, None, :] - b[None, :, :]) ** 2, axis=2)


def log_density(squares, width):
    """Return the logarithm of the density of hills of a width, at each row of distances."""
    xp = squares.__array_namespace__()
    exponents = -squares / (2 * width**2)
    largest = xp.max(exponents, axis=1, keepdims=True)
    sums = xp.log(xp.sum(xp.exp(exponents - largest), axis=1)) + largest[:, 0]
    return sums - xp.log(2 * xp.pi * width**2 * squares.shape[1])


def left_out(points, width):
    """Return the mean logarithm of the density at each point, computed from the other points."""
    xp = points.__array_namespace__()
    itself = xp.eye(points.shape[0], dtype=xp.bool, device=points.device)
    squares = xp.where(itself, xp.inf, squared_distances(points, points))
    return float(xp.mean(log_density(squares, width)))


# %%
# The width, on every device
# --------------------------

candidates = [0.03 * 1.15**n for n in range(24)]
scores = {}
for device in pa.devices():
    here = points.to_device(device)
    scores[str(device)] = [
        left_out(here, pa.asarray(w, dtype=pa.float32, device=device)) for w in candidates
    ]
    best = max(zip(scores[str(device)], candidates, strict=True))
    print(f"{device!s:20} best width {best[1]:.3f}, score {best[0]:.5f}")

# %%
# The density
# -----------
#
# Hills that are too narrow show each point; hills that are too wide hide the moons. The picture
# shows the square root of the density, in which low values are easier to see.

x, y = pa.linspace(-1.6, 2.6, 100, device="numpy"), pa.linspace(-1.2, 1.6, 80, device="numpy")
across, up = pa.meshgrid(x, y)
grid = pa.astype(pa.stack([pa.reshape(across, (-1,)), pa.reshape(up, (-1,))], axis=1), pa.float32)
squares = squared_distances(grid, points)

figure, several = plt.subplot_mosaic(
    [["0.03", "best", "0.5"], ["scores", "scores", "scores"]],
    figsize=(9, 5),
    layout="constrained",
)
for name, width in (("0.03", 0.03), ("best", best[1]), ("0.5", 0.5)):
    density = pa.exp(log_density(squares, pa.asarray(width, dtype=pa.float32, device="numpy")))
    axes = several[name]
    axes.contourf(x, y, pa.reshape(pa.sqrt(density), across.shape), levels=12, cmap="Blues")
    axes.scatter(points[:, 0], points[:, 1], s=2, color="C1")
    axes.set(title=f"width {width:.2f}", aspect="equal")
for n, (name, score) in enumerate(scores.items()):
    several["scores"].semilogx(candidates, score, ("-", "--", ":", "-.")[n % 4], lw=2, label=name)
several["scores"].axvline(best[1], color="0.6", lw=1)
several["scores"].set(
    xlabel="width", ylabel="mean log density", title="How probable points are by the others"
)
several["scores"].set_xticks([0.03, 0.1, 0.3], ["0.03", "0.1", "0.3"])
several["scores"].minorticks_off()
several["scores"].legend()
figure.suptitle("The density of two moons")
plt.show()
