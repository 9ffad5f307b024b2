"""
k-means
=======

k-means divides points into groups: each point joins the nearest of k centres, and each centre
moves to the middle of its points, until nothing changes. A program in standard names finds the
same groups on every device.
"""

# %%
# Points around five places
# -------------------------

import matplotlib.pyplot as plt

import portarray as pa

places_key, points_key = pa.random.split(pa.random.key(79, device="numpy"))
middles = pa.random.uniform(places_key, (5, 2), dtype=pa.float32, low=-4, high=4)
noise = pa.random.normal(points_key, (5, 200, 2), dtype=pa.float32, scale=0.8)
points = pa.reshape(middles[:, None, :] + noise, (1000, 2))

# %%
# The program
# -----------
#
# Distances are a matrix, points by centres. So is membership, with ones and zeros: its product
# with the points adds up those of each group. ``xp.all(...)`` in the condition reads one number
# from the device, in each step.


def nearest(points, centres):
    """Return the number of the centre that is nearest to each point."""
    xp = points.__array_namespace__()
    return xp.argmin(xp.sum((points[:, None, :] - centres) ** 2, axis=2), axis=1)


def k_means(points, centres):
    """Return the centres of each step, the last of which do not move any more."""
    xp = points.__array_namespace__()
    numbers = xp.arange(centres.shape[0], device=points.device)
    path = [centres]
    while len(path) < 2 or xp.any(path[-1] != path[-2]):
        member = xp.astype(nearest(points, path[-1]) == numbers[:, None], points.dtype)
        path.append(member @ points / xp.sum(member, axis=1, keepdims=True))
    return xp.stack(path)


# %%
# On every device
# ---------------
#
# All begin with the same five points, in a bad place.

path = k_means(points, points[:5, :])
groups = nearest(points, path[-1, ...])
for device in pa.devices():
    here = points.to_device(device)
    there = k_means(here, here[:5, :])
    same = nearest(here, there[-1, ...]).to_device("numpy") == groups
    print(
        f"{device!s:20} {there.shape[0] - 1} steps, {int(pa.count_nonzero(same))} of 1000 the same"
    )

# %%
# The groups and the ways of their centres
# ----------------------------------------
#
# The plane is divided by the same function: the points of a grid join their nearest centres, too.

edge = pa.linspace(-7, 7, 300, dtype=pa.float32, device="numpy")
across, up = pa.meshgrid(edge, edge)
regions = nearest(
    pa.stack([pa.reshape(across, (-1,)), pa.reshape(up, (-1,))], axis=1), path[-1, ...]
)

figure, axes = plt.subplots(figsize=(6.5, 6), layout="constrained")
axes.contourf(edge, edge, pa.reshape(regions, across.shape), levels=range(-1, 5), cmap="Pastel2")
for group, marker in enumerate("os^Dv"):
    here = points[groups == group, :]
    axes.scatter(here[:, 0], here[:, 1], s=10, marker=marker, color="0.35", lw=0)
    centre_path = path[:, group, :]
    axes.plot(centre_path[:, 0], centre_path[:, 1], "k.-", lw=1, ms=5)
axes.plot(path[-1, :, 0], path[-1, :, 1], "*", color="gold", mec="black", ms=20, label="centre")
axes.set(aspect="equal", xlabel="x", ylabel="y", title="Five groups and the ways of their centres")
axes.legend(loc="upper right")
plt.show()
