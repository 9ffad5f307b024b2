"""Transformations of functions of arrays: gradients."""
