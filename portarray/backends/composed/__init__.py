"""Functions made from other standard functions, for every room that lacks them."""
