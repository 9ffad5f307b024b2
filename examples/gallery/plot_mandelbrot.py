"""
The Mandelbrot set with a user kernel
=====================================

A point c belongs to the Mandelbrot set if ``z = z**2 + c`` stays small forever. The number of steps
until it grows differs from point to point. This does not suit array functions, but it suits a *user
kernel*: :func:`portarray.kernel` compiles a Python function that runs once for each element.
"""

# %%
# One point
# ---------
#
# Each work-item iterates one point. Casts set the dtype; plain numbers take the dtype of the other
# operand. The last lines smooth the step count, so that colours have no edges.

import math

import matplotlib.pyplot as plt
import numpy as np

import portarray as pa
import portarray.kernel_language as kl


@pa.kernel
def mandelbrot(speed, left, top, step, limit):
    i, j = kl.index()
    cr = kl.float32(left + j * step)
    ci = kl.float32(top + i * step)
    zr = kl.float32(0)
    zi = kl.float32(0)
    n = 0
    while n < limit and zr * zr + zi * zi < 64.0:
        zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
        n += 1
    if n == limit:
        speed[i, j] = math.nan
    else:
        speed[i, j] = n + 1 - math.log2(0.5 * math.log2(zr * zr + zi * zi))


# %%
# A call returns the arrays that the kernel writes. There are as many work-items as ``speed`` has
# elements. On CPUs they run with OpenCL, or with a C compiler if OpenCL is not installed;
# ``mandelbrot.explain`` takes the same arguments as a call and shows which.

image = pa.zeros((360, 540), dtype=pa.float32, device=pa.cpu_device())
whole = mandelbrot(image, -2.2, -1.2, 2.4 / 360, 200)

# %%
# Verification
# ------------
#
# ``verify`` runs a call on the device and in a Python interpreter, and returns the largest
# difference in units of the last place. A small picture is enough.

print(
    mandelbrot.verify(
        pa.zeros((12, 18), dtype=pa.float32, device=image.device), -2.2, -1.2, 0.2, 50
    )
)

# %%
# Two pictures
# ------------
#
# The whole set, and a part of it that is 200 times smaller.

valley = mandelbrot(pa.zeros_like(image), -0.7509, 0.1011, 0.012 / 360, 1500)

figure, several = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
titles = ("The Mandelbrot set", "A valley of sea horses")
for axes, speed, title in zip(
    several, (np.asarray(whole), np.asarray(valley)), titles, strict=True
):
    axes.set_facecolor("black")
    axes.imshow(np.log(np.maximum(speed, 1)), cmap="twilight_shifted")
    axes.set(title=title, xticks=[], yticks=[])
plt.show()
