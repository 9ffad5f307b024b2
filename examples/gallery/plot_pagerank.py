"""
PageRank by power iteration
===========================

A page is important if important pages link to it. That is an eigenvector, and the power
iteration finds it: multiply a vector by the matrix of links until it does not change. A second
eigenvalue problem draws the pages, and a second damping factor shows what the speed depends on.
"""

# %%
# A small web
# -----------
#
# Sixty pages, one after the other. A new page links to two of those that are there, and prefers
# the ones to which others link already.

import matplotlib.pyplot as plt
import numpy as np

import portarray as pa

rng = np.random.default_rng(3)
links = [(1, 0), (2, 0), (2, 1)]  # from, to
for page in range(3, 60):
    ends = [end for link in links for end in link]
    links += [(page, target) for target in {*rng.choice(ends, 2).tolist()}]
links += [(int(a), int(b)) for a, b in rng.integers(0, 60, (30, 2)) if a > b]  # and a few more
source, target = np.asarray(links).T
web = np.zeros((60, 60), np.float32)
web[target, source] = 1

# %%
# The iteration
# -------------
#
# A reader follows one of the links of a page, or, with probability ``1 - damping``, opens any
# page. Pages without a link send the reader anywhere.


def pagerank(web, damping, steps=30):
    """Return the importance of each page, and by how much each step changed it."""
    xp, n = web.__array_namespace__(), web.shape[0]
    links = xp.sum(web, axis=0)
    follow = xp.where(links > 0, web / xp.where(links > 0, links, 1.0), 1 / n)
    rank = xp.full((n,), 1 / n, dtype=web.dtype, device=web.device)
    changes = []
    for _ in range(steps):
        previous, rank = rank, damping * (follow @ rank) + (1 - damping) / n
        changes.append(xp.sum(xp.abs(rank - previous)))
    return rank, xp.stack(changes)


reference, _ = pagerank(pa.asarray(web, device="numpy"), 0.85)
for device in pa.devices():
    rank, _ = pagerank(pa.asarray(web, device=device), 0.85)
    best = pa.argsort(rank.to_device("numpy"), descending=True)[:5]
    difference = pa.max(pa.abs(rank.to_device("numpy") - reference))
    print(f"{device!s:20} best pages {best.tolist()}, differs by {float(difference):.1e}")

# %%
# Where to draw the pages
# -----------------------
#
# The eigenvectors of the graph's Laplacian with the smallest eigenvalues but zero put pages near
# those that they are linked with. Their ranks, not their values, are drawn, so that nothing lies
# on anything else.

both = pa.asarray(np.maximum(web, web.T).astype(float), device="numpy")
root = pa.sqrt(pa.sum(both, axis=0))
laplacian = pa.eye(60, device="numpy") - both / root[:, None] / root
vectors = pa.linalg.eigh(laplacian).eigenvectors[:, 1:3]
places = pa.argsort(pa.argsort(vectors, axis=0), axis=0)

# %%
# The picture
# -----------
#
# Each step takes away a part of what is wrong, as much as ``1 - damping`` at least: the less
# readers follow links, the faster the iteration. float32 is exhausted near 1e-7.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 4.5), layout="constrained", width_ratios=(3, 2)
)
x, y = places[:, 0], places[:, 1]
for a, b in links:
    left.plot([int(x[a]), int(x[b])], [int(y[a]), int(y[b])], color="0.75", lw=0.7, zorder=1)
marks = left.scatter(x, y, s=6000 * reference, c=reference, cmap="cividis", ec="black", zorder=2)
figure.colorbar(marks, label="importance")
left.set(title="Sixty pages and their importance", xticks=[], yticks=[])
for damping, style in ((0.85, "o-"), (0.5, "s-")):
    _, changes = pagerank(pa.asarray(web, device="numpy"), damping)
    right.semilogy(changes, style, ms=3, label=f"damping {damping}")
right.set(xlabel="step", ylabel="sum of changes", title="How fast it converges")
right.legend()
plt.show()
