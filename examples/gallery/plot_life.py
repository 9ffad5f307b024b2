"""
The Game of Life
================

A cell lives on with two or three living neighbours, and is born with three. Each cell looks at
eight others at the same time: a *user kernel* of a few lines. The same rule in array functions
runs on devices that have no kernels, and gives the same cells.
"""

# %%
# The rule for one cell
# ---------------------
#
# The world is a torus: indices are taken modulo its size, and ``%`` means in a kernel what it
# means in Python. A kernel reads from one array and writes to another, as cells change all at
# once.

import matplotlib.pyplot as plt

import portarray as pa
import portarray.kernel_language as kl


@pa.kernel
def generation(after, previous):
    i, j = kl.index()
    rows, columns = previous.shape
    neighbours = 0
    for di in kl.unroll(range(-1, 2)):
        for dj in kl.unroll(range(-1, 2)):
            if di != 0 or dj != 0:
                neighbours += previous[(i + di) % rows, (j + dj) % columns]
    after[i, j] = neighbours == 3 or (neighbours == 2 and previous[i, j] == 1)


# %%
# The rule in array functions
# ---------------------------


def generation_of_arrays(previous):
    shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    neighbours = sum(pa.roll(previous, shift, axis=(0, 1)) for shift in shifts)
    return pa.astype((neighbours == 3) | ((neighbours == 2) & (previous == 1)), pa.uint8)


# %%
# A gun that shoots gliders
# -------------------------
#
# Bill Gosper found it in 1970. Every 30 generations a glider leaves it, for ever.

GUN = """
........................O...........
......................O.O...........
............OO......OO............OO
...........O...O....OO............OO
OO........O.....O...OO..............
OO........O...O.OO....O.O...........
..........O.....O.......O...........
...........O...O....................
............OO......................
"""
rows = [[letter == "O" for letter in line] for line in GUN.split()]
cells = pa.zeros((60, 90), dtype=pa.uint8, device=pa.cpu_device())
cells[3:12, 4:40] = pa.asarray(rows, dtype=pa.uint8, device=cells.device)
start = cells

# %%
# 150 generations
# ---------------
#
# ``age`` counts for how long each cell has been dead: gliders leave a trace.

age = pa.full(cells.shape, 150, dtype=pa.int32, device=cells.device)
for _ in range(150):
    cells = generation(pa.empty_like(cells), cells)
    age = pa.where(cells == 1, 0, age + 1)

by_arrays = start
for _ in range(150):
    by_arrays = generation_of_arrays(by_arrays)
print("the kernel and the array functions agree:", bool(pa.all(cells == by_arrays)))

# %%
# The picture
# -----------

figure, several = plt.subplots(2, 1, figsize=(7, 8), layout="constrained")
several[0].imshow(start, cmap="Greys", interpolation="nearest")
several[0].set_title("Gosper's gun in the first generation")
several[1].imshow(pa.clip(age, None, 60), cmap="magma", interpolation="nearest")
several[1].set_title("After 150 generations, with traces of what lived")
for axes in several:
    axes.set(xticks=[], yticks=[])
figure.suptitle("The Game of Life")
plt.show()
