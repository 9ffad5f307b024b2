"""
Ways down a valley: Rosenbrock's function
=========================================

Rosenbrock's function has a long, bent valley with a flat floor, and is what minimizers are
tried on. Gradient descent, momentum, Adam and Newton's method start at one point. All of them
take their derivatives from portarray: :func:`portarray.grad`, and :func:`portarray.jacobian` of
it.
"""

# %%
# The function and its derivatives
# --------------------------------

import matplotlib.pyplot as plt

import portarray as pa


def rosenbrock(p):
    """Return Rosenbrock's function of a point."""
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


slope = pa.grad(rosenbrock)
curvature = pa.jacobian(slope)  # the Hessian, as derivatives nest
start = pa.asarray([-1.5, 1.8], dtype=pa.float64, device="numpy")
print("slope", slope(start).tolist())
print("Hessian", curvature(start).tolist())

# %%
# Four ways
# ---------
#
# Each is a generator of steps: what it yields is added to the point.


def descent(p, rate=1e-3):
    while True:
        p = p - rate * slope(p)
        yield p


def momentum(p, rate=3e-4, keep=0.97):
    v = pa.zeros_like(p)
    while True:
        v = keep * v - rate * slope(p)
        p = p + v
        yield p


def adam(p, rate=0.1, b1=0.9, b2=0.99):
    m = v = pa.zeros_like(p)
    n = 0
    while True:
        g, n = slope(p), n + 1
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        p = p - rate * (m / (1 - b1**n)) / (pa.sqrt(v / (1 - b2**n)) + 1e-8)
        yield p


def newton(p):
    while True:
        p = p - pa.linalg.solve(curvature(p), slope(p))
        yield p


def descend(method, steps):
    """Return the points of a method, as rows."""
    points = method(start)
    return pa.stack([start, *(next(points) for _ in range(steps))])


ways = {
    "gradient descent": descend(descent, 800),
    "momentum": descend(momentum, 800),
    "Adam": descend(adam, 800),
    "Newton": descend(newton, 6),
}

# %%
# The picture
# -----------
#
# Newton's method knows the curvature and needs six steps, of which the second leaps out of the
# valley. The values along all ways are computed at once: ``rosenbrock`` takes the coordinates of
# many points as well as those of one.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.5), layout="constrained")
x, y = pa.linspace(-2, 2, 200, device="numpy"), pa.linspace(-1.2, 3, 200, device="numpy")
height = rosenbrock(pa.stack(pa.meshgrid(x, y)))
left.contour(x, y, pa.log10(height + 1e-3), levels=20, colors="0.85", linestyles="-")
for (name, points), style in zip(ways.items(), ("o-", "s-", "^-", "D-"), strict=True):
    left.plot(points[:, 0], points[:, 1], style, ms=3, lw=1, label=name)
    right.loglog(range(1, len(points) + 1), rosenbrock(points.T), style, ms=3, lw=1, label=name)
left.plot(1, 1, "*", color="gold", mec="black", ms=16)
left.set(xlabel="x", ylabel="y", title="Four ways to the minimum", ylim=(-1.2, 3))
right.set(xlabel="number of points", ylabel="value", title="How far down", ylim=(1e-12, 1e5))
right.legend(loc="lower right")
plt.show()
