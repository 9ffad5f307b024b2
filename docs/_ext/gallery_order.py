"""The order of the gallery's examples: by subject, and what is not listed last."""

from __future__ import annotations

from pathlib import Path

ORDER = (
    # functions of arrays
    *("spline", "spectrogram", "k_means", "digits_pca", "svd_compression", "pagerank"),
    *("gaussian_process", "kernel_density", "monte_carlo"),
    # gradients and compiled functions
    *("derivatives", "rosenbrock", "logistic_regression", "training", "lorenz", "n_body", "wave"),
    # kernels
    *("mandelbrot", "life", "attractor", "image_filters"),
    # devices
    *("heat", "task_graph", "rounding", "support"),
)


def place(file: str) -> int:
    """Return the place of an example among the others."""
    name = Path(file).stem.removeprefix("plot_")
    return ORDER.index(name) if name in ORDER else len(ORDER)
