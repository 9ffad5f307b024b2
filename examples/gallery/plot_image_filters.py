"""
Image filters with a kernel and with FFT
========================================

A filter replaces each pixel by a weighted sum of its neighbours. For few weights, use a *user
kernel*; for many, a product of Fourier transforms is faster. This example does both and shows that
they agree.
"""

# %%
# A picture
# ---------
#
# Matplotlib includes a portrait of Grace Hopper. Every second pixel is enough here.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import cbook

import portarray as pa
import portarray.kernel_language as kl

colours = plt.imread(cbook.get_sample_data("grace_hopper.jpg", asfileobj=False))
gray = (colours[::2, ::2] @ np.asarray([0.299, 0.587, 0.114]) / 255).astype(np.float32)
picture = pa.asarray(gray, device=pa.cpu_device())

# %%
# A loop over weights
# -------------------
#
# The body of a kernel runs once for each element of its first parameter. The last axis is
# contiguous in memory. At the border, the kernel uses the nearest pixel of the picture.


@pa.kernel
def filtered(result, picture, weights):
    i, j = kl.index()
    rows, columns = picture.shape
    height, width = weights.shape
    total = kl.float32(0)
    for m in range(height):
        for n in range(width):
            row = min(max(i + m - height // 2, 0), rows - 1)
            column = min(max(j + n - width // 2, 0), columns - 1)
            total += weights[m, n] * picture[row, column]
    result[i, j] = total


# %%
# Sobel's weights are differences across a pixel, averaged along it. Two of them give the slope of
# the picture, which is large at edges.

sobel = pa.asarray([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], dtype=pa.float32, device=picture.device)
across = filtered(pa.zeros_like(picture), picture, sobel)
down = filtered(pa.zeros_like(picture), picture, sobel.T)
edges = pa.hypot(across, down)

# %%
# With Fourier transforms
# -----------------------
#
# Blurring multiplies the spectrum by a Gaussian, which costs the same for any width. The transform
# assumes a periodic picture, so the picture is padded first.


def blurred(picture, sigma):
    """Return the picture, averaged with Gaussian weights of width sigma."""
    border = 4 * int(sigma)
    rows, columns = (
        pa.clip(pa.arange(-border, n + border, device=picture.device), 0, n - 1)
        for n in picture.shape
    )
    padded = picture[rows[:, None], columns]
    u = pa.fft.fftfreq(padded.shape[0], dtype=pa.float32, device=picture.device)[:, None]
    v = pa.fft.rfftfreq(padded.shape[1], dtype=pa.float32, device=picture.device)
    damping = pa.exp(-2 * (pa.pi * sigma) ** 2 * (u**2 + v**2))
    back = pa.fft.irfftn(pa.fft.rfftn(padded) * damping, s=padded.shape)
    return back[border:-border, border:-border]


soft = blurred(picture, 3.0)

# %%
# The kernel with the same weights gives the same sums, up to rounding and the part of the Gaussian
# beyond 12 pixels.

x = pa.arange(-12, 13, dtype=pa.float32, device=picture.device)
gauss = pa.exp(-(x**2) / 18)
gauss = gauss / pa.sum(gauss)
by_kernel = filtered(pa.zeros_like(picture), picture, pa.linalg.outer(gauss, gauss))
print(f"largest difference: {float(pa.max(pa.abs(by_kernel - soft))):.1e}")

# %%
# The pictures
# ------------

figure, several = plt.subplots(1, 3, figsize=(9, 4.2), layout="constrained")
shown = {"original": picture, "blurred by FFT": soft, "edges by a kernel": -edges}
for axes, (title, image) in zip(several, shown.items(), strict=True):
    axes.imshow(image, cmap="gray")
    axes.set_title(title)
    axes.set_axis_off()
figure.suptitle("A portrait, blurred, and its edges")
plt.show()
