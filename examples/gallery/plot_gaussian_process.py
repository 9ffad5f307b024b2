"""
A Gaussian process through a few points
=======================================

A Gaussian process describes the possible values of a smooth function between measured points, and
their uncertainty. It only needs a Cholesky factor, two triangular systems, and random numbers.
"""

# %%
# Seven measurements
# ------------------

import matplotlib.pyplot as plt

import portarray as pa

measured_at = [-4.0, -3.2, -1.0, 0.3, 1.1, 2.9, 3.4]
measured = [-0.6, 0.2, 0.9, 0.1, -0.8, 0.4, 0.7]
NOISE = 0.05

# %%
# The process
# -----------
#
# The closer two points are, the more similar are their values. Given the measurements, the values
# at other points have a normal distribution, with a mean and a covariance. Both need the inverse of
# the covariance of the measurements; its Cholesky factor is cheaper and more exact.
#
# :func:`portarray.kernels.solve_triangular` is one of portarray's own functions: the standard only
# has ``solve``, which does not use triangular structure.


def covariance(a, b):
    """Return the covariance of the values at a and at b: 1 at equal points, less at a distance."""
    return pa.exp(-0.5 * (a[:, None] - b[None, :]) ** 2)


def posterior(x, y, at):
    """Return the mean and the covariance at other places, given measurements."""
    noise = NOISE**2 * pa.eye(x.shape[0], dtype=x.dtype, device=x.device)
    factor = pa.linalg.cholesky(covariance(x, x) + noise)
    half = pa.kernels.solve_triangular(factor, covariance(x, at), lower=True)
    white = pa.kernels.solve_triangular(factor, y[:, None], lower=True)
    return (half.T @ white)[:, 0], covariance(at, at) - half.T @ half


# %%
# On every device
# ---------------
#
# Sample functions of the process are its mean plus noise that is multiplied by the factor of its
# covariance. The noise has the same key everywhere, so every device draws the same functions. The
# dtype is float64 if the device supports it.

results = {}
for device in pa.devices():
    with device:
        x, y = pa.asarray(measured_at), pa.asarray(measured)
        at = pa.linspace(-5, 5, 200)
        mean, cov = posterior(x, y, at)
        jitter = 1e-10 if x.dtype == pa.float64 else 1e-5
        root = pa.linalg.cholesky(cov + jitter * pa.eye(200))
        noise = pa.random.normal(pa.random.key(6), (200, 4), dtype=pa.float32)
        drawn = mean[:, None] + root @ pa.astype(noise, x.dtype)
        deviation = pa.sqrt(pa.maximum(pa.linalg.diagonal(cov), pa.asarray(0.0)))
    results[str(device)] = pa.to_device((mean, deviation, drawn), "numpy")
    difference = pa.max(pa.abs(results[str(device)][0] - results["numpy:cpu:0"][0]))
    print(f"{device!s:20} {x.dtype!s:8} its mean differs by {float(difference):.1e}")

# %%
# The picture
# -----------

mean, deviation, drawn = results["numpy:cpu:0"]
at = pa.linspace(-5, 5, 200, device="numpy")
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
low, high = mean - 2 * deviation, mean + 2 * deviation
axes.fill_between(at, low, high, color="C0", alpha=0.2, lw=0, label="two standard deviations")
axes.plot(at, drawn, color="0.5", lw=0.8)
axes.plot([], [], color="0.5", lw=0.8, label="functions of the process")
axes.plot(at, mean, color="C0", lw=2, label="mean")
axes.plot(measured_at, measured, "o", color="C1", mec="black", label="measurements")
axes.set(xlabel="x", ylabel="f(x)", title="A Gaussian process through seven points")
axes.legend(loc="upper left", ncols=2)
axes.set_ylim(-3.2, 4)
plt.show()
