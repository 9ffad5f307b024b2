"""Manipulation functions: shapes, axes and the joining of arrays."""
