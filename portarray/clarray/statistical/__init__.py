"""Statistical functions: sums, products, extremes, moments and running results.

Floating-point sums along contiguous memory are pairwise with blocks: sums of at most 64 elements,
of up to 64 such sums, and of those. On CPUs, sums across contiguous rows add each chunk of rows in
order, and then the chunks. Every sum and product of ``n`` terms, cumulative ones too, is within
``n`` roundings at the scale of the terms' magnitudes; 16-bit dtypes are computed in float32, and
cumulative sums of float32 on CPUs with double precision in float64.
Integers are summed in 64 bits and wrap.
"""

from portarray.clarray.statistical.cumulative import cumulative_prod, cumulative_sum
from portarray.clarray.statistical.moments import mean, std, var
from portarray.clarray.statistical.totals import max, min, prod, sum

__all__ = ["cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var"]
