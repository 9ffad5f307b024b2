"""Statistical functions: sums, products, extremes, means and spreads."""

from portarray._api.statistical.cumulative import cumulative_prod, cumulative_sum
from portarray._api.statistical.moments import mean, std, var
from portarray._api.statistical.totals import max, min, prod, sum

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
