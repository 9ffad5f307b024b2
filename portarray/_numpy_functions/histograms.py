"""Histograms of one and several variables."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from portarray._namespace import pa
from portarray._numpy_functions.common import as_array, as_arrays, as_float, flat, sums_at
from portarray._numpy_functions.table import category

serves = category("Sorting, searching, quantiles")

_SEVERAL = (Sequence, np.ndarray, pa.Array)
"""Types of ``bins`` that are not one number of bins."""


@serves(order="a bins range weights")
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None) -> Any:
    if type(bins) is pa.Array:
        return bins
    if isinstance(bins, str):
        raise TypeError(f"histogram: bins={bins!r} is not supported\nHint: pass the number of bins")
    x = as_float(flat(a))
    if np.ndim(bins):
        return pa.asarray(bins, dtype=x.dtype, device=x.device)
    unit = pa.ones((), dtype=x.dtype, device=x.device)
    if range is not None:
        low, high = unit * range[0], unit * range[1]
    elif x.size:
        low, high = pa.min(x), pa.max(x)
    else:
        low, high = unit * 0, unit
    same = low == high
    low, high = pa.where(same, low - 0.5, low), pa.where(same, high + 0.5, high)
    steps = pa.arange(bins, dtype=x.dtype, device=x.device)
    return pa.concat([low + steps * ((high - low) / bins), pa.reshape(high, (1,))])


@serves(order="a bins range density weights")
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    edges = histogram_bin_edges(a, bins, range)
    if weights is not None:
        weights = flat(as_array(weights, a, "histogram"))
        counts = _counts([flat(a)], [edges], weights)
    else:
        x = pa.sort(flat(a))
        positions = pa.concat(
            [pa.searchsorted(x, edges[:-1]), pa.searchsorted(x, edges[-1:], side="right")]
        )
        counts = pa.diff(positions)
    return _density(counts, [edges]) if density else counts, edges


@serves(order="x y bins range density weights")
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    if isinstance(bins, _SEVERAL) and len(bins) not in (1, 2):
        bins = [bins, bins]  # the same edges for both
    counts, edges = histogramdd([x, y], bins, range, density, weights)
    return counts, *edges


@serves(order="sample bins range density weights")
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    if isinstance(sample, Sequence):
        columns = [as_float(flat(x)) for x in as_arrays(*sample, name="histogramdd")]
    else:
        table = as_float(sample if sample.ndim == 2 else flat(sample)[:, None])
        columns = [table[:, i] for i in builtins.range(table.shape[1])]
    chosen = list(bins) if isinstance(bins, _SEVERAL) else [bins] * len(columns)
    ranges = [None] * len(columns) if range is None else list(range)
    if not len(chosen) == len(ranges) == len(columns):
        raise ValueError(
            f"histogramdd: bins for {len(chosen)} and ranges for {len(ranges)} of "
            f"{len(columns)} variables"
        )
    edges = [histogram_bin_edges(*row) for row in zip(columns, chosen, ranges, strict=True)]
    ones = pa.ones_like(columns[0]) if weights is None else as_array(weights, columns[0])
    counts = _counts(columns, edges, as_float(ones))
    return _density(counts, edges) if density else counts, edges


def _counts(columns: Sequence[Any], edges: Sequence[Any], weights: Any) -> Any:
    """Return the sum of the weights in each bin; what is outside does not count."""
    shape = tuple(edge.shape[0] - 1 for edge in edges)
    position, inside = 0, True
    for x, edge, size in zip(columns, edges, shape, strict=True):
        # As in NumPy, the last bin includes its right edge.
        index = pa.searchsorted(edge, x, side="right") - 1
        index -= pa.astype(x == edge[-1], index.dtype)
        inside = inside & (index >= 0) & (index < size)
        position = position * size + index
    weights = pa.where(inside, weights, pa.zeros_like(weights))
    counts = sums_at(pa.where(inside, position, 0), weights, math.prod(shape))
    return pa.reshape(counts, shape)


def _density(counts: Any, edges: Sequence[Any]) -> Any:
    """Divide counts by their sum and by the volume of each bin."""
    density = as_float(counts) / pa.sum(counts)
    for axis, edge in enumerate(edges):
        widths = pa.astype(pa.diff(edge), density.dtype)
        density = density / pa.reshape(widths, (-1,) + (1,) * (len(edges) - 1 - axis))
    return density
