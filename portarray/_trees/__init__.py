"""Pytrees: node types, and functions mapped over the arrays of a tree."""
