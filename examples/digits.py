"""A program in standard names only, on every functional device of this machine.

Handwritten digits (1,797 images of 8 by 8, shipped with scikit-learn) are standardized, projected
on their principal components and grouped by k-means, digit by digit; an image is then given the
digit of the nearest centroid. The table compares each device with the same functions on plain
NumPy arrays.

Run it with ``python examples/digits.py``; it needs ``pip install ".[examples]"``.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

COMPONENTS = 20
CENTROIDS = 8  # of each digit
STEPS = 30


# --- the program: it knows no library, only the arrays it is given ----------------------------


def standardize(x: Any, mean: Any, std: Any) -> Any:
    """Return columns with mean 0 and variance 1; constant columns become 0."""
    xp = x.__array_namespace__()
    return xp.where(std > 0, (x - mean) / xp.where(std > 0, std, 1.0), 0.0)


def principal_axes(x: Any, count: int) -> Any:
    """Return the first principal axes of centred rows, one in each column.

    The sign of a singular vector is not determined: the largest entry of each is made positive.
    """
    xp = x.__array_namespace__()
    axes = xp.linalg.svd(x, full_matrices=False).Vh[:count, :]
    largest = xp.argmax(xp.abs(axes), axis=1, keepdims=True)
    return (axes * xp.sign(xp.take_along_axis(axes, largest, axis=1))).T


def squared_distances(x: Any, centroids: Any) -> Any:
    """Return the squared distance of each row from each centroid."""
    xp = x.__array_namespace__()
    squares = xp.sum(x * x, axis=1, keepdims=True) + xp.sum(centroids * centroids, axis=1)
    return squares - 2.0 * (x @ centroids.T)


def first_centroids(x: Any, count: int) -> Any:
    """Return rows that lie far apart: each is the farthest from those before it."""
    xp = x.__array_namespace__()
    center = xp.mean(x, axis=0, keepdims=True)
    chosen = xp.take(x, xp.argmin(squared_distances(x, center)[:, 0], keepdims=True), axis=0)
    while chosen.shape[0] < count:
        distance = xp.min(squared_distances(x, chosen), axis=1)
        farthest = xp.take(x, xp.argmax(distance, keepdims=True), axis=0)
        chosen = xp.concat([chosen, farthest])
    return chosen


def k_means(x: Any, count: int, steps: int = STEPS) -> Any:
    """Return the centroids of k-means (Lloyd's algorithm), until no row changes its group."""
    xp = x.__array_namespace__()
    centroids = first_centroids(x, count)
    groups = xp.arange(count, device=x.device)
    previous = None
    for _ in range(steps):
        nearest = xp.argmin(squared_distances(x, centroids), axis=1)
        if previous is not None and xp.all(nearest == previous):
            break
        previous = nearest
        member = xp.astype(nearest[None, :] == groups[:, None], x.dtype)
        size = xp.sum(member, axis=1, keepdims=True)
        # A group that lost all its rows keeps its centroid.
        centroids = xp.where(size > 0, (member @ x) / xp.where(size > 0, size, 1.0), centroids)
    return centroids


class Model(NamedTuple):
    """What :func:`fit` learns: arrays of the library and device of its data."""

    mean: Any
    std: Any
    axes: Any
    centroids: Any
    labels: Any


def fit(x: Any, labels: Any) -> Model:
    """Learn from images (one in each row) and their digits."""
    xp = x.__array_namespace__()
    mean, std = xp.mean(x, axis=0), xp.std(x, axis=0)
    z = standardize(x, mean, std)
    axes = principal_axes(z, COMPONENTS)
    projected = z @ axes
    digits = xp.sort(xp.unique_values(labels))
    centroids = [k_means(projected[labels == digits[i]], CENTROIDS) for i in range(digits.shape[0])]
    return Model(mean, std, axes, xp.concat(centroids), xp.repeat(digits, CENTROIDS))


def predict(model: Model, x: Any) -> Any:
    """Return the digit of each image: that of the nearest centroid."""
    xp = x.__array_namespace__()
    projected = standardize(x, model.mean, model.std) @ model.axes
    nearest = xp.argmin(squared_distances(projected, model.centroids), axis=1)
    return xp.take(model.labels, nearest)


# --- the data, and the program on each device -------------------------------------------------


class Digits(NamedTuple):
    """Images and digits, to learn from and held out."""

    train: Any
    train_labels: Any
    test: Any
    test_labels: Any


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    device: str
    dtype: str
    accuracy: float
    difference: float
    seconds: float


def load() -> Digits:
    """Return scikit-learn's digits as NumPy arrays; every third image is held out."""
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    held_out = np.arange(images.shape[0]) % 3 == 0
    return Digits(images[~held_out], digits[~held_out], images[held_out], digits[held_out])


def classify(data: Digits) -> tuple[Model, float]:
    """Learn and predict; return the model and the accuracy on the images held out."""
    xp = data.train.__array_namespace__()
    model = fit(data.train, data.train_labels)
    right = predict(model, data.test) == data.test_labels
    return model, float(xp.mean(xp.astype(right, data.train.dtype)))


def timed(run: Callable[[], Any], wait: Callable[[], None], repeats: int = 3) -> float:
    """Return the shortest of some runs in seconds, each until the device has finished."""
    best = float("inf")
    for _ in range(repeats):
        wait()
        start = time.perf_counter()
        run()
        wait()
        best = min(best, time.perf_counter() - start)
    return best


def compare(data: Digits, expected: Model, device: Any) -> Row:
    """Run the program on a device and compare its centroids with NumPy's."""
    import portarray as pa

    dtypes = pa.__array_namespace_info__().default_dtypes(device=device)
    dtype, labels = dtypes["real floating"], dtypes["integral"]
    here = Digits(
        pa.asarray(data.train.astype(dtype), device=device),
        pa.asarray(data.train_labels.astype(labels), device=device),
        pa.asarray(data.test.astype(dtype), device=device),
        pa.asarray(data.test_labels.astype(labels), device=device),
    )
    model, accuracy = classify(here)  # also the warm-up
    centroids = np.asarray(model.centroids.to_device("numpy"))
    return Row(
        str(device),
        str(dtype),
        accuracy,
        float(np.max(np.abs(centroids - expected.centroids))),
        timed(lambda: classify(here), lambda: pa.synchronize(device)),
    )


def bound(dtype: str, expected: Model) -> float:
    """Return how far a device's centroids may be from NumPy's.

    Singular values lie close together, so that the axes keep only half of a dtype's digits.
    """
    return math.sqrt(np.finfo(dtype).eps) * float(np.max(np.abs(expected.centroids)))


def show(rows: list[Row]) -> None:
    """Print the table, with rich where it is installed."""
    head = ("device", "dtype", "accuracy", "largest difference from NumPy", "time")
    cells = [
        (r.device, r.dtype, f"{r.accuracy:.2%}", f"{r.difference:.1e}", f"{r.seconds * 1e3:.0f} ms")
        for r in rows
    ]
    try:
        from rich.console import Console
        from rich.table import Table
    except ModuleNotFoundError:
        widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
        for line in (head, *cells):
            print("  ".join(text.ljust(w) for text, w in zip(line, widths, strict=True)).rstrip())
        return
    table = Table(title="digits: PCA, k-means and nearest centroid")
    for index, name in enumerate(head):
        table.add_column(name, justify="left" if index < 2 else "right")
    for line in cells:
        table.add_row(*line)
    Console().print(table)


def main() -> int:
    """Run on every functional device; return 1 if one of them disagrees with NumPy."""
    import portarray as pa

    data = load()
    expected, accuracy = classify(data)
    rows = [compare(data, expected, device) for device in pa.devices()]
    show(rows)
    status = 0
    for row in rows:
        allowed = bound(row.dtype, expected)
        if row.difference > allowed or abs(row.accuracy - accuracy) > 0.01:
            print(
                f"{row.device} disagrees with NumPy: accuracy {row.accuracy:.2%} against "
                f"{accuracy:.2%}, difference {row.difference:.1e} (allowed: {allowed:.1e})",
                file=sys.stderr,
            )
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
