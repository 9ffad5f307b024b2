"""The order of the gallery's examples: by subject, unlisted ones last."""

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


def position(file: str) -> int:
    """Return the position of an example."""
    name = Path(file).stem.removeprefix("plot_")
    return ORDER.index(name) if name in ORDER else len(ORDER)
