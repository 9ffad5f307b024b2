"""The structural similarity of two images, as scikit-image has it, on any device."""

from __future__ import annotations

from typing import Any


def window_means(x: Any, size: int, /) -> Any:
    """Return the mean of every ``size`` x ``size`` window that lies within an image."""
    rows, columns = (n - size + 1 for n in x.shape)
    total = x[:rows, :]
    for k in range(1, size):
        total = total + x[k : k + rows, :]
    out = total[:, :columns]
    for k in range(1, size):
        out = out + total[:, k : k + columns]
    return out / size**2


def structural_similarity(a: Any, b: Any, /, *, data_range: float, size: int = 7) -> Any:
    """Return the mean structural similarity of two images of one channel.

    Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to
    structural similarity", IEEE Transactions on Image Processing 13 (2004), pages 600 to 612.
    """
    xp = a.__array_namespace__()
    mean_a, mean_b = window_means(a, size), window_means(b, size)
    unbiased = size**2 / (size**2 - 1)
    variance_a = unbiased * (window_means(a * a, size) - mean_a * mean_a)
    variance_b = unbiased * (window_means(b * b, size) - mean_b * mean_b)
    covariance = unbiased * (window_means(a * b, size) - mean_a * mean_b)
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    luminance = (2 * mean_a * mean_b + c1) / (mean_a**2 + mean_b**2 + c1)
    structure = (2 * covariance + c2) / (variance_a + variance_b + c2)
    return xp.mean(luminance * structure)
