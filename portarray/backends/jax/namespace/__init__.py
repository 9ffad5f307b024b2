"""The standard on JAX arrays: ``jax.numpy``, and corrections where it differs.

jax.numpy takes a Python integer for its default integer dtype, which may be too narrow: where no
WITH_SCALAR row says otherwise, scalars come as 0-d arrays.
"""
