"""The standard on JAX arrays: ``jax.numpy``, and corrections where it differs.

jax.numpy converts Python integers to its default integer dtype, which may be too narrow: functions
without a WITH_PYTHON_SCALAR row get scalars as 0-d arrays.
"""
