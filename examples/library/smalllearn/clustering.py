"""k-means."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace, device

from smalllearn.neighbors import squared_distances


def kmeans(x: Any, k: int, /, *, iterations: int = 20) -> tuple[Any, Any]:
    """Return the centres of k clusters, and the cluster of each row.

    The first centres are rows far from each other, so that the result depends on nothing drawn.
    Shapes depend on no values, and no loop asks for any: it can be compiled as it is.
    """
    xp = array_namespace(x)
    centres = x[:1, :]
    for _ in range(1, k):
        nearest = xp.min(squared_distances(x, centres), axis=1)
        index = xp.reshape(xp.argmax(nearest), (1,))
        centres = xp.concat([centres, xp.take(x, index, axis=0)])
    every = xp.arange(k, device=device(x))
    for _ in range(iterations):
        labels = xp.argmin(squared_distances(x, centres), axis=1)
        belongs = xp.astype(labels[:, None] == every, x.dtype)
        counts = xp.sum(belongs, axis=0)[:, None]
        means = (belongs.T @ x) / xp.where(counts > 0, counts, xp.ones_like(counts))
        centres = xp.where(counts > 0, means, centres)
    return centres, xp.argmin(squared_distances(x, centres), axis=1)
