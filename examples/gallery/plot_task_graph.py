"""
The task graph of a region
==========================

A tiled Cholesky factorization has three kinds of tasks with many dependencies. A
:class:`~portarray.tasks.Region` finds the dependencies from what each task reads and writes. This
example draws the graph.
"""

# %%
# Tiled Cholesky factorization
# ----------------------------
#
# Three functions work on tiles in place.

import matplotlib.pyplot as plt
import numpy as np

import portarray as pa
from portarray.tasks import In, InOut, Region


def factor(a):  # the factor of a tile on the diagonal
    a[...] = pa.linalg.cholesky(a)


def solve(a, b):  # b = b @ inv(a).T
    b[...] = pa.kernels.solve_triangular(a, b.mT, lower=True).mT


def update(x, y, c):  # c -= x @ y.T
    c -= x @ y.mT


# %%
# The program looks serial.


def cholesky(tiles):
    """Replace the lower tiles of a matrix by its Cholesky factor."""
    n = len(tiles)
    with Region() as region:
        for k in range(n):
            region.spawn(factor, InOut(tiles[k][k]))
            for i in range(k + 1, n):
                region.spawn(solve, In(tiles[k][k]), InOut(tiles[i][k]))
            for i in range(k + 1, n):
                for j in range(k + 1, i + 1):
                    region.spawn(update, In(tiles[i][k]), In(tiles[j][k]), InOut(tiles[i][j]))
    return region


SIZE, N = 40, 4
rng = np.random.default_rng(0)
x = rng.normal(size=(N * SIZE, N * SIZE))
matrix = x @ x.T + N * SIZE * np.eye(N * SIZE)


def tile(i, j):
    part = matrix[i * SIZE : (i + 1) * SIZE, j * SIZE : (j + 1) * SIZE]
    return pa.asarray(part, device="numpy", copy=True)


tiles = [[tile(i, j) for j in range(i + 1)] for i in range(N)]
graph = cholesky(tiles).graph()
expected = np.linalg.cholesky(matrix)[-SIZE:, :SIZE]
print(f"{len(graph.nodes)} tasks, {len(graph.edges)} edges")
print("right:", np.allclose(np.asarray(tiles[-1][0]), expected))

# %%
# Positions of the tasks
# ----------------------
#
# A task's level is one more than the highest level of its dependencies. Tasks of one level may run
# at the same time: the widest level is the largest useful number of workers. ``graph`` also
# supports the languages of Mermaid and Graphviz.

level: dict[int, int] = {}
for node in graph.nodes:  # in the order of the program
    waits_for = [edge.first for edge in graph.edges if edge.second == node.index]
    level[node.index] = 1 + max((level[source] for source in waits_for), default=-1)
positions = {}
for depth in sorted(set(level.values())):
    numbers = [task for task in level if level[task] == depth]
    for n, task in enumerate(numbers):
        positions[task] = (n - (len(numbers) - 1) / 2, -depth)

# %%
# The picture
# -----------

colours = {"factor": "#fde725", "solve": "#35b779", "update": "#90b4e8"}
figure, axes = plt.subplots(figsize=(7, 7.5), layout="constrained")
for edge in graph.edges:
    axes.annotate(
        "",
        xy=positions[edge.second],
        xytext=positions[edge.first],
        arrowprops={"arrowstyle": "-|>", "color": "0.55", "shrinkA": 13, "shrinkB": 13},
    )
for node in graph.nodes:
    style = {"boxstyle": "round,pad=0.4", "fc": colours[node.name], "ec": "black"}
    axes.text(*positions[node.index], node.name, ha="center", va="center", fontsize=9, bbox=style)
axes.set(
    title=f"The Cholesky factor of {N} x {N} tiles: {len(graph.nodes)} tasks", xlim=(-3.2, 3.2)
)
axes.set_ylim(-max(level.values()) - 0.6, 0.6)
axes.set_axis_off()
plt.show()
