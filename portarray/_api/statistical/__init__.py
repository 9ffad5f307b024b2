"""Statistical functions: sums, products, extremes, means and spreads."""
