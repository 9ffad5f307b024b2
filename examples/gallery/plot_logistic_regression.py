"""
A curved border by logistic regression
======================================

Logistic regression draws a straight border between two classes. With products of the
coordinates as further features the border may bend. The loss is written down, its gradient is
:func:`portarray.grad`'s, and the step is compiled by :func:`portarray.compile`.
"""

# %%
# Two classes
# -----------
#
# Points within a ring, and around it. Keys make the same points on every device.

import matplotlib.pyplot as plt

import portarray as pa


def data(key, count=400):
    """Return points and their class, 0 or 1."""
    angle_key, noise_key = pa.random.split(key)
    angle = pa.random.uniform(angle_key, (count,), dtype=pa.float32, high=2 * pa.pi)
    label = pa.astype(pa.arange(count, device=key.device) % 2 == 0, pa.float32)
    radius = 1 + 1.2 * label
    middle = pa.stack([radius * pa.cos(angle), 0.7 * radius * pa.sin(angle) + 0.4 * label], axis=1)
    return middle + pa.random.normal(noise_key, (count, 2), dtype=pa.float32, scale=0.3), label


# %%
# The model
# ---------
#
# The loss of a point is ``log(1 + exp(-z))`` or ``log(1 + exp(z))``. ``logaddexp`` computes it
# for any z without an overflow. A small penalty keeps weights small.


def features(points, degree):
    """Return all products of powers of the coordinates up to a degree."""
    x, y = points[:, 0], points[:, 1]
    return pa.stack([x**i * y**j for i in range(degree + 1) for j in range(degree + 1 - i)], axis=1)


def loss(weights, rows, label):
    z = rows @ weights
    signs = 2 * label - 1
    return pa.mean(pa.logaddexp(pa.zeros_like(z), -signs * z)) + 1e-4 * pa.sum(weights**2)


@pa.compile
def step(weights, rows, label):
    value, slope = pa.value_and_grad(loss)(weights, rows, label)
    return value, weights - 0.3 * slope


def fit(points, label, degree, steps=300):
    """Return the weights and the loss of each step."""
    rows, losses = features(points, degree), []
    weights = pa.zeros(rows.shape[1], dtype=rows.dtype, device=rows.device)
    for _ in range(steps):
        value, weights = step(weights, rows, label)
        losses.append(value)
    return weights, pa.stack(losses)


# %%
# On every device
# ---------------

results = {}
for device in pa.devices():
    points, label = data(pa.random.key(9, device=device))
    for degree in (1, 3):
        weights, losses = fit(points, label, degree)
        right = (features(points, degree) @ weights > 0) == (label > 0.5)
        accuracy = float(pa.mean(pa.astype(right, pa.float32)))
        results[str(device), degree] = pa.to_device((weights, losses), "numpy")
        print(
            f"{device!s:20} degree {degree}: loss {float(losses[-1]):.5f}, accuracy {accuracy:.1%}"
        )

# %%
# The borders
# -----------

points, label = data(pa.random.key(9, device="numpy"))
x = pa.linspace(-3.2, 3.2, 120, dtype=pa.float32, device="numpy")
y = pa.linspace(-2.4, 3, 120, dtype=pa.float32, device="numpy")
across, up = pa.meshgrid(x, y)
grid = pa.stack([pa.reshape(across, (-1,)), pa.reshape(up, (-1,))], axis=1)

figure, several = plt.subplots(1, 3, figsize=(10, 3.8), layout="constrained")
for axes, degree in zip(several[:2], (1, 3), strict=True):
    weights, _ = results["numpy:cpu:0", degree]
    z = pa.reshape(features(grid, degree) @ weights, across.shape)
    probable = 1 / (1 + pa.exp(-z))
    box = (-3.2, 3.2, -2.4, 3)
    axes.imshow(probable, cmap="PuOr", alpha=0.5, origin="lower", extent=box, aspect="auto")
    axes.contour(x, y, z, levels=[0.0], colors="black")
    for digit_class, marker, colour in ((0.0, "o", "tab:orange"), (1.0, "^", "indigo")):
        here = points[label == digit_class, :]
        axes.scatter(here[:, 0], here[:, 1], s=14, marker=marker, color=colour, ec="black", lw=0.3)
    axes.set(xlabel="x", ylabel="y", title=f"degree {degree}")
for n, ((name, degree), (_, losses)) in enumerate(results.items()):
    several[2].plot(losses, ("-", "--", ":", "-.")[n % 4], label=f"{name}, degree {degree}")
several[2].set(xlabel="step", ylabel="loss", title="The loss on each device")
several[2].legend(fontsize=8)
figure.suptitle("The border of two classes")
plt.show()
