"""Functions composed of other standard functions, for backends that lack them."""
