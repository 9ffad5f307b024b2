"""Transformations of functions of arrays: gradients and compilation."""
