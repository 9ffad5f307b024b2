"""Functions made from other standard functions, for every backend that lacks them."""
