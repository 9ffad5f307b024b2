"""
A smooth curve through points: cubic splines
============================================

A cubic spline goes through given points, in pieces of third degree that meet with equal slopes
and curvatures. The slopes at the points solve a linear system, here for many curves at once.
"""

# %%
# Points of a closed curve
# ------------------------
#
# Eight points in the plane. A curve through them is two splines, x and y, over one parameter.

import matplotlib.pyplot as plt

import portarray as pa

CORNERS = [
    (1, 0),
    (2.2, 1.4),
    (0.9, 1.1),
    (-0.4, 2.2),
    (-1, 0.6),
    (-2.4, 0.2),
    (-1, -1.2),
    (0.4, -0.9),
]

# %%
# The system
# ----------
#
# Where pieces meet, equal curvatures mean ``k[i-1] + 4 k[i] + k[i+1] = 3 (y[i+1] - y[i-1])`` for
# the slopes k. The curve is closed, so that the equations go round: ``roll`` makes the matrix of
# one shifted identity, and the right-hand side of shifted points. The two columns of the
# right-hand side are solved together.


def slopes(points):
    """Return the slopes of the closed cubic spline at its points."""
    xp = points.__array_namespace__()
    eye = xp.eye(points.shape[0], dtype=points.dtype, device=points.device)
    matrix = 4 * eye + xp.roll(eye, 1, axis=1) + xp.roll(eye, -1, axis=1)
    return xp.linalg.solve(matrix, 3 * (xp.roll(points, -1, axis=0) - xp.roll(points, 1, axis=0)))


# %%
# Each piece is a sum of its two ends and their slopes, with Hermite's polynomials as weights. The
# pieces are one more axis.


def curve(points, count=40):
    """Return points on the closed spline."""
    xp = points.__array_namespace__()
    k = slopes(points)
    after = xp.roll(points, -1, axis=0), xp.roll(k, -1, axis=0)
    p, q, kp, kq = (x[:, None, :] for x in (points, after[0], k, after[1]))
    t = xp.linspace(0, 1, count, dtype=points.dtype, device=points.device)[:, None]
    position = (
        (2 * t**3 - 3 * t**2 + 1) * p
        + (3 * t**2 - 2 * t**3) * q
        + (t**3 - 2 * t**2 + t) * kp
        + (t**3 - t**2) * kq
    )
    return xp.reshape(position, (-1, 2))


# %%
# On every device
# ---------------

points = pa.asarray(CORNERS, dtype=pa.float32, device="numpy")
smooth = curve(points)
for device in pa.devices():
    difference = pa.max(pa.abs(curve(points.to_device(device)).to_device("numpy") - smooth))
    print(f"{device!s:20} differs by {float(difference):.1e}")

# %%
# The picture
# -----------
#
# The arrows are the slopes that were solved for. They are the derivatives by the parameter, which
# grows by one from point to point; a third of each is drawn.

figure, axes = plt.subplots(figsize=(6.5, 5.5), layout="constrained")
closed = pa.concat([points, points[:1, :]])
axes.plot(closed[:, 0], closed[:, 1], "--", color="0.6", label="straight lines")
axes.plot(smooth[:, 0], smooth[:, 1], lw=2.5, label="cubic spline")
for (x, y), (dx, dy) in zip(points.tolist(), (slopes(points) / 3).tolist(), strict=True):
    axes.arrow(x, y, dx, dy, color="C1", width=0.015, length_includes_head=True, zorder=3)
axes.plot([], [], color="C1", label="slopes")
axes.plot(points[:, 0], points[:, 1], "ko", label="points", zorder=4)
axes.set(aspect="equal", xlabel="x", ylabel="y", title="A closed curve through eight points")
axes.legend(loc="upper left")
plt.show()
