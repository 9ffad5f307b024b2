"""The standard on dpnp's arrays: dpnp's own functions, corrected where they differ."""
