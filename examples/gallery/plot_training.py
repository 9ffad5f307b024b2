"""
One curve: a small network trained on every device
==================================================

A network with two hidden layers learns two spirals, with Adam. The first weights and the points
are drawn by keys, so that they are the same on every device, and so are the curves: they differ
by rounding alone.
"""

# %%
# Two spirals
# -----------

from itertools import pairwise

import matplotlib.pyplot as plt
from optree import tree_map

import portarray as pa


def spirals(key, count):
    """Return points of two spirals, and the number of the spiral of each."""
    turn_key, noise_key = pa.random.split(key)
    turn = 1 + 9 * pa.sqrt(pa.random.uniform(turn_key, (count,), dtype=pa.float32))
    label = pa.arange(count, device=key.device) % 2
    angle = turn + pa.pi * pa.astype(label, pa.float32)
    position = pa.stack([turn * pa.cos(angle), turn * pa.sin(angle)], axis=1) / 10
    return position + pa.random.normal(noise_key, (count, 2), dtype=pa.float32, scale=0.02), label


# %%
# The network and its step
# ------------------------
#
# Parameters are a list of dicts, one for each layer. Gradients have the same structure, and so has
# the state of Adam: ``tree_map`` of optree calls a function for each array in them.

WIDTHS = (2, 32, 32, 2)


def initial(key):
    """Return the parameters of the first step."""
    layers = []
    for n, (rows, columns) in enumerate(pairwise(WIDTHS)):
        scale = (2 / rows) ** 0.5
        weight = pa.random.normal(
            pa.random.fold_in(key, n), (rows, columns), dtype=pa.float32, scale=scale
        )
        layers.append({"weight": weight, "bias": pa.zeros_like(weight[0, :])})
    return layers


def logits(layers, x):
    for layer in layers[:-1]:
        x = pa.tanh(x @ layer["weight"] + layer["bias"])
    return x @ layers[-1]["weight"] + layers[-1]["bias"]


def loss(layers, x, label):
    return pa.kernels.cross_entropy(logits(layers, x), label)


def step(p, m, v, x, label, n):
    """Return the loss, and parameters and their two means after the n-th step of Adam."""
    value, g = pa.value_and_grad(loss)(p, x, label)
    m = tree_map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = tree_map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
    rate, scale = 0.02 / (1 - 0.9**n), (1 - 0.99**n) ** -0.5
    p = tree_map(lambda p, m, v: p - rate * m / (scale * pa.sqrt(v) + 1e-8), p, m, v)
    return value, p, m, v


# %%
# Training
# --------


def train(device, steps=250):
    """Return the parameters and the loss of each step."""
    key = pa.random.key(11, device=device)
    x, label = spirals(pa.random.fold_in(key, 100), 400)
    p = initial(key)
    m = v = tree_map(pa.zeros_like, p)
    losses = []
    for n in range(1, steps + 1):
        value, p, m, v = step(p, m, v, x, label, n)
        losses.append(value)
    return pa.to_device((p, pa.stack(losses)), "numpy")


results = {str(device): train(device) for device in pa.devices()}
_, reference = results["numpy:cpu:0"]
for device, (_, losses) in results.items():
    difference = float(pa.max(pa.abs(losses - reference)))
    print(f"{device:20} last loss {float(losses[-1]):.4f}, curves differ by {difference:.1e}")

# %%
# What was learned
# ----------------

layers, _ = results["numpy:cpu:0"]
edge = pa.linspace(-1.2, 1.2, 150, dtype=pa.float32, device="numpy")
across, up = pa.meshgrid(edge, edge)
grid = pa.stack([pa.reshape(across, (-1,)), pa.reshape(up, (-1,))], axis=1)
second = pa.reshape(pa.kernels.softmax(logits(layers, grid))[:, 1], across.shape)
points, label = spirals(pa.random.key(12, device="numpy"), 300)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for n, (device, (_, losses)) in enumerate(results.items()):
    left.semilogy(losses, ("-", "--", ":", "-.")[n % 4], label=device)
left.set(xlabel="step", ylabel="loss", title="Training on each device")
left.legend()
right.imshow(second, cmap="PuOr", alpha=0.5, origin="lower", extent=(-1.2, 1.2, -1.2, 1.2))
for arm, marker, colour in ((0, "o", "tab:orange"), (1, "^", "indigo")):
    here = points[label == arm, :]
    right.scatter(here[:, 0], here[:, 1], s=14, marker=marker, color=colour, ec="black", lw=0.3)
right.set(aspect="equal", xlabel="x", ylabel="y", title="Two spirals told apart")
plt.show()
