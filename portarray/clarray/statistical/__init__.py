"""Statistical functions: sums, products, extremes, moments and running results.

Floating-point sums along memory have levels: sums of at most 64 elements, sums of up to 64 of
those, and of these. On processors, sums across rows that lie side by side add each chunk of rows in
order, as NumPy adds all of them, and then the chunks. Every sum and product of ``n`` terms is
within ``n`` roundings at the scale of the terms' magnitudes, half-precision dtypes in float32, and
so are running ones. Integers are summed in 64 bits and wrap.
"""

from portarray.clarray.statistical.cumulative import cumulative_prod, cumulative_sum
from portarray.clarray.statistical.moments import mean, std, var
from portarray.clarray.statistical.totals import max, min, prod, sum

__all__ = [
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]
